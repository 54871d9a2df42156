"""Random worlds in the short form of the differential corpus: expanded into objects, run for one cycle, compared."""

from __future__ import annotations

import datetime
import random
import re
from collections import Counter
from collections.abc import Callable, Iterable
from functools import cache
from typing import Any

import msgspec

from tests.corpus.loader import Record, corpus_root
from volcano.api import keys, resources as api
from volcano.scheduler import engine
from volcano.scheduler.cluster.cluster import Cluster
from volcano.scheduler.cluster.ingest import ADDED, Ingest
from volcano.scheduler.framework import registry as registries
from volcano.scheduler.framework.conf import Conf, PluginOption
from volcano.scheduler.framework.decisions import Decisions
from volcano.scheduler.framework.options import Options

REGISTRY = registries.built_in()
NOW = datetime.datetime(2026, 1, 1, 12, tzinfo=datetime.UTC)
PLAIN = (
    (api.NAMESPACES, "namespaces"),
    (api.PRIORITY_CLASSES, "priorityclasses"),
    (api.QUEUES, "queues"),
    (api.HYPERNODES, "hypernodes"),
    (api.POD_DISRUPTION_BUDGETS, "poddisruptionbudgets"),
    (api.RESOURCE_QUOTAS, "resourcequotas"),
)
RESERVED = ("name", "created", "phase", "running", "annotations")


@cache
def confs() -> dict[str, Any]:
    """The configurations of all worlds."""
    root = corpus_root()
    path = root / "differential" / "confs.json" if root is not None else None
    return msgspec.json.decode(path.read_bytes()) if path is not None and path.exists() else {}


def conf_of(record: Record, confs: dict[str, Any]) -> Conf:
    entry = confs["confs"][record["conf"]]
    tiers = tuple(tuple(_option(plugin, confs["switches"]) for plugin in tier["plugins"]) for tier in entry["tiers"])
    configurations = {one["name"]: one.get("arguments") or {} for one in entry.get("configurations") or ()}
    return Conf(tuple(entry["actions"]), tiers, configurations)


def _option(plugin: dict[str, Any], defaults: dict[str, bool]) -> PluginOption:
    switches = {**defaults, **{key: value for key, value in plugin.items() if key.startswith("enable")}}
    return PluginOption(plugin["name"], frozenset(k for k, on in switches.items() if on), plugin.get("arguments") or {})


def missing(conf: Conf) -> str:
    wanted = {option.name for option in conf.plugins} - set(REGISTRY.plugins)
    wanted |= set(conf.actions) - set(REGISTRY.actions)
    return f"needs {', '.join(sorted(wanted))}" if wanted else ""


def cluster_of(record: Record) -> Cluster:
    cluster = Cluster()
    ingest = Ingest(cluster)
    objects = record["objects"]
    classes = {one["metadata"]["name"]: one["value"] for one in objects.get("priorityclasses") or ()}
    for resource, name in PLAIN:
        for manifest in objects.get(name) or ():
            ingest.apply(ADDED, resource.plural, msgspec.convert(manifest, resource.type))
    for manifest in objects.get("nodes") or ():
        name = manifest["metadata"]["name"]
        manifest = msgspec.json.decode(msgspec.json.encode(manifest))
        manifest["metadata"].setdefault("labels", {}).setdefault(keys.HOSTNAME, name)
        manifest["status"].setdefault("capacity", manifest["status"].get("allocatable"))
        ingest.apply(ADDED, "nodes", msgspec.convert(manifest, api.NODES.type))
    created = {}
    for short in objects.get("podgroups") or ():
        document = _pod_group(short)
        created[short["name"]] = short.get("created")
        ingest.apply(ADDED, "podgroups", msgspec.convert(document, api.PODGROUPS.type))
    for short in objects.get("pods") or ():
        for document in _pods(short, created, classes):
            ingest.apply(ADDED, "pods", msgspec.convert(document, api.PODS.type))
    return cluster


def _pod_group(short: dict[str, Any]) -> dict[str, Any]:
    namespace, _, name = short["name"].partition("/")
    metadata = {"namespace": namespace, "name": name, "annotations": short.get("annotations") or {}}
    if short.get("created"):
        metadata["creationTimestamp"] = short["created"]
    status = {"phase": short.get("phase") or "", "running": short.get("running") or 0}
    return {"metadata": metadata, "spec": {k: v for k, v in short.items() if k not in RESERVED}, "status": status}


