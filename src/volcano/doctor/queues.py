"""Queues that can never run anything."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence

from volcano.api import quantity
from volcano.api.keys import ROOT_QUEUE
from volcano.api.meta import JsonObject
from volcano.doctor.findings import Facts, Finding, error, name_of, warning

NEEDED = ("cpu", "memory")


def check(facts: Facts) -> Iterator[Finding]:
    if "queues" in facts.unseen:
        return
    queues = {queue["metadata"]["name"]: queue for queue in facts.of("queues")}
    if not queues:
        yield error("queues", "do not exist", "start vc-scheduler: it makes root and default")
    for name, queue in queues.items():
        yield from _ancestry(name, queues)
        yield from _size(name, queue, facts)
    yield from _deleted(queues, facts.of("podgroups"))


def _deleted(queues: Mapping[str, JsonObject], groups: Sequence[JsonObject]) -> Iterator[Finding]:
    """Queues that jobs are in and that are no more."""
    inside: defaultdict[str, list[str]] = defaultdict(list)
    for group in groups:
        name = (group.get("spec") or {}).get("queue") or ""
        if name and name not in queues and (group.get("status") or {}).get("phase") != "Completed":
            inside[name].append(name_of(group))
    for name, jobs in sorted(inside.items()):
        others = f" and {len(jobs) - 1} more" if len(jobs) > 1 else ""
        yield error(
            f"queue {name}",
            f"does not exist, and podgroup {jobs[0]}{others} is in it: what runs goes on, nothing else starts",
            "create it again, or delete them",
        )


def _ancestry(name: str, queues: Mapping[str, JsonObject]) -> Iterator[Finding]:
    seen = [name]
    while seen[-1] != ROOT_QUEUE:
        queue = queues.get(seen[-1])
        if queue is None:
            yield error(
                f"queue {name}",
                f"is below queue {seen[-1]}, which does not exist",
                "create it, or change spec.parent",
            )
            return
        state = (queue.get("status") or {}).get("state") or "Open"
        if state != "Open":
            whose = "is" if queue["metadata"]["name"] == name else f"is below queue {seen[-1]}, which is"
            yield warning(
                f"queue {name}",
                f"{whose} {state}: nothing starts in it",
                f"vcctl queue operate --action open --name {seen[-1]}",
            )
            return
        parent = (queue.get("spec") or {}).get("parent") or ROOT_QUEUE
        if parent in seen:
            yield error(
                f"queue {name}", f"is its own ancestor: {' → '.join([*seen, parent])}", "change one spec.parent"
            )
            return
        seen.append(parent)


def _size(name: str, queue: JsonObject, facts: Facts) -> Iterator[Finding]:
    spec = queue.get("spec") or {}
    capability = spec.get("capability") or {}
    for resource in NEEDED:
        if resource in capability and quantity.milli(capability[resource]) <= 0:
            yield error(
                f"queue {name}",
                f"may use no {resource}: spec.capability.{resource} is {capability[resource]}",
                "raise it, or remove it to set no limit",
            )
    for resource, amount in capability.items():
        largest = max((_allocatable(node, resource) for node in facts.of("nodes")), default=None)
        if largest == 0 and quantity.milli(amount) > 0 and resource not in NEEDED:
            yield warning(
                f"queue {name}",
                f"counts {resource} in spec.capability, which no node has",
                "check the spelling, or whether the device plugin runs",
            )
    for resource, amount in (spec.get("deserved") or {}).items():
        if resource in capability and quantity.milli(amount) > quantity.milli(capability[resource]):
            yield warning(
                f"queue {name}",
                f"deserves {amount} {resource} but may use {capability[resource]} at most",
                "make spec.deserved no larger than spec.capability",
            )


def _allocatable(node: JsonObject, resource: str) -> int:
    return quantity.milli(((node.get("status") or {}).get("allocatable") or {}).get(resource, 0))
