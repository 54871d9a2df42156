"""Rules about other pods (affinity, spread, ports) against a plain reading of Kubernetes' rules, on random worlds."""

from __future__ import annotations

import math
from typing import Any

import msgspec
import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings, strategies as st

from volcano.api.core import Node, Pod
from volcano.scheduler.cluster.selectors import selects
from volcano.scheduler.framework.reasons import FITS
from volcano.scheduler.framework.session import Session
from volcano.testing.builders import gang, node
from volcano.testing.world import World

ZONE = "topology.kubernetes.io/zone"
HOST = "kubernetes.io/hostname"
FILTERS = """
actions: "allocate"
tiers:
- plugins:
  - name: gang
  - name: predicates
  - name: nodeorder
    arguments:
      leastrequested.weight: 0
      balancedresource.weight: 0
      nodeaffinity.weight: 0
      imagelocality.weight: 0
      tainttoleration.weight: 0
      podaffinity.weight: 1
      podtopologyspread.weight: 1000
"""

selectors = st.sampled_from([{"app": "a"}, {"app": "b"}, {"tier": "x"}, {}])
labels = st.fixed_dictionaries({"app": st.sampled_from(["a", "b"])}, optional={"tier": st.sampled_from(["x", "y"])})
terms = st.builds(
    lambda key, selector, namespaces: {
        "topologyKey": key,
        "labelSelector": {"matchLabels": selector},
        **({"namespaces": namespaces} if namespaces else {}),
    },
    st.sampled_from([ZONE, HOST]),
    selectors,
    st.sampled_from([[], [], ["default", "other"], ["other"]]),
)
preferences = st.builds(lambda weight, term: {"weight": weight, "podAffinityTerm": term}, st.integers(1, 100), terms)
sides = st.fixed_dictionaries(
    {},
    optional={
        "requiredDuringSchedulingIgnoredDuringExecution": st.lists(terms, min_size=1, max_size=2),
        "preferredDuringSchedulingIgnoredDuringExecution": st.lists(preferences, min_size=1, max_size=2),
    },
)
constraints = st.builds(
    lambda key, skew, action, selector, least: {
        "topologyKey": key,
        "maxSkew": skew,
        "whenUnsatisfiable": action,
        "labelSelector": {"matchLabels": selector},
        **({"minDomains": least} if least and action == "DoNotSchedule" else {}),
    },
    st.sampled_from([ZONE, HOST]),
    st.integers(1, 2),
    st.sampled_from(["DoNotSchedule", "ScheduleAnyway"]),
    selectors,
    st.sampled_from([0, 0, 3]),
)
specs = st.fixed_dictionaries(
    {"labels": labels, "namespace": st.sampled_from(["default", "default", "other"])},
    optional={
        "podAffinity": sides,
        "podAntiAffinity": sides,
        "spread": st.lists(constraints, min_size=1, max_size=2),
        "zones": st.sampled_from([["z0"], ["z0", "z1"]]),
        "port": st.sampled_from([80, 81]),
    },
)
nodes_drawn = st.lists(st.sampled_from(["z0", "z1", "z2", ""]), min_size=1, max_size=5)
placed_drawn = st.lists(st.tuples(specs, st.integers(0, 4), st.booleans()), max_size=7)


def a_pod(name: str, spec: dict[str, Any], on: str = "", leaving: bool = False) -> Pod:
    affinity = {side: spec[side] for side in ("podAffinity", "podAntiAffinity") if spec.get(side)}
    if "zones" in spec:
        zones = {"key": ZONE, "operator": "In", "values": spec["zones"]}
        required = {"nodeSelectorTerms": [{"matchExpressions": [zones]}]}
        affinity["nodeAffinity"] = {"requiredDuringSchedulingIgnoredDuringExecution": required}
    manifest: dict[str, Any] = {
        "metadata": {
            "name": name,
            "namespace": spec["namespace"],
            "uid": f"{spec['namespace']}-{name}",
            "labels": spec["labels"],
            "annotations": {"scheduling.k8s.io/group-name": "g"},
        },
        "spec": {
            "containers": [{"name": "c", "image": "x", "resources": {"requests": {"cpu": "1m"}}}],
            "affinity": affinity,
            "topologySpreadConstraints": spec.get("spread", []),
            "nodeName": on,
        },
        "status": {"phase": "Running" if on else "Pending"},
    }
    if "port" in spec:
        manifest["spec"]["containers"][0]["ports"] = [{"hostPort": spec["port"], "containerPort": 1}]
    if leaving:
        manifest["metadata"]["deletionTimestamp"] = "2026-01-01T00:00:00Z"
    return msgspec.convert(manifest, Pod, strict=False)