def _pods(short: dict[str, Any], created: dict[str, Any], classes: dict[str, int]) -> list[dict[str, Any]]:
    names = short["names"] if isinstance(short["names"], list) else _range(short["names"])
    documents = []
    for index, name in enumerate(names):

        def one(key: str, at: int = index) -> Any:
            value = short.get(key)
            return value[at] if isinstance(value, list) else value

        group = short.get("podgroup") or ""
        namespace, _, group_name = group.partition("/")
        namespace = namespace or short.get("namespace") or "default"
        annotations = dict(short.get("annotations") or {})
        if group_name:
            annotations[keys.GROUP_NAME] = group_name
        if short.get("task"):
            annotations[keys.TASK_SPEC] = short["task"]
        labels = dict(short.get("labels") or {})
        if one("partition") is not None:
            labels["volcano.sh/partition-id"] = str(one("partition"))
        requests = short.get("requests") or {}
        spec = dict(short.get("spec") or {})
        containers = spec.pop("containers", [{"name": "c", "image": "img", "resources": {"requests": requests}}])
        spec |= {"containers": containers, "schedulerName": spec.get("schedulerName", "volcano")}
        if short.get("priorityClassName"):
            spec["priorityClassName"] = short["priorityClassName"]
            if short["priorityClassName"] in classes:
                spec.setdefault("priority", classes[short["priorityClassName"]])
        if short.get("priority") is not None:
            spec["priority"] = short["priority"]
        node = one("node")
        if node:
            spec["nodeName"] = node
        metadata: dict[str, Any] = {
            "namespace": namespace,
            "name": name,
            "uid": f"{namespace}-{name}",
            "labels": labels,
            "annotations": annotations,
        }
        when = one("created") or _later(created.get(group))
        if when:
            metadata["creationTimestamp"] = when
        if one("deleted"):
            metadata["deletionTimestamp"] = one("deleted")
        phase = one("phase") or ("Running" if node else "Pending")
        documents.append({"metadata": metadata, "spec": spec, "status": {"phase": phase}})
    return documents


def _range(text: str) -> list[str]:
    first, separator, last = text.partition("..")
    match = re.fullmatch(r"(.*?)(\d+)", first)
    if not separator or match is None:
        return [first]
    return [f"{match[1]}{number}" for number in range(int(match[2]), int(last) + 1)]


def _later(created: str | None) -> str | None:
    if created is None:
        return None
    return (datetime.datetime.fromisoformat(created) + datetime.timedelta(seconds=5)).isoformat()


def run(record: Record, conf: Conf, seed: int = 1) -> tuple[Cluster, Decisions]:
    cluster = cluster_of(record)
    decisions = engine.cycle(
        cluster, conf, Options(full_report=True), NOW.timestamp(), random.Random(seed), registry=REGISTRY
    )
    return cluster, decisions


def outcome(cluster: Cluster, decisions: Decisions) -> dict[str, Any]:
    """What we decided, by the levels of the corpus."""
    jobs = {task.key: task.job.key for task in cluster.tasks.values() if task.job is not None}
    return {
        "jobBinds": dict(Counter(jobs[key] for key in decisions.binds)),
        "jobPipelined": dict(Counter(jobs[key] for key in decisions.pipelined)),
        "jobEvictions": dict(Counter(eviction.job for eviction in decisions.evictions)),
        "podgroupPhases": {key: decided.phase for key, decided in decisions.podgroups.items()},
        "evicted": sorted(eviction.key for eviction in decisions.evictions),
        "binds": decisions.binds,
    }


def differences(record: Record, got: dict[str, Any]) -> dict[str, str]:
    """Per level that was deterministic: how ours differs. To place the same with fewer victims is no difference."""
    expect = record["expect"]
    found = {}
    for level in ("jobBinds", "jobPipelined", "podgroupPhases", "jobEvictions", "evicted", "binds"):
        if level in expect and got[level] != expect[level]:
            found[level] = f"{got[level]} instead of {expect[level]}"
    if found and _spares_victims(record, got):
        for level in ("jobBinds", "jobPipelined", "jobEvictions", "evicted", "binds"):
            found.pop(level, None)
        if _phases_of_others(record, got, expect) == _phases_of_others(record, got, got):
            found.pop("podgroupPhases", None)
    return found


def _spares_victims(record: Record, got: dict[str, Any]) -> bool:
    """Fewer victims, and of every job as many pods bound, or at least promised room, as there.

    Who is spared stays where it is and makes the room of others look different: which nodes they get is theirs to say.
    """
    bound, promised, fell = (_seen(record, level, max) for level in ("jobBinds", "jobPipelined", "jobEvictions"))
    if not fell or len(got["evicted"]) >= sum(_seen(record, "jobEvictions", min).values()):
        return False
    if Counter(bound) - Counter(got["jobBinds"]):
        return False
    placed: Counter[str] = Counter(got["jobBinds"]) + Counter(got["jobPipelined"])
    return not (Counter(bound) + Counter(promised)) - placed


def _seen(record: Record, level: str, choose: Callable[[Iterable[int]], int]) -> dict[str, int]:
    """Pods by job; where runs differed, the most or the least that was seen in any."""
    if level in record["expect"]:
        found: dict[str, int] = record["expect"][level]
        return found
    stable, observed = ((record.get(key) or {}).get(level) or {} for key in ("stable", "observed"))
    return {**stable, **{job: choose(seen) for job, seen in observed.items()}}


def _phases_of_others(record: Record, got: dict[str, Any], phases: dict[str, Any]) -> dict[str, str]:
    """Of all jobs but those that keep pods which they lost there."""
    spared = Counter(_seen(record, "jobEvictions", max)) - Counter(got["jobEvictions"])
    return {job: phase for job, phase in (phases.get("podgroupPhases") or {}).items() if job not in spared}
