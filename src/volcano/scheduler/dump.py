"""The scheduler's whole input as one `List` of manifests, from which `vcctl schedule -f` repeats its decision.

What is in it: every object that decisions depend on, and a record of configuration, flags, time and seed. What is left
out: environment variables of containers, and what only other programs read.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any, Final

import msgspec

from volcano.api import keys, resources as api
from volcano.api.meta import JsonObject
from volcano.api.resource import Resource
from volcano.scheduler.cluster.cluster import Cluster
from volcano.scheduler.cluster.tasks import Status, Task

RECORD_NAME: Final = "volcano-scheduler-dump"
_LEFT_OUT_OF_CONTAINERS: Final = ("env", "envFrom", "command", "args")


@dataclass(frozen=True, slots=True)
class Record:
    """How the dumped scheduler was set up."""

    conf: str
    arguments: tuple[str, ...] = ()
    """Flags of vc-scheduler that decisions depend on."""
    now: float = 0.0
    seed: int = 0


def document(objects: Iterable[JsonObject], record: Record) -> JsonObject:
    """The dump: the record first, then the objects, without what is private."""
    data = {
        "volcano-scheduler.conf": record.conf,
        "arguments": json.dumps(record.arguments),
        "now": repr(record.now),
        "seed": str(record.seed),
    }
    head = {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": RECORD_NAME}, "data": data}
    return {"apiVersion": "v1", "kind": "List", "items": [head, *(stripped(one) for one in objects)]}


def recorded(documents: Sequence[JsonObject]) -> Record | None:
    """The record of a dump among manifests; None if there is none."""
    for one in documents:
        if one.get("kind") == "ConfigMap" and one.get("metadata", {}).get("name") == RECORD_NAME:
            data = one.get("data") or {}
            return Record(
                conf=data.get("volcano-scheduler.conf", ""),
                arguments=tuple(json.loads(data.get("arguments", "[]"))),
                now=float(data.get("now", 0)),
                seed=int(data.get("seed", 0)),
            )
    return None


def of_cluster(cluster: Cluster) -> Iterator[JsonObject]:
    """The cluster as the engine sees it now: what has been decided and is not visible in the API yet is included.

    In the order of the engine's own tables, on which ties between nodes depend.
    """
    for name, value in cluster.priority_classes.items():
        is_default = bool(value) and value == cluster.default_priority
        yield {
            **_head(api.PRIORITY_CLASSES),
            "metadata": {"name": name},
            "value": value,
            **({"globalDefault": True} if is_default else {}),
        }
    for queue in cluster.queues.values():
        yield _plain(queue.object, api.QUEUES)
    for row in cluster.nodes.row_of.values():
        yield _plain(cluster.nodes.objects[row], api.NODES)
    for plural, objects in cluster.objects.items():
        resource = by_plural(plural)
        if resource is not None:
            yield from (_plain(one, resource) for one in objects.values())
    for job in cluster.jobs.values():
        if job.pod_group is not None:
            group = _plain(job.pod_group, api.PODGROUPS)
            group["metadata"].pop("managedFields", None)
            group.setdefault("status", {})["phase"] = job.phase
            yield group
    for task in cluster.tasks.values():
        yield _pod(task)


def by_plural(plural: str) -> Resource[Any] | None:
    every = (*api.ALL_VOLCANO, *api.ALL_KUBERNETES, *api.SERVED_ON_REQUEST)
    return next((resource for resource in every if resource.plural == plural), None)


def stripped(manifest: JsonObject) -> JsonObject:
    """A manifest without what no decision depends on and nobody else should read."""
    metadata = {name: value for name, value in (manifest.get("metadata") or {}).items() if name != "managedFields"}
    annotations = metadata.get("annotations")
    if annotations and keys.LAST_APPLIED in annotations:
        metadata["annotations"] = {name: text for name, text in annotations.items() if name != keys.LAST_APPLIED}
    spec = manifest.get("spec")
    if manifest.get("kind") != "Pod" or not isinstance(spec, dict):
        return {**manifest, "metadata": metadata}
    containers = {
        key: [{k: v for k, v in one.items() if k not in _LEFT_OUT_OF_CONTAINERS} for one in spec.get(key) or ()]
        for key in ("containers", "initContainers")
        if spec.get(key)
    }
    return {**manifest, "metadata": metadata, "spec": {**spec, **containers}}


def _pod(task: Task) -> JsonObject:
    pod = _plain(task.pod, api.PODS)
    if task.node_name:
        pod["spec"]["nodeName"] = task.node_name
    if task.status is Status.RELEASING and "deletionTimestamp" not in pod["metadata"]:
        pod["metadata"]["deletionTimestamp"] = pod["metadata"].get("creationTimestamp", "1970-01-01T00:00:00Z")
    return pod


def _plain(source: Any, resource: Resource[Any]) -> JsonObject:
    value = source if isinstance(source, dict) else getattr(source, "document", source)
    fields: JsonObject = value if isinstance(value, dict) else msgspec.to_builtins(value)
    return {**fields, **_head(resource)}


def _head(resource: Resource[Any]) -> JsonObject:
    return {"apiVersion": resource.api_version, "kind": resource.kind}
