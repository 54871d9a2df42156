"""A container's environment: literal values, references to config and pod facts, `$(NAME)` expansion. Pure.

Neighbours: `plan` calls `environment_of`; `sources` holds the objects that references point to.
"""

from __future__ import annotations

import re
from collections.abc import Mapping

from volcano.api import quantity
from volcano.api.meta import JsonObject
from volcano.local.node.sources import PlanError, PodFacts, Sources, decode_secret

_REFERENCE = re.compile(r"\$(\$|\(([^()$]*)\))")
_SUBSCRIPT = re.compile(r"metadata\.(labels|annotations)\['([^']+)'\]")
_VALID_NAME = re.compile(r"[-._a-zA-Z][-._a-zA-Z0-9]*")


def expand(text: str, known: Mapping[str, str]) -> str:
    """Replace `$(NAME)` by its value where it is known; `$$` stands for one dollar sign."""

    def value(match: re.Match[str]) -> str:
        if match.group(1) == "$":
            return "$"
        return known.get(match.group(2), match.group(0))

    return _REFERENCE.sub(value, text)


def environment_of(container: JsonObject, facts: PodFacts, sources: Sources, base: Mapping[str, str]) -> dict[str, str]:
    """All variables of `container`, later ones winning: `base`, then envFrom, then env in order."""
    result = dict(base)
    for bulk in container.get("envFrom") or []:
        result.update(_bulk(bulk, facts, sources))
    for entry in container.get("env") or []:
        value = _value(entry, container, facts, sources, result)
        if value is not None:
            result[entry["name"]] = value
    return result


def _bulk(bulk: JsonObject, facts: PodFacts, sources: Sources) -> dict[str, str]:
    prefix = bulk.get("prefix") or ""
    if "configMapRef" in bulk:
        data = sources.config_map(bulk["configMapRef"], facts.namespace)
    else:
        data = decode_secret(sources.secret(bulk.get("secretRef") or {}, facts.namespace))
    return {prefix + key: value for key, value in data.items() if _VALID_NAME.fullmatch(prefix + key)}


def _value(
    entry: JsonObject, container: JsonObject, facts: PodFacts, sources: Sources, known: Mapping[str, str]
) -> str | None:
    origin = entry.get("valueFrom")
    if not origin:
        return expand(entry.get("value") or "", known)
    if "fieldRef" in origin:
        return field(origin["fieldRef"].get("fieldPath") or "", facts)
    if "resourceFieldRef" in origin:
        return resource(origin["resourceFieldRef"], container, facts)
    if "configMapKeyRef" in origin:
        reference = origin["configMapKeyRef"]
        return _pick("configmap", sources.config_map(reference, facts.namespace), reference)
    if "secretKeyRef" in origin:
        reference = origin["secretKeyRef"]
        return _pick("secret", decode_secret(sources.secret(reference, facts.namespace)), reference)
    raise PlanError(
        "CreateContainerConfigError", f"env {entry['name']!r}: this node does not know valueFrom.{next(iter(origin))}"
    )


def _pick(kind: str, data: Mapping[str, str], reference: JsonObject) -> str | None:
    key = reference.get("key") or ""
    if key in data:
        return data[key]
    if reference.get("optional"):
        return None
    raise PlanError("CreateContainerConfigError", f"couldn't find key {key} in {kind} {reference.get('name')}")


def field(path: str, facts: PodFacts) -> str:
    """The value of a downward API field path."""
    match = _SUBSCRIPT.fullmatch(path)
    if match:
        return str((facts.metadata.get(match.group(1)) or {}).get(match.group(2), ""))
    if path in ("metadata.labels", "metadata.annotations"):
        pairs = facts.metadata.get(path.partition(".")[2]) or {}
        return "\n".join(f'{key}="{_escape(value)}"' for key, value in sorted(pairs.items()))
    values = {
        "metadata.name": facts.name,
        "metadata.namespace": facts.namespace,
        "metadata.uid": facts.uid,
        "spec.nodeName": facts.node_name,
        "spec.serviceAccountName": facts.service_account,
        "status.hostIP": facts.host_ip,
        "status.hostIPs": facts.host_ip,
        "status.podIP": facts.pod_ip,
        "status.podIPs": facts.pod_ip,
    }
    if path not in values:
        raise PlanError(
            "CreateContainerConfigError", f"fieldPath {path!r} is not supported: use one of {', '.join(values)}"
        )
    return values[path]


def resource(reference: JsonObject, container: JsonObject, facts: PodFacts) -> str:
    """A container's request or limit in units of the divisor, rounded up; a missing limit is the node's capacity."""
    section, _, name = (reference.get("resource") or "").partition(".")
    resources = container.get("resources") or {}
    amount = (resources.get(section) or {}).get(name)
    if amount is None and section == "requests":
        amount = (resources.get("limits") or {}).get(name)
    if amount is None and section == "limits":
        amount = facts.allocatable.get(name)
    divisor = reference.get("divisor") or "1"
    if quantity.milli(divisor) == 0:
        divisor = "1"
    return str(-(-quantity.milli(amount or "0") // quantity.milli(divisor)))


def _escape(value: str) -> str:
    return value.replace("\\", "\\\\").replace('"', '\\"').replace("\n", "\\n")
