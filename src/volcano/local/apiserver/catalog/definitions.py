"""CustomResourceDefinitions: kinds that users add, and the descriptions of Volcano's own.

A definition's objects are served from the moment it is durable until it is gone; before that, its objects go.
Volcano's kinds are built in; their definitions are written down when somebody first looks for them.
"""

from __future__ import annotations

import logging
import re
from typing import TYPE_CHECKING

from volcano.api import builtin_schemas, crds, schema
from volcano.api.meta import JsonObject
from volcano.api.resources import ALL_VOLCANO, CUSTOM_RESOURCE_DEFINITIONS
from volcano.local.apiserver.catalog import definition_names
from volcano.local.apiserver.catalog.registry import custom_resources
from volcano.local.apiserver.clock import WallClock
from volcano.local.apiserver.merging.ownership import keep_account, key_of
from volcano.local.apiserver.merging.shapes import shape_of
from volcano.local.apiserver.status import cause, forbidden, required
from volcano.local.apiserver.strategies.strategy import Strategy

if TYPE_CHECKING:
    from collections.abc import Iterator

    from volcano.local.apiserver.admission.chain import Attributes
    from volcano.local.apiserver.catalog.registry import Registry
    from volcano.local.apiserver.faults import Cause
    from volcano.local.apiserver.storage.entries import Event
    from volcano.local.apiserver.storage.store import Store
    from volcano.local.apiserver.verbs.writes import Clock, Writes


log = logging.getLogger("volcano.apiserver")

COLLECTION = "customresourcedefinitions.apiextensions.k8s.io"
_OWN = frozenset(resource.group_resource for resource in ALL_VOLCANO)
_VERSION = re.compile(r"v[1-9][0-9]*((alpha|beta)[1-9][0-9]*)?")


class Definitions:
    """Keeps the registry equal to the stored definitions. Listens to their collection; is a step of admission."""

    def __init__(self, store: Store, registry: Registry, clock: Clock) -> None:
        self._store = store
        self._registry = registry
        self._clock = clock
        self._own_written = False

    def start(self) -> None:
        """Serve what was defined before, and follow changes."""
        for entry in list(self._store.scan(COLLECTION)):
            self._follow(entry.document())
        self._store.collection(COLLECTION).listeners.append(self)

    def offer(self, events: list[Event]) -> None:
        for event in events:
            definition = event.entry.document()
            self._withdraw(definition)
            if event.kind == "DELETED":
                self._remove_objects(event.entry.key)
                self._judge_others(definition)
            else:
                self._follow(definition)

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
                self._judge(writes.seed(resource, wanted).document())
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

    def _follow(self, definition: JsonObject) -> None:
        """Serve a definition's kind, or, when it is being deleted, remove its objects and let it go."""
        self._serve(definition)
        if definition["metadata"].get("deletionTimestamp"):
            _Cleanup(self._store, definition["metadata"]["name"], self._clock).start()
        else:
            self._judge(definition)

    def _judge(self, definition: JsonObject) -> None:
        """Write down which of the names are accepted, unless it is written already."""
        name = definition["metadata"]["name"]
        entry = self._store.latest(COLLECTION, name)
        if entry is None:
            return
        current, now = entry.document(), self._clock.timestamp()
        status = definition_names.status_of(current, self._others(current), now)
        if status == current.get("status"):
            return
        resource = self._registry.get(CUSTOM_RESOURCE_DEFINITIONS)
        judged = current | {"status": status, "metadata": dict(current["metadata"])}
        me = key_of("kube-apiserver", resource.api_version, "status")
        keep_account(current, judged, me, shape_of(resource), now, ("spec",))
        self._store.put(COLLECTION, name, judged)

    def _judge_others(self, gone: JsonObject) -> None:
        """Names that have become free may be wanted by another definition."""
        for other in list(self._others(gone)):
            self._judge(other)

    def _others(self, definition: JsonObject) -> Iterator[JsonObject]:
        for entry in list(self._store.collection(COLLECTION).entries.values()):
            if entry.key.endswith(f".{definition['spec']['group']}") and entry.key != definition["metadata"]["name"]:
                other = entry.document()
                if other["spec"]["group"] == definition["spec"]["group"]:
                    yield other

    def _serve(self, definition: JsonObject) -> None:
        if definition["metadata"]["name"] in _OWN:
            return
        for resource in custom_resources(definition):
            self._registry.add(resource)

    def _withdraw(self, definition: JsonObject) -> None:
        if definition["metadata"]["name"] not in _OWN:
            self._registry.remove(definition["spec"]["group"], definition["spec"]["names"]["plural"])

    def _remove_objects(self, collection: str) -> None:
        """What a definition that went without waiting leaves behind."""
        if collection in _OWN:
            return
        for key in list(self._store.collection(collection).entries):
            self._store.delete(collection, key)


