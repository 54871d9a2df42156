"""Random clusters for property tests: nodes, queues in a tree, gangs of all sorts, some of them running already."""

from __future__ import annotations

import re
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Final

import msgspec
from hypothesis import strategies as st

from volcano.api import keys
from volcano.api.batch import NetworkTopologySpec
from volcano.api.core import Affinity, Pod, TopologySpreadConstraint
from volcano.api.meta import LabelSelector, ObjectMeta
from volcano.api.scheduling import Queue
from volcano.api.topology import ExactMatch, HyperNode, HyperNodeSpec, MemberSelector, MemberSpec
from volcano.scheduler.framework import conf as conf_file, registry as registries
from volcano.scheduler.framework.conf import Conf
from volcano.testing.builders import Gang, gang, node, pod, priority_class, queue
from volcano.testing.world import World

GPU: Final = "example.com/gpu"

_CHART: Final = conf_file.DEFAULT_CONF.replace("nodeorder", "nodeorder\n  - name: binpack").replace(
    "- name: gang", "- name: gang\n    enablePreemptable: false"
)
_EVICTING: Final = """
actions: "enqueue, allocate, backfill, {actions}"
tiers:
- plugins:
  - name: priority
  - name: gang
  - name: conformance
- plugins:
  - name: {shares}
  - name: predicates
  - name: network-topology-aware
  - name: nodeorder
"""
_EQUALS: Final = """
actions: "enqueue, allocate, backfill, preempt, reclaim"
tiers:
- plugins:
  - name: drf
  - name: priority
    enableJobOrder: false
    enablePreemptable: false
  - name: gang
    enableJobStarving: false
  - name: conformance{first}
- plugins:{second}
  - name: predicates
  - name: nodeorder
"""
"""Complete jobs claim, too, and nothing but their shares tells them apart."""
_CAPACITY: Final = "\n  - name: capacity"
_TREE: Final = "\n    enableHierarchy: true"
_LEVELS: Final = f"{_TREE}\n    arguments:\n      ancestorReclaimLevel: 2"
CONFS: Final = {
    "default": conf_file.DEFAULT_CONF,
    "chart": _CHART,
    "chart-evicting": _CHART.replace("backfill", "backfill, preempt, reclaim"),
    "proportion": _EVICTING.format(actions="preempt, reclaim", shares="proportion"),
    "drf": _EVICTING.format(actions="preempt", shares="drf"),
    "drf-tree": _EVICTING.format(actions="preempt, reclaim", shares=f"drf{_TREE}"),
    "capacity": _EVICTING.format(actions="reclaim, preempt", shares="capacity"),
    "capacity-tree": _EVICTING.format(actions="preempt, reclaim", shares=f"capacity{_TREE}"),
    "capacity-levels": _EVICTING.format(actions="reclaim, preempt", shares=f"capacity{_LEVELS}"),
    "gang-eviction": _EVICTING.format(actions="gangpreempt, gangreclaim", shares="capacity"),
    "gang-eviction-tree": _EVICTING.format(actions="gangreclaim, gangpreempt", shares=f"capacity{_TREE}"),
    "no-enqueue": _EVICTING.format(actions="preempt, reclaim", shares="capacity").replace("enqueue, ", ""),
    "elastic": _EVICTING.format(actions="preempt, reclaim", shares="capacity").replace(
        "- name: gang", "- name: gang\n    enableJobStarving: false"
    ),
    "elastic-shares": _EQUALS.format(first=_CAPACITY, second=""),
    "elastic-shares-below": _EQUALS.format(first="", second=_CAPACITY),
    "cheapest-node": _EVICTING.format(actions="preempt, reclaim", shares="proportion")
    + "configurations:\n- name: preempt\n  arguments:\n    enableTopologyAwarePreemption: true\n",
}
"""The configurations that come with the product, and one for each way of sharing and evicting."""

_DOCS: Final = Path(__file__).parents[3] / "docs"
_BLOCK: Final = re.compile(r"^```yaml\n(actions:.*?)^```$", re.DOTALL | re.MULTILINE)
_ASKS_OTHERS: Final = "- name: extender"


