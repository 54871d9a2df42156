"""CustomResourceDefinitions: kinds that users add, and the descriptions of Volcano's own.

A definition's objects are served from the moment it is durable until it is deleted; then its objects go too.
Volcano's kinds are built in; their definitions are written down when somebody first looks for them.
"""

from __future__ import annotations

import logging
import re
from typing import TYPE_CHECKING, Any

from volcano.api import builtin_schemas, crds, schema
from volcano.api.resources import ALL_VOLCANO, CUSTOM_RESOURCE_DEFINITIONS
from volcano.local.apiserver.registry import custom_resources
from volcano.local.apiserver.status import cause, forbidden, required
from volcano.local.apiserver.strategies import Strategy

if TYPE_CHECKING:
    from collections.abc import Iterator

    from volcano.local.apiserver.admission import Attributes
    from volcano.local.apiserver.entries import Event
    from volcano.local.apiserver.faults import Cause
    from volcano.local.apiserver.registry import Registry
    from volcano.local.apiserver.store import Store
    from volcano.local.apiserver.writes import Writes

JsonObject = dict[str, Any]

log = logging.getLogger("volcano.apiserver")

COLLECTION = "customresourcedefinitions.apiextensions.k8s.io"
_OWN = frozenset(resource.group_resource for resource in ALL_VOLCANO)
_VERSION = re.compile(r"v[1-9][0-9]*((alpha|beta)[1-9][0-9]*)?")


class Definitions:
    """Keeps the registry equal to the stored definitions. Listens to their collection; is a step of admission."""

    def __init__(self, store: Store, registry: Registry) -> None:
        self._store = store
        self._registry = registry
        self._own_written = False

    def start(self) -> None:
        """Serve what was defined before, and follow changes."""
        for entry in self._store.scan(COLLECTION):
            self._serve(entry.document())
        self._store.collection(COLLECTION).listeners.append(self)

    def offer(self, events: list[Event]) -> None:
        for event in events:
            definition = event.entry.document()
            self._withdraw(definition)
            if event.kind == "DELETED":
                self._remove_objects(event.entry.key)
            else:
                self._serve(definition)

    def end(self) -> None:
        return None

    async def write_own(self, writes: Writes) -> None:
        """Store the definitions of Volcano's kinds, or bring those of an older version up to date."""
        if self._own_written:
            return
        self._own_written = True
        resource = self._registry.get(CUSTOM_RESOURCE_DEFINITIONS)
        definitions = builtin_schemas.load()
        for own in ALL_VOLCANO:
            wanted = crds.crd(own, definitions)
            entry = self._store.latest(COLLECTION, own.group_resource)
            if entry is None:
                writes.seed(resource, wanted)
            elif entry.document()["spec"]["versions"] != wanted["spec"]["versions"]:
                updated = entry.document()
                updated["spec"] = wanted["spec"]
                writes.strategy(resource).default(updated)
                self._store.put(COLLECTION, entry.key, updated)
        await self._store.settled()

    def mutate(self, attributes: Attributes) -> None:
        return None

    def validate(self, attributes: Attributes) -> None:
        call = attributes.call
        if call.resource.qualified == COLLECTION and attributes.operation == "DELETE" and call.name in _OWN:
            raise forbidden(call.resource, call.name, "this kind is built into the server and cannot be deleted")

    def _serve(self, definition: JsonObject) -> None:
        if definition["metadata"]["name"] in _OWN:
            return
        for resource in custom_resources(definition):
            self._registry.add(resource)

    def _withdraw(self, definition: JsonObject) -> None:
        if definition["metadata"]["name"] not in _OWN:
            self._registry.remove(definition["spec"]["group"], definition["spec"]["names"]["plural"])

    def _remove_objects(self, collection: str) -> None:
        if collection in _OWN:
            return
        for key in list(self._store.collection(collection).entries):
            self._store.delete(collection, key)
        log.info("removed all objects of %s with its definition", collection)


class DefinitionStrategy(Strategy):
    """What a CustomResourceDefinition must be like, and the status it gets."""

    def default(self, document: JsonObject) -> None:
        spec = document.setdefault("spec", {})
        names = spec.setdefault("names", {})
        if names.get("kind"):
            names.setdefault("singular", names["kind"].lower())
            names.setdefault("listKind", names["kind"] + "List")
        spec.setdefault("conversion", {"strategy": "None"})

    def prepare_create(self, document: JsonObject) -> None:
        super().prepare_create(document)
        document["status"] = _status(document, [])

    def prepare_update(self, new: JsonObject, old: JsonObject) -> None:
        super().prepare_update(new, old)
        before = (old.get("status") or {}).get("storedVersions") or []
        conditions = (old.get("status") or {}).get("conditions")
        new["status"] = _status(new, before)
        if conditions:
            new["status"]["conditions"] = conditions

    def validate(self, document: JsonObject) -> list[Cause]:
        return super().validate(document) + list(_causes(document))

    def validate_update(self, new: JsonObject, old: JsonObject) -> list[Cause]:
        return super().validate_update(new, old) + list(_causes(new))


def _status(document: JsonObject, stored: list[str]) -> JsonObject:
    spec = document.get("spec") or {}
    since = document["metadata"].get("creationTimestamp")
    storage = [version.get("name", "") for version in spec.get("versions") or () if version.get("storage")]
    return {
        "acceptedNames": spec.get("names") or {},
        "conditions": [
            _condition("NamesAccepted", "NoConflicts", "no conflicts found", since),
            _condition("Established", "InitialNamesAccepted", "the initial names have been accepted", since),
        ],
        "storedVersions": stored + [name for name in storage if name not in stored],
    }


def _condition(kind: str, reason: str, message: str, since: str | None) -> JsonObject:
    return {"type": kind, "status": "True", "reason": reason, "message": message, "lastTransitionTime": since}


def _causes(document: JsonObject) -> Iterator[Cause]:
    spec, name = document.get("spec") or {}, document["metadata"].get("name", "")
    names, group = spec.get("names") or {}, spec.get("group") or ""
    needed = {"group": group, "names.plural": names.get("plural"), "names.kind": names.get("kind")}
    for field, value in {**needed, "scope": spec.get("scope")}.items():
        if not value:
            yield required(f"spec.{field}")
    expected = f"{names.get('plural')}.{group}"
    if name != expected:
        text = f'Invalid value: "{name}": must be spec.names.plural+"."+spec.group'
        yield cause("metadata.name", text)
    versions = spec.get("versions") or []
    if sum(bool(version.get("storage")) for version in versions) != 1:
        text = "Invalid value: must have exactly one version marked as storage version"
        yield cause("spec.versions", text)
    for index, version in enumerate(versions):
        yield from _version_causes(version, f"spec.versions[{index}]")
    if (spec.get("conversion") or {}).get("strategy") not in ("None", None):
        text = 'Unsupported value: "Webhook": supported values: "None" (this server converts nothing)'
        yield cause("spec.conversion.strategy", text, "FieldValueNotSupported")


def _version_causes(version: JsonObject, field: str) -> Iterator[Cause]:
    name = version.get("name") or ""
    if not _VERSION.fullmatch(name):
        yield cause(f"{field}.name", f'Invalid value: "{name}": must be like v1, v1beta1, v1alpha1')
    structure = (version.get("schema") or {}).get("openAPIV3Schema")
    if not structure:
        yield required(f"{field}.schema.openAPIV3Schema", "schemas are required")
        return
    for error in schema.structural_errors(structure, f"{field}.schema.openAPIV3Schema"):
        yield cause(error.path, error.body, error.reason)