class _Cleanup:
    """Deletes the objects of a definition, waits for those that finalizers hold, then takes its finalizer away."""

    def __init__(self, store: Store, name: str, clock: Clock) -> None:
        self._store = store
        self._name = name
        self._clock = clock
        self._objects = store.collection(name)

    def start(self) -> None:
        if any(isinstance(listener, _Cleanup) for listener in self._objects.listeners):
            return
        for key, entry in list(self._objects.entries.items()):
            document = entry.document()
            meta = document["metadata"]
            if not meta.get("finalizers"):
                self._store.delete(self._name, key)
            elif not meta.get("deletionTimestamp"):
                meta |= {"deletionTimestamp": self._clock.timestamp(), "deletionGracePeriodSeconds": 0}
                self._store.put(self._name, key, document)
        if self._objects.entries:
            self._objects.listeners.append(self)
        else:
            self._finish()

    def offer(self, events: list[Event]) -> None:
        if not self._objects.entries:
            self._objects.listeners.remove(self)
            self._finish()

    def end(self) -> None:
        return None

    def _finish(self) -> None:
        entry = self._store.latest(COLLECTION, self._name)
        if entry is None:
            return
        definition = entry.document()
        meta = definition["metadata"]
        meta["finalizers"] = [item for item in meta.get("finalizers") or () if item != definition_names.CLEANUP]
        if meta["finalizers"]:
            self._store.put(COLLECTION, self._name, definition)
        else:
            self._store.delete(COLLECTION, self._name)
        log.info("removed all objects of %s with its definition", self._name)


class DefinitionStrategy(Strategy):
    """What a CustomResourceDefinition must be like, and the status it begins with."""

    tells_grace = False
    counts_deletion = False

    def default(self, document: JsonObject) -> None:
        spec = document.setdefault("spec", {})
        names = spec.setdefault("names", {})
        if names.get("kind"):
            names.setdefault("singular", names["kind"].lower())
            names.setdefault("listKind", names["kind"] + "List")
        spec.setdefault("conversion", {"strategy": "None"})

    def prepare_create(self, document: JsonObject) -> None:
        super().prepare_create(document)
        document["status"] = {
            "acceptedNames": dict(definition_names.NOTHING_ACCEPTED),
            "conditions": None,
            "storedVersions": _stored_versions(document, []),
        }

    def prepare_update(self, new: JsonObject, old: JsonObject) -> None:
        super().prepare_update(new, old)
        status = new.setdefault("status", {})
        new["status"] = status | {"storedVersions": _stored_versions(new, status.get("storedVersions") or [])}

    def holds(self, document: JsonObject) -> bool:
        """Definitions always end in two steps: first their objects."""
        return not document["metadata"].get("deletionTimestamp") or super().holds(document)

    def mark_deleted(self, document: JsonObject) -> None:
        if not document["metadata"].get("deletionTimestamp"):
            definition_names.terminating(document, WallClock().timestamp())

    def validate(self, document: JsonObject) -> list[Cause]:
        return super().validate(document) + list(_causes(document))

    def validate_update(self, new: JsonObject, old: JsonObject) -> list[Cause]:
        return super().validate_update(new, old) + list(_causes(new))


def _stored_versions(document: JsonObject, before: list[str]) -> list[str]:
    versions = (document.get("spec") or {}).get("versions") or ()
    return before + [item["name"] for item in versions if item.get("storage") and item.get("name") not in before]


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
