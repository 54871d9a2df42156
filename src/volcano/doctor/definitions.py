"""Whether the CustomResourceDefinitions are there, served, and of this version."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, get_args

import msgspec

from volcano.api.meta import JsonObject
from volcano.api.resources import Resource
from volcano.doctor.findings import Facts, Finding, error, warning

INSTALL = "apply the chart of this version (helm upgrade --install volcano)"


def check(facts: Facts) -> Iterator[Finding]:
    if "customresourcedefinitions" in facts.unseen:
        return
    present = {definition["metadata"]["name"]: definition for definition in facts.of("customresourcedefinitions")}
    for expected in facts.expected:
        name = expected.group_resource
        found = present.get(name)
        if found is None:
            yield error(f"CRD {name}", "does not exist", INSTALL)
        else:
            yield from _judged(f"CRD {name}", found, expected)


def _judged(subject: str, found: JsonObject, expected: Resource[Any]) -> Iterator[Finding]:
    conditions = {each["type"]: each for each in (found.get("status") or {}).get("conditions") or ()}
    if conditions.get("Established", {}).get("status") != "True":
        why = conditions.get("NamesAccepted", {}).get("message") or "the API server has not accepted it"
        yield error(subject, f"is not served: {why}", "see `kubectl describe crd`; two definitions may want one name")
    served = {each["name"]: each for each in found["spec"]["versions"] if each.get("served")}
    there = served.get(expected.version)
    if there is None:
        yield error(subject, f"does not serve {expected.version}", INSTALL)
    elif missing := sorted(fields_of(expected) - _fields(there)):
        yield warning(subject, f"drops fields that this version writes: {', '.join(missing)}", INSTALL)
    newer = set((found.get("status") or {}).get("storedVersions") or ()) - {expected.version}
    if newer:
        yield warning(
            subject,
            f"has objects stored as {', '.join(sorted(newer))}, which this version does not know",
            "install the Volcano that wrote them, or migrate them",
        )


def fields_of(resource: Resource[Any]) -> set[str]:
    """The fields of spec and status at their first level. A whole schema would say them, too, but slowly."""
    parts = {part.encode_name: _struct_in(part.type) for part in msgspec.structs.fields(resource.type)}
    return {
        f"{name}.{field}"
        for name, struct in parts.items()
        if name in ("spec", "status") and struct is not None
        for field in struct.__struct_encode_fields__
    }


def _struct_in(hint: Any) -> type[msgspec.Struct] | None:
    """The struct that a field holds, whatever is said of it beside."""
    if isinstance(hint, type) and issubclass(hint, msgspec.Struct):
        return hint
    return next(filter(None, map(_struct_in, get_args(hint))), None)


def _fields(version: JsonObject) -> set[str]:
    """The same of a definition in the cluster, unless anything is kept."""
    schema = (version.get("schema") or {}).get("openAPIV3Schema") or {}
    return {
        f"{part}.{field}"
        for part in ("spec", "status")
        for field in ((schema.get("properties") or {}).get(part) or {}).get("properties") or ()
    }
