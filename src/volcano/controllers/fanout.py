"""Many small writes at once, but never too many in flight; stops early when all of them are refused."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Sequence
from typing import TypeVar

from volcano.controllers.runtime import Waits
from volcano.kube.errors import ApiError

T = TypeVar("T")

IN_FLIGHT = 64
"""Enough to keep a server busy, few enough to leave it responsive to others."""
TOLERATED_FAILURES = 16


async def each(
    items: Sequence[T], action: Callable[[T], Awaitable[None]], turns: asyncio.Semaphore | None = None
) -> list[Exception]:
    """Do `action` for every item; returns what was refused. After too many refusals the rest is left for later.

    Callers that share `turns` share what is in flight: more connections make no server faster.
    """
    remaining = iter(items)
    turns = turns or asyncio.Semaphore(IN_FLIGHT)
    failures: list[Exception] = []

    async def work() -> None:
        for item in remaining:
            if len(failures) >= TOLERATED_FAILURES:
                return
            try:
                async with turns:
                    await action(item)
            except (ApiError, OSError, TimeoutError, Waits) as error:
                failures.append(error)

    async with asyncio.TaskGroup() as group:
        for _ in range(min(IN_FLIGHT, len(items))):
            group.create_task(work())
    return failures
