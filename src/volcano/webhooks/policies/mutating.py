"""Mutating policies, one per kind. Defaults are those of `webhooks.rules`.

Each patch is an expression on the object as the patches before it left it.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any, Final

from volcano.api import keys, resources
from volcano.webhooks.policies.objects import CREATE, Mutation, listed, quoted
from volcano.webhooks.rules.job_defaults import DEFAULT_MAX_RETRY, DEFAULT_SCHEDULER, NEED_SSH, NEED_SVC
from volcano.webhooks.rules.queue_lookup import DEFAULT_QUEUE, ROOT_QUEUE

if TYPE_CHECKING:
    from volcano.webhooks.rules.model import ResourceGroup, Settings

NOTHING: Final = "[]"
TASKS: Final = "(has(object.spec.tasks) ? object.spec.tasks : [])"
TASK: Final = "object.spec.tasks[i]"


def mutations(settings: Settings) -> list[Mutation]:
    scheduler = (*settings.scheduler_names, DEFAULT_SCHEDULER)[0]
    found = [
        Mutation("volcano-job-mutation-policy", resources.JOBS, CREATE, patches=list(_job(scheduler))),
        Mutation("volcano-queue-mutation-policy", resources.QUEUES, CREATE, patches=list(_queue())),
        _podgroup(),
    ]
    for index, group in enumerate(settings.resource_groups or ()):
        found.append(_pods_of(group, index))
    return found


def _job(scheduler: str) -> Iterator[str]:
    yield _default("spec.queue", DEFAULT_QUEUE, "''")
    yield _default("spec.schedulerName", scheduler, "''")
    yield _default("spec.maxRetry", DEFAULT_MAX_RETRY, "0")
    yield _each_task("name", f"has({TASK}.name) && {TASK}.name != ''", "'default' + string(i)")
    partitions = f"{TASK}.partitionPolicy"
    by_partition = f"has({partitions}) && has({partitions}.minPartitions) && {partitions}.minPartitions > 0"
    gang = (
        f"({by_partition} ? {partitions}.minPartitions * {partitions}.partitionSize : "
        f"has({TASK}.replicas) ? {TASK}.replicas : 0)"
    )
    yield _each_task("minAvailable", f"has({TASK}.minAvailable)", gang)
    yield _each_task("maxRetry", f"has({TASK}.maxRetry) && {TASK}.maxRetry != 0", str(DEFAULT_MAX_RETRY))
    total = f"{TASKS}.map(t, has(t.minAvailable) ? t.minAvailable : 0).sum()"
    yield _unless("has(object.spec.minAvailable) && object.spec.minAvailable != 0", "/spec/minAvailable", total)
    for plugin, needed_by in (("svc", sorted(NEED_SVC)), ("ssh", sorted(NEED_SSH))):
        plugins = "object.spec.plugins"
        needed = f"has({plugins}) && {plugins}.exists(p, p in {listed(needed_by)}) && !({quoted(plugin)} in {plugins})"
        yield _when(needed, f"/spec/plugins/{plugin}", NOTHING)


def _queue() -> Iterator[str]:
    annotations = "object.metadata.annotations"
    given = " && ".join(
        [
            f"has({annotations})",
            *(f"{quoted(key)} in {annotations}" for key in (keys.HIERARCHY, keys.HIERARCHY_WEIGHTS)),
            *(f"{annotations}[{quoted(key)}] != ''" for key in (keys.HIERARCHY, keys.HIERARCHY_WEIGHTS)),
            f"{annotations}[{quoted(keys.HIERARCHY)}].split('/')[0] != {quoted(ROOT_QUEUE)}",
        ]
    )
    below_root = {keys.HIERARCHY_WEIGHTS: "1/", keys.HIERARCHY: f"{ROOT_QUEUE}/"}
    patches = ", ".join(
        _operation(f"/metadata/annotations/{_escaped(key)}", f"{quoted(prefix)} + {annotations}[{quoted(key)}]")
        for key, prefix in below_root.items()
    )
    yield f"{given} ? [{patches}] : {NOTHING}"
    yield _unless("has(object.spec.reclaimable)", "/spec/reclaimable", "true")
    yield _default("spec.weight", 1, "0")


def _podgroup() -> Mutation:
    """To the queue of the namespace, when it names one."""
    annotations, key = "namespaceObject.metadata.annotations", quoted(keys.POD_QUEUE_NAME)
    names_one = f"has({annotations}) && {key} in {annotations} && {annotations}[{key}] != ''"
    return Mutation(
        "volcano-podgroup-mutation-policy",
        resources.PODGROUPS,
        CREATE,
        conditions=(("default-queue", f"has(object.spec.queue) && object.spec.queue == {quoted(DEFAULT_QUEUE)}"),),
        patches=[_when(names_one, "/spec/queue", f"{annotations}[{key}]")],
    )


def _pods_of(group: ResourceGroup, index: int) -> Mutation:
    """Pods of a resource group, to its nodes and its scheduler."""
    patches = []
    if group.labels:
        added = [
            _operation(f"/spec/nodeSelector/{_escaped(key)}", quoted(value)) for key, value in group.labels.items()
        ]
        patches.append(_added("nodeSelector", added, _literal(dict(group.labels))))
    if group.affinity:
        patches.append(_unless("has(object.spec.affinity)", "/spec/affinity", _literal(json.loads(group.affinity))))
    if group.tolerations:
        added = [_operation("/spec/tolerations/-", _literal(toleration)) for toleration in group.tolerations]
        patches.append(_added("tolerations", added, _literal(list(group.tolerations))))
    if group.scheduler_name:
        patches.append(f"[{_operation('/spec/schedulerName', quoted(group.scheduler_name))}]")
    return Mutation(
        f"volcano-pod-mutation-{index}-policy",
        resources.PODS,
        CREATE,
        conditions=(("group", _in_group(group)),),
        patches=patches,
    )


def _in_group(group: ResourceGroup) -> str:
    annotations = "object.metadata.annotations"
    pairs = [pair.partition(":") for pair in group.object.value if ":" in pair]
    wanted = [(key.strip().strip("\"'"), value.strip().strip("\"'")) for key, _, value in pairs]
    if group.object.key == "namespace":
        return f"request.namespace in {listed(group.object.value)}"
    if not group.object.key:
        wanted.append((keys.RESOURCE_GROUP, group.resource_group))
    tests = [
        f"({quoted(key)} in {annotations} && {annotations}[{quoted(key)}] == {quoted(value)})" for key, value in wanted
    ]
    return f"has({annotations}) && ({' || '.join(tests) or 'false'})"


# Pieces


def _default(path: str, value: str | int, zero: str) -> str:
    """A value where there is none, or the zero that stands for none."""
    return _unless(f"has(object.{path}) && object.{path} != {zero}", f"/{path.replace('.', '/')}", json.dumps(value))


def _unless(present: str, path: str, value: str) -> str:
    return f"{present} ? {NOTHING} : [{_operation(path, value)}]"


def _added(field: str, operations: list[str], whole: str) -> str:
    """Additions to a field of a pod's spec that may be absent: an empty one does not last until the next patch."""
    path = f"/spec/{field}"
    return f"has(object.spec.{field}) ? [{', '.join(operations)}] : [{_operation(path, whole)}]"


def _when(needed: str, path: str, value: str) -> str:
    return f"{needed} ? [{_operation(path, value)}] : {NOTHING}"


def _each_task(field: str, present: str, value: str) -> str:
    """A default for the field of every task that lacks it; `i` is the task's position."""
    patch = f"JSONPatch{{op: 'add', path: '/spec/tasks/' + string(i) + '/{field}', value: {value}}}"
    return f"lists.range(size({TASKS})).filter(i, !({present})).map(i, {patch})"


def _operation(path: str, value: str) -> str:
    return f"JSONPatch{{op: 'add', path: {quoted(path)}, value: {value}}}"


def _escaped(key: str) -> str:
    """A key as a step of a JSON pointer."""
    return key.replace("~", "~0").replace("/", "~1")


def _literal(value: Any) -> str:
    """A document as a literal: the language wants all values of a map or list to be of one type, such as dyn."""
    if isinstance(value, dict):
        return "{" + ", ".join(f"{quoted(key)}: dyn({_literal(item)})" for key, item in value.items()) + "}"
    if isinstance(value, list):
        return "[" + ", ".join(f"dyn({_literal(item)})" for item in value) + "]"
    return json.dumps(value)
