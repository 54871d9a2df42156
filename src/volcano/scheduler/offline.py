"""Scheduling without a cluster: manifests in, what the engine would do out. `vcctl schedule` and its tests call it.

Between cycles the cluster is ideal: bound pods run, evicted pods vanish, and come back where an owner makes them anew.
"""

from __future__ import annotations

import math
import random
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, replace
from typing import Any, Protocol

import msgspec

from volcano.api import keys
from volcano.api.batch import Job as VcJob
from volcano.api.core import Pod, PodStatus, PriorityClass
from volcano.api.meta import JsonObject, ObjectMeta, controller_of, without_nulls
from volcano.api.quantity import QuantityError
from volcano.api.resources import JOBS, PODGROUPS, PODS, Resource, by_kind
from volcano.api.scheduling import PodGroup, PodGroupCondition, PodGroupStatus, group_of
from volcano.scheduler import engine
from volcano.scheduler.cluster.cluster import Cluster
from volcano.scheduler.cluster.ingest import ADDED, DELETED, MODIFIED, Ingest
from volcano.scheduler.cluster.resources import Vector
from volcano.scheduler.framework import registry as registries
from volcano.scheduler.framework.conf import Conf
from volcano.scheduler.framework.decisions import Decisions, PodGroupDecision
from volcano.scheduler.framework.options import Options
from volcano.scheduler.framework.reasons import Reason, Stage
from volcano.scheduler.framework.registry import Registry
from volcano.scheduler.framework.remedies import remedy

Admit = Callable[[JsonObject], JsonObject]
"""Admission of one manifest: the mutated object, or an exception that says why not."""

_DESERVED: Mapping[str, str] = {
    "queue_deserved_milli_cpu": "cpu",
    "queue_deserved_memory_bytes": "memory",
    "queue_deserved_scalar_resources": "",
}
"""The gauges of what a queue deserves, with the resource; the last one has it as a label."""
_RECREATING_KINDS = frozenset({"ReplicaSet", "ReplicationController", "StatefulSet", "DaemonSet", "Job"})


class OfflineError(ValueError):
    """A manifest cannot be used; the message names the object, the field and what is wanted."""


class UnusableQuantity(OfflineError):
    """A manifest with an amount that is none: admission would refuse it, and says where it stands."""

    def __init__(self, document: JsonObject, problem: QuantityError) -> None:
        super().__init__(f"{document.get('kind')} {_name(document)}: {problem}")
        self.document = document


class JobController(Protocol):
    """Makes PodGroups and pods for vcjobs, by the World's `put` and `remove` methods."""

    def add(self, job: VcJob) -> None: ...
    def owns(self, pod: Pod) -> bool: ...
    def pod_changed(self, old: Pod, new: Pod) -> None: ...
    def pod_gone(self, pod: Pod) -> None: ...
    def pod_group_changed(self, old: PodGroup, new: PodGroup) -> None: ...

    def settle(self, now: float) -> None:
        """Answer everything that happened, until nothing is left to do."""
        ...


def schedule(
    objects: Iterable[JsonObject],
    conf: Conf,
    options: Options,
    *,
    cycles: int = 1,
    now: float = 0.0,
    seed: int = 0,
    namespace: str = "default",
    admit: Admit | None = None,
    job_controller: Callable[[World], JobController] | None = None,
    registry: Registry | None = None,
) -> JsonObject:
    """The result document of `vcctl schedule -o json`: one entry per cycle, and what configuration or plugins do wrong.

    Nothing is filled in that the manifests do not say, but the `namespace` of objects that name none. vcjobs pass
    `admit`, and `job_controller` makes their pods; without one they are refused.
    """
    world = World(options, namespace)
    jobs = [job for document in objects if (job := world.add(document, admit)) is not None]
    controller = None if job_controller is None else job_controller(world)
    for job in jobs:
        if controller is None:
            raise OfflineError(f"Job {job.metadata.key}: vcjobs need the job controller, which is not at hand here")
        controller.add(job)
    rng = random.Random(seed)
    registry = registry or registries.built_in()
    options = replace(options, full_report=True)
    results = []
    warnings: list[str] = []
    for number in range(cycles):
        if controller is not None:
            controller.settle(now + number)
        decisions = engine.cycle(world.cluster, conf, options, now + number, rng, registry=registry)
        results.append(world.describe(decisions))
        warnings += [warning for warning in decisions.warnings if warning not in warnings]
        world.settle(decisions, controller)
    return {"cycles": results, "warnings": warnings}


