"""Recorded scheduling scenarios as worlds: objects into a cluster, options as they were in force, one cycle."""

from __future__ import annotations

import datetime
import random
from collections import Counter
from typing import Any

import msgspec
import numpy as np

from tests.corpus import scheduler_mocks as mocks
from tests.corpus.loader import Record
from volcano.api import resources as api
from volcano.api.resource import Resource
from volcano.scheduler import engine
from volcano.scheduler.cluster.cluster import Cluster
from volcano.scheduler.cluster.hypernodes import ROOT, HyperNode, HyperNodes, Topology
from volcano.scheduler.cluster.ingest import ADDED, Ingest
from volcano.scheduler.cluster.usage import Measured, NodeUsage
from volcano.scheduler.framework import registry as registries
from volcano.scheduler.framework.conf import Conf, PluginOption
from volcano.scheduler.framework.decisions import Bind, ClaimBinding, Decisions
from volcano.scheduler.framework.options import Options
from volcano.scheduler.framework.session import Session

KINDS: tuple[Resource[Any], ...] = (
    api.PRIORITY_CLASSES,
    api.QUEUES,
    api.PODGROUPS,
    api.NODES,
    api.STORAGE_CLASSES,
    api.PERSISTENT_VOLUMES,
    api.PERSISTENT_VOLUME_CLAIMS,
    api.RESOURCE_QUOTAS,
    api.HYPERNODES,
    api.DEVICE_CLASSES,
    api.RESOURCE_SLICES,
    api.RESOURCE_CLAIMS,
    api.PODS,
)
BUILT_IN = registries.built_in()


def registry_of(record: Record) -> registries.Registry:
    return BUILT_IN.extended(mocks.plugins(record))


def conf_of(record: Record) -> Conf:
    """The record's own switches: what is left out is off."""
    conf = record["conf"]
    absent = set(conf.get("absentPlugins") or ())
    tiers = tuple(
        tuple(_option(entry) for entry in tier["plugins"] if entry["name"] not in absent) for tier in conf["tiers"]
    )
    configurations = {entry["name"]: entry.get("arguments") or {} for entry in conf.get("configurations") or ()}
    return Conf(tuple(conf["actions"]), tiers, configurations)


def _option(entry: dict[str, Any]) -> PluginOption:
    switches = frozenset(key for key, value in entry.items() if key.startswith("enable") and value is True)
    return PluginOption(entry["name"], switches, entry.get("arguments") or {})


def cluster_of(record: Record) -> Cluster:
    server = record["context"].get("serverOptions") or {}
    cluster = Cluster(default_queue=server.get("defaultQueue") or "default")
    ingest = Ingest(cluster)
    for kind in KINDS:
        if kind is api.PRIORITY_CLASSES and not server.get("enablePriorityClass", True):
            continue
        for manifest in record["objects"].get(kind.plural) or ():
            ingest.apply(ADDED, kind.plural, msgspec.convert(manifest, kind.type))
    for call in record.get("calls") or ():
        usages = call.get("nodeUsage") or {}
        for node, usage in ({call["node"]: usages} if "node" in call and usages else usages).items():
            cluster.index(NodeUsage).put(node, _measured(usage))
    shard = record.get("shard")
    if shard:
        document = {"metadata": {"name": shard["name"]}, "spec": {"nodesDesired": shard["nodesInShard"]}}
        ingest.apply(ADDED, api.NODE_SHARDS.plural, msgspec.convert(document, api.NODE_SHARDS.type))
    sets = record["objects"].get("hypernodeSets")
    if sets:
        cluster.index(Topology).fix(_tree(sets, cluster))
    return cluster


def _measured(usage: dict[str, Any]) -> Measured:
    at = datetime.datetime.fromisoformat(usage["metricsTime"]).timestamp()
    return Measured(usage["cpuPercentByPeriod"]["10m"], usage["memPercentByPeriod"]["10m"], at)


