"""The pods of a job: their names, and a mould per task from which any number of them is cast.

Pure. A mould is the finished pod as JSON with gaps where the index goes: casting a replica fills the gaps and
costs microseconds. Plugins work on the `Draft`; neighbours: plugins/, sync.py (who is missing), controller.py.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import TYPE_CHECKING, Any

import msgspec

from volcano.api import keys
from volcano.api.meta import JsonObject
from volcano.controllers.job import volumes
from volcano.controllers.owners import controller_reference

if TYPE_CHECKING:
    from volcano.api.batch import Job, TaskSpec
    from volcano.controllers.job.plugins import Plugins

LABEL_LENGTH = 63
_PRIVATE_USE = range(0xE000, 0xF8FF)
_COPIED_ANNOTATIONS = (keys.PREEMPTABLE, keys.COOLDOWN_TIME, keys.REVOCABLE_ZONE)
_COPIED_LABELS = (keys.PREEMPTABLE, keys.COOLDOWN_TIME)

Render = Callable[[int], str]


def task_name(task: TaskSpec) -> str:
    return task.name or keys.DEFAULT_TASK_SPEC


def pod_name(job: Job, task: TaskSpec, index: int) -> str:
    return f"{job.metadata.name}-{task_name(task)}-{index}"


def is_replica(job: Job, task: TaskSpec, name: str) -> bool:
    """Whether a pod of this name is one of the replicas that the task has now."""
    text = name.removeprefix(f"{job.metadata.name}-{task_name(task)}-")
    return text.isdecimal() and int(text) < task.replicas and pod_name(job, task, int(text)) == name


def group_name(job: Job) -> str:
    return f"{job.metadata.name}-{job.metadata.uid}"


class Draft:
    """The pod of one task before its index is known; plugins edit `pod` in place."""

    __slots__ = ("_mark", "_renders", "index", "job", "pod", "task")

    def __init__(self, job: Job, task: TaskSpec, pod: JsonObject) -> None:
        self.job = job
        self.task = task
        self.pod = pod
        self._renders: list[Render] = []
        self._mark = _unused_character(pod)
        self.index = self.by_index(str)
        """Stands for the index of the pod, wherever text is wanted."""

    def by_index(self, render: Render) -> str:
        """Text to put anywhere into the pod; each pod gets `render(index)` in its place."""
        self._renders.append(render)
        return f"{self._mark}{len(self._renders) - 1}{self._mark}"

    @property
    def name(self) -> str:
        name: str = self.pod["metadata"]["name"]
        return name

    @property
    def spec(self) -> JsonObject:
        spec: JsonObject = self.pod.setdefault("spec", {})
        return spec

    @property
    def containers(self) -> list[JsonObject]:
        return self.spec.get("containers") or []

    @property
    def all_containers(self) -> list[JsonObject]:
        return [*(self.spec.get("initContainers") or []), *self.containers]

    def add_env(self, containers: Iterable[JsonObject], *variables: JsonObject) -> None:
        for container in containers:
            container["env"] = [*(container.get("env") or []), *variables]

    def add_mount(self, containers: Iterable[JsonObject], mount: JsonObject) -> None:
        for container in containers:
            container["volumeMounts"] = [*(container.get("volumeMounts") or []), mount]

    def add_volume(self, volume: JsonObject) -> None:
        self.spec["volumes"] = [*(self.spec.get("volumes") or []), volume]

    def finish(self) -> Mould:
        """The text between two marks is the number of a render; all else stays as it is."""
        return Mould(msgspec.json.encode(self.pod).split(self._mark.encode()), self._renders)


class Mould:
    """A task's pod with gaps for the index: every second piece is a gap, and holds the number of its render."""

    __slots__ = ("_gaps", "_pieces", "_renders")

    def __init__(self, pieces: list[bytes], renders: list[Render]) -> None:
        self._pieces = pieces
        self._renders = renders
        self._gaps = [(position, int(pieces[position])) for position in range(1, len(pieces), 2)]

    def body(self, index: int) -> bytes:
        """The pod as the JSON to post."""
        texts = [msgspec.json.encode(render(index))[1:-1] for render in self._renders]
        pieces = self._pieces.copy()
        for position, number in self._gaps:
            pieces[position] = texts[number]
        return b"".join(pieces)

    def document(self, index: int) -> JsonObject:
        document: JsonObject = msgspec.json.decode(self.body(index))
        return document


