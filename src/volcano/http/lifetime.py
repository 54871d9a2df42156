"""How a daemon lives: event loop and log, signals that end it, open files, a collector that leaves caches alone.

Used by the daemons' main functions.
"""

from __future__ import annotations

import asyncio
import gc
import os
import resource
import signal
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager

LOG_FORMAT = "%(asctime)s %(levelname)s %(name)s: %(message)s"
COLLECTOR_THRESHOLDS = (50_000, 20, 100)
SETTLE_SECONDS = 60.0
SIGNALS = (signal.SIGTERM, signal.SIGINT, signal.SIGHUP)


def loop_factory() -> Callable[[], asyncio.AbstractEventLoop] | None:
    """uvloop's where it is installed; None stands for asyncio's own."""
    try:
        from uvloop import new_event_loop
    except ImportError:
        return None
    return new_event_loop


@contextmanager
def stop_on_signals() -> Iterator[asyncio.Event]:
    """An event that is set by SIGTERM, SIGINT or SIGHUP while the context lasts. Signals that are ignored stay so."""
    loop = asyncio.get_running_loop()
    stop = asyncio.Event()

    def received(number: int) -> None:
        if stop.is_set():
            os._exit(128 + number)
        stop.set()

    handled = [number for number in SIGNALS if signal.getsignal(number) != signal.SIG_IGN]  # nohup ignores SIGHUP
    for number in handled:
        loop.add_signal_handler(number, received, number)
    try:
        yield stop
    finally:
        for number in handled:
            loop.remove_signal_handler(number)


async def until_stopped(stop: asyncio.Event, *work: asyncio.Task[None]) -> None:
    """Wait for `stop`, or for one of the daemon's tasks to fail, whose exception is raised; then cancel the others."""
    waiting = asyncio.create_task(stop.wait())
    try:
        done, _ = await asyncio.wait([waiting, *work], return_when=asyncio.FIRST_COMPLETED)
    finally:
        for task in (waiting, *work):
            task.cancel()
        await asyncio.gather(waiting, *work, return_exceptions=True)
    for task in done:
        if task is not waiting:
            task.result()


def settle_collector() -> None:
    """Let the garbage collector forget about what exists now.

    Caches of API objects hold no cycles, yet a full collection walks them all: a third of a second for 50,000 pods.
    Reference counting still frees what leaves a cache. Worth calling once the informers have synced.
    """
    gc.set_threshold(*COLLECTOR_THRESHOLDS)
    gc.collect(1)
    gc.freeze()


@contextmanager
def collector_at_rest() -> Iterator[None]:
    """No collections while caches fill, for what fills them is no garbage; then the collector is settled."""
    gc.disable()
    try:
        yield
    finally:
        gc.enable()
        settle_collector()


async def keep_collector_settled() -> None:
    """Settle the collector now and every minute, until cancelled."""
    while True:
        settle_collector()
        await asyncio.sleep(SETTLE_SECONDS)


def descriptors(wanted: int = 0) -> int:
    """How many files this process may open, raised towards `wanted` as far as the system lets it."""
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    if 0 <= soft < wanted:
        soft = wanted if hard < 0 else min(wanted, hard)
        resource.setrlimit(resource.RLIMIT_NOFILE, (soft, hard))
    return soft if soft >= 0 else sys.maxsize