def _tree(sets: dict[str, Any], cluster: Cluster) -> HyperNodes:
    """The tree that went straight into the recorded session, whatever the manifests say."""
    rows = cluster.nodes.row_of
    domains = []
    for name, info in sets["info"].items():
        members = [rows[member] for member in sets["members"].get(name, ()) if member in rows]
        domains.append(
            HyperNode(
                name,
                info["tier"],
                info.get("tierName", ""),
                parent=info.get("parent", ""),
                children=list(info.get("children") or ()),
                rows=np.array(sorted(members), dtype=np.intp),
            )
        )
    tree = HyperNodes(domains, cluster.nodes)
    highest = max(int(tier) for tier in sets["tiers"])
    if tree.is_flat:  # tiers without a tree: the root alone, above them
        tree[ROOT].tier = highest + 1
        tree.tiers = [highest + 1]
    return tree


def options_of(record: Record) -> Options:
    server = record["context"].get("serverOptions") or {}
    shard = record.get("shard") or {}
    return Options(
        default_queue=server.get("defaultQueue") or "default",
        feature_gates=record["context"].get("featureGates") or {},
        full_report=True,
        sharding_mode=shard.get("mode", "none"),
        sharding_name=shard.get("name", "volcano"),
    )


def now_of(record: Record) -> float:
    clock = record["context"].get("clock")
    if not clock:
        return 1.7e9
    return datetime.datetime.fromisoformat(clock).timestamp()


def run(record: Record, cluster: Cluster | None = None) -> Decisions:
    return engine.cycle(
        cluster or cluster_of(record),
        conf_of(record),
        options_of(record),
        now_of(record),
        random.Random(1),
        registry=registry_of(record),
    )


def open_session(record: Record) -> Session:
    return engine.open_session(
        cluster_of(record), conf_of(record), options_of(record), now_of(record), random.Random(1), registry_of(record)
    )


def differences(record: Record, decisions: Decisions) -> list[str]:
    """In what the decisions fall short of the record's assertions."""
    expect = record["expect"]
    found = []
    binds = {bind.key: bind.node for bind in decisions.committed if not _waits_for_volumes(bind)}
    if expect.get("minimalBindCheck"):
        if len(binds) != expect["bindCount"]:
            found.append(f"{len(binds)} binds, {expect['bindCount']} expected: {binds}")
    elif "CheckAll" in record["checkedBy"] and binds != expect["binds"]:
        found.append(f"binds {binds}, expected {expect['binds']}")
    evicted = Counter(eviction.key for eviction in decisions.evictions)
    if "CheckAll" in record["checkedBy"] and evicted != Counter(expect["evicted"]):
        found.append(f"evicted {sorted(evicted)}, expected {sorted(expect['evicted'])}")
    if expect.get("bindCountsInHyperNodes"):
        per_domain = _binds_by_domain(record, decisions)
        if per_domain != sorted(expect["bindCountsInHyperNodes"]):
            found.append(f"binds per hypernode {per_domain}, expected {expect['bindCountsInHyperNodes']}")
    for job, nodes in (expect.get("pipelined") or {}).items():
        on = {state.node for state in decisions.tasks.values() if state.job == job and state.status == "Pipelined"}
        if not on or not on <= set(nodes):
            found.append(f"{job} pipelined on {sorted(on)}, expected some of {nodes}")
    for job, phase in (expect.get("podgroupPhases") or {}).items():
        if decisions.podgroups[job].phase != phase:
            found.append(f"{job} is {decisions.podgroups[job].phase}, expected {phase}")
    for job, statuses in (expect.get("taskStatusCounts") or {}).items():
        counts = Counter(state.status for state in decisions.tasks.values() if state.job == job)
        found += [
            f"{job} has {counts[status]} tasks {status}, expected {count}"
            for status, count in statuses.items()
            if counts[status] != count
        ]
    return found


def _waits_for_volumes(bind: Bind) -> bool:
    """Nobody in the recorded test would ever have bound its claims."""
    return any(isinstance(claim, ClaimBinding) for claim in bind.claims)


def _binds_by_domain(record: Record, decisions: Decisions) -> list[int]:
    """Ascending counts of binds in the hypernodes of the lowest tier."""
    sets = record["objects"]["hypernodeSets"]
    lowest = sets["tiers"][min(sets["tiers"], key=int)]
    home = {member: name for name in lowest for member in sets["members"][name]}
    return sorted(Counter(home[node] for node in decisions.binds.values() if node in home).values())
