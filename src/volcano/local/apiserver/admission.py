"""Admission: what the server itself changes about, and has against, an object before it is stored.

A chain of small steps; each sees the request's Attributes. Volcano's own rules are one of them.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from volcano.local.apiserver import status

if TYPE_CHECKING:
    from volcano.local.apiserver.call import Call
    from volcano.local.apiserver.store import Store

JsonObject = dict[str, Any]


class Attributes:
    """One write under admission. Steps may change `document` in place or replace it."""

    __slots__ = ("call", "document", "old", "operation")

    def __init__(self, call: Call, operation: str, document: JsonObject, old: JsonObject | None) -> None:
        self.call = call
        self.operation = operation
        self.document = document
        self.old = old


class Admission:
    """Runs the chain."""

    def __init__(self, store: Store) -> None:
        self._store = store

    async def mutate(self, attributes: Attributes) -> None:
        if attributes.operation == "CREATE" and attributes.call.resource.namespaced:
            self._check_namespace(attributes.call)

    async def validate(self, attributes: Attributes) -> None:
        """Nothing to say yet."""

    def _check_namespace(self, call: Call) -> None:
        entry = self._store.latest("namespaces", call.namespace or "")
        if entry is None:
            raise status.StatusError(
                404,
                "NotFound",
                f'namespaces "{call.namespace}" not found',
                details={"name": call.namespace, "kind": "namespaces"},
            )
        if b'"deletionTimestamp"' in entry.body and entry.document()["metadata"].get("deletionTimestamp"):
            why = f"unable to create new content in namespace {call.namespace} because it is being terminated"
            text = f"namespace {call.namespace} is being terminated"
            raise status.forbidden(
                call.resource, call.name, why, [status.cause("metadata.namespace", text, "NamespaceTerminating")]
            )
