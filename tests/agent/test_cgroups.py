"""The cgroups of pods, on recorded trees of both versions and on this machine's own."""

from __future__ import annotations

import os
import uuid
from pathlib import Path

import pytest

from tests.agent import trees
from volcano.agent.cgroups import CgroupError, Driver, Hierarchy, driver_of, version_of
from volcano.agent.values import Version, throttle

UID = "11-22"


@pytest.mark.parametrize(
    ("driver", "root", "qos", "wanted"),
    [
        ("cgroupfs", "", "BestEffort", "kubepods/besteffort/pod11-22"),
        ("cgroupfs", "/kubelet", "Guaranteed", "kubelet/kubepods/pod11-22"),
        (
            "systemd",
            "",
            "Burstable",
            "kubepods.slice/kubepods-burstable.slice/kubepods-burstable-pod11_22.slice",
        ),
        ("systemd", "", "Guaranteed", "kubepods.slice/kubepods-pod11_22.slice"),
    ],
)
def test_names(driver: Driver, root: str, qos: str, wanted: str) -> None:
    assert Hierarchy(Path(), "v2", driver, root).pod(UID, qos) == wanted


@pytest.mark.parametrize(
    ("driver", "identity", "wanted"),
    [
        ("systemd", "containerd://ab", "cri-containerd-ab.scope"),
        ("systemd", "cri-o://ab", "crio-ab.scope"),
        ("systemd", "docker://ab", "docker-ab.scope"),
        ("systemd", "other://ab", "ab"),
        ("cgroupfs", "containerd://ab", "ab"),
        ("cgroupfs", "process://uid/main/3", "main"),
    ],
)
def test_names_of_containers(driver: Driver, identity: str, wanted: str) -> None:
    assert Hierarchy(Path(), "v1", driver).container("p", identity) == f"p/{wanted}"


@pytest.mark.parametrize("version", ["v1", "v2"])
@pytest.mark.parametrize("driver", ["systemd", "cgroupfs"])
def test_a_recorded_tree_is_recognised_written_and_restored(tmp_path: Path, version: Version, driver: Driver) -> None:
    hierarchy = Hierarchy(tmp_path, version, driver)
    pod = hierarchy.pod(UID, "BestEffort")
    trees.make(tmp_path, hierarchy, hierarchy.pods_root(), hierarchy.besteffort(), pod, f"{pod}/c")
    assert (version_of(tmp_path), driver_of(tmp_path, version)) == (version, driver)
    before = trees.contents(tmp_path)

    hierarchy.write(hierarchy.besteffort(), throttle(1500, version))
    hierarchy.write(hierarchy.besteffort(), throttle(500, version))
    hierarchy.write_tree(pod, {"cpu.qos_level": "-1"})

    quota = "cpu/{}/cpu.cfs_quota_us" if version == "v1" else "{}/cpu.max"
    now = trees.contents(tmp_path)
    assert now[quota.format(hierarchy.besteffort())].split()[0] == "50000"
    if version == "v1":
        assert now[f"cpu/{pod}/cpu.qos_level"] == now[f"cpu/{pod}/c/cpu.qos_level"] == "-1"
    assert hierarchy.restore() == []
    assert trees.contents(tmp_path) == before


def test_writes_only_what_differs(tmp_path: Path) -> None:
    hierarchy = Hierarchy(tmp_path, "v2", "cgroupfs")
    trees.make(tmp_path, hierarchy, "kubepods")
    path = hierarchy.file("kubepods", "cpu.max")
    os.utime(path, (1, 1))
    hierarchy.write("kubepods", throttle(None, "v2"))
    assert path.stat().st_mtime == 1


def test_a_missing_file_is_none_of_its_business(tmp_path: Path) -> None:
    hierarchy = Hierarchy(tmp_path, "v1", "cgroupfs")
    hierarchy.write("kubepods", {"cpu.qos_level": "-1"})
    hierarchy.write_tree("kubepods", {"cpu.qos_level": "-1"})
    assert trees.contents(tmp_path) == {}
    assert hierarchy.cpu_nanoseconds("kubepods") is None
    assert hierarchy.memory_bytes("kubepods") is None


def test_a_file_that_cannot_be_read_is_named(tmp_path: Path) -> None:
    hierarchy = Hierarchy(tmp_path, "v2", "cgroupfs")
    path = hierarchy.file("kubepods", "cpu.max")
    path.mkdir(parents=True)
    with pytest.raises(CgroupError, match=rf"{path}: cannot read: Is a directory"):
        hierarchy.write("kubepods", throttle(1000, "v2"))


def test_what_a_pod_that_ended_had_is_forgotten(tmp_path: Path) -> None:
    hierarchy = Hierarchy(tmp_path, "v2", "cgroupfs")
    trees.make(tmp_path, hierarchy, "kubepods/a", "kubepods/b")
    for cgroup in ("kubepods/a", "kubepods/b"):
        hierarchy.write(cgroup, throttle(1000, "v2"))
    hierarchy.forget("kubepods/a")
    assert hierarchy.restore() == []
    assert hierarchy.read("kubepods/a", "cpu.max") == "100000 100000"
    assert hierarchy.read("kubepods/b", "cpu.max") == "max 100000"


@pytest.mark.parametrize(("version", "memory"), [("v1", 260), ("v2", 380)])
def test_usage(tmp_path: Path, version: Version, memory: int) -> None:
    hierarchy = Hierarchy(tmp_path, version, "cgroupfs")
    trees.make(tmp_path, hierarchy, "kubepods")
    trees.use_cpu(tmp_path, hierarchy, "kubepods", 5_000_000)
    assert hierarchy.cpu_nanoseconds("kubepods") == 5_000_000
    assert hierarchy.memory_bytes("kubepods") == memory


def test_on_the_cgroups_of_this_machine() -> None:
    mount = Path("/sys/fs/cgroup")
    version = version_of(mount)
    hierarchy = Hierarchy(mount, version, "cgroupfs", f"volcano-test-{uuid.uuid4().hex[:8]}")
    root = hierarchy.file(hierarchy.pods_root(), "cpu.stat").parent
    try:
        root.mkdir(parents=True)
    except OSError as problem:
        pytest.skip(f"no cgroups can be made here: {problem}")
    try:
        [name] = throttle(None, version)
        before = hierarchy.read(hierarchy.pods_root(), name)
        if before is None:
            pytest.skip(f"{root} has no {name}: the CPU controller is not given to it")
        hierarchy.write(hierarchy.pods_root(), throttle(500, version))
        written = hierarchy.read(hierarchy.pods_root(), name)
        assert written is not None
        assert written.split()[0] == "50000"
        with pytest.raises(CgroupError, match=f"{name}: cannot write '1': Invalid argument"):
            hierarchy.write(hierarchy.pods_root(), {name: "1"})
        assert hierarchy.restore() == []
        assert hierarchy.read(hierarchy.pods_root(), name) == before
    finally:
        root.rmdir()
        root.parent.rmdir()
