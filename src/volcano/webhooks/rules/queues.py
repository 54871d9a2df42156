"""Queues: defaults (mutate); amounts, state, place in the hierarchy, and safe deletion (validate).

How parents and children limit each other is in `queue_hierarchy`.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Final

from volcano.api import keys
from volcano.api.meta import ResourceList
from volcano.api.scheduling import Queue
from volcano.webhooks.rules import queue_hierarchy
from volcano.webhooks.rules.decode import MalformedObject, decoded
from volcano.webhooks.rules.edits import Edits
from volcano.webhooks.rules.fields import aggregate, invalid
from volcano.webhooks.rules.model import ALLOWED, AdmissionRequest, AdmissionResponse, Cause, Settings, World, denied
from volcano.webhooks.rules.queue_lookup import DEFAULT_QUEUE, ROOT_QUEUE, queue_not_found
from volcano.webhooks.rules.template.resources import amounts, value_errors

STATES: Final = ("", "Open", "Closed")
PROTECTED: Final = (DEFAULT_QUEUE, ROOT_QUEUE)
ANNOTATIONS: Final = "requestBody.metadata.annotations"

_FLOAT: Final = re.compile(r"[+-]?(\d+\.?\d*|\.\d+)([eE][+-]?\d+)?")


def mutate(request: AdmissionRequest, _world: World, _settings: Settings) -> AdmissionResponse:
    if request.operation != "CREATE":
        return denied(f"invalid operation `{request.operation}`, expect operation to be `CREATE`")
    document = request.object or {}
    try:
        queue = decoded(document, Queue)
    except MalformedObject:
        return ALLOWED  # the schema, and then `validate`, name the field
    edits = Edits(document)
    path, weights = _hierarchy(queue)
    if path and weights and path.partition("/")[0] != ROOT_QUEUE:
        edits.add(f"{ROOT_QUEUE}/{path}", "metadata", "annotations", keys.HIERARCHY)
        edits.add(f"1/{weights}", "metadata", "annotations", keys.HIERARCHY_WEIGHTS)
    if queue.spec.reclaimable is None:
        edits.add(True, "spec", "reclaimable")
    if queue.spec.weight == 0:
        edits.add(1, "spec", "weight")
    return edits.response()


def validate(request: AdmissionRequest, world: World, settings: Settings) -> AdmissionResponse:
    if request.operation == "DELETE":
        return _validate_deletion(request, world, settings)
    if request.operation not in ("CREATE", "UPDATE"):
        expected = "expect operation to be `CREATE`, `UPDATE` or `DELETE`"
        return denied(f"invalid operation `{request.operation}`, {expected}")
    queue = decoded(request.object, Queue)
    old = decoded(request.old_object, Queue) if request.operation == "UPDATE" else None
    if wrong := [*_state_errors(queue), *_amount_errors(queue), *_annotation_errors(queue, world)]:
        return denied(aggregate(wrong), wrong)
    problem = next(queue_hierarchy.problems(queue, old, world, settings), None)
    return ALLOWED if problem is None else denied(problem.message, [problem])


def _validate_deletion(request: AdmissionRequest, world: World, settings: Settings) -> AdmissionResponse:
    name = request.name
    if name in PROTECTED:
        return denied(f"`{name}` queue can not be deleted")
    queue = world.queue(name)
    if queue is None:
        return denied(queue_not_found(name))
    pods = queue_hierarchy.allocated_pods(queue)
    if settings.check_allocated_pods_on_queue_delete and pods:
        message = f"queue {name} cannot be deleted because it has allocated Pods: {pods}"
        return denied(
            message, [Cause("status.allocated.pods", message, "close the queue and wait until its pods ended")]
        )
    if children := world.child_queues(name):
        below = ", ".join(sorted(child.metadata.name for child in children))
        message = f"queue {name} can not be deleted because it has {len(children)} child queues: {below}"
        return denied(message, [Cause("metadata.name", message, "delete its child queues first")])
    return ALLOWED


def _state_errors(queue: Queue) -> Iterator[Cause]:
    if queue.status.state not in STATES:
        yield invalid("requestBody.spec.state", queue.status.state, "queue state must be in [Open Closed]")


def _amount_errors(queue: Queue) -> Iterator[Cause]:
    """Each amount by itself, then guarantee <= deserved <= capability."""
    spec = queue.spec
    for field, given in (
        ("capability", spec.capability),
        ("deserved", spec.deserved),
        ("guarantee.resource", spec.guarantee.resource),
    ):
        for name, value in given.items():
            yield from value_errors(name, value, f"requestBody.spec.{field}.{name}")
    deserved = amounts(spec.deserved)
    for name, least in amounts(spec.guarantee.resource).items():
        where = f"requestBody.spec.deserved.{name}"
        if name not in deserved:
            hint = f"deserve at least what is guaranteed: {least}"
            yield invalid(where, "<nil>", f"deserved[{name}] must be >= guarantee[{name}]={least}", hint)
        elif deserved[name] < least:
            detail = f"deserved[{name}]={deserved[name]} must be >= guarantee[{name}]={least}"
            yield invalid(where, str(deserved[name]), detail, "raise deserved or lower guarantee.resource")
    yield from _above_capability(spec.capability, spec.deserved)


def _above_capability(capability: ResourceList, deserved: ResourceList) -> Iterator[Cause]:
    limits = amounts(capability)
    for name, amount in amounts(deserved).items():
        if name in limits and amount > limits[name]:
            detail = f"deserved[{name}]={amount} must be <= capability[{name}]={limits[name]}"
            yield invalid(
                f"requestBody.spec.deserved.{name}", str(amount), detail, "raise capability or lower deserved"
            )


def _annotation_errors(queue: Queue, world: World) -> Iterator[Cause]:
    """The path and weights of a hierarchy that is given by annotations (plugin drf)."""
    path, weights = _hierarchy(queue)
    if not path and not weights:
        return
    if path.count("/") != weights.count("/"):
        yield invalid(ANNOTATIONS, path, f"{keys.HIERARCHY} must have the same length with {keys.HIERARCHY_WEIGHTS}")
        return
    for weight in weights.split("/"):
        if not _FLOAT.fullmatch(weight):
            detail = (
                f'{weight} in the {weights} is invalid number: strconv.ParseFloat: parsing "{weight}": invalid syntax'
            )
            yield invalid(ANNOTATIONS, weights, detail)
            return
        if float(weight) <= 0:
            yield invalid(ANNOTATIONS, weights, f"{weight} in the {weights} must be larger than 0")
            return
    for other in world.queues():
        below, _ = _hierarchy(other)
        if other.metadata.name != queue.metadata.name and f"{below}/".startswith(f"{path}/"):
            detail = f"{path} is not allowed to be in the sub path of {below} of queue {other.metadata.name}"
            yield invalid(ANNOTATIONS, path, detail, "give the queue a path of its own: jobs run in leaves only")
            return


def _hierarchy(queue: Queue) -> tuple[str, str]:
    annotations = queue.metadata.annotations
    return annotations.get(keys.HIERARCHY, ""), annotations.get(keys.HIERARCHY_WEIGHTS, "")
