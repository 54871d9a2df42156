"""Admission: what the server itself changes about, and has against, an object before it is stored.

A chain of small steps, each in a module of its own; Volcano's rules and users' webhooks come last.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Protocol

from volcano.api.meta import JsonObject
from volcano.local.apiserver import status
from volcano.local.apiserver.admission.inert import InertKinds
from volcano.local.apiserver.admission.limits import LimitRanges
from volcano.local.apiserver.admission.pods import PodDefaults
from volcano.local.apiserver.admission.simulated import SimulatedNodes
from volcano.local.apiserver.admission.volcano import VolcanoRules
from volcano.local.apiserver.admission.webhooks import Webhooks

if TYPE_CHECKING:
    from collections.abc import Sequence

    from volcano.local.apiserver.call import Call
    from volcano.local.apiserver.storage.store import Store

PROTECTED_NAMESPACES = frozenset({"default", "kube-system", "kube-public"})


class Attributes:
    """One write under admission. Steps may change `document` in place or replace it."""

    __slots__ = ("call", "document", "old", "operation")

    def __init__(self, call: Call, operation: str, document: JsonObject, old: JsonObject | None) -> None:
        self.call = call
        self.operation = operation
        self.document = document
        self.old = old


class Step(Protocol):
    """Something that has a say in every write."""

    def mutate(self, attributes: Attributes) -> None:
        """Change the object, or refuse it early."""

    def validate(self, attributes: Attributes) -> None:
        """Refuse the object as it would be stored."""


class Admission:
    """Runs the chain: all steps change first, then all steps judge."""

    def __init__(self, steps: Sequence[Step], webhooks: Webhooks) -> None:
        self._steps = steps
        self._webhooks = webhooks

    @classmethod
    def standard(cls, store: Store, *further: Step) -> Admission:
        own: tuple[Step, ...] = (NamespaceLifecycle(store), PodDefaults(store), LimitRanges(store), VolcanoRules(store))
        own = (*own, SimulatedNodes(store), InertKinds())
        return cls((*own, *further), Webhooks(store))

    async def mutate(self, attributes: Attributes) -> None:
        for step in self._steps:
            step.mutate(attributes)
        await self._webhooks.mutate(attributes)

    async def validate(self, attributes: Attributes) -> None:
        for step in self._steps:
            step.validate(attributes)
        await self._webhooks.validate(attributes)


class NamespaceLifecycle:
    """Objects are made only in namespaces that exist and stay; some namespaces cannot be deleted."""

    def __init__(self, store: Store) -> None:
        self._store = store

    def mutate(self, attributes: Attributes) -> None:
        call = attributes.call
        if attributes.operation != "CREATE" or not call.resource.namespaced:
            return
        entry = self._store.latest("namespaces", call.namespace or "")
        if entry is None:
            details = {"name": call.namespace, "kind": "namespaces"}
            raise status.StatusError(404, "NotFound", f'namespaces "{call.namespace}" not found', details=details)
        if b'"deletionTimestamp"' in entry.body and entry.document()["metadata"].get("deletionTimestamp"):
            why = f"unable to create new content in namespace {call.namespace} because it is being terminated"
            text = f"namespace {call.namespace} is being terminated"
            cause = status.cause("metadata.namespace", text, "NamespaceTerminating")
            raise status.forbidden(call.resource, call.name, why, [cause])

    def validate(self, attributes: Attributes) -> None:
        call = attributes.call
        deletes_namespace = attributes.operation == "DELETE" and call.resource.qualified == "namespaces"
        if deletes_namespace and call.name in PROTECTED_NAMESPACES:
            raise status.forbidden(call.resource, call.name, "this namespace may not be deleted")
