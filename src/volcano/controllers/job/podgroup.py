"""The PodGroup of a job: what it says when made, and what to change when the job is edited.

Pure. Used by sync.py and kill.py; the scheduler admits the group before any pod is created.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

import msgspec

from volcano.api import keys, quantity
from volcano.api.meta import JsonObject, LabelSelector
from volcano.api.scheduling import PodGroup, PodGroupCondition, PodGroupSpec, SubGroupPolicySpec
from volcano.controllers import quota
from volcano.controllers.job.outcomes import total_minimum
from volcano.controllers.job.pods import group_name
from volcano.controllers.owners import controller_reference

if TYPE_CHECKING:
    from volcano.api.batch import Job, NetworkTopologySpec, TaskSpec
    from volcano.controllers.job.members import Members

API_VERSION = "scheduling.volcano.sh/v1beta1"
_DECLARATIONS = 256
"""so many are remembered"""
_declarations: dict[bytes, JsonObject] = {}
INQUEUE = "Inqueue"
_WAITING = frozenset({"", "Pending"})
_NOT_INHERITED = frozenset({keys.LAST_APPLIED})  # belongs to the object that kubectl applied


def build(job: Job, priorities: Mapping[str, int], *, is_let_in: bool = False) -> JsonObject:
    """As it is created: Pending, as the scheduler will say, unless the scheduler has let it in already."""
    meta: JsonObject = {
        "name": group_name(job),
        "namespace": job.metadata.namespace,
        "ownerReferences": [controller_reference(job)],
    }
    if job.metadata.labels:
        meta["labels"] = dict(job.metadata.labels)
    annotations = _annotations(job)
    if job.status.version:
        annotations[keys.JOB_VERSION] = str(job.status.version)
    if annotations:
        meta["annotations"] = annotations
    podgroup: JsonObject = {
        "apiVersion": API_VERSION,
        "kind": "PodGroup",
        "metadata": meta,
        "spec": msgspec.to_builtins(wanted(job, priorities)),
    }
    if is_let_in:
        podgroup["status"] = {"phase": INQUEUE}
    return podgroup


def wanted(job: Job, priorities: Mapping[str, int]) -> PodGroupSpec:
    spec = job.spec
    return PodGroupSpec(
        min_member=spec.min_available,
        min_task_member={task.name: _minimum(task) for task in spec.tasks},
        queue=spec.queue,
        min_resources=declared(job, priorities),
        priority_class_name=spec.priority_class_name,
        network_topology=_topology(spec.network_topology),
        sub_group_policy=subgroups(job),
    )


def changes(job: Job, podgroup: PodGroup, priorities: Mapping[str, int], home_queue: str = "") -> JsonObject:
    """A merge patch that brings an existing group in line with the job; empty when it is.

    Labels, annotations and task minimums are added and changed, never removed: others write them too. The group of a
    job that wishes no queue stays in `home_queue`, where admission puts it for its namespace.
    """
    want, have = wanted(job, priorities), podgroup.spec
    if want.queue == keys.DEFAULT_QUEUE and have.queue == home_queue:
        want.queue = home_queue
    spec = {} if want == have else _spec_changes(want, have)
    meta: JsonObject = {}
    if labels := _news(job.metadata.labels, podgroup.metadata.labels):
        meta["labels"] = labels
    if annotations := _news(_annotations(job), podgroup.metadata.annotations):
        meta["annotations"] = annotations
    return {name: part for name, part in (("metadata", meta), ("spec", spec)) if part}


def _spec_changes(want: PodGroupSpec, have: PodGroupSpec) -> JsonObject:
    spec: JsonObject = {}
    for field in ("min_member", "priority_class_name", "network_topology", "sub_group_policy"):
        value = getattr(want, field)
        if value != getattr(have, field):
            spec[_wire(field)] = msgspec.to_builtins(value)
    if want.queue and want.queue != have.queue:
        spec["queue"] = want.queue
    if not _same_amounts(want.min_resources or {}, have.min_resources):
        gone = dict.fromkeys(set(have.min_resources or {}) - set(want.min_resources or {}))
        spec["minResources"] = {**gone, **(want.min_resources or {})}
    if tasks := _news(want.min_task_member, have.min_task_member):
        spec["minTaskMember"] = tasks
    return spec


def declared(job: Job, priorities: Mapping[str, int]) -> JsonObject:
    """`minimum_resources` as it is written. Most jobs are like others, and each is looked at many times."""
    tasks = [
        (task.replicas, task.min_available, task.template.get("spec"), _priority(task, priorities))
        for task in job.spec.tasks
    ]
    likeness = msgspec.json.encode((job.spec.min_available, tasks))
    found = _declarations.get(likeness)
    if found is None:
        found = _declarations[likeness] = quota.written(minimum_resources(job, priorities))
        if len(_declarations) > _DECLARATIONS:
            del _declarations[next(iter(_declarations))]
    return dict(found)


def minimum_resources(job: Job, priorities: Mapping[str, int]) -> quota.Amounts:
    """What the first `minAvailable` pods need, tasks of higher priority first."""
    tasks = sorted(job.spec.tasks, key=lambda task: -_priority(task, priorities))
    return resources_of_first(tasks, job.spec.min_available, total_minimum(job.spec))


def resources_of_first(tasks: list[TaskSpec], count: int, minimum: int) -> quota.Amounts:
    """Usage of `count` pods: each task's own minimum first, unless `count` is below the sum of minimums."""
    taken = dict.fromkeys(range(len(tasks)), 0)
    remaining = count
    if count >= minimum:
        for position, task in enumerate(tasks):
            if task.min_available is not None:
                taken[position] = min(task.min_available, remaining)
                remaining -= taken[position]
    for position, task in enumerate(tasks):
        spare = min(task.replicas - taken[position], remaining)
        if spare > 0:
            taken[position] += spare
            remaining -= spare
    total: quota.Amounts = {}
    for position, task in enumerate(tasks):
        if taken[position] > 0:
            usage = quota.pod_usage(task.template.get("spec") or {})
            total = quota.added(total, quota.scaled(usage, taken[position]))
    return total