class World:
    """The objects behind the cluster, kept so that they can move on between cycles."""

    def __init__(self, options: Options, namespace: str = "default") -> None:
        self.cluster = Cluster(options.default_queue)
        self.ingest = Ingest(self.cluster)
        self.pods: dict[str, Pod] = {}
        self.pod_groups: dict[str, PodGroup] = {}
        self.priorities: dict[str, int] = {}
        self._options = options
        self._namespace = namespace
        self._seen: set[tuple[str, str]] = set()

    # Manifests in

    def add(self, document: JsonObject, admit: Admit | None = None) -> VcJob | None:
        """Take a manifest in; a vcjob is given back, admitted, for its controller."""
        resource = by_kind(str(document.get("apiVersion", "")), str(document.get("kind", "")))
        if resource is None:
            return None  # a kind that the scheduler does not look at
        source = self._understood(document, resource)
        if (resource.group_resource, source.metadata.key) in self._seen:
            raise OfflineError(f"{resource.kind} {source.metadata.key} is given twice: each object may occur once")
        self._seen.add((resource.group_resource, source.metadata.key))
        if resource is JOBS:
            return self._admitted(document if admit is None else admit(self._placed(document)))
        try:
            self._take_in(resource, source)
        except QuantityError as problem:
            raise UnusableQuantity(document, problem) from problem
        return None

    def _take_in(self, resource: Resource[Any], source: Any) -> None:
        match source:
            case Pod():
                self.put_pod(source)
            case PodGroup():
                self.put_pod_group(source)
            case _:
                if isinstance(source, PriorityClass):
                    self.priorities[source.metadata.name] = source.value
                self.ingest.apply(ADDED, resource.plural, source)

    def _admitted(self, document: JsonObject) -> VcJob:
        job: VcJob = self._understood(document, JOBS)
        job.metadata.uid = job.metadata.uid or f"{job.metadata.namespace}-{job.metadata.name}"
        return job

    def _understood(self, document: JsonObject, resource: Resource[Any]) -> Any:
        if resource.type is dict:
            return _Untyped(document)
        try:
            source = msgspec.convert(without_nulls(document), resource.type)
        except msgspec.ValidationError as problem:
            raise OfflineError(f"{resource.kind} {_name(document)}: {problem}") from problem
        if resource.namespaced and not source.metadata.namespace:
            source.metadata.namespace = self._namespace
        return source

    def _placed(self, document: JsonObject) -> JsonObject:
        metadata = document.get("metadata") or {}
        return {**document, "metadata": {**metadata, "namespace": metadata.get("namespace") or self._namespace}}

    # Changes, each told to the cluster as a watch would

    def put_pod(self, pod: Pod) -> None:
        event = MODIFIED if pod.metadata.key in self.pods else ADDED
        self.pods[pod.metadata.key] = pod
        if self._is_ours(pod):
            self.ingest.apply(event, PODS.plural, pod)

    def remove_pod(self, key: str) -> Pod | None:
        pod = self.pods.pop(key, None)
        if pod is not None:
            self.ingest.apply(DELETED, PODS.plural, pod)
        return pod

    def put_pod_group(self, pod_group: PodGroup) -> None:
        event = MODIFIED if pod_group.metadata.key in self.pod_groups else ADDED
        self.pod_groups[pod_group.metadata.key] = pod_group
        self.ingest.apply(event, PODGROUPS.plural, pod_group)

    def remove_pod_group(self, key: str) -> None:
        if pod_group := self.pod_groups.pop(key, None):
            self.ingest.apply(DELETED, PODGROUPS.plural, pod_group)

    def _is_ours(self, pod: Pod) -> bool:
        """Foreign pods count where they run; a member of a group that names no scheduler is taken as ours."""
        name = pod.spec.scheduler_name
        grouped = bool(group_of(pod.metadata.annotations))
        return bool(pod.spec.node_name) or name in self._options.scheduler_names or (not name and grouped)

    # Between cycles

    def settle(self, decisions: Decisions, controller: JobController | None = None) -> None:
        """Bound pods run; evicted ones are gone; PodGroups have the status that was decided."""
        for key, node in decisions.binds.items():
            pod = self.pods[key]
            running = msgspec.structs.replace(
                pod,
                spec=msgspec.structs.replace(pod.spec, node_name=node),
                status=msgspec.structs.replace(pod.status, phase="Running"),
            )
            self.put_pod(running)
            if controller is not None:
                controller.pod_changed(pod, running)
        for key in decisions.admissions:
            self._open_gate(self.pods[key], controller)
        for eviction in decisions.evictions:
            self._evict(eviction.key, controller)
        for key, decided in decisions.podgroups.items():
            group = self.pod_groups.get(key)
            if group is not None:
                changed = msgspec.structs.replace(group, status=_status(group.status, decided))
                self.put_pod_group(changed)
                if controller is not None:
                    controller.pod_group_changed(group, changed)

    def _open_gate(self, pod: Pod, controller: JobController | None) -> None:
        gates = [gate for gate in pod.spec.scheduling_gates if gate.name != keys.QUEUE_ALLOCATION_GATE]
        opened = msgspec.structs.replace(pod, spec=msgspec.structs.replace(pod.spec, scheduling_gates=gates))
        self.put_pod(opened)
        if controller is not None:
            controller.pod_changed(pod, opened)

    def _evict(self, key: str, controller: JobController | None) -> None:
        pod = self.remove_pod(key)
        if pod is None:
            return
        owner = controller_of(pod.metadata)
        if controller is not None and controller.owns(pod):
            controller.pod_gone(pod)
        elif owner is not None and owner.kind in _RECREATING_KINDS:
            self.put_pod(_successor(pod))

    # Results out

    def describe(self, decisions: Decisions) -> JsonObject:
        reasons = {key: _reason(reason) for key, reason in decisions.reasons.items()}
        reasons |= {key: _reason(reason) for key, reason in self._outside().items() if key not in reasons}
        return {
            "binds": decisions.binds,
            "bindOrder": [list(pair) for pair in decisions.bind_order],
            "pipelined": decisions.pipelined,
            "evictions": [eviction.key for eviction in decisions.evictions],
            "gatesOpened": list(decisions.admissions),
            "podgroups": {
                key: {"phase": _phase(decisions, key, group), "conditions": _conditions(decisions, key, group)}
                for key, group in self.pod_groups.items()
            },
            "reasons": reasons,
            "tasks": self._tasks(decisions),
            "pods": self._pods(decisions),
            "queues": self._queues(decisions),
        }

    def _queues(self, decisions: Decisions) -> JsonObject:
        """What they hold, and what they deserve where a plugin that divides the cluster has reckoned it."""
        found: JsonObject = {name: {"allocated": allocated} for name, allocated in decisions.queues.items()}
        dimensions = self.cluster.dimensions
        deserved: dict[str, Vector] = {}
        for (family, (queue, *resource)), amount in decisions.gauges.items():
            if family in _DESERVED and math.isfinite(amount):
                amounts = deserved.setdefault(queue, dimensions.zeros())
                amounts[dimensions.intern(resource[0] if resource else _DESERVED[family])] = int(amount)
        for queue, amounts in deserved.items():
            if queue in found:
                found[queue]["deserved"] = dimensions.describe(amounts)
        return found

    def _outside(self) -> dict[str, Reason]:
        """Jobs with pods that wait and no PodGroup: a cycle cannot even name them.

        The PodGroup of a job that has finished goes before its pods, and nobody misses it.
        """
        return {
            key: Reason(
                Stage.ENQUEUE,
                "PodGroupNotFound",
                blocker=key,
                message=f"podgroup {key!r} does not exist: create it, or correct the pods' group-name annotation",
            )
            for key, job in self.cluster.jobs.items()
            if job.pod_group is None and job.pending
        }

    def _tasks(self, decisions: Decisions) -> JsonObject:
        seen = {key: {"status": state.status, "node": state.node} for key, state in decisions.tasks.items()}
        others = {
            task.key: {"status": task.status.title, "node": task.node_name}
            for task in self.cluster.tasks.values()
            if task.key not in seen
        }
        return {**seen, **others}

    def _pods(self, decisions: Decisions) -> JsonObject:
        """Whose members they are, and why those that wait do so."""
        messages = {f"{verdict.namespace}/{verdict.name}": verdict.message for verdict in decisions.pods}
        return {
            task.key: {"podgroup": task.job.key if task.job else "", "message": messages.get(task.key, "")}
            for task in self.cluster.tasks.values()
        }


