"""What the server says about a CustomResourceDefinition: which names it accepts, whether it serves them. Pure.

Neighbours: definitions.py writes it down and serves the kinds.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from volcano.api.meta import JsonObject

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

NOTHING_ACCEPTED: JsonObject = {"plural": "", "kind": ""}
CLEANUP = "customresourcecleanup.apiextensions.k8s.io"


def status_of(definition: JsonObject, others: Iterable[JsonObject], now: str) -> JsonObject:
    """The status of `definition` among the `others` of its group."""
    wanted, old = definition["spec"].get("names") or {}, definition.get("status") or {}
    accepted, conflicts = _accept(wanted, old.get("acceptedNames") or {}, others)
    conditions = [item for item in old.get("conditions") or () if item["type"] not in ("NamesAccepted", "Established")]
    told: list[JsonObject] = []
    if conflicts:
        told.append(_condition("NamesAccepted", "False", *conflicts[0]))
        told.append(_condition("Established", "False", "NotAccepted", "not all names are accepted"))
    else:
        told.append(_condition("NamesAccepted", "True", "NoConflicts", "no conflicts found"))
        text = "the initial names have been accepted"
        told.append(_condition("Established", "True", "InitialNamesAccepted", text))
    known = {item["type"]: item for item in old.get("conditions") or ()}
    for item in told:
        before = known.get(item["type"])
        if before is not None and (item["type"] == "Established" and before["status"] == "True"):
            item.update(before)  # once established, always served
        else:
            same = before is not None and before["status"] == item["status"]
            item["lastTransitionTime"] = before["lastTransitionTime"] if before is not None and same else now
    return {**old, "acceptedNames": accepted, "conditions": told + conditions}


def terminating(definition: JsonObject, now: str) -> None:
    """Mark a definition whose objects have to go first."""
    meta, status = definition["metadata"], definition.setdefault("status", {})
    if CLEANUP not in meta.setdefault("finalizers", []):
        meta["finalizers"].append(CLEANUP)
    others = [item for item in status.get("conditions") or () if item["type"] != "Terminating"]
    pending = _condition("Terminating", "True", "InstanceDeletionPending", "CustomResource deletion is in progress")
    status["conditions"] = [*others, pending | {"lastTransitionTime": now}]


def _accept(
    wanted: JsonObject, before: JsonObject, others: Iterable[JsonObject]
) -> tuple[JsonObject, list[tuple[str, str]]]:
    """The names that are free, and why others are not: the reason and the message of each."""
    taken = [(other.get("status") or {}).get("acceptedNames") or {} for other in others]
    resources = {name for names in taken for name in _resource_names(names)}
    kinds = {names[field] for names in taken for field in ("kind", "listKind") if names.get(field)}
    accepted: JsonObject = {**NOTHING_ACCEPTED, **before}
    conflicts: list[tuple[str, str]] = []
    for field, used in (("plural", resources), ("singular", resources), ("kind", kinds), ("listKind", kinds)):
        name = wanted.get(field)
        if name and name in used:
            conflicts.append((f"{field[0].upper()}{field[1:]}Conflict", f'"{name}" is already in use'))
        elif name:
            accepted[field] = name
    short = [name for name in wanted.get("shortNames") or () if name in resources]
    if short:
        conflicts.append(("ShortNamesConflict", f'"{short[0]}" is already in use'))
    else:
        accepted |= {"shortNames": wanted["shortNames"]} if wanted.get("shortNames") else {}
    if wanted.get("categories"):
        accepted["categories"] = wanted["categories"]
    return accepted, conflicts


def _resource_names(names: JsonObject) -> Iterator[str]:
    yield from (names[field] for field in ("plural", "singular") if names.get(field))
    yield from names.get("shortNames") or ()


def _condition(kind: str, truth: str, reason: str, message: str) -> JsonObject:
    return {"type": kind, "status": truth, "reason": reason, "message": message}
