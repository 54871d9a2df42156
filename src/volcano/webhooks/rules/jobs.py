"""Jobs, second phase: whether a job may be created, and what of it may change later.

Tasks are judged in `job_tasks`, policies in `job_policies`, pod templates in `template`; defaults come before,
in `job_defaults`.
"""

from __future__ import annotations

from collections.abc import Iterator
from itertools import islice
from typing import TYPE_CHECKING, Any, Final

from volcano.api import dependencies, keys
from volcano.api.batch import Job
from volcano.webhooks.rules import job_policies, job_tasks, names
from volcano.webhooks.rules.decode import decoded
from volcano.webhooks.rules.graphs import topological_order
from volcano.webhooks.rules.job_findings import Finding, go_list, refusal
from volcano.webhooks.rules.model import AdmissionRequest, AdmissionResponse, Settings, World, denied
from volcano.webhooks.rules.queue_lookup import ROOT_QUEUE, missing_queue_hint, queue_not_found
from volcano.webhooks.rules.topology import TIER_CONFLICT, names_both_tiers

if TYPE_CHECKING:
    from volcano.api.batch import JobSpec, VolumeSpec
    from volcano.api.meta import JsonObject

PLUGINS: Final = ("env", "hcclrank", "mpi", "pytorch", "ray", "ssh", "svc", "tensorflow")
FROZEN_FIELDS: Final = (
    "job updates may not change fields other than "
    "`minAvailable`, `tasks[*].replicas under spec` and `PriorityClassName`"
)
TWO_CLAIMS: Final = (
    "conflict: If you want to use an existing PVC, just specify VolumeClaimName."
    "If you want to create a new PVC, you do not need to specify VolumeClaimName"
)


def validate(request: AdmissionRequest, world: World, settings: Settings) -> AdmissionResponse:
    if request.operation not in ("CREATE", "UPDATE"):
        return denied("expect operation to be 'CREATE' or 'UPDATE'")
    job = decoded(request.object, Job)
    if request.operation == "CREATE":
        return refusal(_creation_findings(job, world, settings))
    old = decoded(request.old_object, Job)
    return refusal(islice(_update_findings(job, old, request.object or {}, request.old_object or {}), 1))


def _creation_findings(job: Job, world: World, settings: Settings) -> Iterator[Finding]:
    spec = job.spec
    if not spec.tasks:
        yield Finding("No task specified in job spec", "spec.tasks", "add at least one task with a pod template")
        return
    if "mpi" in spec.plugins and (master := _mpi_master(spec.plugins["mpi"])) not in {task.name for task in spec.tasks}:
        hint = f"name one task '{master}', or give the plugin the name of yours: --master=NAME"
        yield Finding("The specified mpi master task was not found", "spec.plugins[mpi]", hint)
        return
    yield from _topology_findings(spec)
    yield from job_tasks.findings(job, pod_level_resources=settings.pod_level_resources)
    if bad := names.qualified_name(job.metadata.name):
        text = f"create job with name {job.metadata.name} validate failed {go_list(bad)};"
        yield Finding(text, "metadata.name", "choose another name for the job")
    yield from _dependency_findings(job)
    total = sum(task.replicas for task in spec.tasks)
    if total < spec.min_available:
        text = " job 'minAvailable' should not be greater than total replicas in tasks;"
        hint = (
            f"minAvailable is {spec.min_available}, the tasks have {total} replicas together: lower it, or raise them"
        )
        yield Finding(text, "spec.minAvailable", hint)
    if wrong := job_policies.errors(spec.policies, "spec.policies", "spec.policies"):
        yield Finding(job_policies.message(wrong), wrong[0].field, wrong[0].hint, tuple(wrong))
    for name in spec.plugins:
        if name not in PLUGINS:
            hint = f"use one of {', '.join(PLUGINS)}"
            yield Finding(f" unable to find job plugin: {name};", f"spec.plugins[{name}]", hint)
    yield from _volume_findings(spec.volumes)
    yield from _queue_findings(spec.queue, world)
    yield from _order_findings(spec)


def _dependency_findings(job: Job) -> Iterator[Finding]:
    text = job.metadata.annotations.get(keys.AFTER)
    if not text:
        return
    try:
        dependencies.parse(text)
    except dependencies.DependencyError as error:
        yield Finding(f" {error};", f"metadata.annotations[{keys.AFTER}]", "name jobs of this namespace")


def _topology_findings(spec: JobSpec) -> Iterator[Finding]:
    hint = "keep one of highestTierAllowed and highestTierName"
    if names_both_tiers(spec.network_topology):
        yield Finding(TIER_CONFLICT, "spec.networkTopology", hint)
    for index, task in enumerate(spec.tasks):
        if task.partition_policy and names_both_tiers(task.partition_policy.network_topology):
            yield Finding(TIER_CONFLICT, f"spec.tasks[{index}].partitionPolicy.networkTopology", hint)


