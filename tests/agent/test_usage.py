"""Usage of the whole node, where it is asked for, and of a node whose pods have no cgroups yet."""

from __future__ import annotations

from pathlib import Path

from tests.agent import trees
from volcano.agent.cgroups import Hierarchy
from volcano.agent.qos import Amount
from volcano.agent.usage import Meter, node_memory, node_nanoseconds

STAT = "cpu  100 20 30 4000 500 6 7 8 90 10\ncpu0 1 2 3 4\n"
MEMINFO = "MemTotal:       2000 kB\nMemFree:         100 kB\nMemAvailable:    1500 kB\n"


def test_time_of_the_node_is_neither_idle_nor_waiting_and_guests_count_once() -> None:
    assert node_nanoseconds(STAT) == (100 + 20 + 30 + 6 + 7 + 8) * 10_000_000


def test_memory_of_the_node_is_what_is_not_available() -> None:
    assert node_memory(MEMINFO) == 500 * 1024


def test_system_usage_goes_before_that_of_pods(tmp_path: Path) -> None:
    hierarchy = Hierarchy(tmp_path / "cgroup", "v2", "cgroupfs")
    (tmp_path / "cgroup").mkdir()
    trees.make(tmp_path / "cgroup", hierarchy, "kubepods")
    stat, meminfo = tmp_path / "stat", tmp_path / "meminfo"
    stat.write_text(STAT)
    meminfo.write_text(MEMINFO)
    seconds = iter((0.0, 10.0))
    meter = Meter(hierarchy, lambda: next(seconds), stat=stat, meminfo=meminfo, system=True)
    assert meter.measure() is None
    stat.write_text("cpu  2100 20 30 9000 500 6 7 8 90 10\n")
    trees.use_cpu(tmp_path / "cgroup", hierarchy, "kubepods", 5_000_000_000)
    usage = meter.measure()
    assert usage is not None
    assert (usage.amount, usage.pods_cpu) == (Amount(2000, 500 * 1024), 500)


def test_a_node_without_pods_is_not_measured(tmp_path: Path) -> None:
    meter = Meter(Hierarchy(tmp_path, "v1", "cgroupfs"), lambda: 0.0, stat=tmp_path, meminfo=tmp_path)
    assert meter.measure() is None
