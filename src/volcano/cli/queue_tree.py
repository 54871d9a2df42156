"""Queues as the tree that their `parent` fields make. Pure."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from volcano.api.keys import ROOT_QUEUE
from volcano.api.quantity import readable
from volcano.cli.queue_table import PHASES, Counts
from volcano.cli.text import columns

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from volcano.api.meta import JsonObject

_AMOUNTS = ("capability", "deserved", "guarantee")


@dataclass(frozen=True)
class Branch:
    """A queue, its podgroups by phase, and the queues below it."""

    queue: JsonObject
    phases: dict[str, int]
    below: list[Branch] = field(default_factory=list)

    @property
    def name(self) -> str:
        return str(self.queue["metadata"]["name"])


def branch(queues: Sequence[JsonObject], counts: Counts, name: str = "") -> list[Branch]:
    """The tree from `name` down, or from everything that has no parent here; siblings by name."""
    branches = {}
    for queue in queues:
        phases = counts.get(queue["metadata"]["name"], {})
        found = {phase: phases[phase] for phase in PHASES if phases.get(phase)}
        branches[queue["metadata"]["name"]] = Branch(queue, found)
    tops: list[Branch] = []
    for each in sorted(branches.values(), key=lambda one: one.name):
        parent = branches.get(parent_of(each.queue))
        (tops if parent is None else parent.below).append(each)
    return [branches[name]] if name else tops


def parent_of(queue: JsonObject) -> str:
    """The name of the queue above; a queue that names none is below the root."""
    name = queue["metadata"]["name"]
    return "" if name == ROOT_QUEUE else str((queue.get("spec") or {}).get("parent") or ROOT_QUEUE)


def drawn(tops: Sequence[Branch]) -> str:
    """The tree with lines, as a table."""
    rows = [row for top in tops for row in _rows(top, "", "")]
    if not rows:
        return "No resources found\n"
    return columns(("QUEUE", "STATE", "WEIGHT", "PODGROUPS", "ALLOCATED", "DESERVED", "CAPABILITY"), rows) + "\n"


def _rows(each: Branch, lead: str, indent: str) -> Iterator[list[object]]:
    spec, status = each.queue.get("spec") or {}, each.queue.get("status") or {}
    phases = ",".join(f"{count} {phase.lower()}" for phase, count in each.phases.items()) or "-"
    amounts = (status.get("allocated"), spec.get("deserved"), spec.get("capability"))
    state = status.get("state", "-")
    yield [f"{lead}{each.name}", state, spec.get("weight", "-"), phases, *map(_amounts, amounts)]
    for index, child in enumerate(each.below):
        last = index == len(each.below) - 1
        yield from _rows(child, indent + ("└─ " if last else "├─ "), indent + ("   " if last else "│  "))


def _amounts(amounts: JsonObject | None) -> str:
    return ",".join(f"{name}={readable(name, amount)}" for name, amount in sorted((amounts or {}).items())) or "-"


def document(each: Branch) -> JsonObject:
    """The tree as a document."""
    spec, status = each.queue.get("spec") or {}, each.queue.get("status") or {}
    found: JsonObject = {"name": each.name, "state": status.get("state", ""), "weight": spec.get("weight", 0)}
    found |= {name: spec[name] for name in _AMOUNTS if spec.get(name)}
    found |= {"allocated": status.get("allocated") or {}, "podGroups": each.phases}
    return found | ({"queues": [document(child) for child in each.below]} if each.below else {})
