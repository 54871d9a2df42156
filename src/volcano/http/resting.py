"""In a rush, let what arrives gather: fewer and larger turns of the event loop.

Used by the daemons that watch the API server. Every watch event and every answer wakes the loop, and on a machine with
room to run it at once that costs as much as what is done about it. A rest of milliseconds between turns halves the
processor time per pod; where nobody is in a hurry nothing rests.
"""

from __future__ import annotations

import asyncio
import resource
import time
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, suppress
from typing import Final

LOOK_SECONDS: Final = 0.1
"""How often the loop is looked at."""
WAKEUPS_PER_SECOND: Final = 300.0
"""So often a loop wakes up in a rush."""
TURN_SECONDS: Final = 0.012
"""So seldom turns begin in a rush: shorter than the answers of a busy server take, and 64 requests fit into each."""
CALM_SHARE: Final = 0.05
CALM_LOOKS: Final = 10
"""So long a loop has to be calm for once before it ever rests: what a daemon does as it starts is to be over soon."""
OVER_SHARE: Final = 0.02
OVER_LOOKS: Final = 5
"""With so little of a processor for so long, the rush is over. Scheduling cycles come and go within it."""


@asynccontextmanager
async def resting_in_a_rush() -> AsyncIterator[None]:
    """Within the context this thread's event loop rests between turns while it has very many of them.

    Only where the system counts what a thread waits for (Linux).
    """
    if not hasattr(resource, "RUSAGE_THREAD"):
        yield
        return
    task = asyncio.create_task(_rest_in_a_rush(), name="rest")
    try:
        yield
    finally:
        task.cancel()
        with suppress(asyncio.CancelledError):
            await task


async def _rest_in_a_rush() -> None:
    await _first_calm()
    before = _wakeups()
    while True:
        await asyncio.sleep(LOOK_SECONDS)
        now = _wakeups()
        if now - before >= WAKEUPS_PER_SECOND * LOOK_SECONDS:
            await _rest_until_calm()
            now = _wakeups()
        before = now


async def _first_calm() -> None:
    calm = 0
    while calm < CALM_LOOKS:
        used = time.thread_time()
        await asyncio.sleep(LOOK_SECONDS)
        calm = calm + 1 if time.thread_time() - used < CALM_SHARE * LOOK_SECONDS else 0


async def _rest_until_calm() -> None:
    """Sleep after short turns, on purpose without giving the loop away: sockets fill meanwhile."""
    calm = 0
    while calm < OVER_LOOKS:
        used, began = time.thread_time(), time.monotonic()
        until = began + LOOK_SECONDS
        while began < until:
            rest = began + TURN_SECONDS - time.monotonic()
            if rest > 0:
                time.sleep(rest)  # noqa: ASYNC251 - nothing else is to run
            began = time.monotonic()
            await asyncio.sleep(0)
        calm = calm + 1 if time.thread_time() - used < OVER_SHARE * LOOK_SECONDS else 0


def _wakeups() -> int:
    """How often this thread has waited so far."""
    return resource.getrusage(resource.RUSAGE_THREAD).ru_nvcsw
