"""nodeorder and predicates on node objects: scores one by one, refusals with Kubernetes' words."""

from __future__ import annotations

from typing import Any

import msgspec
import pytest

from volcano.api.core import Affinity, Node, PodResourceClaim, Service, Taint, Toleration
from volcano.testing.builders import gang, node, pod
from volcano.testing.world import World

ZONE = "topology.kubernetes.io/zone"
WEIGHTS = (
    "leastrequested",
    "mostrequested",
    "balancedresource",
    "nodeaffinity",
    "imagelocality",
    "podaffinity",
    "tainttoleration",
    "podtopologyspread",
)


def only(**weights: int) -> str:
    """A configuration in which only these scores count."""
    arguments = ", ".join(f"{name}.weight: {weights.get(name, 0)}" for name in WEIGHTS)
    plugins = f"{{name: gang}}, {{name: predicates}}, {{name: nodeorder, arguments: {{{arguments}}}}}"
    return f'actions: "allocate"\ntiers:\n- plugins: [{plugins}]\n'


def scores(world: World) -> dict[str, float]:
    session = world.session()
    task = next(task for task in session.cluster.tasks.values() if not task.node_name)
    board = session.board(task.profile)
    total = board.scores(board.codes == 0)
    return {session.nodes.names[row]: float(score) for row, score in zip(session.rows, total, strict=True)}


def affinity(document: dict[str, Any]) -> Affinity:
    return msgspec.convert({"nodeAffinity": document}, Affinity)


def with_images(name: str, **sizes: int) -> Node:
    document = msgspec.to_builtins(node(name))
    document["status"]["images"] = [{"names": [f"{image}:latest"], "sizeBytes": size} for image, size in sizes.items()]
    return msgspec.convert(document, Node)


def test_resources() -> None:
    nodes = [node("small", cpu=2, memory="4Gi"), node("large", cpu=8, memory="16Gi")]
    members = [gang("a", cpu=1, memory="1Gi")]

    assert scores(World(nodes=nodes, jobs=members, conf=only(leastrequested=1))) == {"small": 62, "large": 90}
    assert scores(World(nodes=nodes, jobs=members, conf=only(mostrequested=1))) == {"small": 37, "large": 9}
    assert scores(World(nodes=nodes, jobs=members, conf=only(balancedresource=1))) == {"small": 68, "large": 73}


def test_preferred_node_affinity() -> None:
    wish = {"matchExpressions": [{"key": "speed", "operator": "Gt", "values": ["10"]}]}
    other = {"matchExpressions": [{"key": "disk", "operator": "In", "values": ["ssd"]}]}
    preferred = {
        "preferredDuringSchedulingIgnoredDuringExecution": [
            {"weight": 30, "preference": wish},
            {"weight": 10, "preference": other},
            {"weight": 50, "preference": {}},
        ]
    }
    world = World(
        nodes=[
            node("both", labels={"speed": "11", "disk": "ssd"}),
            node("disk", labels={"speed": "9", "disk": "ssd"}),
            node("none", labels={"speed": "fast"}),
        ],
        jobs=[gang("a", cpu=1, affinity=affinity(preferred))],
        conf=only(nodeaffinity=2),
    )

    assert scores(world) == {"both": 200, "disk": 50, "none": 0}


def test_taints_that_are_only_disliked() -> None:
    taints = [Taint(key=key, effect="PreferNoSchedule") for key in ("a", "b")]
    world = World(
        nodes=[node("none"), node("one", taints=taints[:1]), node("two", taints=taints)],
        jobs=[gang("a", cpu=1, tolerations=[Toleration(key="a", operator="Exists")])],
        conf=only(tainttoleration=1),
    )

    assert scores(world) == {"none": 100, "one": 100, "two": 0}


def test_images_that_are_there_already() -> None:
    world = World(
        nodes=[with_images("has", busybox=1000 << 20), with_images("partly", busybox=300 << 20), node("not")],
        jobs=[gang("a", cpu=1)],
        conf=only(imagelocality=1),
    )

    assert scores(world) == {"has": 65, "partly": 18, "not": 0}


def test_pods_of_a_service_are_spread_without_being_asked() -> None:
    running = [
        pod(f"web-x-{i}", group="web", cpu=1, labels={"app": "web"}, node=on) for i, on in enumerate(["a1", "a1", "b1"])
    ]
    waiting = pod("web-x-9", group="web", cpu=1, labels={"app": "web"})
    world = World(
        nodes=[node(name, labels={ZONE: name[0]}) for name in ("a1", "a2", "b1", "c1")],
        jobs=[gang("web", pods=[*running, waiting], min_available=1)],
        conf=only(podtopologyspread=1),
    )
    assert set(scores(world).values()) == {0}
    service = {"metadata": {"name": "web", "namespace": "default"}, "spec": {"selector": {"app": "web"}}}

    world.add("services", msgspec.convert(service, Service))

    found = scores(world)
    assert found["c1"] == 100
    assert found["c1"] > found["b1"] > found["a1"]
    assert found["c1"] > found["a2"] > found["a1"]


@pytest.mark.parametrize(
    ("refusing", "text"),
    [
        (node("n", unschedulable=True), "1 node(s) were unschedulable"),
        (node("n", taints=[Taint(key="k", effect="NoExecute")]), "1 node(s) had untolerated taint(s)"),
        (node("n", labels={"disk": "hdd"}), "1 node(s) didn't match Pod's node affinity/selector"),
    ],
)
def test_refusals_have_kubernetes_words(refusing: Node, text: str) -> None:
    selector = {"disk": "ssd"} if "affinity" in text else {}
    world = World(nodes=[refusing], jobs=[gang("a", cpu=1, node_selector=selector)], conf=only())

    decisions = world.cycle()

    assert decisions.binds == {}
    assert decisions.pods[0].message == f"0/1 nodes are unavailable: {text}."


def test_a_pod_whose_resource_claim_is_missing_waits_and_is_told_so() -> None:
    claiming = pod("a-w-0", group="a", cpu=1)
    claiming.spec.resource_claims = [PodResourceClaim(name="gpu", resource_claim_name="gpu")]
    world = World(nodes=[node("n")], jobs=[gang("a", pods=[claiming])], conf=only())

    decisions = world.cycle()

    assert decisions.binds == {}
    assert 'resourceclaim "gpu" not found' in decisions.pods[0].message


def test_each_toleration_opens_its_taint_only() -> None:
    tainted = node("n", taints=[Taint(key="k", value="v", effect="NoSchedule")])
    for toleration, fits in (
        (Toleration(key="k", operator="Exists"), True),
        (Toleration(operator="Exists"), True),
        (Toleration(key="k", value="v"), True),
        (Toleration(key="k", value="w"), False),
        (Toleration(key="k", operator="Exists", effect="NoExecute"), False),
    ):
        world = World(nodes=[tainted], jobs=[gang("a", cpu=1, tolerations=[toleration])], conf=only())
        assert bool(world.cycle().binds) is fits, toleration
