"""Recorded calls about nodes that take a pod: refusals, shards, exclusive CPUs, scores and loads of single pods.

An adapter takes a recorded call and gives (ours, recorded).
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from tests.corpus.loader import Record
from tests.corpus.scheduler_unit_resources import Answer
from volcano.api.meta import ObjectMeta
from volcano.api.nodeinfo import NumaResource, Numatopology, NumatopologySpec, PodAllocation
from volcano.api.shard import NodeShard, NodeShardSpec
from volcano.scheduler.cluster.cluster import Cluster
from volcano.scheduler.cluster.nodes import Rows
from volcano.scheduler.cluster.tasks import Status, Task
from volcano.scheduler.framework.arguments import decode
from volcano.scheduler.framework.options import SHARD_HARD, SHARD_SOFT, Options
from volcano.scheduler.framework.plugin import Plugin
from volcano.scheduler.framework.reasons import FITS, FitError, Refusal, Refusals
from volcano.scheduler.plugins.numa_aware.ledger import NumaLedger
from volcano.scheduler.plugins.resource_strategy_fit import ResourceStrategyFit
from volcano.scheduler.plugins.usage import Usage
from volcano.testing.builders import node, pod
from volcano.testing.world import World

UNRESOLVABLE = 3


def _refused(call: Record) -> Answer:
    """A node says why it does not take the pod: the texts are counted, and whether evicting would help."""
    before, recorded = call["args"]["receiver"]["nodes"], call["argsAfter"]["receiver"]["nodes"]
    name, error = call["args"]["nodeName"], call["args"]["err"]
    statuses = {known: entry["Status"] for known, entry in before.items()}
    statuses[name] = error.get("Status") or [{"Code": 1, "Reason": error["error"]}]
    refusals = Refusals()
    found = [
        refusals.code(Refusal("", status["Reason"], resolvable=status["Code"] != UNRESOLVABLE))
        for entries in statuses.values()
        for status in entries
    ]
    codes = np.array([FITS, *found], dtype=np.int32)
    error_of_all = FitError(tuple(refusals.histogram(codes).items()))
    ours = (dict(error_of_all.nodes), refusals.unresolvable(codes)[1:].tolist())
    shown = [status for entry in recorded.values() for status in entry["Status"]]
    return ours, (
        dict(Counter(status["Reason"] for status in shown)),
        [status["Code"] == UNRESOLVABLE for status in shown],
    )


def _by_shard(call: Record) -> Answer:
    names = [entry["Name"] for entry in call["args"]["predicateNodes"]]
    mode = SHARD_HARD if call["case"].startswith("Hard") else SHARD_SOFT
    if call["args"]["nodesInShard"] is None:
        pytest.skip("GetPredicatedNodeByShard: a shard that does not exist has no nodes, it does not have all")
    world = World(nodes=[node(name) for name in names], options=Options(sharding_mode=mode))
    spec = NodeShardSpec(nodes_desired=call["args"]["nodesInShard"])
    world.add("nodeshards", NodeShard(metadata=ObjectMeta(name=world.options.sharding_name), spec=spec))
    session = world.session()
    groups = session.by_preference(np.ones(len(session.rows), dtype=np.bool_))
    found = [{session.nodes.names[row] for row in session.rows[group].tolist()} for group in groups]
    recorded = [{entry["Name"] for entry in group or ()} for group in call["want"]]
    return [*found, set()][:2], recorded


def _is_listed(call: Record) -> Answer:
    """Whether the node's agent lists the pod: what it was assigned does not count beside the report any more."""
    meta, report = call["args"]["podMeta"], call["args"]["receiver"]
    cluster = Cluster()
    allocations = [
        PodAllocation(uid=entry["UID"], name=entry["Name"], namespace=entry["Namespace"])
        for entry in report["PodAllocations"] or ()
    ]
    resources = {"cpu": NumaResource(allocatable=report["NumaResMap"]["cpu"]["Allocatable"], capacity=4)}
    cluster.objects["numatopologies"]["n1"] = Numatopology(
        metadata=ObjectMeta(name="n1"), spec=NumatopologySpec(numares=resources, pod_allocations=allocations)
    )
    member = pod(meta["Name"], namespace=meta["Namespace"])
    member.metadata.uid = meta["UID"]
    task = Task(member, cluster.profiles.intern(member))
    cluster.add_task(task, "")
    task.status, task.node_name = Status.BINDING, "n1"
    ledger = NumaLedger(cluster)
    ledger.begin()
    ledger.assign(task, 0b1)
    ledger.begin()
    found = ledger.at("n1")
    assert found is not None
    return found.free == found.listed, call["want"]


def _opened(kind: type[Plugin], world: World, arguments: Record) -> Any:
    plugin = kind(decode(kind.Arguments, arguments, "test")[0])
    session = world.session()
    plugin.session, plugin.nodes = session, session.nodes
    plugin.open(session)
    return plugin


def _fullest(call: Record) -> Answer:
    """One resource on one node, for the fullest; recorded are the score and, where the pod does not fit, an error."""
    args = call["args"]
    world = World(nodes=[node("n1", cpu=int(args["capacity"]))])
    world.add("pods", pod("running", cpu=int(args["used"]), node="n1"))
    weights = {"resources": {"cpu": {"type": "MostAllocated", "weight": int(args["weight"])}}}
    plugin = _opened(ResourceStrategyFit, world, weights)
    profile = world.cluster.profiles.intern(pod("new", cpu=int(args["requested"])))
    (score,) = plugin.score_terms(profile)[0].raw(profile, Rows(plugin.nodes, plugin.session.rows))
    return float(score), call["want"][0]


def _asking_for_nothing(call: Record) -> Answer:
    args = call["args"]
    if args["configuredValue"] < 0:
        pytest.skip("EstimateBestEffortResource: below zero is no amount, the default is used")
    world = World(nodes=[node("n1")])
    plugin = _opened(Usage, world, {"estimator": {"be_cpu": int(args["configuredValue"])}})
    profile = world.cluster.profiles.intern(pod("idle"))
    return plugin._pod(profile, args["appliedRiskFactor"])[0], pytest.approx(call["want"])


ADAPTERS: dict[str, Callable[[Record], Answer]] = {
    "EstimateBestEffortResource": _asking_for_nothing,
    "FitErrors.SetNodeError": _refused,
    "GetPredicatedNodeByShard": _by_shard,
    "NumatopoInfo.CheckNumaPodAssigned": _is_listed,
    "mostRequestedScore": _fullest,
}
