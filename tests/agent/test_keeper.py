"""What happens on a node when the agent dies, however it dies."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest
from hypothesis import given, settings, strategies as st

from tests.agent import trees
from tests.waiting import eventually
from volcano.agent.cgroups import Hierarchy
from volcano.agent.keeper import Keeper, NodeTaken, Undo, keep, undo_all

AGENT = """
import sys, time
from pathlib import Path
from volcano.agent.keeper import Keeper
keeper = Keeper(sys.argv[1])
quota, mark = Path(sys.argv[1]) / "cpu.max", Path(sys.argv[1]) / "mark"
keeper.note_file(quota, "max 100000")
quota.write_text("1000 100000")
keeper.remember("network", {"command": [sys.executable, "-c", f"open({str(mark)!r}, 'w')"]})
print(keeper.pid, flush=True)
time.sleep(60)
"""


@contextmanager
def agent(folder: Path) -> Iterator[tuple[subprocess.Popen[str], int]]:
    """An agent that has throttled something, and the process of its keeper."""
    (folder / "cpu.max").write_text("max 100000")
    process = subprocess.Popen([sys.executable, "-c", AGENT, str(folder)], stdout=subprocess.PIPE, text=True)
    try:
        assert process.stdout is not None
        yield process, int(process.stdout.readline())
        process.stdout.close()
    finally:
        process.kill()
        process.wait()


def test_a_killed_agent_leaves_nothing_throttled(tmp_path: Path) -> None:
    with agent(tmp_path) as (process, keeper):
        assert (tmp_path / "cpu.max").read_text() == "1000 100000"
        os.kill(keeper, signal.SIGTERM)  # as a service manager does to all processes of a service
        process.kill()
        eventually("the quota to go", lambda: (tmp_path / "cpu.max").read_text() == "max 100000")
        eventually("the command to run", (tmp_path / "mark").exists)


def test_the_next_agent_waits_until_all_is_undone(tmp_path: Path) -> None:
    with agent(tmp_path) as (process, _):
        with pytest.raises(NodeTaken, match=rf"another agent has the cgroups {tmp_path}: stop it first"):
            Keeper(str(tmp_path), wait_seconds=0.1)
        process.kill()
        Keeper(str(tmp_path)).close()
        assert (tmp_path / "mark").exists()


def test_a_keeper_that_was_killed_is_replaced_and_knows_everything(tmp_path: Path) -> None:
    quota, weight = tmp_path / "cpu.max", tmp_path / "cpu.weight"
    for path in (quota, weight):
        path.write_text("throttled")
    keeper = Keeper(str(tmp_path))
    keeper.note_file(quota, "max")
    first = keeper.pid
    kill(first)
    keeper.note_file(weight, "1")
    second = keeper.pid
    kill(second)
    keeper.revive()
    assert len({first, second, keeper.pid}) == 3
    keeper.close()
    assert (quota.read_text(), weight.read_text()) == ("max", "1")


def kill(pid: int) -> None:
    os.kill(pid, signal.SIGKILL)
    os.waitid(os.P_PID, pid, os.WEXITED | os.WNOWAIT)


def test_what_was_undone_already_stays_as_it_is(tmp_path: Path) -> None:
    quota = tmp_path / "cpu.max"
    quota.write_text("set by hand")
    keeper = Keeper(str(tmp_path))
    keeper.note_file(quota, "max")
    keeper.note_file(tmp_path / "gone", "max")
    keeper.note_file(quota, None)
    keeper.close()
    assert quota.read_text() == "set by hand"
    assert not (tmp_path / "gone").exists()


WRITES = st.lists(
    st.tuples(
        st.sampled_from(["kubepods", "kubepods/a", "kubepods/a/c"]),
        st.sampled_from(["cpu.max", "cpu.weight", "memory.high", "cpu.qos_level"]),
        st.sampled_from(["1", "2", "max", "0"]),
    )
)


@settings(max_examples=30)
@given(WRITES, st.sets(st.integers(0, 20)), st.booleans())
def test_whatever_was_written_and_restored_in_between_the_keeper_ends_where_it_began(
    writes: list[tuple[str, str, str]], restores: set[int], dies: bool
) -> None:
    with tempfile.TemporaryDirectory() as folder:
        lines: list[bytes] = []

        def noted(path: Path, text: str | None) -> None:
            undo = None if text is None else {"file": str(path), "text": text}
            lines.append(json.dumps([str(path), undo]).encode() + b"\n")

        hierarchy = Hierarchy(Path(folder), "v2", "cgroupfs", noted=noted)
        trees.make(Path(folder), hierarchy, "kubepods", "kubepods/a", "kubepods/a/c")
        before = trees.contents(Path(folder))
        for index, (cgroup, name, value) in enumerate(writes):
            hierarchy.write(cgroup, {name: value})
            if index in restores:
                hierarchy.restore(cgroup)
        if dies:
            undo_all(keep(lines))
        else:
            assert hierarchy.restore() == []
            assert keep(lines) == []
        assert trees.contents(Path(folder)) == before


def test_what_cannot_be_undone_is_told_and_the_rest_is(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = tmp_path / "cpu.max"
    path.write_text("1")
    folder: Undo = {"file": str(tmp_path), "text": "a"}
    undo_all([folder, {"command": ["no-such-command"]}, {"file": str(path), "text": "max"}])
    assert path.read_text() == "max"
    told = capsys.readouterr().err.splitlines()
    assert len(told) == 2
    assert all(line.startswith("vc-agent has died, and its keeper cannot undo {") for line in told)


def test_the_newest_change_is_undone_first_and_half_a_line_never() -> None:
    lines = [
        b'["a", {"file": "a", "text": "1"}]\n',
        b'["b", {"file": "b", "text": "2"}]\n',
        b'["a", null]\n',
        b'["c", {"file": "c", "text": "3"}]\n',
        b'["d", {"file"',
    ]
    assert [undo["file"] for undo in keep(lines)] == ["c", "b"]
