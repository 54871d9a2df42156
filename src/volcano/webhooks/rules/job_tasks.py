"""Tasks of a job: their names, gang sizes, policies, partitions, pod names and pod templates.

`findings` judges a new job, `scale_findings` the sizes of one that is updated.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from volcano.webhooks.rules import job_policies, names, template
from volcano.webhooks.rules.documents import mapping, mappings
from volcano.webhooks.rules.fields import invalid, required, text
from volcano.webhooks.rules.job_findings import Finding, go_list
from volcano.webhooks.rules.model import Cause
from volcano.webhooks.rules.template.resources import amount_of

if TYPE_CHECKING:
    from volcano.api.batch import Job, TaskSpec


def findings(job: Job, *, pod_level_resources: bool) -> Iterator[Finding]:
    """Up to and including the first name that is taken."""
    seen: set[str] = set()
    for index, task in enumerate(job.spec.tasks):
        where = f"spec.tasks[{index}]"
        if task.min_available is not None and task.min_available > task.replicas:
            words = f" 'minAvailable' is greater than 'replicas' in task: {task.name}, job: {job.metadata.name};"
            hint = f"minAvailable is {task.min_available}, replicas is {task.replicas}"
            yield Finding(words, f"{where}.minAvailable", hint)
        if task.name in seen:
            hint = "give each task a name of its own"
            yield Finding(f" duplicated task name {task.name};", f"{where}.name", hint)
            return
        seen.add(task.name)
        if wrong := job_policies.errors(task.policies, "spec.tasks.policies", f"{where}.policies"):
            yield Finding(job_policies.message(wrong), wrong[0].field, wrong[0].hint, tuple(wrong))
        yield from _pod_name_findings(job, task, where)
        yield from _template_findings(job, task, index, pod_level_resources=pod_level_resources)
        yield from numa_findings(task, index)
        yield from _partition_findings(job, task, where)


def scale_findings(job: Job) -> Iterator[Finding]:
    """Sizes that an update may set; the first wrong one."""
    for index, task in enumerate(job.spec.tasks):
        where = f"spec.tasks[{index}]"
        if task.replicas < 0:
            yield Finding(f"'replicas' must be >= 0 in task: {task.name}", f"{where}.replicas")
        if task.min_available is not None:
            if task.min_available < 0:
                yield Finding(f"'minAvailable' must be >= 0 in task: {task.name}", f"{where}.minAvailable")
            if task.min_available > task.replicas:
                hint = f"minAvailable is {task.min_available}, replicas is {task.replicas}"
                words = f"'minAvailable' must be <= 'replicas' in task: {task.name}"
                yield Finding(words, f"{where}.minAvailable", hint)
        yield from _partition_findings(job, task, where)


def _pod_name_findings(job: Job, task: TaskSpec, where: str) -> Iterator[Finding]:
    """The longest name of the task's pods, that of its last replica."""
    name = f"{job.metadata.name}-{task.name}-{max(task.replicas - 1, 0)}"
    if bad := names.qualified_name(name):
        hint = "shorten the name of the job or of the task"
        yield Finding(f"create pod with name {name} validate failed {go_list(bad)};", f"{where}.name", hint)


def _template_findings(job: Job, task: TaskSpec, index: int, *, pod_level_resources: bool) -> Iterator[Finding]:
    found = [
        *_owner_errors(job, task),
        *template.errors(task.template, "template", pod_level_resources=pod_level_resources),
    ]
    if not found:
        return
    words = f"spec.task[{index}]." + "".join(f"{text(cause)}. " for cause in found)
    causes = tuple(Cause(f"spec.tasks[{index}].{cause.field}", cause.message, cause.hint) for cause in found)
    yield Finding(words, causes[0].field, causes[0].hint, causes)


def _owner_errors(job: Job, task: TaskSpec) -> Iterator[Cause]:
    """The name and namespace that the template gets from its task and job."""
    if not task.name:
        yield required("metadata.name", "name or generateName is required")
    for error in names.subdomain(task.name) if task.name else ():
        yield invalid("metadata.name", task.name, error)
    if not job.metadata.namespace:
        yield required("metadata.namespace")
    for error in names.dns_label(job.metadata.namespace) if job.metadata.namespace else ():
        yield invalid("metadata.namespace", job.metadata.namespace, error)


def numa_findings(task: TaskSpec, index: int) -> Iterator[Finding]:
    """Under a NUMA policy CPUs are given out whole."""
    if task.topology_policy in ("", "none"):
        return
    pod = mapping(task.template, "spec")
    for field, label in (("containers", "container"), ("initContainers", "initContainer")):
        for position, container in enumerate(mappings(pod, field)):
            resources = mapping(container, "resources")
            wanted = mapping(resources, "requests") or mapping(resources, "limits")
            cpu = amount_of(wanted.get("cpu", 0))
            if cpu is None or not cpu or cpu.milli % 1000:
                words = f"the cpu request isn't an integer in spec.task[{index}] {label}[{position}]."
                where = f"spec.tasks[{index}].template.spec.{field}[{position}].resources.requests[cpu]"
                yield Finding(words, where, f"topologyPolicy {task.topology_policy} needs whole CPUs")


def _partition_findings(job: Job, task: TaskSpec, where: str) -> Iterator[Finding]:
    policy = task.partition_policy
    if policy is None:
        return
    ending = f" in task: {task.name}, job: {job.metadata.name}"
    where = f"{where}.partitionPolicy"
    if policy.total_partitions <= 0:
        yield Finding(f"'TotalPartitions' must be greater than 0{ending}", f"{where}.totalPartitions")
    elif policy.partition_size <= 0:
        yield Finding(f"'PartitionSize' must be greater than 0{ending}", f"{where}.partitionSize")
    elif task.replicas != policy.total_partitions * policy.partition_size:
        hint = f"replicas is {task.replicas}, the partitions hold {policy.total_partitions * policy.partition_size}"
        yield Finding(f"'Replicas' are not equal to TotalPartitions*PartitionSize{ending}", where, hint)
    elif policy.min_partitions > 0 and task.min_available not in (
        None,
        least := policy.min_partitions * policy.partition_size,
    ):
        hint = f"minAvailable is {task.min_available}, the smallest number of partitions holds {least}"
        yield Finding(f"'MinAvailable' is not equal to MinPartitions*PartitionSize{ending}", where, hint)
