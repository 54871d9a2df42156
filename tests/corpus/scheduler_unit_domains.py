"""Recorded calls on hypernodes and bundles of victims, answered by their counterparts here.

An adapter takes a recorded call and gives (ours, recorded).
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable
from types import SimpleNamespace
from typing import Any, cast

import msgspec
import numpy as np
import pytest

from tests.corpus.loader import Record
from tests.corpus.scheduler_unit_resources import Answer
from volcano.api.core import Node, Pod
from volcano.api.meta import ObjectMeta
from volcano.api.scheduling import PodGroup, PodGroupSpec
from volcano.api.topology import HyperNode
from volcano.scheduler.actions.bundles import Bundle, approved, bundles_of, ranked
from volcano.scheduler.actions.gang_eviction import GangPreempt
from volcano.scheduler.cluster.cluster import Cluster
from volcano.scheduler.cluster.hypernodes import ROOT, HyperNodes, derive
from volcano.scheduler.cluster.jobs import Job
from volcano.scheduler.cluster.resources import FloatVector
from volcano.scheduler.cluster.tasks import Status, Task
from volcano.scheduler.plugins.network_topology import NetworkTopologyAware

WHOLE = 1

# Hypernodes: upstream keeps a tree up to date, we make it anew from the objects


def _objects(recorded: Record) -> dict[str, HyperNode]:
    """The objects that a recorded tree was made of: domains named by others but never seen are none."""
    tiers = {name: int(tier) for tier, names in recorded["hyperNodesSetByTier"].items() for name in names}
    found = {}
    for name, tier in tiers.items():
        children = recorded["hyperNodes"][name].get("Children") or []
        members = [_member("HyperNode", child) for child in children]
        below = {node for child in children for node in recorded["realNodesSet"].get(child) or ()}
        nodes = recorded["realNodesSet"].get(name) or ()
        members += [_member("Node", node) for node in nodes if node not in below]
        found[name] = _hypernode({"metadata": {"name": name}, "spec": {"tier": tier, "members": members}})
    return found


def _member(kind: str, name: str) -> Record:
    return {"type": kind, "selector": {"exactMatch": {"name": name}}}


def _hypernode(document: Record) -> HyperNode:
    return msgspec.convert(document, HyperNode)


def _tree(objects: dict[str, HyperNode], nodes: list[str]) -> tuple[HyperNodes, Cluster]:
    cluster = Cluster()
    for name in nodes:
        nothing = cluster.dimensions.zeros()
        cluster.nodes.put(Node(metadata=ObjectMeta(name=name)), nothing, nothing)
    return derive(objects, cluster.nodes), cluster


def _described(tree: HyperNodes, cluster: Cluster) -> Record:
    return {
        name: (
            domain.tier,
            "" if domain.parent == ROOT else domain.parent,
            sorted(cluster.nodes.names[row] for row in domain.rows),
        )
        for name, domain in tree.domains.items()
        if name != ROOT
    }


def _recorded_tree(recorded: Record) -> Record:
    known = {name for names in recorded["hyperNodesSetByTier"].values() for name in names}
    return {
        name: (domain["tier"], domain.get("Parent", ""), sorted(recorded["realNodesSet"].get(name) or ()))
        for name, domain in recorded["hyperNodes"].items()
        if name in known
    }


def _nodes_of(*trees: Record) -> list[str]:
    return sorted({node for tree in trees for nodes in tree["realNodesSet"].values() for node in nodes or ()})


def _update_hypernode(call: Record) -> Answer:
    before, after = call["args"]["receiver"], (call.get("argsAfter") or call["args"])["receiver"]
    changed = _hypernode(call["args"]["hn"])
    if any(member.selector.exact_match is None for member in changed.spec.members):
        pytest.skip("the record does not hold the nodes that a pattern may match")
    objects = {**_objects(before), changed.metadata.name: changed}
    tree, cluster = _tree(objects, _nodes_of(before, after))
    if call["want"] is not None:
        return bool(tree.problems), not after["ready"]
    return _described(tree, cluster), _recorded_tree(after)


def _hypernode_texts(call: Record) -> Answer:
    recorded = call["args"]["receiver"]
    tree, cluster = _tree(_objects(recorded), _nodes_of(recorded))
    got = {
        name: f"Name: {name}, Tier: {tier}, TierName: {tree[name].tier_name}, Parent: {parent}"
        for name, (tier, parent, _) in _described(tree, cluster).items()
    }
    known = set(got)
    return got, {name: text for name, text in call["want"].items() if name in known}


def _by_tier(call: Record) -> Answer:
    recorded = call["args"]["receiver"]
    tree, _ = _tree(_objects(recorded), _nodes_of(recorded))
    got = {str(tier): sorted(domain.name for domain in tree.at_tier(tier)) for tier in tree.tiers[:-1]}
    return got, {tier: sorted(names) for tier, names in call["want"].items()}


def _real_nodes(call: Record) -> Answer:
    recorded = call["args"]["receiver"]
    tree, cluster = _tree(_objects(recorded), _nodes_of(recorded))
    got = {name: nodes for name, (_, _, nodes) in _described(tree, cluster).items()}
    return got, {name: sorted(nodes or ()) for name, nodes in call["want"].items()}


def _with_parents(recorded: Record) -> HyperNodes:
    children: defaultdict[str, list[str]] = defaultdict(list)
    for name, domain in recorded.items():
        if domain.get("Parent") in recorded:
            children[domain["Parent"]].append(name)
    objects = {
        name: _hypernode(
            {
                "metadata": {"name": name},
                "spec": {
                    "tier": domain.get("tier", 0),
                    "members": [_member("HyperNode", child) for child in children[name]],
                },
            }
        )
        for name, domain in recorded.items()
    }
    return _tree(objects, [])[0]


def _common(call: Record) -> Answer:
    args = call["args"]
    tree = _with_parents(args["receiver"])
    if args["hypernode"] not in tree or args["jobHyperNode"] not in tree:
        pytest.skip("domains that do not exist are never asked about")
    found = tree.common(args["hypernode"], args["jobHyperNode"])
    return "" if found == ROOT else found, call["want"]


def _ancestors(call: Record) -> Answer:
    tree = _with_parents(call["args"]["receiver"])
    return tree.ancestors(call["args"]["name"])[:-1], call["want"]


def _leaves(call: Record) -> Answer:
    recorded = call["args"]["receiver"]
    tree, _ = _tree(_objects(recorded), _nodes_of(recorded))
    below = tree.within(call["args"]["hyperNodeName"])
    return sorted(name for name in below if not tree[name].children), sorted(call["want"])


def _home(call: Record) -> Answer:
    args = call["args"]
    tiers = {str(tier) for tier in args["hyperNodesTiers"]}
    if tiers != set(args["hyperNodesSetByTier"]):
        pytest.skip("tiers are those of the domains")
    objects, nodes = {}, []
    for tier, names in args["hyperNodesSetByTier"].items():
        for name in names:
            own = [node["Name"] for node in args["hyperNodes"].get(name, ())]
            nodes += own
            members = [_member("Node", node) for node in own]
            objects[name] = _hypernode({"metadata": {"name": name}, "spec": {"tier": int(tier), "members": members}})
    tree, cluster = _tree(objects, sorted({*nodes, args["nodeName"]}))
    return tree.lowest_of(cluster.nodes.row_of[args["nodeName"]]), call["want"]


# Victims


def _domains(call: Record) -> Answer:
    args = call["args"]
    gradients = [[domain["Name"] for domain in gradient] for gradient in args["gradients"] or ()]
    limit = None if args["fallback"] else object()
    topology = SimpleNamespace(limit=lambda job: limit)
    session = SimpleNamespace(hypernode_gradients=lambda *asked: gradients, topology=topology)
    action = GangPreempt(GangPreempt.Arguments(max_domains=args["maxDomains"]))
    return action._domains(cast(Any, session), cast(Any, None)), call["want"]


def _widest(call: Record) -> Answer:
    args = call["args"]
    most = args["receiver"]["maxHyperNodesForEviction"]
    if not most:
        pytest.skip("no limit means the default limit")
    plugin = NetworkTopologyAware(NetworkTopologyAware.Arguments(evict_domains=most))
    groups = [[domain["Name"] for domain in group] for group in args["gradients"]]
    return plugin._widest(groups[::-1]), [[domain["Name"] for domain in group] for group in call["want"]]


def _running(cluster: Cluster, entry: Record, job: Job) -> Task:
    cpu = f"{int(entry['Resreq']['cpu'])}m"
    document = {
        "metadata": {"name": entry["UID"], "namespace": "ns", "uid": entry["UID"]},
        "spec": {"containers": [{"name": "c", "resources": {"requests": {"cpu": cpu}}}]},
    }
    pod = msgspec.convert(document, Pod)
    task = Task(pod, cluster.profiles.intern(pod))
    task.priority = entry.get("Priority", 0)
    task.role = entry.get("TaskRole", "")
    task.status = Status.RUNNING
    cluster.add_task(task, job.key)
    return task


def _bundles(call: Record) -> Answer:
    recorded = call["args"]["job"]
    if recorded.get("MinSubJobs"):
        pytest.skip("the record does not hold the sub-jobs")
    cluster = Cluster()
    spec = PodGroupSpec(
        min_member=recorded.get("MinAvailable", 0), min_task_member=recorded.get("TaskMinAvailable") or {}
    )
    job = cluster.put_pod_group(PodGroup(metadata=ObjectMeta(name="job", namespace="ns"), spec=spec))
    tasks = {uid: _running(cluster, entry, job) for uid, entry in recorded["Tasks"].items()}
    found = bundles_of(job, [tasks[entry["UID"]] for entry in call["args"]["localTasks"]])
    return _shown(found), _recorded_bundles(call["want"])


def _shown(bundles: list[Bundle]) -> list[tuple[list[str], bool]]:
    return [([task.uid for task in bundle.tasks], bundle.is_whole) for bundle in bundles]


def _recorded_bundles(recorded: list[Record]) -> list[tuple[list[str], bool]]:
    return [([task["UID"] for task in bundle["Tasks"]], bundle["Type"] == WHOLE) for bundle in recorded]


def _bundle(cluster: Cluster, recorded: Record, number: int) -> Bundle:
    """A bundle whose job holds as much, apart from it, as the record says."""
    name = recorded["Job"].get("UID") or f"job-{number}"
    job = cluster.put_pod_group(PodGroup(metadata=ObjectMeta(name=name, namespace="ns")))
    tasks = [_running(cluster, entry, job) for entry in recorded["Tasks"]]
    rest = (recorded["GlobalRes"] or {}).get("cpu", 0) - sum(entry["Resreq"]["cpu"] for entry in recorded["Tasks"])
    if rest > 0:
        _running(cluster, {"UID": f"rest-{number}", "Resreq": {"cpu": rest}}, job)
    return Bundle(job, tasks, recorded["Type"] == WHOLE)


def _needed(cluster: Cluster, recorded: Record) -> FloatVector:
    return cluster.dimensions.vector({"cpu": f"{int(recorded['cpu'])}m"}).astype(np.float64)


def _ranked(call: Record) -> Answer:
    """The order of jobs or queues is a function that the record cannot hold; it is the one that its names suggest."""
    args = call["args"]
    cluster = Cluster()
    bundles = [_bundle(cluster, bundle, number) for number, bundle in enumerate(args["bundles"])]
    queues = {
        bundle.job.key: entry["Job"].get("Queue", "") for bundle, entry in zip(bundles, args["bundles"], strict=True)
    }
    by_queue = set(queues.values()) <= set(args.get("queues") or ())

    def compare(left: Job, right: Job) -> int:
        if "lessVictimJobFn" in args:
            return -1 if left.key > right.key else 1
        first, second = queues[left.key], queues[right.key]
        return (first > second) - (first < second) if by_queue else 0

    got = ranked(bundles, compare, _needed(cluster, args["need"]))
    return _shown(got), _recorded_bundles(call["argsAfter"]["bundles"])


def _selected(call: Record) -> Answer:
    """All of them agree here: what remains is whether whole jobs may be taken."""
    args = call["args"]
    cluster = Cluster()
    bundles = [_bundle(cluster, bundle, number) for number, bundle in enumerate(args["bundles"])]
    victims = [task for bundle in bundles for task in bundle.tasks]
    return _shown(approved(bundles, victims, allow_whole=args["allowWhole"])), _recorded_bundles(call["want"])


ADAPTERS: dict[str, Callable[[Record], Any]] = {
    "HyperNodesInfo.UpdateHyperNode": _update_hypernode,
    "HyperNodesInfo.HyperNodesInfo": _hypernode_texts,
    "HyperNodesInfo.HyperNodesSetByTier": _by_tier,
    "HyperNodesInfo.RealNodesSet": _real_nodes,
    "HyperNodesInfo.GetLeafNodes": _leaves,
    "HyperNodeInfoMap.GetLCAHyperNode": _common,
    "HyperNodeInfoMap.GetAncestors": _ancestors,
    "FindHyperNodeForNode": _home,
    "PickDomainsFromGradients": _domains,
    "networkTopologyAwarePlugin.reverseAndCapEvictionGradients": _widest,
    "CreateJobBundles": _bundles,
    "SelectBundles": _selected,
    "SortBundlesForPreempt": _ranked,
    "SortBundlesForReclaim": _ranked,
}
