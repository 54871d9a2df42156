"""Cgroups of pods as the kubelet lays them out: folders stand in for the file systems of both versions."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.local.node.pods import container, pod
from volcano.local.node.kubepods import Kubepods

LIMITS = {"main": {"cpu.max": "50000 100000", "cpu.weight": "20", "memory.max": "5", "memory.oom.group": "1"}}
DOCUMENT = pod(container("true", resources={"requests": {"cpu": "200m"}})) | {"status": {"qosClass": "Burstable"}}


def test_a_folder_for_each_controller_of_v1(tmp_path: Path) -> None:
    for controller in ("cpu", "memory", "cpuset"):
        (tmp_path / controller).mkdir()
    (tmp_path / "cpuset" / "cpuset.cpus").write_text("0-1")
    (tmp_path / "cpuacct").symlink_to("cpu")
    cgroups = Kubepods("here", tmp_path)
    folders = cgroups.folders(DOCUMENT, "main")
    below = "here/kubepods/burstable/podu1/main"
    assert folders == [str(tmp_path / controller / below) for controller in ("cpu", "cpuset", "memory")]

    cgroups.create(DOCUMENT, {"main": folders}, {})
    for controller, name in (("cpu", "cpu.cfs_quota_us"), ("cpu", "cpu.shares"), ("memory", "memory.limit_in_bytes")):
        (tmp_path / controller / below / name).touch()  # as the kernel does
    (tmp_path / "cpu" / below).with_name("cpu.shares").touch()
    cgroups.create(DOCUMENT, {"main": folders}, LIMITS)

    assert (tmp_path / "cpu" / below / "cpu.cfs_quota_us").read_text() == "50000"
    assert (tmp_path / "cpu" / below / "cpu.shares").read_text() == "204"
    assert (tmp_path / "cpu" / below).with_name("cpu.shares").read_text() == "204"
    assert (tmp_path / "memory" / below / "memory.limit_in_bytes").read_text() == "5"
    assert (tmp_path / "cpuset" / below / "cpuset.cpus").read_text() == "0-1"


def test_one_folder_with_v2_to_which_controllers_are_passed_on(tmp_path: Path) -> None:
    (tmp_path / "cgroup.controllers").write_text("cpu\n")
    cgroups = Kubepods("", tmp_path)
    [folder] = cgroups.folders(DOCUMENT, "main")
    assert folder == str(tmp_path / "kubepods/burstable/podu1/main")
    assert (tmp_path / "cgroup.subtree_control").read_text() == "+cpu"
    cgroups.create(DOCUMENT, {"main": [folder]}, {})
    cgroups.remove("u1")
    assert not (tmp_path / "kubepods/burstable/podu1").exists()


def test_a_machine_without_controllers_says_so(tmp_path: Path) -> None:
    with pytest.raises(FileNotFoundError, match=f"{tmp_path} has none of the controllers cpu, cpuacct"):
        Kubepods("here", tmp_path)
