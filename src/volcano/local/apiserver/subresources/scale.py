"""The scale subresource: the replica count of any workload, seen and set as one kind.

Who sets it owns `spec.replicas` of the workload, as a manager of this subresource.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import msgspec

from volcano.api import builtin_schemas
from volcano.api.meta import JsonObject
from volcano.local.apiserver import status
from volcano.local.apiserver.merging import fieldsets
from volcano.local.apiserver.merging.managers import ManagerKey, Managers
from volcano.local.apiserver.merging.ownership import keep_account, key_of
from volcano.local.apiserver.merging.shapes import builtin_shape
from volcano.local.apiserver.verbs import patching
from volcano.local.apiserver.verbs.reads import respond
from volcano.local.apiserver.wire import bodies

if TYPE_CHECKING:
    from volcano.http.message import Response
    from volcano.local.apiserver.call import Call
    from volcano.local.apiserver.merging.fieldsets import FieldSet
    from volcano.local.apiserver.storage.entries import Entry
    from volcano.local.apiserver.verbs.writes import Writes

_API_VERSION = "autoscaling/v1"
_BUILT_IN = {
    "specReplicasPath": ".spec.replicas",
    "statusReplicasPath": ".status.replicas",
    "labelSelectorPath": ".spec.selector",
}
_REPLICAS: FieldSet = {"f:spec": {"f:replicas": {}}}
_EMPTY: JsonObject = {"metadata": {}, "spec": {}, "status": {"replicas": 0}}
_ATTEMPTS = 5


class Scales:
    """GET, PUT and PATCH of RESOURCE/NAME/scale."""

    def __init__(self, writes: Writes) -> None:
        self._writes = writes

    async def handle(self, call: Call) -> Response:
        method = call.request.method
        if method in ("GET", "HEAD"):
            scale = self._document(call, self._writes.existing(call).document())
            return respond(200, msgspec.json.encode(scale))
        call.read_options()
        change = self._put(call) if method == "PUT" else self._patch(call)
        for attempt in range(_ATTEMPTS):
            entry = self._writes.existing(call)
            try:
                body = await self._change(call, entry, change)
                break
            except status.StatusError as error:
                if error.reason != "Conflict" or method == "PUT" or attempt + 1 == _ATTEMPTS:
                    raise
        return respond(200, msgspec.json.encode(self._document(call, msgspec.json.decode(body))))

    def _put(self, call: Call) -> patching.Patch:
        wanted = bodies.read_document(call.request)
        found = (wanted.get("apiVersion", _API_VERSION), wanted.get("kind", "Scale"))
        if found != (_API_VERSION, "Scale"):
            raise status.bad_request(f"the body is {found[1]} of {found[0]}, expected Scale of {_API_VERSION}")
        return _Replacement(wanted)

    def _patch(self, call: Call) -> patching.Patch:
        shape = builtin_shape(builtin_schemas.definition_name("autoscaling", "v1", "Scale"))
        return patching.read(call, patching.Subject(_API_VERSION, "Scale", shape, _EMPTY))

    async def _change(self, call: Call, entry: Entry, change: patching.Patch) -> bytes:
        """Let the patch work on the scale, then write what it says into the workload."""
        workload, now = entry.document(), self._writes.clock.timestamp()
        path = self._paths(call)["specReplicasPath"]
        owners = _Owners(workload, call.resource.api_version, _field_set(path))
        scale = self._document(call, workload)
        scale["metadata"]["managedFields"] = owners.of_scale()
        wanted = change.apply(scale, now)
        _check(call, entry, wanted)
        wanted["metadata"] = dict(wanted["metadata"])  # patches share what they leave alone
        if not change.creates:  # applies have kept account themselves
            me = key_of(call.manager, _API_VERSION, "scale")
            keep_account(scale, wanted, me, builtin_shape("io.k8s.api.autoscaling.v1.Scale"), now, ("status",))
        _write(workload, path, wanted["spec"].get("replicas", 0))
        owners.write(wanted["metadata"].get("managedFields"))
        return await self._writes.replace(call, entry, workload, tracked=True)

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


class _Replacement:
    """A PUT in the shape of a patch."""

    creates = False

    def __init__(self, wanted: JsonObject) -> None:
        self._wanted = wanted

    def apply(self, document: JsonObject | None, now: str) -> JsonObject:
        return dict(self._wanted)


class _Owners:
    """The managers of a workload's replica count, as the scale shows them and as the workload keeps them."""

    def __init__(self, workload: JsonObject, api_version: str, replicas: FieldSet) -> None:
        self._meta = workload["metadata"]
        self._api_version = api_version
        self._replicas = replicas

    def of_scale(self) -> list[JsonObject]:
        return [
            {**entry, "apiVersion": _API_VERSION, "fieldsV1": _REPLICAS}
            for entry in self._meta.get("managedFields") or ()
            if fieldsets.intersection(entry.get("fieldsV1") or {}, self._replicas)
        ]

    def write(self, entries: list[JsonObject] | None) -> None:
        """Take the replica count from those who lost it; give it to whoever has it now and had not."""
        ours = Managers.of(self._meta.get("managedFields"))
        theirs = {_identity(entry) for entry in entries or ()}
        losers = [key for key, _ in ours.items() if _identity_of(key) not in theirs]
        known = {_identity_of(key) for key, fields in ours.items() if fieldsets.intersection(fields, self._replicas)}
        for key in losers:
            ours = ours.without(key, self._replicas)
        written = ours.entries()
        for entry in entries or ():
            if _identity(entry) not in known:
                timeless = {name: value for name, value in entry.items() if name != "time"}
                written.append({**timeless, "apiVersion": self._api_version, "fieldsV1": self._replicas})
        self._meta.pop("managedFields", None)
        if written:
            self._meta["managedFields"] = Managers.of(written).entries()


def _identity(entry: JsonObject) -> tuple[str, str, str]:
    return entry.get("manager") or "", entry.get("operation") or "", entry.get("subresource") or ""


def _identity_of(key: ManagerKey) -> tuple[str, str, str]:
    return key.manager, key.operation, key.subresource


def _check(call: Call, entry: Entry, wanted: JsonObject) -> None:
    meta, spec = wanted.get("metadata"), wanted.setdefault("spec", {})
    if not isinstance(meta, dict) or not isinstance(spec, dict):
        raise status.bad_request("a Scale has metadata and spec")
    causes = []
    replicas = spec.get("replicas", 0)
    if not isinstance(replicas, int) or isinstance(replicas, bool):
        raise status.bad_request(f"spec.replicas must be a number, not {replicas!r}")
    if not meta.get("name"):
        causes.append(status.required("metadata.name", "name or generateName is required"))
    if replicas < 0:
        causes.append(status.cause("spec.replicas", f"Invalid value: {replicas}: must be greater than or equal to 0"))
    if causes:
        raise status.invalid_kind("Scale", "autoscaling", call.name, causes)
    if meta.get("resourceVersion") and meta["resourceVersion"] != str(entry.revision):
        raise status.conflict(call.resource, call.name)


def _field_set(path: str) -> FieldSet:
    result: FieldSet = {}
    for key in reversed(path.strip(".").split(".")):
        result = {"f:" + key: result}
    return result


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