@dataclass(frozen=True)
class _Untyped:
    """A document that has no type of its own, with the head that ingest asks for."""

    document: JsonObject

    @property
    def metadata(self) -> ObjectMeta:
        return msgspec.convert(self.document.get("metadata", {}), ObjectMeta)


def _successor(pod: Pod) -> Pod:
    """What an owner makes in the place of a pod it lost: the same, pending, with a uid of its own."""
    metadata = msgspec.structs.replace(pod.metadata, uid=f"{pod.metadata.uid}-again", deletion_timestamp=None)
    spec = msgspec.structs.replace(pod.spec, node_name="")
    return msgspec.structs.replace(pod, metadata=metadata, spec=spec, status=PodStatus(phase="Pending"))


def _name(document: Mapping[str, Any]) -> str:
    metadata = document.get("metadata")
    head = metadata if isinstance(metadata, dict) else {}
    return "/".join(str(part) for part in (head.get("namespace"), head.get("name")) if part) or "without a name"


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
        "resource": reason.resource,
        "amounts": {"need": reason.amounts[0], "have": reason.amounts[1]} if reason.resource else None,
        "blocker": reason.blocker,
        "message": str(reason),
        "remedy": remedy(reason),
        "nodes": dict(reason.nodes),
        "cause": _reason(reason.cause) if reason.cause is not None else None,
    }
    return {name: value for name, value in described.items() if value not in (None, "", {})}
