"""What a node lacks is said in one sentence, and CPUs that are not shared are seen from the cgroups."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.agent import trees
from tests.agent.pods import from_containers
from volcano.agent import exclusive
from volcano.agent.cgroups import Hierarchy
from volcano.agent.requirements import lacking
from volcano.agent.usage import Meter
from volcano.agent.values import Version
from volcano.api.core.pods import Pod

EVERYTHING = ("CPUQoS", "CPUBurst", "CPUThrottle", "MemoryQoS", "MemoryQoSV2", "Resources", "Eviction")


@pytest.fixture(params=["v1", "v2"])
def hierarchy(request: pytest.FixtureRequest, tmp_path: Path) -> Hierarchy:
    version: Version = request.param
    found = Hierarchy(tmp_path, version, "cgroupfs")
    trees.make(tmp_path, found, found.pods_root(), found.besteffort())
    return found


def test_only_features_of_the_other_version_lack_something_on_a_full_kernel(hierarchy: Hierarchy) -> None:
    hierarchy.file(hierarchy.besteffort(), "cpu.idle").write_text("0")
    told = list(lacking(hierarchy, EVERYTHING))
    feature, instead = ("MemoryQoSV2", "MemoryQoS") if hierarchy.version == "v1" else ("MemoryQoS", "MemoryQoSV2")
    assert told == [f"{feature} has no effect on this node: it has cgroup {hierarchy.version}, enable {instead}"]


def test_a_kernel_without_a_file_is_told_by_its_name(hierarchy: Hierarchy) -> None:
    for name in ("cpu.qos_level", "cpu.cfs_burst_us", "cpu.max.burst"):
        hierarchy.file(hierarchy.besteffort(), name).unlink(missing_ok=True)
    folder = hierarchy.file(hierarchy.besteffort(), "cpu.x").parent
    burst = "cpu.cfs_burst_us" if hierarchy.version == "v1" else "cpu.max.burst"
    assert list(lacking(hierarchy, ("CPUQoS", "CPUBurst", "Resources"))) == [
        f"CPUBurst has no effect on this node: its kernel offers no {burst} in {folder}",
        f"CPUQoS has no effect on this node: its kernel offers no cpu.qos_level and no cpu.idle in {folder}",
    ]


def test_a_node_whose_pods_are_elsewhere_is_told_once(tmp_path: Path) -> None:
    [told] = lacking(Hierarchy(tmp_path, "v2", "cgroupfs", "wrong"), EVERYTHING)
    assert told == (
        f"no pods are in {tmp_path}/wrong/kubepods/besteffort: check SYS_FS_PATH, CGROUP_DRIVER and --kube-cgroup-root"
    )


# CPUs for one container alone


def guaranteed(cpu: str) -> Pod:
    amounts = {"cpu": cpu, "memory": "1Gi"}
    containers = [{"name": name, "resources": {"requests": amounts, "limits": amounts}} for name in ("a", "b")]
    pod = from_containers(containers, "online", "LC")
    pod.status.qos_class = "Guaranteed"
    return pod


def pin(hierarchy: Hierarchy, cgroup: str, cpus: str) -> None:
    path = hierarchy.file(cgroup, "cpuset.cpus")
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(f"{cpus}\n")


@pytest.mark.parametrize(("asked", "own", "wanted"), [("2", "2-3", 2000), ("2", "0-7", None), ("1500m", "2-3", None)])
def test_whole_cpus_of_a_container_of_its_own(hierarchy: Hierarchy, asked: str, own: str, wanted: int | None) -> None:
    pod = guaranteed(asked)
    cgroup = f"{hierarchy.pod(pod.metadata.uid, 'Guaranteed')}/a0123"
    pin(hierarchy, hierarchy.pods_root(), "0-7")
    pin(hierarchy, cgroup, own)
    found = exclusive.cpus([pod, from_containers([{"name": "c"}])], hierarchy)
    assert found == ({} if wanted is None else {cgroup: wanted})


def test_usage_of_own_cpus_is_not_usage_of_shared_ones(hierarchy: Hierarchy, tmp_path: Path) -> None:
    seconds = iter((0.0, 10.0))
    meter = Meter(hierarchy, lambda: next(seconds), stat=tmp_path, meminfo=tmp_path)
    trees.make(tmp_path, hierarchy, "kubepods/own")
    assert meter.measure(["kubepods/own"]) is None
    trees.use_cpu(tmp_path, hierarchy, "kubepods", 30_000_000_000)
    trees.use_cpu(tmp_path, hierarchy, "kubepods/own", 20_000_000_000)
    usage = meter.measure(["kubepods/own", "kubepods/gone"])
    assert usage is not None
    assert (usage.amount.cpu, usage.shared.cpu) == (3000, 1000)
