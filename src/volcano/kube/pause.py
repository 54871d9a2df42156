"""Waiting, for code that runs both on an event loop and, in commands that ask once, without one."""

from __future__ import annotations

import sys
import time


async def pause(seconds: float) -> None:
    """Sleep: beside other tasks where there is a loop, and by itself where there is none."""
    asyncio = sys.modules.get("asyncio")
    if asyncio is not None and asyncio._get_running_loop() is not None:
        await asyncio.sleep(seconds)
    else:
        time.sleep(seconds)  # noqa: ASYNC251 - nobody else would run meanwhile