def a_node(number: int, zone: str) -> Node:
    return node(f"n{number}", cpu=100, labels={ZONE: zone} if zone else {})


class Oracle:
    """Kubernetes' rules read word by word, pod by pod and node by node."""

    def __init__(self, nodes: list[Node], placed: list[Pod]) -> None:
        self.nodes = nodes
        self.placed = placed
        self.by_name = {n.metadata.name: n for n in nodes}

    def labels_of(self, placed: Pod) -> dict[str, str]:
        return self.by_name[placed.spec.node_name].metadata.labels

    @staticmethod
    def means(term: Any, owner: Pod, other: Pod) -> bool:
        namespaces = term.namespaces or [owner.metadata.namespace]
        return other.metadata.namespace in namespaces and selects(term.label_selector, other.metadata.labels)

    @staticmethod
    def terms(of: Pod, side: str) -> tuple[list[Any], list[Any]]:
        found = getattr(of.spec.affinity, side) if of.spec.affinity else None
        if found is None:
            return [], []
        return (
            found.required_during_scheduling_ignored_during_execution,
            found.preferred_during_scheduling_ignored_during_execution,
        )

    def wanted_by(self, new: Pod, candidate: Node) -> bool:
        affinity = new.spec.affinity.node_affinity if new.spec.affinity else None
        if affinity is None:
            return True
        selector = affinity.required_during_scheduling_ignored_during_execution
        return candidate.metadata.labels.get(ZONE) in selector.node_selector_terms[0].match_expressions[0].values

    def fits(self, new: Pod, candidate: Node) -> bool:
        return (
            self.wanted_by(new, candidate)
            and self.has_ports(new, candidate)
            and self.has_company(new, candidate)
            and self.is_spread(new, candidate)
        )

    def has_ports(self, new: Pod, candidate: Node) -> bool:
        wanted = {p.host_port for c in new.spec.containers for p in c.ports}
        held = {
            p.host_port
            for other in self.placed
            if other.spec.node_name == candidate.metadata.name
            for c in other.spec.containers
            for p in c.ports
        }
        return not wanted & held

    def has_company(self, new: Pod, candidate: Node) -> bool:
        here = candidate.metadata.labels
        near, _ = self.terms(new, "pod_affinity")
        apart, _ = self.terms(new, "pod_anti_affinity")
        friends = [p for p in self.placed if near and all(self.means(t, new, p) for t in near)]
        if near:
            if any(t.topology_key not in here for t in near):
                return False
            reached = all(
                any(self.labels_of(p).get(t.topology_key) == here[t.topology_key] for p in friends) for t in near
            )
            known = any(t.topology_key in self.labels_of(p) for p in friends for t in near)
            if not reached and (known or not all(self.means(t, new, new) for t in near)):
                return False
        for p in self.placed:
            there = self.labels_of(p)
            for t in apart:
                if (
                    self.means(t, new, p)
                    and t.topology_key in here
                    and here[t.topology_key] == there.get(t.topology_key)
                ):
                    return False
            for t in self.terms(p, "pod_anti_affinity")[0]:
                if (
                    self.means(t, p, new)
                    and t.topology_key in here
                    and here[t.topology_key] == there.get(t.topology_key)
                ):
                    return False
        return True

    def counted(self, new: Pod, constraint: Any, on: Node) -> int:
        selector = constraint.label_selector
        if not selector.match_labels:
            return 0
        return sum(
            1
            for p in self.placed
            if p.spec.node_name == on.metadata.name
            and p.metadata.namespace == new.metadata.namespace
            and p.metadata.deletion_timestamp is None
            and selects(selector, p.metadata.labels)
        )

    def is_spread(self, new: Pod, candidate: Node) -> bool:
        hard = [c for c in new.spec.topology_spread_constraints if c.when_unsatisfiable == "DoNotSchedule"]
        here = candidate.metadata.labels
        if any(c.topology_key not in here for c in hard):
            return False
        counting = [
            n for n in self.nodes if all(c.topology_key in n.metadata.labels for c in hard) and self.wanted_by(new, n)
        ]
        for c in hard:
            counts: dict[str, int] = {}
            for n in counting:
                value = n.metadata.labels[c.topology_key]
                counts[value] = counts.get(value, 0) + self.counted(new, c, n)
            least = min(counts.values(), default=1 << 40)
            if len(counts) < (c.min_domains or 1):
                least = 0
            itself = int(bool(c.label_selector.match_labels) and selects(c.label_selector, new.metadata.labels))
            if counts.get(here[c.topology_key], 0) + itself - least > c.max_skew:
                return False
        return True

    def affinity_scores(self, new: Pod, feasible: list[Node]) -> list[int]:
        raw = []
        for n in feasible:
            here, total = n.metadata.labels, 0
            for p in self.placed:
                there = self.labels_of(p)
                for side, sign in (("pod_affinity", 1), ("pod_anti_affinity", -1)):
                    for owner, other in ((new, p), (p, new)):
                        for w in self.terms(owner, side)[1]:
                            key = w.pod_affinity_term.topology_key
                            if (
                                self.means(w.pod_affinity_term, owner, other)
                                and key in here
                                and here[key] == there.get(key)
                            ):
                                total += sign * w.weight
            raw.append(total)
        low, high = min(raw), max(raw)
        return [0 if low == high else int(100 * ((s - low) / (high - low))) for s in raw]

    def spread_scores(self, new: Pod, feasible: list[Node]) -> list[int]:
        soft = [c for c in new.spec.topology_spread_constraints if c.when_unsatisfiable == "ScheduleAnyway"]
        if not soft:
            return [0] * len(feasible)
        competing = [n for n in feasible if all(c.topology_key in n.metadata.labels for c in soft)]
        counting = [
            n for n in self.nodes if all(c.topology_key in n.metadata.labels for c in soft) and self.wanted_by(new, n)
        ]
        raw: dict[str, int] = {}
        for n in competing:
            total = 0.0
            for c in soft:
                value = n.metadata.labels[c.topology_key]
                if c.topology_key == HOST:
                    size, number = len(competing), self.counted(new, c, n)
                else:
                    size = len({m.metadata.labels[c.topology_key] for m in competing})
                    number = sum(
                        self.counted(new, c, m) for m in counting if m.metadata.labels[c.topology_key] == value
                    )
                total += number * math.log(size + 2) + (c.max_skew - 1)
            raw[n.metadata.name] = math.floor(total + 0.5)
        if not raw:
            return [0] * len(feasible)
        low, high = min(raw.values()), max(raw.values())
        return [
            0 if n.metadata.name not in raw else 100 if high == 0 else 100 * (high + low - raw[n.metadata.name]) // high
            for n in feasible
        ]