def subgroups(job: Job) -> list[SubGroupPolicySpec]:
    """One subgroup policy per task that is split into partitions."""
    return [policy for task in job.spec.tasks if (policy := subgroup_of(task)) is not None]


def subgroup_of(task: TaskSpec) -> SubGroupPolicySpec | None:
    partitions = task.partition_policy
    if partitions is None:
        return None
    return SubGroupPolicySpec(
        name=task.name,
        sub_group_size=partitions.partition_size,
        min_sub_groups=partitions.min_partitions,
        label_selector=LabelSelector(match_labels={keys.TASK_SPEC: task.name}),
        match_label_keys=[keys.PARTITION_ID],
        network_topology=_topology(partitions.network_topology),
    )


def is_admitted(podgroup: PodGroup | None) -> bool:
    """The scheduler has let the group in: pods may be created."""
    return podgroup is not None and podgroup.status.phase not in _WAITING


def is_outdated(podgroup: PodGroup, job: Job, members: Members) -> bool:
    """Made for the job as it was before its last kill. Where the group does not say (the Go Volcano's never do),
    a pod of the job's present version does: there is none before the group is."""
    made_for = podgroup.metadata.annotations.get(keys.JOB_VERSION)
    if made_for is None:
        return all(member.version < job.status.version for member in members) and job.status.version > 0
    return made_for.isdecimal() and int(made_for) < job.status.version


def complaint(podgroup: PodGroup) -> PodGroupCondition | None:
    """The newest condition in force, if it says that the group cannot be scheduled."""
    in_force = [condition for condition in podgroup.status.conditions if condition.status == "True"]
    if not in_force:
        return None
    newest = in_force[0]
    for condition in in_force[1:]:
        if _moment(condition) >= _moment(newest):
            newest = condition
    return None if newest.type == "Scheduled" else newest


def _moment(condition: PodGroupCondition) -> float:
    return condition.last_transition_time.timestamp() if condition.last_transition_time else 0.0


def _minimum(task: TaskSpec) -> int:
    if task.min_available is not None:
        return task.min_available
    partitions = task.partition_policy
    if partitions is not None and partitions.min_partitions and partitions.partition_size:
        return partitions.min_partitions * partitions.partition_size
    return task.replicas


def _topology(topology: NetworkTopologySpec | None) -> NetworkTopologySpec | None:
    """The tier by number, else by name: a group may say only one of them."""
    if topology is None or topology.highest_tier_allowed is None or not topology.highest_tier_name:
        return topology
    return msgspec.structs.replace(topology, highest_tier_name="")


def _priority(task: TaskSpec, priorities: Mapping[str, int]) -> int:
    name = (task.template.get("spec") or {}).get("priorityClassName") or ""
    return priorities.get(name, 0)


def _annotations(job: Job) -> dict[str, str]:
    return {key: value for key, value in job.metadata.annotations.items() if key not in _NOT_INHERITED}


def _news(want: Mapping[str, object], have: Mapping[str, object]) -> dict[str, object]:
    return {key: value for key, value in want.items() if have.get(key) != value or key not in have}


def _same_amounts(want: Mapping[str, object], have: Mapping[str, object] | None) -> bool:
    if want == have:
        return True
    if have is None or set(want) != set(have):
        return False
    return all(quantity.parse(want[name]) == quantity.parse(have[name]) for name in want)  # type: ignore[arg-type]


def _wire(field: str) -> str:
    head, *rest = field.split("_")
    return head + "".join(part.capitalize() for part in rest)
