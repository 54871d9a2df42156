"""Worlds that stress the engine, each with the time that one cycle may take and the size at which that is said.

engine.py measures them; every world can be built with fewer nodes or pods, to see how costs grow.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, Final

from benchmarks.worlds import floors
from volcano.api import keys
from volcano.api.batch import NetworkTopologySpec
from volcano.api.core import Affinity, PodAffinity, PodAffinityTerm, TopologySpreadConstraint
from volcano.api.meta import LabelSelector, ObjectMeta
from volcano.api.topology import ExactMatch, HyperNode, HyperNodeSpec, MemberSelector, MemberSpec
from volcano.testing.builders import Amount, Gang, gang, node, priority_class, queue
from volcano.testing.world import World

Floor = Callable[[int, int], float]


@dataclass(frozen=True, slots=True)
class Scenario:
    build: Callable[[str, int, int], World]
    """The world for a configuration, so many nodes and so many pods (that wait or, where none does, run)."""
    nodes: int
    pods: int
    limit_seconds: float
    """For one cycle at this size."""
    floor: Floor | None = None
    """Seconds of a bare NumPy loop with the same number of placements among so many nodes."""


def gangs(conf: str, nodes: int, pods: int) -> World:
    """Gangs of 500 pods (500m, 1Gi) on nodes of 32 CPUs."""
    jobs = [gang(f"g{i}", pods=500, cpu="500m", memory="1Gi", created=i) for i in range(pods // 500)]
    return World(nodes=_nodes(nodes), jobs=jobs, conf=conf)


def singles(conf: str, nodes: int, pods: int) -> World:
    """Jobs of one pod each, of 200 different requests."""
    jobs = [gang(f"g{i}", cpu=f"{100 + i % 200}m", memory="1Gi", created=i) for i in range(pods)]
    return World(nodes=_nodes(nodes), jobs=jobs, conf=conf)


def queues(_conf: str, nodes: int, pods: int) -> World:
    """Jobs of one pod each, not admitted yet, in the leaves of a tree of 1,000 queues: root, 9, 90, 900."""
    names = [("root", "")]
    names += [(f"q{i}", "root") for i in range(9)]
    names += [(f"q{i}-{j}", f"q{i}") for i in range(9) for j in range(10)]
    leaves = [(f"q{i}-{j}-{k}", f"q{i}-{j}") for i in range(9) for j in range(10) for k in range(10)]
    share: dict[str, Amount] = {"cpu": nodes * 32 // len(leaves), "memory": f"{nodes * 128 // len(leaves)}Gi"}
    tree = [queue(name, parent=parent) for name, parent in names]
    tree += [queue(name, parent=parent, deserved=share) for name, parent in leaves]
    jobs = [
        gang(
            f"g{i}",
            cpu="500m",
            memory="1Gi",
            min_resources={"cpu": "500m", "memory": "1Gi"},
            queue=leaves[i % len(leaves)][0],
            phase="Pending",
            created=i,
        )
        for i in range(pods)
    ]
    return World(nodes=_nodes(nodes), queues=tree, jobs=jobs, conf=HIERARCHY)


def apart(conf: str, nodes: int, pods: int) -> World:
    """Gangs of 100 pods, no two of a gang on one node: required inter-pod anti-affinity."""
    return _companies(conf, nodes, pods, size=100, spec=_apart)


def spread(conf: str, nodes: int, pods: int) -> World:
    """Gangs of 250 pods that must be spread evenly over ten zones."""
    return _companies(conf, nodes, pods, size=250, spec=_spread)


def topology(conf: str, nodes: int, pods: int) -> World:
    """Gangs of 256 that must stay within one row of 16 racks of 64 nodes: three tiers of domains."""
    world = World(nodes=_nodes(nodes, cpu=8), conf=conf + "  - name: network-topology-aware\n")
    racks = [[f"n{i}" for i in range(first, first + 64)] for first in range(0, nodes, 64)]
    rows = [[f"rack-{i}" for i in range(first, first + 16)] for first in range(0, len(racks), 16)]
    world.add("hypernodes", *(_domain(f"rack-{i}", 1, members, "Node") for i, members in enumerate(racks)))
    world.add("hypernodes", *(_domain(f"row-{i}", 2, members, "HyperNode") for i, members in enumerate(rows)))
    world.add("hypernodes", _domain("hall", 3, [f"row-{i}" for i in range(len(rows))], "HyperNode"))
    for number in range(pods // 256):
        job = gang(f"g{number}", pods=256, cpu=1, memory="1Gi", created=number, min_resources={"cpu": 256})
        job.pod_group.spec.network_topology = NetworkTopologySpec(mode="hard", highest_tier_allowed=2)
        world.add_gang(job)
    return world


def idle(conf: str, nodes: int, pods: int) -> World:
    """Everything runs, in jobs of 100, and nothing waits."""
    world = World(nodes=_nodes(nodes), conf=conf)
    for number in range(pods // 100):
        on = [f"n{(number * 100 + i) % nodes}" for i in range(100)]
        world.add_gang(gang(f"g{number}", pods=100, cpu="500m", memory="1Gi", nodes=on, phase="Running"))
    world.cycle()
    return world


def newcomer(conf: str, nodes: int, pods: int) -> World:
    """The same, and then one pod comes."""
    world = idle(conf, nodes, pods)
    world.add_gang(gang("newcomer", cpu="500m", memory="1Gi"))
    return world


def preempt(_conf: str, nodes: int, pods: int) -> World:
    """Full nodes, and a gang of 500 that is more important than who runs there."""
    return _full(EVICTING.format(action="preempt", quota="conformance"), nodes, pods, claimant_queue="a")


def reclaim(_conf: str, nodes: int, pods: int) -> World:
    """The same where another queue claims its share."""
    return _full(EVICTING.format(action="reclaim", quota="capacity"), nodes, pods, claimant_queue="b")


EVICTING: Final = """
actions: "enqueue, allocate, {action}"
tiers:
- plugins:
  - name: priority
  - name: gang
    enableJobStarving: false
  - name: {quota}
