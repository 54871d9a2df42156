"""How a daemon ends, and what it reports about its own process."""

from __future__ import annotations

import asyncio
import gc
import os
import signal

import pytest

from tests.http.conftest import Run
from volcano.http.lifetime import settle_collector, stop_on_signals, until_stopped
from volcano.http.process import process_metrics


def test_a_signal_stops_the_work(run: Run) -> None:
    ended = asyncio.Event()

    async def work() -> None:
        try:
            await asyncio.Event().wait()
        finally:
            ended.set()

    async def main() -> None:
        with stop_on_signals() as stop:
            task = asyncio.create_task(work())
            asyncio.get_running_loop().call_later(0.02, os.kill, os.getpid(), signal.SIGTERM)
            await asyncio.wait_for(until_stopped(stop, task), 60)
        assert ended.is_set()

    run(main())


def test_a_signal_that_is_ignored_stays_ignored(run: Run) -> None:
    async def main() -> None:
        with stop_on_signals() as stop:
            os.kill(os.getpid(), signal.SIGHUP)
            await asyncio.sleep(0.05)
            assert not stop.is_set()

    before = signal.signal(signal.SIGHUP, signal.SIG_IGN)
    try:
        run(main())
    finally:
        signal.signal(signal.SIGHUP, before)


def test_a_failing_task_ends_the_daemon_with_its_error(run: Run) -> None:
    async def fails() -> None:
        await asyncio.sleep(0.01)
        raise ZeroDivisionError

    async def main() -> None:
        other = asyncio.create_task(asyncio.sleep(60))
        with pytest.raises(ZeroDivisionError):
            await until_stopped(asyncio.Event(), asyncio.create_task(fails()), other)
        assert other.cancelled()

    run(main())


def test_the_process_reports_itself() -> None:
    lines = dict(line.split() for line in process_metrics().render().decode().splitlines() if not line.startswith("#"))
    assert float(lines["process_cpu_seconds_total"]) > 0
    assert 1_000_000 < float(lines["process_resident_memory_bytes"]) < 100_000_000_000
    assert float(lines["process_open_fds"]) > 2


def test_a_settled_collector_leaves_caches_alone() -> None:
    thresholds = gc.get_threshold()
    kept = [{"number": number} for number in range(1000)]
    try:
        settle_collector()
        assert gc.get_freeze_count() >= len(kept)
    finally:
        gc.unfreeze()
        gc.set_threshold(*thresholds)
