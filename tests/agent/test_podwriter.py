"""What one pod's cgroups say after the agent wrote them, feature by feature, on recorded trees of both versions."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from tests.agent import trees
from tests.agent.pods import from_containers, pod
from volcano.agent import podwriter
from volcano.agent.cgroups import Hierarchy
from volcano.agent.qos import BatchNames
from volcano.agent.values import Version
from volcano.api import keys
from volcano.api.core.pods import Pod

NAMES = BatchNames()
BURST = {keys.QUOTA_BURST: "true"}


@pytest.fixture(params=["v1", "v2"])
def hierarchy(request: pytest.FixtureRequest, tmp_path: Path) -> Hierarchy:
    version: Version = request.param
    return Hierarchy(tmp_path, version, "cgroupfs")


def prepared(hierarchy: Hierarchy, tmp_path: Path, document: Pod) -> str:
    """The pod's cgroup, with one for each container."""
    cgroup = hierarchy.pod(document.metadata.uid, document.status.qos_class)
    containers = [hierarchy.container(cgroup, one.container_id) for one in document.status.container_statuses]
    trees.make(tmp_path, hierarchy, cgroup, *containers)
    return cgroup


def two(qos: str = "BE", **more: Any) -> Pod:
    return from_containers([{"name": "a"}, {"name": "b"}], "two", qos, **more)


@pytest.mark.parametrize(("qos", "cpu", "memory"), [("LC", "2", "0"), ("LS", "1", "0"), ("BE", "-1", "-1")])
def test_levels_go_to_the_whole_tree(hierarchy: Hierarchy, tmp_path: Path, qos: str, cpu: str, memory: str) -> None:
    document = two(qos)
    cgroup = prepared(hierarchy, tmp_path, document)
    for place in (cgroup, f"{cgroup}/a0123", f"{cgroup}/b0123"):
        hierarchy.file(place, "cpu.qos_level").write_text("0")
    podwriter.write(document, hierarchy, NAMES, {"CPUQoS", "MemoryQoS"})
    for place in (cgroup, f"{cgroup}/a0123", f"{cgroup}/b0123"):
        assert hierarchy.read(place, "cpu.qos_level") == cpu
        assert hierarchy.read(place, "memory.qos_level") == (memory if hierarchy.version == "v1" else None)


def test_an_idle_pod_has_no_share_until_it_is_promoted(hierarchy: Hierarchy, tmp_path: Path) -> None:
    document = pod(cpu="2000")
    cgroup = prepared(hierarchy, tmp_path, document)
    share = "cpu.shares" if hierarchy.version == "v1" else "cpu.weight"
    hierarchy.file(cgroup, "cpu.qos_level").unlink(missing_ok=True)
    hierarchy.file(cgroup, "cpu.idle").write_text("0")
    podwriter.write(document, hierarchy, NAMES, {"CPUQoS", "Resources"})
    assert hierarchy.read(cgroup, "cpu.idle") == "1"
    assert hierarchy.read(cgroup, share) == trees.SHARES[hierarchy.version]
    assert hierarchy.read(f"{cgroup}/c0123", share) in ("2048", "79")

    document.metadata.annotations[keys.QOS_LEVEL] = "LS"
    podwriter.write(document, hierarchy, NAMES, {"CPUQoS", "Resources"})
    assert hierarchy.read(cgroup, "cpu.idle") == "0"
    assert hierarchy.read(cgroup, share) in ("2048", "79")


