"""Limits as cgroup files, and finding a place for them (a folder stands in for the kernel's file system)."""

from __future__ import annotations

from pathlib import Path

from tests.local.node.pods import container, pod
from volcano.local.node.cgroups import claim, limits_of


def test_limits_and_requests_become_files() -> None:
    resources = {"limits": {"memory": "64Mi", "cpu": "1500m"}, "requests": {"cpu": "500m"}}

    assert limits_of(container("true", resources=resources)) == {
        "memory.max": "67108864",
        "memory.oom.group": "1",
        "cpu.max": "150000 100000",
        "cpu.weight": "50",
    }
    assert limits_of(container("true")) == {}


def test_a_place_needs_a_memory_controller(tmp_path: Path) -> None:
    (tmp_path / "cgroup.procs").touch()
    assert claim(tmp_path, "volcano") is None

    root = tmp_path / "volcano"
    root.mkdir()
    (root / "cgroup.controllers").write_text("cpu memory\n")
    found = claim(tmp_path, "volcano")
    assert found is not None
    document = pod()
    folders = {"main": found.folders(document, "main")}
    found.create(document, folders, {"main": {"memory.max": "5"}})

    assert folders == {"main": [str(root / "u1" / "main")]}
    assert (root / "u1" / "main" / "memory.max").read_text() == "5"


def test_a_folder_that_is_not_ours_is_left_alone(tmp_path: Path) -> None:
    assert claim(tmp_path / "missing", "volcano") is None