def _of_pages() -> dict[str, str]:
    """Every configuration of the documentation, but for those that need a server to ask."""
    found: dict[str, str] = {}
    for page in sorted(_DOCS.rglob("*.md")):
        for number, block in enumerate(_BLOCK.findall(page.read_text())):
            if "tiers:" in block and _ASKS_OTHERS not in block:
                found[f"{page.relative_to(_DOCS).with_suffix('')}{f'-{number}' if number else ''}"] = block
    return found


PAGES: Final = _of_pages()
"""By page."""

TREE: Final = {"a": "", "b": "", "a1": "a", "a2": "a"}
LEAVES: Final = ("a1", "a2", "b")


@dataclass(frozen=True)
class NodeDraw:
    cpu: int
    gpu: int = 0
    pods: int = 6
    zone: str = "x"


@dataclass(frozen=True)
class JobDraw:
    pods: int
    minimum: int
    cpu: int
    gpu: int = 0
    queue: str = "b"
    rank: str = "low"
    phase: str = "Inqueue"
    placed: tuple[int, ...] = ()
    """Nodes on which its first pods run already, as far as there is room."""
    says_resources: bool = False
    preemptable: bool = True
    shape: str = "plain"
    """plain, apart (anti-affinity among themselves), spread (over zones), close (one hypernode)."""


@dataclass(frozen=True)
class QueueDraw:
    deserved: int = 0
    deserved_gpu: int = 0
    capability: int = 0
    """CPUs; 0: no limit."""
    guarantee: int = 0
    weight: int = 1
    priority: int = 0
    reclaimable: bool = True


@dataclass(frozen=True)
class Draw:
    nodes: tuple[NodeDraw, ...]
    jobs: tuple[JobDraw, ...]
    queues: tuple[QueueDraw, ...]
    """Those of the tree, in its order."""
    seed: int = 0


NODES = st.builds(
    NodeDraw, cpu=st.integers(0, 8), gpu=st.integers(0, 2), pods=st.integers(1, 6), zone=st.sampled_from("xyz")
)
JOBS = st.builds(
    JobDraw,
    pods=st.integers(1, 6),
    minimum=st.integers(0, 6),
    cpu=st.integers(0, 4),
    gpu=st.sampled_from((0, 0, 0, 1)),
    queue=st.sampled_from(LEAVES),
    rank=st.sampled_from(("high", "low")),
    phase=st.sampled_from(("Inqueue", "Pending", "Running")),
    placed=st.lists(st.integers(0, 5), max_size=6).map(tuple),
    says_resources=st.booleans(),
    preemptable=st.sampled_from((True, True, True, False)),
    shape=st.sampled_from(("plain", "plain", "plain", "apart", "spread", "close")),
)
QUEUES = st.builds(
    QueueDraw,
    deserved=st.integers(0, 8),
    deserved_gpu=st.sampled_from((0, 0, 1, 2)),
    capability=st.sampled_from((0, 0, 4, 8, 12)),
    guarantee=st.sampled_from((0, 0, 0, 1, 3)),
    weight=st.integers(1, 3),
    priority=st.sampled_from((0, 0, 5)),
    reclaimable=st.sampled_from((True, True, True, False)),
)
WORLDS = st.builds(
    Draw,
    nodes=st.lists(NODES, min_size=1, max_size=6).map(tuple),
    jobs=st.lists(JOBS, min_size=1, max_size=7).map(tuple),
    queues=st.tuples(*[QUEUES] * len(TREE)),
    seed=st.integers(0, 3),
)


@cache
def _parsed(conf: str) -> Conf:
    return conf_file.parse({**CONFS, **PAGES}[conf], registries.built_in().actions)


