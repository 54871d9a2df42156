"""The scale subresource: the replica count of any workload, seen and set as one kind."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import msgspec

from volcano.local.apiserver import bodies, patching, status
from volcano.local.apiserver.reads import respond

if TYPE_CHECKING:
    from volcano.http.message import Response
    from volcano.local.apiserver.call import Call
    from volcano.local.apiserver.store import Entry
    from volcano.local.apiserver.writes import Writes

JsonObject = dict[str, Any]

_BUILT_IN = {
    "specReplicasPath": ".spec.replicas",
    "statusReplicasPath": ".status.replicas",
    "labelSelectorPath": ".spec.selector",
}


class Scales:
    """GET, PUT and PATCH of RESOURCE/NAME/scale."""

    def __init__(self, writes: Writes) -> None:
        self._writes = writes

    async def handle(self, call: Call) -> Response:
        entry = self._writes.existing(call)
        scale = self._scale(call, entry)
        method = call.request.method
        if method in ("GET", "HEAD"):
            return respond(200, msgspec.json.encode(scale))
        call.read_options()
        if method == "PUT":
            wanted = bodies.read_document(call.request)
        elif method == "PATCH":
            wanted = patching.read(call).apply(scale, self._writes.clock.timestamp())
        else:
            raise status.method_not_allowed()
        return await self._set(call, entry, wanted)

    async def _set(self, call: Call, entry: Entry, wanted: JsonObject) -> Response:
        replicas = (wanted.get("spec") or {}).get("replicas", 0)
        if not isinstance(replicas, int) or replicas < 0:
            text = f"Invalid value: {replicas!r}: must be greater than or equal to 0"
            raise status.invalid(call.resource, call.name, [status.cause("spec.replicas", text)])
        meta = wanted.get("metadata") or {}
        if meta.get("resourceVersion") and meta["resourceVersion"] != str(entry.revision):
            raise status.conflict(call.resource, call.name)
        document = entry.document()
        _write(document, self._paths(call)["specReplicasPath"], replicas)
        call.subresource = ""
        body = await self._writes.replace(call, entry, document)
        changed = msgspec.json.decode(body)
        return respond(200, msgspec.json.encode(self._document(call, changed)))

    def _scale(self, call: Call, entry: Entry) -> JsonObject:
        return self._document(call, entry.document())

    def _paths(self, call: Call) -> JsonObject:
        if not call.resource.custom:
            return _BUILT_IN
        paths: JsonObject = (call.resource.definition.get("subresources") or {}).get("scale") or {}
        return paths

    def _document(self, call: Call, document: JsonObject) -> JsonObject:
        paths = self._paths(call)
        meta = document["metadata"]
        kept = ("name", "namespace", "uid", "resourceVersion", "creationTimestamp")
        scale: JsonObject = {
            "kind": "Scale",
            "apiVersion": "autoscaling/v1",
            "metadata": {field: meta[field] for field in kept if field in meta},
            "spec": {"replicas": _read(document, paths.get("specReplicasPath", "")) or 0},
            "status": {"replicas": _read(document, paths.get("statusReplicasPath", "")) or 0},
        }
        selector = _read(document, paths.get("labelSelectorPath", ""))
        if selector:
            scale["status"]["selector"] = _selector_text(selector)
        return scale


def _read(document: JsonObject, path: str) -> Any:
    value: Any = document
    for key in path.strip(".").split("."):
        value = value.get(key) if isinstance(value, dict) else None
    return value


def _write(document: JsonObject, path: str, value: object) -> None:
    *parents, last = path.strip(".").split(".")
    for key in parents:
        document = document.setdefault(key, {})
    document[last] = value


def _selector_text(selector: object) -> str:
    if not isinstance(selector, dict):
        return str(selector)
    if "matchLabels" not in selector and "matchExpressions" not in selector:
        return ",".join(f"{key}={value}" for key, value in sorted(selector.items()))
    parts = [f"{key}={value}" for key, value in sorted((selector.get("matchLabels") or {}).items())]
    for item in selector.get("matchExpressions") or ():
        key, operator, values = item["key"], item["operator"], ",".join(sorted(item.get("values") or ()))
        text = {"In": f"{key} in ({values})", "NotIn": f"{key} notin ({values})", "Exists": key}
        parts.append(text.get(operator, f"!{key}"))
    return ",".join(parts)
