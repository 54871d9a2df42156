"""Scheduling without a cluster: manifests in, what the engine would do out. `vcctl schedule` and its tests call it.

Between cycles the cluster is ideal: bound pods run, evicted pods vanish, and come back where an owner makes them anew.
"""

from __future__ import annotations

import random
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import msgspec

from volcano.api import keys
from volcano.api.batch import Job as VcJob
from volcano.api.core import Pod
from volcano.api.meta import JsonObject, ObjectMeta
from volcano.api.resources import JOBS, PODGROUPS, PODS, by_kind
from volcano.api.scheduling import PodGroup, PodGroupCondition, PodGroupStatus
from volcano.scheduler import engine
from volcano.scheduler.cluster.cluster import Cluster
from volcano.scheduler.cluster.ingest import ADDED, DELETED, MODIFIED, Ingest
from volcano.scheduler.framework import registry as registries
from volcano.scheduler.framework.conf import Conf
from volcano.scheduler.framework.decisions import Decisions, PodGroupDecision
from volcano.scheduler.framework.options import Options
from volcano.scheduler.framework.reasons import Reason, Stage
from volcano.scheduler.framework.registry import Registry

Admit = Callable[[JsonObject], JsonObject]
"""Admission of one manifest: the mutated object, or an exception that says why not."""

Reconcile = Callable[[VcJob, Sequence[Pod], PodGroup | None], Iterable[Pod | PodGroup]]
"""The job controller: what a vcjob needs next, given its pods and its PodGroup."""

_RECREATING_KINDS = frozenset({"ReplicaSet", "ReplicationController", "StatefulSet", "DaemonSet", "Job"})


class OfflineError(ValueError):
    """A manifest cannot be used; the message names the object, the field and what is wanted."""


def schedule(
    objects: Iterable[JsonObject],
    conf: Conf,
    options: Options,
    *,
    cycles: int = 1,
    now: float = 0.0,
    seed: int = 0,
    admit: Admit | None = None,
    reconcile: Reconcile | None = None,
    registry: Registry | None = None,
) -> JsonObject:
    """The result document of `vcctl schedule -o json`: one entry per cycle.

    Nothing is filled in that the manifests do not say. Without `reconcile`, vcjobs are refused.
    """
    world = _World(options, admit, reconcile)
    for document in objects:
        world.add(document)
    rng = random.Random(seed)
    registry = registry or registries.built_in()
    options = replace(options, full_report=True)
    results = []
    for number in range(cycles):
        world.reconcile()
        decisions = engine.cycle(world.cluster, conf, options, now + number, rng, registry=registry)
        results.append(world.describe(decisions))
        world.settle(decisions)
    return {"cycles": results}


