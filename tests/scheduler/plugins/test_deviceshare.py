"""deviceshare: which cards pods get, that nobody else gets them, and that undoing gives them back."""

from __future__ import annotations

import json
from typing import Any

import pytest

from volcano.api import keys
from volcano.api.core import ConfigMap, Node, Pod
from volcano.api.meta import ObjectMeta
from volcano.scheduler.framework.decisions import NodeLock
from volcano.scheduler.plugins.deviceshare.ledger import DeviceLedger
from volcano.testing.builders import gang, node, pod
from volcano.testing.world import World

CONF = """
actions: "allocate"
tiers:
- plugins:
  - name: gang
  - name: predicates
  - name: deviceshare
    arguments: {%s}
"""
GPU_MEMORY = CONF % "deviceshare.GPUSharingEnable: true"
GPU_NUMBER = CONF % "deviceshare.GPUNumberEnable: true"
VGPU = CONF % (
    "deviceshare.VGPUEnable: true, deviceshare.SchedulePolicy: binpack, deviceshare.ScheduleWeight: 10, "
    "deviceshare.GPUExclusiveRules: [{app: training}]"
)
HAMI = CONF % "deviceshare.AscendHAMiVNPUEnable: true"


def gpu_node(name: str, annotations: dict[str, str] | None = None, *, cards: int = 2, memory: int = 1000) -> Node:
    offer = {keys.GPU_MEMORY: cards * memory, keys.GPU_NUMBER: cards}
    return _with(node(name), offer, annotations or {})


def vgpu_node(name: str, *, cards: int = 2, memory: int = 16000, sharers: int = 4) -> Node:
    register = ":".join(f"GPU-{name}-{i},{sharers},{memory},NVIDIA-A100,true,hami-core" for i in range(cards))
    offer = {keys.VGPU_NUMBER: cards * sharers, keys.VGPU_MEMORY: cards * memory, keys.VGPU_CORES: cards * 100}
    return _with(node(name), offer, {keys.VGPU_REGISTER: register})


def npu_node(name: str, chips: int = 2) -> Node:
    register = [
        {"id": f"npu-{i}", "index": i, "count": 7, "devmem": 21527, "devcore": 8, "type": "Ascend310P", "health": True}
        for i in range(chips)
    ]
    annotations = {"hami.io/node-register-Ascend310P": json.dumps(register)}
    return _with(node(name), {"huawei.com/Ascend310P": 7 * chips}, annotations)


def _with(found: Node, offer: dict[str, Any], annotations: dict[str, str]) -> Node:
    found.status.allocatable.update(offer)
    found.status.capacity.update(offer)
    found.metadata.annotations.update(annotations)
    return found


def user(
    name: str,
    limits: dict[str, Any],
    *,
    labels: dict[str, str] | None = None,
    annotations: dict[str, str] | None = None,
) -> Pod:
    found = pod(name, group="g", cpu=1)
    found.spec.containers[0].resources.limits.update(limits)
    found.spec.containers[0].resources.requests.update(limits)
    found.metadata.labels.update(labels or {})
    found.metadata.annotations.update(annotations or {})
    return found


def cycle(world: World) -> dict[str, dict[str, str]]:
    """The annotations that come with each bind."""
    return {bind.name: dict(bind.annotations) for bind in world.cycle().committed}


def test_pods_share_a_card_until_its_memory_is_taken() -> None:
    pods = [user(f"p{i}", {keys.GPU_MEMORY: 600}) for i in range(3)]
    world = World(nodes=[gpu_node("n")], jobs=[gang("g", pods=pods, min_available=1)], conf=GPU_MEMORY)

    found = cycle(world)

    assert sorted(annotations[keys.GPU_INDEX] for annotations in found.values()) == ["0", "1"]


def test_whole_cards_skip_the_unhealthy_one() -> None:
    broken = gpu_node("n", {keys.GPU_UNHEALTHY_IDS: "1"}, cards=3)
    world = World(nodes=[broken], jobs=[gang("g", pods=[user("p", {keys.GPU_NUMBER: 2})])], conf=GPU_NUMBER)

    assert cycle(world)["p"][keys.GPU_INDEX] == "0,2"


def test_vgpu_pods_are_packed_and_annotated() -> None:
    limits = {keys.VGPU_NUMBER: 1, keys.VGPU_MEMORY: 4000, keys.VGPU_CORES: 25}
    pods = [user(f"p{i}", limits) for i in range(3)]
    world = World(nodes=[vgpu_node("n1"), vgpu_node("n2")], jobs=[gang("g", pods=pods)], conf=VGPU, now=100.0)

    found = cycle(world)

    assert len({annotations[keys.VGPU_IDS] for annotations in found.values()}) == 1
    annotations = found["p0"]
    assert annotations[keys.VGPU_IDS] == annotations[keys.DEVICES_TO_ALLOCATE]
    assert annotations[keys.VGPU_IDS].endswith(",NVIDIA-A100,4000,25:")
    assert annotations[keys.DEVICE_BIND_PHASE] == "allocating"
    assert annotations[keys.VGPU_TIME] == "100"


def test_pods_under_one_exclusive_rule_never_share_a_card() -> None:
    limits = {keys.VGPU_NUMBER: 1, keys.VGPU_MEMORY: 1000}
    pods = [user(f"p{i}", limits, labels={"app": "training"}) for i in range(3)]
    world = World(nodes=[vgpu_node("n")], jobs=[gang("g", pods=pods, min_available=1)], conf=VGPU)

    found = cycle(world)

    assert len({annotations[keys.VGPU_IDS] for annotations in found.values()}) == len(found) == 2


