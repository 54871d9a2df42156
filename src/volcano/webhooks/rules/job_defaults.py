"""Jobs, first phase: what a submitted job becomes. Queue, scheduler, retries, gang sizes, implied plugins.

`jobs` judges the outcome. Users' values stay as written, unknown fields included.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, Final

from volcano.api.batch import Job, TaskSpec
from volcano.webhooks.rules.decode import MalformedObject, decoded
from volcano.webhooks.rules.documents import mapping, mappings
from volcano.webhooks.rules.edits import Edits
from volcano.webhooks.rules.model import ALLOWED, AdmissionRequest, AdmissionResponse, Settings, World, denied
from volcano.webhooks.rules.queue_lookup import DEFAULT_QUEUE
from volcano.webhooks.rules.template.resources import amount_of

if TYPE_CHECKING:
    from volcano.api.meta import JsonObject

DEFAULT_SCHEDULER: Final = "volcano"
DEFAULT_MAX_RETRY: Final = 3
# Distributed frameworks whose members must find each other by name, and those that log in to each other.
NEED_SVC: Final = frozenset({"mpi", "pytorch", "ray", "tensorflow"})
NEED_SSH: Final = frozenset({"mpi"})


def mutate(request: AdmissionRequest, _world: World, settings: Settings) -> AdmissionResponse:
    """Updates, too: merge patches (`kubectl apply`) replace the task list, and with it what was filled in before."""
    if request.operation not in ("CREATE", "UPDATE"):
        return denied("expect operation to be 'CREATE' or 'UPDATE'")
    document = request.object or {}
    try:
        job = decoded(document, Job)
    except MalformedObject:
        return ALLOWED  # the schema, and then `jobs.validate`, name the field
    spec, raw = job.spec, mapping(document, "spec")
    edits = Edits(document)
    if not spec.queue:
        edits.add(DEFAULT_QUEUE, "spec", "queue")
    if not spec.scheduler_name:
        edits.add((*settings.scheduler_names, DEFAULT_SCHEDULER)[0], "spec", "schedulerName")
    if spec.max_retry == 0:
        edits.add(DEFAULT_MAX_RETRY, "spec", "maxRetry")
    documents = mappings(raw, "tasks")
    tasks = [
        _task(task, document, index) for index, (task, document) in enumerate(zip(spec.tasks, documents, strict=True))
    ]
    if tasks != list(documents):
        edits.replace([_as_stored(task) for task in tasks], "spec", "tasks")
    if spec.min_available == 0 and (total := _gang_size(tasks)):
        edits.add(total, "spec", "minAvailable")
    if raw.get("plugins") is not None:
        edits.replace(_plugins(raw["plugins"]), "spec", "plugins")
    return edits.response()


def _task(task: TaskSpec, document: JsonObject, index: int) -> JsonObject:
    """The task with its defaults; the same document when it has them all."""
    defaults: JsonObject = {}
    if not task.name:
        defaults["name"] = f"default{index}"
    pod = mapping(task.template, "spec")
    if pod.get("hostNetwork") is True and not pod.get("dnsPolicy"):
        defaults["template"] = {**task.template, "spec": {**pod, "dnsPolicy": "ClusterFirstWithHostNet"}}
    if task.min_available is None:
        partitions = task.partition_policy
        by_partition = partitions is not None and partitions.min_partitions > 0
        defaults["minAvailable"] = (
            partitions.min_partitions * partitions.partition_size if partitions and by_partition else task.replicas
        )
    if task.max_retry == 0:
        defaults["maxRetry"] = DEFAULT_MAX_RETRY
    return {**document, **defaults} if defaults else document


def _as_stored(task: JsonObject) -> JsonObject:
    """In the form of Volcano's own encoder, which tools compare stored jobs with: quantities canonical, `metadata`
    and `resources` always there."""
    template = task.get("template")
    if not isinstance(template, dict):
        return task
    template = {**template, "metadata": template.get("metadata") or {}}
    pod = template.get("spec")
    if isinstance(pod, dict):
        template["spec"] = {
            **pod,
            **{
                field: [_with_resources(item) if isinstance(item, dict) else item for item in pod[field]]
                for field in ("containers", "initContainers")
                if isinstance(pod.get(field), list)
            },
        }
    return {**task, "template": template}


def _with_resources(container: JsonObject) -> JsonObject:
    resources = dict(mapping(container, "resources"))
    for field in ("limits", "requests"):
        if given := mapping(resources, field):
            resources[field] = {name: _canonical(value) for name, value in given.items()}
    return {**container, "resources": resources}


def _canonical(value: Any) -> Any:
    """Unreadable amounts stay as they are: `jobs.validate` names them."""
    amount = amount_of(value)
    return value if amount is None else str(amount)


def _gang_size(tasks: Sequence[JsonObject]) -> int:
    return sum(task["minAvailable"] for task in tasks)


def _plugins(given: dict[str, Any]) -> dict[str, Any]:
    plugins = dict(given)
    if NEED_SVC & given.keys():
        plugins.setdefault("svc", [])
    if NEED_SSH & given.keys():
        plugins.setdefault("ssh", [])
    return plugins