@dataclass
class _World:
    """The objects behind the cluster, kept so that they can move on between cycles."""

    options: Options
    admit: Admit | None
    reconciler: Reconcile | None
    pods: dict[str, Pod] = field(default_factory=dict)
    pod_groups: dict[str, PodGroup] = field(default_factory=dict)
    jobs: dict[str, VcJob] = field(default_factory=dict)

    def __post_init__(self) -> None:
        self.cluster = Cluster(self.options.default_queue)
        self.ingest = Ingest(self.cluster)

    # Manifests in

    def add(self, document: JsonObject) -> None:
        kind, name = str(document.get("kind", "")), _name(document)
        resource = by_kind(str(document.get("apiVersion", "")), kind)
        if resource is None:
            return  # a kind that the scheduler does not look at
        if resource is JOBS:
            self._add_job(document)
            return
        if resource.type is dict:
            self.ingest.apply(ADDED, resource.plural, _Untyped(document))
            return
        try:
            source = msgspec.convert(document, resource.type)
        except msgspec.ValidationError as problem:
            raise OfflineError(f"{kind} {name}: {problem}") from problem
        self._put(resource.plural, source)

    def _add_job(self, document: JsonObject) -> None:
        name = _name(document)
        if self.reconciler is None:
            raise OfflineError(f"Job {name}: vcjobs need the job controller, which is not at hand here")
        admitted = self.admit(document) if self.admit is not None else document
        try:
            job = msgspec.convert(admitted, VcJob)
        except msgspec.ValidationError as problem:
            raise OfflineError(f"Job {name}: {problem}") from problem
        job.metadata.namespace = job.metadata.namespace or "default"
        job.metadata.uid = job.metadata.uid or f"{job.metadata.namespace}-{job.metadata.name}"
        self.jobs[job.metadata.key] = job

    def _put(self, plural: str, source: Any) -> None:
        if plural in (PODS.plural, PODGROUPS.plural):
            source.metadata.namespace = source.metadata.namespace or "default"
        key = source.metadata.key
        if plural == PODS.plural:
            self.pods[key] = source
            if not self._is_ours(source):
                return
        elif plural == PODGROUPS.plural:
            self.pod_groups[key] = source
        self.ingest.apply(ADDED, plural, source)

    def _is_ours(self, pod: Pod) -> bool:
        """Foreign pods count where they run; a member of a group that names no scheduler is taken as ours."""
        name = pod.spec.scheduler_name
        grouped = keys.GROUP_NAME in pod.metadata.annotations
        return bool(pod.spec.node_name) or name in self.options.scheduler_names or (not name and grouped)

    # Between cycles

    def reconcile(self) -> None:
        """Let the job controller make what its jobs need, until it needs nothing more."""
        for key, job in self.jobs.items():
            for _ in range(2):  # first the PodGroup, then, once that is admitted, the pods
                uid = job.metadata.uid
                own = [pod for pod in self.pods.values() if any(o.uid == uid for o in pod.metadata.owner_references)]
                group = next((g for g in self.pod_groups.values() if _is_owned(g, uid)), None)
                assert self.reconciler is not None, f"{key} was accepted without a job controller"
                for made in self.reconciler(job, own, group):
                    self._put(PODS.plural if isinstance(made, Pod) else PODGROUPS.plural, made)

    def settle(self, decisions: Decisions) -> None:
        """Bound pods run; evicted ones are gone; PodGroups have the status that was decided."""
        for key, node in decisions.binds.items():
            pod = self.pods[key]
            pod.spec.node_name = node
            pod.status.phase = "Running"
            self.ingest.apply(MODIFIED, PODS.plural, pod)
        for eviction in decisions.evictions:
            pod = self.pods.pop(eviction.key)
            self.ingest.apply(DELETED, PODS.plural, pod)
            if any(owner.controller and owner.kind in _RECREATING_KINDS for owner in pod.metadata.owner_references):
                self._recreate(pod)
        for key, decided in decisions.podgroups.items():
            group = self.pod_groups.get(key)
            if group is not None:
                group = msgspec.structs.replace(group, status=_status(group.status, decided))
                self.pod_groups[key] = group
                self.ingest.apply(MODIFIED, PODGROUPS.plural, group)

    def _recreate(self, pod: Pod) -> None:
        """Its owner makes another one. vcjobs do so themselves, through the job controller."""
        if any(
            owner.uid in {job.metadata.uid for job in self.jobs.values()} for owner in pod.metadata.owner_references
        ):
            return
        again = msgspec.convert(msgspec.to_builtins(pod), Pod)
        again.metadata.uid = f"{pod.metadata.uid}-again"
        again.metadata.deletion_timestamp = None
        again.spec.node_name = ""
        again.status.phase = "Pending"
        again.status.nominated_node_name = ""
        self._put(PODS.plural, again)

    # Results out

    def describe(self, decisions: Decisions) -> JsonObject:
        reasons = {key: _reason(reason) for key, reason in decisions.reasons.items()}
        reasons |= {key: _reason(reason) for key, reason in self._outside().items() if key not in reasons}
        return {
            "binds": decisions.binds,
            "bindOrder": [list(pair) for pair in decisions.bind_order],
            "pipelined": decisions.pipelined,
            "evictions": [eviction.key for eviction in decisions.evictions],
            "podgroups": {
                key: {"phase": _phase(decisions, key, group), "conditions": _conditions(decisions, key, group)}
                for key, group in self.pod_groups.items()
            },
            "reasons": reasons,
            "tasks": self._tasks(decisions),
            "queues": {name: {"allocated": allocated} for name, allocated in decisions.queues.items()},
        }

    def _outside(self) -> dict[str, Reason]:
        """Jobs that no cycle looks at: their queue or their PodGroup is missing."""
        found: dict[str, Reason] = {}
        for key, job in self.cluster.jobs.items():
            if job.pod_group is None:
                text = f"podgroup {key!r} does not exist: create it, or correct the pods' group-name annotation"
                found[key] = Reason(Stage.ENQUEUE, "PodGroupNotFound", blocker=key, message=text)
            elif job.queue is None:
                name = job.queue_name
                text = f"queue {name!r} does not exist: create it, or name another queue (spec.queue)"
                found[key] = Reason(Stage.QUEUE, "QueueNotFound", blocker=name, message=text)
        return found

    def _tasks(self, decisions: Decisions) -> JsonObject:
        seen = {key: {"status": state.status, "node": state.node} for key, state in decisions.tasks.items()}
        others = {
            task.key: {"status": task.status.title, "node": task.node_name}
            for task in self.cluster.tasks.values()
            if task.key not in seen
        }
        return {**seen, **others}


@dataclass(frozen=True)
class _Untyped:
    """A document that has no type of its own, with the head that ingest asks for."""

    document: JsonObject

    @property
    def metadata(self) -> ObjectMeta:
        return msgspec.convert(self.document.get("metadata", {}), ObjectMeta)


def _name(document: Mapping[str, Any]) -> str:
    metadata = document.get("metadata")
    head = metadata if isinstance(metadata, dict) else {}
    return "/".join(str(part) for part in (head.get("namespace"), head.get("name")) if part) or "without a name"


def _is_owned(group: PodGroup, uid: str) -> bool:
    return any(owner.uid == uid for owner in group.metadata.owner_references)


def _status(before: PodGroupStatus, decided: PodGroupDecision) -> PodGroupStatus:
    fresh = {condition.type for condition in decided.conditions}
    kept = [condition for condition in before.conditions if condition.type not in fresh]
    new = [
        PodGroupCondition(type=c.type, status=c.status, reason=c.reason, message=c.message) for c in decided.conditions
    ]
    return PodGroupStatus(
        phase=decided.phase,
        conditions=[*kept, *new],
        running=decided.running,
        succeeded=decided.succeeded,
        failed=decided.failed,
    )


def _phase(decisions: Decisions, key: str, group: PodGroup) -> str:
    decided = decisions.podgroups.get(key)
    return decided.phase if decided is not None else group.status.phase or "Pending"


def _conditions(decisions: Decisions, key: str, group: PodGroup) -> list[JsonObject]:
    decided = decisions.podgroups.get(key)
    status = group.status if decided is None else _status(group.status, decided)
    return [msgspec.to_builtins(condition) for condition in status.conditions]


def _reason(reason: Reason) -> JsonObject:
    described = {
        "stage": reason.stage.value,
        "code": reason.code,
        "need": reason.need,
        "have": reason.have,
        "blocker": reason.blocker,
        "message": str(reason),
        "nodes": dict(reason.nodes),
    }
    return {name: value for name, value in described.items() if value not in (None, "", {})}