@pytest.mark.parametrize(
    ("quotas", "annotations", "wanted"),
    [
        (("50000", "20000", "70000"), BURST, ("50000", "20000", "70000")),
        (("50000", "20000", "70000"), {**BURST, keys.QUOTA_BURST_TIME: "30000"}, ("30000", "20000", "50000")),
        (("50000", "none", "none"), BURST, ("50000", "0", "0")),
        (("50000", "20000", "70000"), {}, ("0", "0", "0")),
    ],
)
def test_bursts_of_containers_and_their_sum(
    hierarchy: Hierarchy, tmp_path: Path, quotas: tuple[str, ...], annotations: dict[str, str], wanted: tuple[str, ...]
) -> None:
    document = two("LC", annotations=annotations)
    cgroup = prepared(hierarchy, tmp_path, document)
    v1 = hierarchy.version == "v1"
    limit, burst = ("cpu.cfs_quota_us", "cpu.cfs_burst_us") if v1 else ("cpu.max", "cpu.max.burst")
    places = (f"{cgroup}/a0123", f"{cgroup}/b0123", cgroup)
    for place, quota in zip(places, quotas, strict=True):
        unlimited = "-1" if v1 else "max 100000"
        text = unlimited if quota == "none" else quota if v1 else f"{quota} 100000"
        hierarchy.file(place, limit).write_text(text)
    podwriter.write(document, hierarchy, NAMES, {"CPUBurst"})
    assert tuple(hierarchy.read(place, burst) for place in places) == wanted


def test_memory_is_protected_by_the_annotation_with_v2(tmp_path: Path) -> None:
    hierarchy = Hierarchy(tmp_path, "v2", "cgroupfs")
    document = pod(annotations={keys.COLOCATION_CONFIG: '{"memoryQos":{"highRatio":50,"lowRatio":25,"minRatio":0}}'})
    cgroup = prepared(hierarchy, tmp_path, document)
    podwriter.write(document, hierarchy, NAMES, {"MemoryQoSV2"})
    found = [hierarchy.read(f"{cgroup}/c0123", f"memory.{name}") for name in ("high", "low", "min")]
    assert found == [str(1 << 29), str(1 << 28), "0"]

    before = trees.contents(tmp_path)
    del document.metadata.annotations[keys.COLOCATION_CONFIG]
    podwriter.write(document, hierarchy, NAMES, {"MemoryQoSV2"})
    assert trees.contents(tmp_path) == before


def test_online_pods_have_no_limits_from_batch_resources(hierarchy: Hierarchy, tmp_path: Path) -> None:
    document = pod(qos="LC")
    prepared(hierarchy, tmp_path, document)
    before = trees.contents(tmp_path)
    podwriter.write(document, hierarchy, NAMES, {"Resources"})
    assert trees.contents(tmp_path) == before


def test_containers_without_a_cgroup_yet_are_left_for_the_next_round(hierarchy: Hierarchy, tmp_path: Path) -> None:
    document = pod(cpu="700")
    cgroup = prepared(hierarchy, tmp_path, document)
    document.status.container_statuses.clear()
    podwriter.write(document, hierarchy, NAMES, {"Resources", "CPUQoS", "CPUBurst"})
    limit = hierarchy.read(cgroup, "cpu.cfs_quota_us" if hierarchy.version == "v1" else "cpu.max")
    assert (limit or "").split()[0] == "70000"


def test_what_an_agent_left_that_died_with_its_keeper_is_cleared(hierarchy: Hierarchy, tmp_path: Path) -> None:
    document = from_containers([{"name": "a", "resources": {"requests": {"cpu": "2"}}}], "left")
    cgroup = prepared(hierarchy, tmp_path, document)
    before = trees.contents(tmp_path)
    for place in (cgroup, f"{cgroup}/a0123"):
        hierarchy.file(place, "cpu.qos_level").write_text("-1")
    hierarchy.file(cgroup, "cpu.idle").write_text("1")
    podwriter.clear(document, hierarchy)
    now = trees.contents(tmp_path)
    changed = {Path(name).name: text for name, text in now.items() if before.get(name) != text}
    share = {"cpu.shares": "2048"} if hierarchy.version == "v1" else {"cpu.weight": "79"}
    levels = {} if hierarchy.version == "v1" else {"cpu.qos_level": "0"}  # which the recorded tree of v1 has
    assert changed == {"cpu.idle": "0", **share, **levels}
    podwriter.clear(document, hierarchy)
    assert trees.contents(tmp_path) == now
