"""A parser of foreign bytes and what it may do with them: read them, or refuse them in its own words, and soon.

Each gets BUDGET_SECONDS of damaged inputs, the same ones each time; with FUZZ_SECONDS in the environment so many
seconds of new ones. A failure shows the input: add it to the seeds of its target, so that it stays found.
"""

from __future__ import annotations

import os
import random
import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import msgspec

from tests.fuzz.mutation import mutations

LONG_SECONDS = os.environ.get("FUZZ_SECONDS")
BUDGET_SECONDS = float(LONG_SECONDS or 0.4)
SLOWEST_SECONDS = 2.0
"""Of the processor, for one input."""


@dataclass(frozen=True)
class Target:
    """`read` is called with bytes and may raise nothing but `refusals`."""

    name: str
    read: Callable[[bytes], object]
    refusals: tuple[type[Exception], ...]
    seeds: tuple[bytes, ...]

    def hold(self) -> None:
        """Damage the seeds for a while: each outcome is read or refused, and soon."""
        seed = random.randrange(2**32) if LONG_SECONDS else 0
        deadline = time.monotonic() + BUDGET_SECONDS
        told: list[tuple[str, int, bytes]] = []
        for data in mutations(self.seeds, random.Random(seed)):
            if time.monotonic() > deadline:
                break
            started = time.thread_time()
            try:
                self.read(data)
            except self.refusals as refusal:
                told.append((str(refusal), getattr(refusal, "status", 400), data))
            except Exception as error:
                raise AssertionError(f"{self.name}, seed {seed}: {type(error).__name__}: {error}\n{data!r}") from error
            assert time.thread_time() - started < SLOWEST_SECONDS, data[:2000]
        assert not [refusal for refusal in told if not refusal[0] or not 400 <= refusal[1] < 500]


def text(read: Callable[[str], object]) -> Callable[[bytes], object]:
    return lambda data: read(data.decode(errors="replace"))


def encoded(*documents: Any) -> tuple[bytes, ...]:
    return tuple(msgspec.json.encode(document) for document in documents)
