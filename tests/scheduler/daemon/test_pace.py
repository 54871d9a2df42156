"""The daemon's pace: binds leave while others are being placed, and nothing is written while nothing changes."""

from __future__ import annotations

import asyncio
from pathlib import Path
from typing import Any

from tests.scheduler.daemon.bench import Bench, bench, eventually
from volcano.testing.builders import gang

SLOW = '''
import time

from volcano.scheduler.framework.plugin import Plugin


class Slow(Plugin):
    """Thinks for a while about every pod of the second gang."""

    name = "slow"

    def allocated(self, tasks):
        if tasks[0].job.name == "second":
            time.sleep(0.5)

    def deallocated(self, tasks):
        pass
'''

CONF = """
actions: "enqueue, allocate"
tiers:
- plugins:
  - name: gang
  - name: predicates
  - name: slow
"""


def requests_of(b: Bench) -> list[tuple[str, str, bool]]:
    """Method, path and whether the engine was at work, of every request from now on."""
    seen: list[tuple[str, str, bool]] = []
    transport: Any = b.client.transport
    send = transport.request

    async def request(method: str, path: str, **options: Any) -> Any:
        seen.append((method, path, b.scheduler.is_deciding))
        return await send(method, path, **options)

    transport.request = request
    return seen


def test_binds_leave_while_another_gang_is_being_placed(tmp_path: Path) -> None:
    (tmp_path / "slow.py").write_text(SLOW)
    (tmp_path / "conf.yaml").write_text(CONF)

    async def scenario() -> None:
        async with bench(plugins_dir=str(tmp_path), scheduler_conf=str(tmp_path / "conf.yaml")) as b:
            seen = requests_of(b)
            b.scheduler.leading = False  # both gangs are there when it decides next
            await b.submit(gang("first", pods=2, cpu=1, created=1))
            await b.submit(gang("second", pods=1, cpu=1, created=2))
            b.scheduler.leading = True
            await eventually(lambda: all_bound(b, "first-worker-0", "first-worker-1", "second-worker-0"))

            during = [path.split("/")[-2] for _, path, deciding in seen if path.endswith("/binding") and deciding]
            assert during[:2] == ["first-worker-0", "first-worker-1"]

    asyncio.run(scenario())


async def all_bound(b: Bench, *names: str) -> bool:
    return all([(await b.pod(name)).spec.node_name for name in names])


def test_nothing_is_written_while_nothing_changes() -> None:
    async def scenario() -> None:
        async with bench(schedule_period=0.02) as b:
            await b.submit(gang("train", pods=2, cpu=1))
            await b.submit(gang("waits", pods=1, cpu=99))
            await eventually(lambda: all_bound(b, "train-worker-0", "train-worker-1"))
            await asyncio.sleep(1.5)  # what there was to tell has been told

            seen = requests_of(b)
            await asyncio.sleep(0.5)

            assert [(method, path) for method, path, _ in seen if method != "GET"] == []

    asyncio.run(scenario())