def _volume_findings(volumes: list[VolumeSpec]) -> Iterator[Finding]:
    """The first volume that cannot be mounted."""
    seen: set[str] = set()
    for index, volume in enumerate(volumes):
        where = f"spec.volumes[{index}]"
        if not volume.mount_path:
            yield Finding(" mountPath is required;", f"{where}.mountPath", "say where containers shall see the volume")
            return
        if volume.mount_path in seen:
            hint = "give each volume a path of its own"
            yield Finding(f" duplicated mountPath: {volume.mount_path};", f"{where}.mountPath", hint)
            return
        seen.add(volume.mount_path)
        if not volume.volume_claim and not volume.volume_claim_name:
            hint = "set volumeClaim (a claim is created) or volumeClaimName (one that exists)"
            yield Finding(" either VolumeClaim or VolumeClaimName must be specified;", where, hint)
            return
        if not volume.volume_claim_name:
            continue
        if volume.volume_claim:
            yield Finding(TWO_CLAIMS, f"{where}.volumeClaimName", "remove volumeClaim or volumeClaimName")
            return
        if bad := names.subdomain(volume.volume_claim_name):
            text = f"invalid VolumeClaimName {volume.volume_claim_name} : {go_list(bad)}"
            yield Finding(text, f"{where}.volumeClaimName", "use the name of a PersistentVolumeClaim")
            return


def _queue_findings(name: str, world: World) -> Iterator[Finding]:
    queue = world.queue(name)
    if queue is None:
        text = f" unable to find job queue: {queue_not_found(name)};"
        yield Finding(text, "spec.queue", missing_queue_hint(name))
        return
    if not queue.is_open:
        state = queue.status.state
        text = f" can only submit job to queue with state `Open`, queue `{name}` status is `{state}`;"
        yield Finding(text, "spec.queue", f"open the queue (vcctl queue operate -n {name} -a open) or name another one")
    if name == ROOT_QUEUE:
        yield Finding(" can not submit job to root queue;", "spec.queue", "name a queue below root")
    elif children := world.child_queues(name):
        text = f" can only submit job to leaf queue, queue `{name}` has {len(children)} child queues;"
        below = ", ".join(sorted(child.metadata.name for child in children))
        yield Finding(text, "spec.queue", f"name a queue without children, for example one of {below}")


def _order_findings(spec: JobSpec) -> Iterator[Finding]:
    dependencies = {task.name: task.depends_on.name if task.depends_on else [] for task in spec.tasks}
    if not any(dependencies.values()) or topological_order(dependencies) is not None:
        return
    text = " job has dependencies between tasks, but doesn't form a directed acyclic graph(DAG);"
    unknown = sorted({name for needed in dependencies.values() for name in needed} - dependencies.keys())
    hint = f"no task is called {', '.join(unknown)}" if unknown else "break the circle of dependencies"
    yield Finding(text, "spec.tasks[*].dependsOn", hint)


def _mpi_master(arguments: list[str]) -> str:
    """The task that runs mpiexec, from arguments such as --master=NAME."""
    words = [word for argument in arguments for word in argument.split()]
    for index, word in enumerate(words):
        flag, equals, value = word.lstrip("-").partition("=")
        if word.startswith("-") and flag == "master":
            return value if equals else next(iter(words[index + 1 :]), "")
    return "master"


def _update_findings(job: Job, old: Job, document: JsonObject, old_document: JsonObject) -> Iterator[Finding]:
    """Why this change is refused; clients are told the first reason."""
    yield from job_tasks.scale_findings(job)
    total = sum(task.replicas for task in job.spec.tasks)
    if job.spec.min_available > total:
        hint = f"minAvailable is {job.spec.min_available}, the tasks have {total} replicas together"
        yield Finding("job 'minAvailable' must not be greater than total replicas", "spec.minAvailable", hint)
    if job.spec.min_available < 0:
        yield Finding("job 'minAvailable' must be >= 0", "spec.minAvailable")
    yield from _topology_findings(job.spec)
    if len(job.spec.tasks) != len(old.spec.tasks):
        yield Finding("job updates may not add or remove tasks", "spec.tasks", "create a new job instead")
    changed = _changed_field(_fixed_part(old_document), _fixed_part(document), "spec")
    if changed:
        yield Finding(FROZEN_FIELDS, changed, "create a new job to change it")


def _fixed_part(document: JsonObject) -> JsonObject:
    """The part of a spec that may not change: without gang sizes, priority and the names of created claims."""
    spec = dict(document.get("spec") or {})
    for field in ("minAvailable", "priorityClassName"):
        spec.pop(field, None)
    spec["tasks"] = [
        {key: value for key, value in task.items() if key not in ("replicas", "minAvailable")}
        for task in spec.get("tasks") or ()
    ]
    spec["volumes"] = [
        {key: value for key, value in volume.items() if key != "volumeClaimName"}
        if volume.get("volumeClaim")
        else volume
        for volume in spec.get("volumes") or ()
    ]
    return spec


def _changed_field(old: Any, new: Any, path: str) -> str:
    """Path of the first difference; absent, null and empty are the same."""
    if isinstance(old, dict) and isinstance(new, dict):
        pairs = [(f"{path}.{key}", old.get(key), new.get(key)) for key in {**old, **new}]
    elif isinstance(old, list) and isinstance(new, list) and len(old) == len(new):
        pairs = [(f"{path}[{index}]", *both) for index, both in enumerate(zip(old, new, strict=True))]
    else:
        return "" if old == new or not (old or new) else path
    return next((found for where, left, right in pairs if (found := _changed_field(left, right, where))), "")