def mould(job: Job, task: TaskSpec, plugins: Plugins, *, forwarding: bool = False) -> Mould:
    """The finished pod of `task`, plugins included."""
    draft = base(job, task, forwarding=forwarding)
    for plugin in plugins.of(job):
        plugin.shape(draft)
    return draft.finish()


def base(job: Job, task: TaskSpec, *, forwarding: bool = False) -> Draft:
    """The pod of `task` before plugins: template, owner, and what identifies it."""
    template: JsonObject = _copied(task.template)
    meta: JsonObject = template.get("metadata") or {}
    draft = Draft(job, task, {"apiVersion": "v1", "kind": "Pod", "metadata": meta, "spec": template.get("spec") or {}})
    meta |= {
        "name": f"{job.metadata.name}-{task_name(task)}-{draft.index}",
        "namespace": job.metadata.namespace,
        "ownerReferences": [controller_reference(job)],
    }
    meta["labels"] = {**(meta.get("labels") or {}), **_labels(draft, forwarding)}
    meta["annotations"] = {**(meta.get("annotations") or {}), **_annotations(draft, forwarding)}
    spec = draft.spec
    if not spec.get("schedulerName") and job.spec.scheduler_name:
        spec["schedulerName"] = job.spec.scheduler_name
    if not spec.get("priorityClassName") and job.spec.priority_class_name:
        spec["priorityClassName"] = job.spec.priority_class_name
    for volume, mount in volumes.mounts_of(job):
        draft.add_volume(volume)
        draft.add_mount(draft.containers, mount)
    return draft


def _annotations(draft: Draft, forwarding: bool) -> dict[str, str]:
    job, task = draft.job, draft.task
    annotations = {
        keys.TASK_INDEX: draft.index,
        keys.TASK_SPEC: task_name(task),
        keys.GROUP_NAME: group_name(job),
        keys.JOB_NAME: job.metadata.name,
        keys.QUEUE_NAME: job.spec.queue,
        keys.JOB_VERSION: str(job.status.version),
        keys.JOB_RETRY_COUNT: str(job.status.retry_count),
        keys.TEMPLATE_UID: f"{job.metadata.name}-{task_name(task)}",
    }
    if task.topology_policy:
        annotations[keys.NUMA_TOPOLOGY_POLICY] = task.topology_policy
    given = job.metadata.annotations
    annotations |= {key: given[key] for key in _COPIED_ANNOTATIONS if key in given}
    for budget in (keys.JDB_MIN_AVAILABLE, keys.JDB_MAX_UNAVAILABLE):
        if budget in given:
            annotations[budget] = given[budget]
            break
    if forwarding:
        annotations[keys.JOB_FORWARDING] = "true"
    return annotations


def _labels(draft: Draft, forwarding: bool) -> dict[str, str]:
    job, task = draft.job, draft.task
    labels = {
        keys.TASK_INDEX: draft.index,
        keys.JOB_NAME: job.metadata.name,
        keys.TASK_SPEC: task_name(task),
        keys.JOB_NAMESPACE: job.metadata.namespace,
        keys.QUEUE_NAME: volumes.shortened(job.spec.queue, LABEL_LENGTH),
    }
    labels |= {key: job.metadata.labels[key] for key in _COPIED_LABELS if key in job.metadata.labels}
    partitions = task.partition_policy
    if partitions is not None:
        size = partitions.partition_size
        labels[keys.PARTITION_ID] = draft.by_index(lambda index: str(index // size if size > 0 else 0))
    if forwarding:
        labels[keys.JOB_FORWARDING] = "true"
    return labels


def _copied(document: JsonObject) -> JsonObject:
    copied: JsonObject = msgspec.json.decode(msgspec.json.encode(document))
    return copied


def _unused_character(document: Any) -> str:
    """A character that the document does not contain, to mark the gaps with."""
    encoded = msgspec.json.encode(document)
    return next(mark for mark in map(chr, _PRIVATE_USE) if mark.encode() not in encoded)
