"""Delete and deletecollection: preconditions, finalizers, grace, propagation."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import msgspec

from volcano.local.apiserver import bodies, status
from volcano.local.apiserver.admission import Attributes
from volcano.local.apiserver.reads import respond
from volcano.local.apiserver.selection import Selection
from volcano.local.apiserver.store import Stale

if TYPE_CHECKING:
    from volcano.http.message import Response
    from volcano.local.apiserver.admission import Admission
    from volcano.local.apiserver.call import Call
    from volcano.local.apiserver.store import Entry
    from volcano.local.apiserver.writes import Writes

JsonObject = dict[str, Any]

_PROPAGATION = {"Orphan": "orphan", "Foreground": "foregroundDeletion", "Background": None}


class Preconditions(msgspec.Struct, rename="camel"):
    uid: str | None = None
    resource_version: str | None = None


class DeleteOptions(msgspec.Struct, rename="camel"):
    """What the body or the query of a delete asks for."""

    grace_period_seconds: int | None = None
    propagation_policy: str | None = None
    orphan_dependents: bool | None = None
    preconditions: Preconditions | None = None
    dry_run: list[str] | None = None

    @classmethod
    def of(cls, call: Call, body: JsonObject | None = None) -> DeleteOptions:
        """The options in `body` (default: the request's), completed by those in the query."""
        given: JsonObject = dict(bodies.read_optional(call.request) if body is None else body)
        for name in ("gracePeriodSeconds", "propagationPolicy", "orphanDependents"):
            value = call.request.param(name)
            if value is not None:
                given.setdefault(name, value)
        try:
            options = msgspec.convert(given, cls, strict=False)
        except msgspec.ValidationError as error:
            raise status.bad_request(f"DeleteOptions cannot be read: {error}") from None
        if options.propagation_policy is None and options.orphan_dependents is not None:
            options.propagation_policy = "Orphan" if options.orphan_dependents else "Background"
        if options.propagation_policy not in (None, *_PROPAGATION):
            raise _unknown_policy(str(options.propagation_policy))
        return options


def _unknown_policy(policy: str) -> status.StatusError:
    text = f'Unsupported value: "{policy}": supported values: "Orphan", "Background", "Foreground"'
    message = f'DeleteOptions.meta.k8s.io "" is invalid: propagationPolicy: {text}'
    return status.StatusError(
        422, "Invalid", message, [status.cause("propagationPolicy", text, "FieldValueNotSupported")]
    )


class Deletes:
    """Removes objects, at once or in order."""

    def __init__(self, writes: Writes, admission: Admission) -> None:
        self._writes = writes
        self._store = writes.store
        self._admission = admission

    async def delete(self, call: Call) -> Response:
        call.read_options()
        options = DeleteOptions.of(call)
        entry = self._writes.existing(call)
        kept = await self.delete_entry(call, entry, options)
        body = kept if kept is not None else status.success(call.resource, call.name, entry.uid)
        return respond(200, body)

    async def delete_collection(self, call: Call) -> Response:
        call.read_options()
        options = DeleteOptions.of(call)
        resource = call.resource
        selection = Selection(resource, call.namespace, call.request)
        chosen = [entry for entry in self._store.scan(resource.storage, selection.prefix) if selection(entry)]
        for entry in chosen:
            namespace, _, call.name = entry.key.rpartition("/")
            call.namespace = namespace or None
            current = self._store.latest(resource.storage, entry.key)
            if current is not None:
                await self.delete_entry(call, current, options, wait=False)
        await self._store.settled()
        return respond(200, status.success(resource))

    async def delete_entry(
        self, call: Call, entry: Entry, options: DeleteOptions, *, wait: bool = True
    ) -> bytes | None:
        """Delete one object. Returns its bytes if it has to stay for a while, None if it is gone."""
        _check_preconditions(call, entry, options)
        document = entry.document()
        await self._admission.validate(Attributes(call, "DELETE", document, document))
        final = self._marked(call, document, options)
        if call.dry_run or options.dry_run:
            return None if final is None else entry.body
        storage = call.resource.storage
        try:
            if final is None:
                stored = self._store.delete(storage, entry.key, None, entry.revision)
            elif final == entry.document():
                stored = entry
            else:
                stored = self._store.put(storage, entry.key, final, entry.revision)
        except Stale as error:
            if error.found is None:
                raise status.not_found(call.resource, call.name) from None
            return await self.delete_entry(call, error.found, options, wait=wait)
        if wait:
            await self._store.settled(stored.revision)
        return None if final is None else stored.body

    def _marked(self, call: Call, document: JsonObject, options: DeleteOptions) -> JsonObject | None:
        """The object as it waits for its end, or None if nothing holds it."""
        strategy = self._writes.strategy(call.resource)
        meta = document["metadata"]
        _set_propagation(meta, options.propagation_policy)
        grace = strategy.grace_seconds(document, options.grace_period_seconds)
        deleting = meta.get("deletionTimestamp") is not None
        if grace == 0 and not strategy.holds(document):
            return None
        left = meta.get("deletionGracePeriodSeconds") or 0
        if deleting and grace >= left:
            return document
        strategy.mark_deleted(document)
        if not deleting and "generation" in meta:
            meta["generation"] += 1
        meta["deletionTimestamp"] = self._writes.clock.timestamp(grace)
        meta["deletionGracePeriodSeconds"] = grace
        return document


def _set_propagation(meta: JsonObject, policy: str | None) -> None:
    if policy is None:
        return
    wanted = _PROPAGATION[policy]
    before = meta.get("finalizers") or []
    finalizers = [item for item in before if item not in ("orphan", "foregroundDeletion")]
    if wanted:
        finalizers.append(wanted)
    if finalizers != before:
        if finalizers:
            meta["finalizers"] = finalizers
        else:
            meta.pop("finalizers", None)


def _check_preconditions(call: Call, entry: Entry, options: DeleteOptions) -> None:
    wanted = options.preconditions
    if wanted is None:
        return
    if wanted.uid is not None and wanted.uid != entry.uid:
        why = f"Precondition failed: UID in precondition: {wanted.uid}, UID in object meta: {entry.uid}"
        raise status.conflict(call.resource, call.name, why)
    if wanted.resource_version is not None and wanted.resource_version != str(entry.revision):
        why = (
            f"Precondition failed: ResourceVersion in precondition: {wanted.resource_version}, "
            f"ResourceVersion in object meta: {entry.revision}"
        )
        raise status.conflict(call.resource, call.name, why)
