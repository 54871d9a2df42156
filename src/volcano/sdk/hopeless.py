"""Whether a job can start at all in the cluster as it is: by the size of its nodes, and by the limits of its queue.

Only what more patience cannot cure: nodes that are merely full are no reason.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

from volcano.api import keys, quantity
from volcano.api.quantity import Quantity
from volcano.api.resources import NODES, QUEUES
from volcano.controllers.job import after
from volcano.controllers.quota import totals
from volcano.kube.errors import ApiError
from volcano.sdk.errors import Unschedulable

if TYPE_CHECKING:
    from volcano.api.meta import JsonObject
    from volcano.kube.client import Client
Amounts = Mapping[str, Quantity]

NOTHING = quantity.parse("0")
UNLIMITED = 10**9


async def verdict(api: Client, job: JsonObject) -> Unschedulable | None:
    """Look at the nodes and the queue; None where the job may start some day, or where we may not look."""
    if (waiting := held(job)) is not None and waiting["code"] != after.WAITING:
        name = job["metadata"]["name"]
        return Unschedulable(f"{name} can never start: {waiting['message']}", job=name, reason=waiting)
    try:
        nodes = (await api.list(NODES.untyped)).items
        queue = await api.get(QUEUES.untyped, job["spec"].get("queue") or keys.DEFAULT_QUEUE)
    except ApiError:
        return None
    return too_large_for_nodes(job, nodes) or too_large_for_cluster(job, nodes) or too_large_for_queue(job, queue)


def held(job: JsonObject) -> JsonObject | None:
    """The reason record of a job that waits for others."""
    state = (job.get("status") or {}).get("state") or {}
    if state.get("reason") not in after.REASONS:
        return None
    return {"stage": "dependency", "code": state["reason"], "message": state.get("message", "")}


def too_large_for_nodes(job: JsonObject, nodes: Sequence[JsonObject]) -> Unschedulable | None:
    """A member that asks for more than any node has when it is empty."""
    sizes = [_amounts((node.get("status") or {}).get("allocatable")) for node in nodes]
    for task in job["spec"]["tasks"]:
        needs = _requests(task)
        if not sizes or not task.get("replicas") or any(_fits(needs, size) for size in sizes):
            continue
        largest = {resource: max(size.get(resource, NOTHING) for size in sizes) for resource in needs}
        resource = next((name for name in needs if needs[name] > largest[name]), "")
        name = job["metadata"]["name"]
        if not resource:
            return Unschedulable(
                f"{name} can never start: a member asks for {_listed(needs)}, and no node has all of that",
                job=name,
                reason={"stage": "predicate", "code": "LargerThanAnyNode"},
            )
        return Unschedulable(
            f"{name} can never start: a member asks for {resource} {needs[resource]}, and the largest of {len(nodes)} "
            f"nodes has {largest[resource]}: ask for less, or add a larger node",
            job=name,
            reason=_reason("predicate", "LargerThanAnyNode", resource, needs[resource], largest[resource]),
        )
    return None


def too_large_for_cluster(job: JsonObject, nodes: Sequence[JsonObject]) -> Unschedulable | None:
    """A minimum of members that do not find room together, even when all nodes are empty."""
    gang = _gang(job)
    if gang is None or not nodes:
        return None
    minimum, needs = gang
    room = sum(_room(needs, _amounts((node.get("status") or {}).get("allocatable"))) for node in nodes)
    if room >= minimum:
        return None
    name = job["metadata"]["name"]
    return Unschedulable(
        f"{name} can never start: {minimum} members of {_listed(needs)} must start together, and the cluster has room "
        f"for {room} when it is empty: ask for less, lower min_nodes, or add nodes",
        job=name,
        reason={"stage": "gang", "code": "LargerThanCluster", "need": minimum, "have": room},
    )


def too_large_for_queue(job: JsonObject, queue: JsonObject) -> Unschedulable | None:
    """A minimum of members that asks for more than the queue may ever use."""
    gang = _gang(job)
    if gang is None:
        return None
    minimum, needs = gang
    name, queue_name = job["metadata"]["name"], queue["metadata"]["name"]
    limits = _amounts((queue.get("spec") or {}).get("capability"))
    for resource, each in needs.items():
        need = each * minimum
        if resource in limits and need > limits[resource]:
            return Unschedulable(
                f"{name} can never start: {minimum} members ask for {resource} {need}, and queue {queue_name} may use "
                f"{limits[resource]}: ask for less, or raise spec.capability of the queue",
                job=name,
                reason={
                    **_reason("queue", "LargerThanQueue", resource, need, limits[resource]),
                    "blocker": queue_name,
                },
            )
    return None


def _gang(job: JsonObject) -> tuple[int, Amounts] | None:
    """How many equal members must start together, and what each asks for.

    None for a job of several tasks: which members make up its minimum is for the scheduler to say.
    """
    tasks = [task for task in job["spec"]["tasks"] if task.get("replicas")]
    return (max(1, job["spec"].get("minAvailable") or 0), _requests(tasks[0])) if len(tasks) == 1 else None


def _room(needs: Amounts, size: Amounts) -> int:
    """How many members an empty node holds."""
    counts = [quantity.milli(size.get(name, NOTHING)) // quantity.milli(need) for name, need in needs.items() if need]
    return min(counts, default=UNLIMITED)


def _requests(task: JsonObject) -> Amounts:
    return totals((task.get("template") or {}).get("spec") or {}, "requests")


def _amounts(listed: JsonObject | None) -> Amounts:
    return {name: quantity.parse(amount) for name, amount in (listed or {}).items()}


def _fits(needs: Amounts, size: Amounts) -> bool:
    return all(amount <= size.get(resource, NOTHING) for resource, amount in needs.items())


def _reason(stage: str, code: str, resource: str, need: Quantity, have: Quantity) -> JsonObject:
    return {"stage": stage, "code": code, "resource": resource, "need": str(need), "have": str(have)}


def _listed(needs: Amounts) -> str:
    return ", ".join(f"{resource} {amount}" for resource, amount in needs.items())
