"""Admission without a cluster: what the API server and the rules would say about documents, in their order.

Behind `vcctl validate`. Pure: the world is what `existing` holds, plus every document that was allowed before.
"""

from __future__ import annotations

import copy
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from typing import Any, Final

import msgspec

from volcano.api import builtin_schemas, schema
from volcano.api.crds import compile_resource
from volcano.api.meta import JsonObject
from volcano.api.resources import ALL_KUBERNETES, ALL_VOLCANO, Resource
from volcano.api.scheduling import Queue
from volcano.webhooks.rules import AdmissionRequest, AdmissionResponse, Cause, Settings, mutate, validate as judge
from volcano.webhooks.rules.decode import MalformedObject, decoded
from volcano.webhooks.rules.documents import mapping, text
from volcano.webhooks.rules.names import subdomain
from volcano.webhooks.rules.queue_lookup import missing_queue_hint
from volcano.webhooks.rules.worlds import ListedWorld
from volcano.webhooks.suggestions import fields_at, suggestion

RESOURCES: Final = {(resource.api_version, resource.kind): resource for resource in (*ALL_KUBERNETES, *ALL_VOLCANO)}
WRONG_TYPE: Final = "FieldValueTypeInvalid"


class UnusableObject(ValueError):
    """An object that is said to exist already cannot be one."""


@dataclass(frozen=True, slots=True)
class Result:
    """The verdict on one document. `object` is what would be stored, as far as it came."""

    api_version: str
    kind: str
    namespace: str
    name: str
    operation: str
    allowed: bool
    message: str = ""
    causes: tuple[Cause, ...] = ()
    warnings: tuple[str, ...] = ()
    object: JsonObject | None = None


def validate(
    documents: Iterable[JsonObject],
    existing: Iterable[JsonObject] = (),
    settings: Settings | None = None,
    *,
    namespace: str = "default",
    assumed: Iterable[Queue] = (),
    giving: str = "--with FILE",
) -> list[Result]:
    """Judge `documents` one after the other, as if each was sent to a cluster that holds `existing`.

    Those that exist are updated, the others created; a job finds the queues that were allowed before it, and the
    `assumed` ones, which nobody has to give. `giving` is how a missing queue's manifest is given, for the hint.
    """
    cluster = _Cluster(settings or Settings(), namespace, ListedWorld(assumed), giving)
    for document in existing:
        try:
            cluster.add(document)
        except MalformedObject as malformed:
            raise UnusableObject(f"{text(document, 'kind')} {_name(document)!r}: {malformed}") from malformed
    return [cluster.admit(document) for document in documents]


