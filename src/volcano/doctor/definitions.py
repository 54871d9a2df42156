"""Whether the CustomResourceDefinitions are there, served, and of this version."""

from __future__ import annotations

from collections.abc import Iterator

from volcano.api.meta import JsonObject
from volcano.doctor.findings import Facts, Finding, error, warning

INSTALL = "apply the chart of this version (helm upgrade --install volcano)"


def check(facts: Facts) -> Iterator[Finding]:
    if "customresourcedefinitions" in facts.unseen:
        return
    present = {definition["metadata"]["name"]: definition for definition in facts.of("customresourcedefinitions")}
    for expected in facts.expected:
        name = expected["metadata"]["name"]
        found = present.get(name)
        if found is None:
            yield error(f"CRD {name}", "does not exist", INSTALL)
        else:
            yield from _judged(f"CRD {name}", found, expected)


def _judged(subject: str, found: JsonObject, expected: JsonObject) -> Iterator[Finding]:
    conditions = {each["type"]: each for each in (found.get("status") or {}).get("conditions") or ()}
    if conditions.get("Established", {}).get("status") != "True":
        why = conditions.get("NamesAccepted", {}).get("message") or "the API server has not accepted it"
        yield error(subject, f"is not served: {why}", "see `kubectl describe crd`; two definitions may want one name")
    served = {each["name"]: each for each in found["spec"]["versions"] if each.get("served")}
    for version in expected["spec"]["versions"]:
        there = served.get(version["name"])
        if there is None:
            yield error(subject, f"does not serve {version['name']}", INSTALL)
            continue
        missing = sorted(_fields(version) - _fields(there))
        if missing:
            yield warning(subject, f"drops fields that this version writes: {', '.join(missing)}", INSTALL)
    newer = set((found.get("status") or {}).get("storedVersions") or ()) - {
        each["name"] for each in expected["spec"]["versions"]
    }
    if newer:
        yield warning(
            subject,
            f"has objects stored as {', '.join(sorted(newer))}, which this version does not know",
            "install the Volcano that wrote them, or migrate them",
        )


def _fields(version: JsonObject) -> set[str]:
    """The fields of spec and status at their first level, unless anything is kept."""
    schema = (version.get("schema") or {}).get("openAPIV3Schema") or {}
    return {
        f"{part}.{field}"
        for part in ("spec", "status")
        for field in ((schema.get("properties") or {}).get(part) or {}).get("properties") or ()
    }