def test_what_running_pods_hold_is_taken() -> None:
    running = user("old", {keys.GPU_MEMORY: 900}, annotations={keys.GPU_INDEX: "0"})
    running.spec.node_name, running.status.phase = "n", "Running"
    waiting = user("p", {keys.GPU_MEMORY: 600})
    world = World(nodes=[gpu_node("n")], jobs=[gang("g", pods=[waiting])], pods=[running], conf=GPU_MEMORY)

    assert cycle(world)["p"][keys.GPU_INDEX] == "1"


def test_a_grant_counts_until_the_pod_shows_it() -> None:
    world = World(nodes=[gpu_node("n", cards=1)], conf=GPU_MEMORY)
    world.add_gang(gang("g", pods=[user("p0", {keys.GPU_MEMORY: 600})]))
    assert cycle(world)["p0"][keys.GPU_INDEX] == "0"

    late = user("late", {keys.GPU_MEMORY: 600})
    late.metadata.annotations[keys.GROUP_NAME] = "h"
    world.add_gang(gang("h", pods=[late]))

    assert cycle(world) == {}


def test_a_gang_that_does_not_fit_gives_its_cards_back() -> None:
    pods = [user(f"p{i}", {keys.GPU_MEMORY: 600}) for i in range(3)]
    world = World(nodes=[gpu_node("n")], jobs=[gang("g", pods=pods)], conf=GPU_MEMORY)

    assert cycle(world) == {}

    assert world.cluster.index(DeviceLedger).at(0)["GpuShare"].idle() == {0: 1000, 1: 1000}  # type: ignore[attr-defined]
    assert world.cluster.index(DeviceLedger).grants == {}


def test_ascend_chips_are_cut_by_template_and_their_memory_is_not_a_node_resource() -> None:
    pods = [user("p", {"huawei.com/Ascend310P": 1, "huawei.com/Ascend310P-memory": 4000})]
    world = World(nodes=[npu_node("n")], jobs=[gang("g", pods=pods)], conf=HAMI)

    annotations = cycle(world)["p"]

    assert annotations["hami.io/Ascend310P-devices-allocated"] == "npu-0,Ascend310P,6144,0:;"
    assert json.loads(annotations["huawei.com/Ascend310P"]) == [{"UUID": "npu-0", "temp": "vir02"}]


def test_a_node_without_devices_says_so() -> None:
    bare = _with(node("n"), {keys.GPU_MEMORY: 1000}, {})
    world = World(nodes=[bare], jobs=[gang("g", pods=[user("p", {keys.GPU_MEMORY: 600})])], conf=GPU_MEMORY)

    decisions = world.cycle()

    assert decisions.binds == {}
    assert "no GpuShare devices" in str(decisions.reasons["default/g"])


def test_migs_of_the_device_configuration_are_given_away() -> None:
    text = """
nvidia:
  knownMigGeometries:
  - models: [A30]
    allowedGeometries:
    - {group: g1, instances: [{name: 1g.6gb, memory: 6144, count: 4}]}
"""
    mig_node = vgpu_node("n")
    mig_node.metadata.annotations[keys.VGPU_REGISTER] = "GPU-0,10,24576,NVIDIA-A30,true,mig"
    pods = [user(f"p{i}", {keys.VGPU_NUMBER: 1, keys.VGPU_MEMORY: 6000}) for i in range(2)]
    world = World(nodes=[mig_node], conf=VGPU)
    meta = ObjectMeta(namespace="kube-system", name="volcano-vgpu-device-config")
    world.add("configmaps", ConfigMap(metadata=meta, data={"device-config.yaml": text}))
    world.add_gang(gang("g", pods=pods))

    found = {annotations[keys.VGPU_IDS] for annotations in cycle(world).values()}

    assert found == {"GPU-0[g1-0],NVIDIA-A30,6144,0:", "GPU-0[g1-1],NVIDIA-A30,6144,0:"}


def test_a_key_that_the_device_configuration_has_twice_is_told() -> None:
    world = World(nodes=[vgpu_node("n")], conf=VGPU)
    meta = ObjectMeta(namespace="kube-system", name="volcano-vgpu-device-config")
    world.add("configmaps", ConfigMap(metadata=meta, data={"device-config.yaml": "nvidia: 1\n\nnvidia: {}\n"}))

    assert world.cycle().warnings == [
        "deviceshare: ConfigMap kube-system/volcano-vgpu-device-config, device-config.yaml: "
        "line 3: the key 'nvidia' is on line 1 already; the last one counts"
    ]


@pytest.mark.parametrize("other", ["deviceshare.VGPUEnable", "deviceshare.GPUNumberEnable"])
def test_families_that_exclude_each_other_are_named(other: str) -> None:
    world = World(conf=CONF % f"deviceshare.GPUSharingEnable: true, {other}: true")

    assert any(other in warning for warning in world.cycle().warnings)


def test_nodes_are_locked_where_that_is_wanted() -> None:
    conf = CONF % "deviceshare.GPUSharingEnable: true, deviceshare.NodeLockEnable: true"
    world = World(nodes=[gpu_node("n")], jobs=[gang("g", pods=[user("p", {keys.GPU_MEMORY: 600})])], conf=conf)

    assert world.cycle().committed[0].claims == (NodeLock("n", "gpu"),)