def verdicts(session: Session, new: Pod) -> tuple[list[bool], list[float]]:
    task = session.cluster.tasks[new.metadata.uid]
    board = session.board(task.profile)
    board.refresh()
    fits = board.codes == FITS
    scores = board.scores(fits)
    order = np.argsort(session.rows)
    names = [session.nodes.names[row] for row in session.rows[order]]
    assert names == sorted(names)
    return fits[order].tolist(), scores[order].tolist()


def agrees(session: Session, oracle: Oracle, new: Pod) -> None:
    fits, scores = verdicts(session, new)
    assert fits == [oracle.fits(new, n) for n in oracle.nodes]
    feasible = [n for n, fit in zip(oracle.nodes, fits, strict=True) if fit]
    if not feasible:
        return
    near, even = oracle.affinity_scores(new, feasible), oracle.spread_scores(new, feasible)
    expected = [float(a + 1000 * b) for a, b in zip(near, even, strict=True)]
    assert [score for score, fit in zip(scores, fits, strict=True) if fit] == expected


@settings(max_examples=250, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(nodes_drawn, placed_drawn, st.lists(specs, min_size=1, max_size=4), st.lists(st.integers(0, 4), max_size=4))
def test_verdicts_and_scores_are_kubernetes(
    zones: list[str], placed: list[Any], waiting: list[dict[str, Any]], choices: list[int]
) -> None:
    nodes = [a_node(number, zone) for number, zone in enumerate(zones)]
    there = [
        a_pod(f"old-{i}", spec, on=f"n{where % len(nodes)}", leaving=leaving)
        for i, (spec, where, leaving) in enumerate(placed)
    ]
    new = [a_pod(f"new-{i}", spec) for i, spec in enumerate(waiting)]
    world = World(nodes=nodes, jobs=[gang("g", pods=[*there, *new], min_available=0)], conf=FILTERS)
    session = world.session()
    oracle = Oracle(nodes, list(there))
    for candidate in new:
        agrees(session, oracle, candidate)
    before = {candidate.metadata.name: verdicts(session, candidate) for candidate in new}

    statement = session.statement()
    for choice, candidate in zip(choices, new, strict=False):
        row = session.nodes.row_of[f"n{choice % len(nodes)}"]
        assert statement.allocate([session.cluster.tasks[candidate.metadata.uid]], [row]) is None
        standing = msgspec.convert(msgspec.to_builtins(candidate), Pod)
        standing.spec.node_name = f"n{choice % len(nodes)}"
        oracle.placed.append(standing)
        for other in new[len(choices) :]:
            agrees(session, oracle, other)
    statement.rollback()
    session.cluster.resting.clear()
    assert {candidate.metadata.name: verdicts(session, candidate) for candidate in new} == before
    session.restore()


@pytest.mark.parametrize("key", [HOST, ZONE])
def test_replicas_that_avoid_each_other_get_domains_of_their_own(key: str) -> None:
    zones = ["z0", "z0", "z1", "z1", "z2", "z2"]
    apart = {
        "requiredDuringSchedulingIgnoredDuringExecution": [
            {"topologyKey": key, "labelSelector": {"matchLabels": {"app": "a"}}}
        ]
    }
    spec = {"labels": {"app": "a"}, "namespace": "default", "podAntiAffinity": apart}
    members = [a_pod(f"g-w-{i}", spec) for i in range(7)]
    world = World(
        nodes=[a_node(number, zone) for number, zone in enumerate(zones)],
        jobs=[gang("g", pods=members, min_available=1)],
        conf=FILTERS,
    )

    binds = world.cycle().binds

    assert len(binds) == (6 if key == HOST else 3)
    assert len({zones[int(name[1:])] if key == ZONE else name for name in binds.values()}) == len(binds)


def test_a_later_pod_sees_the_anti_affinity_of_one_placed_in_the_same_cycle() -> None:
    apart = {
        "requiredDuringSchedulingIgnoredDuringExecution": [
            {"topologyKey": HOST, "labelSelector": {"matchLabels": {"app": "b"}}}
        ]
    }
    first = a_pod("g-a-0", {"labels": {"app": "a"}, "namespace": "default", "podAntiAffinity": apart})
    second = a_pod("g-b-1", {"labels": {"app": "b"}, "namespace": "default"})
    world = World(nodes=[a_node(0, "z0")], jobs=[gang("g", pods=[first, second], min_available=1)], conf=FILTERS)

    decisions = world.cycle()

    assert decisions.binds == {"default/g-a-0": "n0"}
    verdict = next(v for v in decisions.pods if v.name == "g-b-1")
    assert "1 node(s) didn't satisfy existing pods anti-affinity rules" in verdict.message