def build(draw: Draw, conf: str) -> World:
    free = [[one.cpu, one.gpu, one.pods] for one in draw.nodes]
    made = World(
        nodes=[
            node(f"n{i}", cpu=one.cpu, pods=one.pods, labels={"zone": one.zone}, **{GPU: one.gpu})  # type: ignore[arg-type]
            for i, one in enumerate(draw.nodes)
        ],
        queues=[
            queue("root"),
            *(_queue(name, one) for name, one in zip(TREE, draw.queues, strict=True)),
        ],
        priority_classes=[priority_class("high", 100), priority_class("low", 1)],
        jobs=[_job(number, one, free) for number, one in enumerate(draw.jobs)],
        conf=_parsed(conf),
        seed=draw.seed,
    )
    made.add("hypernodes", *_hypernodes(len(draw.nodes)))
    return made


def _queue(name: str, draw: QueueDraw) -> Queue:
    path = ["root", *([TREE[name]] if TREE[name] else []), name]
    weights = ["1"] * (len(path) - 1) + [str(draw.weight)]
    return queue(
        name,
        parent=TREE[name] or "root",
        deserved={"cpu": draw.deserved, GPU: draw.deserved_gpu} if draw.deserved_gpu else {"cpu": draw.deserved},
        capability={"cpu": draw.capability} if draw.capability else None,
        guarantee={"cpu": draw.guarantee} if draw.guarantee else None,
        weight=draw.weight,
        priority=draw.priority,
        reclaimable=draw.reclaimable,
        annotations={keys.HIERARCHY: "/".join(path), keys.HIERARCHY_WEIGHTS: "/".join(weights)},
    )


def _hypernodes(nodes: int) -> list[HyperNode]:
    """Racks of two nodes."""
    return [
        HyperNode(
            metadata=ObjectMeta(name=f"rack{first // 2}"),
            spec=HyperNodeSpec(
                tier=1,
                members=[
                    MemberSpec(type="Node", selector=MemberSelector(exact_match=ExactMatch(name=f"n{index}")))
                    for index in range(first, min(first + 2, nodes))
                ],
            ),
        )
        for first in range(0, nodes, 2)
    ]


def _job(number: int, draw: JobDraw, free: list[list[int]]) -> Gang:
    name = f"g{number}"
    on: list[str] = []
    for index in draw.placed[: draw.pods]:
        room = free[index % len(free)]
        if room[0] >= draw.cpu and room[1] >= draw.gpu and room[2] >= 1:
            room[:] = [room[0] - draw.cpu, room[1] - draw.gpu, room[2] - 1]
            on.append(f"n{index % len(free)}")
    homes = [*on, *[""] * (draw.pods - len(on))]
    notes = None if draw.preemptable else {keys.PREEMPTABLE: "false"}
    pods = [
        _shaped(
            pod(
                f"{name}-{index}",
                group=name,
                cpu=draw.cpu or None,
                resources={GPU: draw.gpu} if draw.gpu else None,
                node=home,
                priority=100 if draw.rank == "high" else 1,
                labels={"job": name},
                annotations=notes,
            ),
            draw.shape,
            name,
        )
        for index, home in enumerate(homes)
    ]
    made = gang(
        name,
        pods=pods,
        min_available=min(draw.minimum, draw.pods),
        queue=draw.queue,
        priority_class=draw.rank,
        phase=draw.phase,
        created=number,
        min_resources={"cpu": draw.cpu * draw.pods} if draw.says_resources else None,
    )
    if draw.shape == "close":
        made.pod_group.spec.network_topology = NetworkTopologySpec(mode="hard", highest_tier_allowed=1)
    return made


def _shaped(made: Pod, shape: str, name: str) -> Pod:
    mine = LabelSelector(match_labels={"job": name})
    match shape:
        case "apart":
            term = {"labelSelector": {"matchLabels": {"job": name}}, "topologyKey": "zone"}
            terms = {"podAntiAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": [term]}}
            spec = msgspec.structs.replace(made.spec, affinity=msgspec.convert(terms, Affinity))
        case "spread":
            rule = TopologySpreadConstraint(
                max_skew=1, topology_key="zone", when_unsatisfiable="DoNotSchedule", label_selector=mine
            )
            spec = msgspec.structs.replace(made.spec, topology_spread_constraints=[rule])
        case _:
            return made
    return msgspec.structs.replace(made, spec=spec)