class _Cluster:
    """The objects there are, and the schemas that were needed so far."""

    def __init__(self, settings: Settings, namespace: str, world: ListedWorld, giving: str) -> None:
        self._settings = settings
        self._namespace = namespace
        self._giving = giving
        self._objects: dict[tuple[str, str, str], JsonObject] = {}
        self._schemas: dict[tuple[str, str], schema.Compiled | None] = {}
        self.world = world

    def admit(self, given: JsonObject) -> Result:
        document = self.placed(given)
        old = self._objects.get(_key(document))
        result = Result(
            api_version=text(document, "apiVersion"),
            kind=text(document, "kind"),
            namespace=text(mapping(document, "metadata"), "namespace"),
            name=_name(document),
            operation="CREATE" if old is None else "UPDATE",
            allowed=True,
            object=document,
        )
        resource = RESOURCES.get((result.api_version, result.kind))
        if resource is None:
            return _unknown_kind(result)
        result = self._judged(resource, document, old, result)
        if result.allowed and result.object is not None:
            self._look_up_in(result.object)
        return result

    def add(self, given: JsonObject) -> None:
        """An object that is there from the start: with the defaults it got when it was created."""
        document = self.placed(given)
        resource = RESOURCES.get((text(document, "apiVersion"), text(document, "kind")))
        if resource is not None and (compiled := self._schema(resource)):
            compiled.clean(document)
        self._objects[_key(document)] = document
        self._look_up_in(document)

    def placed(self, document: JsonObject) -> JsonObject:
        """A copy, in the namespace it would be created in."""
        document = copy.deepcopy(document)
        resource = RESOURCES.get((text(document, "apiVersion"), text(document, "kind")))
        metadata = mapping(document, "metadata")
        if resource is not None and resource.namespaced and not metadata.get("namespace"):
            document["metadata"] = {**metadata, "namespace": self._namespace}
        return document

    def _look_up_in(self, document: JsonObject) -> None:
        """Rules find `document` from now on."""
        metadata = mapping(document, "metadata")
        match text(document, "kind"):
            case "Queue":
                self.world.put_queue(decoded(document, Queue))
            case "Namespace":
                self.world.put_namespace(text(metadata, "name"), mapping(metadata, "annotations"))

    def _judged(self, resource: Resource[Any], document: JsonObject, old: JsonObject | None, result: Result) -> Result:
        """The steps of a write: prune and default, mutate, check the schema, validate."""
        compiled = self._schema(resource)
        unknown = compiled.clean(document) if compiled else []
        request = AdmissionRequest(
            operation=result.operation,
            group=resource.group,
            resource=resource.plural,
            name=result.name,
            namespace=result.namespace,
            object=document,
            old_object=old,
        )
        mutated = mutate(request, self.world, self._settings)
        stored = document if mutated.object is None else mutated.object
        errors = compiled.validate(stored) if compiled else []
        verdict = AdmissionResponse()
        if mutated.allowed and not any(error.reason == WRONG_TYPE for error in errors):
            request = msgspec.structs.replace(request, object=stored)
            verdict = judge(request, self.world, self._settings)
        causes = (
            *(_unknown_field(resource, path) for path in unknown),
            *(Cause(error.path, error.body) for error in errors),
            *(() if mutated.allowed else mutated.causes),
            *(() if verdict.allowed else map(self._offline, verdict.causes)),
        )
        message = mutated.message or verdict.message
        if not message and errors:
            kind = f"{resource.kind}.{resource.group}" if resource.group else resource.kind
            message = schema.invalid_message(kind, result.name, errors)
        if not message and unknown:
            message = schema.strict_message(unknown)
        warnings = (*mutated.warnings, *(verdict.warnings if verdict.allowed else ()), *_name_warnings(document))
        return replace(result, allowed=not causes, message=message, causes=causes, warnings=warnings, object=stored)

    def _offline(self, cause: Cause) -> Cause:
        """Where a queue is missing: only what was given exists here."""
        name = cause.message.partition('queue.scheduling.volcano.sh "')[2].partition('"')[0]
        if not name or cause.hint != missing_queue_hint(name):
            return cause
        hint = f"no such queue among the given objects: give its manifest with {self._giving}, or {cause.hint}"
        return Cause(cause.field, cause.message, hint)

    def _schema(self, resource: Resource[Any]) -> schema.Compiled | None:
        key = (resource.api_version, resource.kind)
        if key not in self._schemas:
            definitions = builtin_schemas.load()
            self._schemas[key] = (
                compile_resource(resource, definitions)
                if resource in ALL_VOLCANO
                else builtin_schemas.compile_kind(definitions, resource.group, resource.version, resource.kind)
            )
        return self._schemas[key]


def _key(document: Mapping[str, Any]) -> tuple[str, str, str]:
    metadata = document.get("metadata") or {}
    return str(document.get("kind")), str(metadata.get("namespace", "")), str(metadata.get("name", ""))


def _name(document: JsonObject) -> str:
    metadata = mapping(document, "metadata")
    return text(metadata, "name") or text(metadata, "generateName")


def _unknown_kind(result: Result) -> Result:
    message = f'no matches for kind "{result.kind}" in version "{result.api_version}"'
    versions = sorted(version for version, kind in RESOURCES if kind == result.kind)
    if versions:
        hint = f"{result.kind} exists in {' and '.join(versions)}"
    else:
        hint = suggestion(result.kind, {kind for _, kind in RESOURCES}) or "see the kinds with `kubectl api-resources`"
    return replace(result, allowed=False, message=message, causes=(Cause("kind", message, hint),))


def _unknown_field(resource: Resource[Any], path: str) -> Cause:
    parent, _, field = path.rpartition(".")
    return Cause(path, "unknown field", suggestion(field, fields_at(resource, parent)))


def _name_warnings(document: JsonObject) -> list[str]:
    """Names are the API server's to judge: told, but not a verdict of admission."""
    name = _name(document)
    if not name:
        return ["metadata.name: Required value: name or generateName is required"]
    return [f"metadata.name: the API server would refuse {name!r}: {error}" for error in subdomain(name.rstrip("-"))]
