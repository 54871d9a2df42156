"""How tests wait for what another task or process brings about: they look again until it is there.

Bounds are generous, for they cost time only where a test fails, and machines are slow at times.
"""

from __future__ import annotations

import asyncio
import inspect
import time
from collections.abc import Awaitable, Callable
from typing import TypeVar, overload

from volcano.kube.errors import NotFound
from volcano.local.probe import Unreachable

T = TypeVar("T")

SECONDS = 60.0
PAUSE_SECONDS = 0.02
NOT_YET = (LookupError, NotFound, Unreachable)
"""What looking raises at an object that is not filled in yet or not there, and at a server that is restarting."""


def eventually(what: str, look: Callable[[], T], seconds: float = SECONDS, pause: float = PAUSE_SECONDS) -> T:
    """What `look` returns once it is true; `what` is said when that takes longer than `seconds`."""
    deadline = time.monotonic() + seconds
    while True:
        found: object = None
        why: Exception | None = None
        try:
            if found := look():
                return found
        except NOT_YET as error:
            why = error
        if time.monotonic() > deadline:
            raise AssertionError(f"waited {seconds:.0f} s for {what}; last seen: {why or found!r}") from why
        time.sleep(pause)


@overload
async def until(look: Callable[[], Awaitable[T | None]], seconds: float = SECONDS) -> T: ...
@overload
async def until(look: Callable[[], T | None], seconds: float = SECONDS) -> T: ...
async def until(look: Callable[[], object], seconds: float = SECONDS) -> object:
    """What `look` returns, or what it returns comes to, once that is true."""
    found: object = None
    why: Exception | None = None
    try:
        async with asyncio.timeout(seconds) as bound:
            while True:
                try:
                    looked = look()
                    found, why = await looked if inspect.isawaitable(looked) else looked, None
                except NOT_YET as error:
                    why = error
                else:
                    if found:
                        return found
                await asyncio.sleep(PAUSE_SECONDS / 2)
    except TimeoutError:
        if not bound.expired():
            raise
    raise AssertionError(f"waited {seconds:.0f} s in vain; last seen: {why or found!r}") from why