- plugins:
  - name: predicates
  - name: nodeorder
"""

HIERARCHY: Final = """
actions: "enqueue, allocate, backfill"
tiers:
- plugins:
  - name: priority
  - name: gang
  - name: conformance
- plugins:
  - name: drf
  - name: predicates
  - name: capacity
    enableHierarchy: true
  - name: nodeorder
"""

ZONES: Final = 10

SCENARIOS: Final[dict[str, Scenario]] = {
    "gangs": Scenario(gangs, 5000, 10_000, 0.6, floors.placing),
    "singles": Scenario(singles, 5000, 10_000, 3.0, floors.placing),
    "queues": Scenario(queues, 5000, 5000, 1.5, floors.placing),
    "apart": Scenario(apart, 5000, 2000, 3.0, floors.placing_apart),
    "spread": Scenario(spread, 5000, 5000, 3.0, floors.placing_evenly),
    "topology": Scenario(topology, 8192, 5120, 2.0, floors.placing),
    "idle": Scenario(idle, 5000, 100_000, 0.005),
    "newcomer": Scenario(newcomer, 5000, 100_000, 0.010, floors.placing_one),
    "preempt": Scenario(preempt, 1000, 20_000, 1.0, floors.making_room),
    "reclaim": Scenario(reclaim, 1000, 20_000, 1.0, floors.making_room),
}


def _companies(conf: str, nodes: int, pods: int, *, size: int, spec: Callable[[Gang, str], None]) -> World:
    """Gangs of `size` pods labelled `app: NAME`, on nodes of ten zones."""
    labelled = [node(f"n{i}", cpu=32, memory="128Gi", labels={keys.ZONE: f"z{i % ZONES}"}) for i in range(nodes)]
    jobs = []
    for number in range(pods // size):
        name = f"g{number}"
        job = gang(name, pods=size, cpu="500m", memory="1Gi", created=number, labels={"app": name})
        spec(job, name)
        jobs.append(job)
    return World(nodes=labelled, jobs=jobs, conf=conf)


def _apart(job: Gang, app: str) -> None:
    term = PodAffinityTerm(topology_key=keys.HOSTNAME, label_selector=LabelSelector(match_labels={"app": app}))
    affinity = Affinity(pod_anti_affinity=PodAffinity(required_during_scheduling_ignored_during_execution=[term]))
    for pod in job.pods:
        pod.spec.affinity = affinity


def _spread(job: Gang, app: str) -> None:
    constraint = TopologySpreadConstraint(
        max_skew=1,
        topology_key=keys.ZONE,
        when_unsatisfiable="DoNotSchedule",
        label_selector=LabelSelector(match_labels={"app": app}),
    )
    for pod in job.pods:
        pod.spec.topology_spread_constraints = [constraint]


def _full(conf: str, nodes: int, pods: int, *, claimant_queue: str) -> World:
    world = World(
        nodes=_nodes(nodes, cpu=pods // nodes),
        queues=[queue("a", deserved={"cpu": pods // 2}), queue("b", deserved={"cpu": pods // 2})],
        priority_classes=[priority_class("high", 100)],
        conf=conf,
    )
    for number in range(pods // 100):
        on = [f"n{(number * 100 + i) % nodes}" for i in range(100)]
        world.add_gang(gang(f"g{number}", pods=100, cpu=1, min_available=10, queue="a", nodes=on, phase="Running"))
    world.add_gang(gang("claim", pods=500, cpu=1, queue=claimant_queue, priority_class="high"))
    return world


def _nodes(count: int, cpu: int = 32) -> list[Any]:
    return [node(f"n{i}", cpu=cpu, memory="128Gi") for i in range(count)]


def _domain(name: str, tier: int, members: Sequence[str], kind: str) -> HyperNode:
    specs = [MemberSpec(type=kind, selector=MemberSelector(exact_match=ExactMatch(name=member))) for member in members]
    return HyperNode(metadata=ObjectMeta(name=name), spec=HyperNodeSpec(tier=tier, members=specs))
