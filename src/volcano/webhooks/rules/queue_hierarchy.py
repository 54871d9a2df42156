"""Where a queue stands among its ancestors, siblings and descendants, and whether its amounts fit there.

Judged for new queues and for updates that move a queue or change its amounts; `queues` judges the queue alone.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import TYPE_CHECKING, Final

from volcano.api.quantity import Quantity, of_milli, of_units
from volcano.webhooks.rules.model import Cause, Settings, World
from volcano.webhooks.rules.queue_lookup import ROOT_QUEUE, missing_queue_hint, queue_not_found
from volcano.webhooks.rules.template.resources import ZERO, Amounts, amount_of, amounts

if TYPE_CHECKING:
    from volcano.api.scheduling import Queue

NO_PARENT: Final = ("", ROOT_QUEUE)
ROOT_FIXED: Final = "root queue's resource attributes (capability, deserved, guarantee) cannot be modified"


def problems(queue: Queue, old: Queue | None, world: World, settings: Settings) -> Iterator[Cause]:
    """Everything wrong with the queue's place, in the order of upstream's checks."""
    name = queue.metadata.name
    same_amounts = old is not None and _given(queue) == _given(old)
    if name == ROOT_QUEUE:
        if settings.protect_root_queue and old is not None and not same_amounts:
            yield Cause("spec", ROOT_FIXED, "limit the queues below root instead")
        return
    moved = old is None or queue.spec.parent != old.spec.parent
    if moved and queue.spec.parent not in NO_PARENT:
        yield from place_problems(queue, world, settings)
    if moved or not same_amounts:
        if queue.spec.parent not in NO_PARENT:
            yield from ancestor_problems(queue, world)
        yield from descendant_problems(queue, world)


def allocated_pods(queue: Queue) -> int:
    pods = amount_of(queue.status.allocated.get("pods", 0))
    return pods.units if pods else 0


def place_problems(queue: Queue, world: World, settings: Settings) -> Iterator[Cause]:
    name, parent = queue.metadata.name, queue.spec.parent
    if parent == name:
        yield Cause("spec.parent", f"queue {name} cannot use itself as parent", "name another queue, or root")
        return
    above = list(_ancestors(queue, world))
    topmost = above[-1][1]
    if topmost is not None and topmost.spec.parent == name:
        hint = f"{parent} is below {name}: name a queue that is not"
        yield Cause("spec.parent", f"queue {name} cannot use itself as parent", hint)
        return
    depth = 1 + len(above)
    missing = above[-1][0]
    if topmost is None:
        message = f"failed to get parent queue {missing} of queue {name}: {queue_not_found(missing)}"
        yield Cause("spec.parent", message, missing_queue_hint(missing))
        return
    if depth > settings.max_queue_depth:
        message = f"queue {name} exceeds the maximum allowed depth of {settings.max_queue_depth}"
        yield Cause("spec.parent", message, "attach the queue further up, or start the webhooks with --max-queue-depth")
        return
    holder = world.queue(parent)
    if holder and not world.child_queues(parent) and (pods := allocated_pods(holder)):
        message = f"queue {parent} cannot be the parent queue of queue {name} because it has allocated Pods: {pods}"
        yield Cause("spec.parent", message, "wait until the parent's pods ended: jobs run in leaf queues only")


def ancestor_problems(queue: Queue, world: World) -> Iterator[Cause]:
    name = queue.metadata.name
    ancestors = [found for _, found in _ancestors(queue, world) if found is not None]
    for resource, wanted in amounts(queue.spec.capability).items():
        limits = (amounts(ancestor.spec.capability).get(resource, ZERO) for ancestor in ancestors)
        limit = next((amount for amount in limits if amount > ZERO), None)
        if limit is not None and wanted > limit:
            sizes = f"capability[{resource}]={_shown(resource, wanted)} exceeds its ancestor's capability"
            hint = "lower the capability, or raise the ancestor's"
            yield Cause(f"spec.capability.{resource}", f"queue {name} {sizes}={_shown(resource, limit)}", hint)
    if not ancestors:
        return
    parent = ancestors[0]
    family = [queue, *(child for child in world.child_queues(parent.metadata.name) if child.metadata.name != name)]
    subject = f"parent queue {parent.metadata.name} validation failed: sum of children's"
    yield from _sum_problems(subject, "exceeds parent's", family, parent)


def descendant_problems(queue: Queue, world: World) -> Iterator[Cause]:
    name = queue.metadata.name
    largest: dict[str, Quantity] = {}
    for descendant in _descendants(name, world):
        for resource, amount in amounts(descendant.spec.capability).items():
            largest[resource] = max(amount, largest.get(resource, ZERO))
    for resource, amount in amounts(queue.spec.capability).items():
        if amount > ZERO and amount < largest.get(resource, ZERO):
            sizes = f"capability[{resource}]={_shown(resource, amount)} is smaller than its descendants' max capability"
            hint = "raise the capability, or lower those of the queues below first"
            yield Cause(
                f"spec.capability.{resource}", f"queue {name} {sizes}={_shown(resource, largest[resource])}", hint
            )
    children = world.child_queues(name)
    if children:
        subject = f"queue {name} validation failed: sum of children's"
        yield from _sum_problems(subject, "exceeds parent's", children, queue)


def _sum_problems(subject: str, verb: str, children: Iterable[Queue], parent: Queue) -> Iterator[Cause]:
    """Children together may be guaranteed, and deserve, at most what their parent is and does."""
    children = list(children)
    for field, listed, limit in (
        ("guarantee", [amounts(child.spec.guarantee.resource) for child in children], parent.spec.guarantee.resource),
        ("deserved", [amounts(child.spec.deserved) for child in children], parent.spec.deserved),
    ):
        total: dict[str, Quantity] = {}
        for one in listed:
            for resource, amount in one.items():
                total[resource] = total.get(resource, ZERO) + amount
        most = amounts(limit)
        if any(amount > most.get(resource, ZERO) for resource, amount in total.items()):
            message = f"{subject} {field} ({_written(total)}) {verb} {field} limit ({_written(most)})"
            hint = f"raise the {field} of {parent.metadata.name}, or lower it in the queues below"
            yield Cause(f"spec.{field}", message, hint)


def _ancestors(queue: Queue, world: World) -> Iterator[tuple[str, Queue | None]]:
    """Name and queue of each ancestor below root, nearest first; ends at a missing one or when it runs in circles."""
    seen = {queue.metadata.name}
    parent = queue.spec.parent
    while parent not in NO_PARENT and parent not in seen:
        seen.add(parent)
        found = world.queue(parent)
        yield parent, found
        if found is None:
            return
        parent = found.spec.parent


def _descendants(name: str, world: World) -> Iterator[Queue]:
    seen = {name}
    waiting = list(world.child_queues(name))
    while waiting:
        queue = waiting.pop()
        if queue.metadata.name in seen:
            continue
        seen.add(queue.metadata.name)
        yield queue
        waiting += world.child_queues(queue.metadata.name)


def _given(queue: Queue) -> tuple[dict[str, Quantity], ...]:
    spec = queue.spec
    return amounts(spec.capability), amounts(spec.deserved), amounts(spec.guarantee.resource)


def _shown(resource: str, amount: Quantity) -> str:
    """CPU and memory as quantities, anything else in thousandths: the form clients know."""
    match resource:
        case "cpu":
            return str(of_milli(amount.milli))
        case "memory":
            return str(of_units(amount.units, "BinarySI"))
        case _:
            return f"{amount.milli:.2f}"


def _written(total: Amounts) -> str:
    scalars = {name: amount for name, amount in total.items() if name not in ("cpu", "memory")}
    parts = [
        f"cpu {total.get('cpu', ZERO).milli:.2f}",
        f"memory {total.get('memory', ZERO).units:.2f}",
        *(f"{name} {scalars[name].milli:.2f}" for name in sorted(scalars)),
    ]
    return ", ".join(parts)
