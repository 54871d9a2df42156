"""Delete and deletecollection: preconditions, finalizers, grace, propagation."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import msgspec

from volcano.api.meta import JsonObject
from volcano.local.apiserver import status
from volcano.local.apiserver.admission.chain import Attributes
from volcano.local.apiserver.storage.store import Stale
from volcano.local.apiserver.verbs.reads import respond
from volcano.local.apiserver.verbs.selection import Selection
from volcano.local.apiserver.wire import bodies
from volcano.local.apiserver.wire.encodings import choose

if TYPE_CHECKING:
    from volcano.http.message import Response
    from volcano.local.apiserver.admission.chain import Admission
    from volcano.local.apiserver.call import Call
    from volcano.local.apiserver.storage.entries import Entry
    from volcano.local.apiserver.verbs.writes import Writes

_PROPAGATION = {"Foreground": "foregroundDeletion", "Background": None, "Orphan": "orphan"}

# Kinds whose deletion is answered with the object; that of others with a Status.
_ANSWERED_WITH_OBJECT = frozenset(
    {
        *("namespaces", "persistentvolumeclaims", "persistentvolumes", "pods", "podtemplates"),
        *("resourcequotas", "serviceaccounts", "services"),
        *(f"{kind}.storage.k8s.io" for kind in ("csidrivers", "csinodes", "storageclasses", "volumeattachments")),
        *(f"{kind}.resource.k8s.io" for kind in ("deviceclasses", "resourceclaims", "resourceclaimtemplates")),
        "resourceslices.resource.k8s.io",
    }
)


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
        """The options in `body` (default: the request's). Only without a body does the query count."""
        given: JsonObject = dict(bodies.read_optional(call.request) if body is None else body)
        if body is None and not call.request.body:
            for name in ("gracePeriodSeconds", "propagationPolicy", "orphanDependents"):
                value = call.request.param(name)
                if value is not None:
                    given[name] = value
        if call.dry_run and not (body is None and call.request.body):
            given["dryRun"] = ["All"]
        try:
            options = msgspec.convert(given, cls, strict=False)
        except msgspec.ValidationError as error:
            raise status.bad_request(f"DeleteOptions cannot be read: {error}") from None
        options._check()
        if options.propagation_policy is None and options.orphan_dependents is not None:
            options.propagation_policy = "Orphan" if options.orphan_dependents else "Background"
        return options

    def _check(self) -> None:
        policy = self.propagation_policy
        if policy is not None and self.orphan_dependents is not None:
            both = f'Invalid value: "{policy}": orphanDependents and deletionPropagation cannot be both set'
            raise _invalid("propagationPolicy", both, "FieldValueInvalid")
        if policy not in (None, *_PROPAGATION):
            choice = ", ".join(f'"{name}"' for name in (*_PROPAGATION, "nil"))
            text = f'Unsupported value: "{policy}": supported values: {choice}'
            raise _invalid("propagationPolicy", text, "FieldValueNotSupported")
        if self.dry_run and self.dry_run != ["All"]:
            text = f'Unsupported value: {msgspec.json.encode(self.dry_run).decode()}: supported values: "All"'
            raise _invalid("dryRun", text, "FieldValueNotSupported")


def _invalid(field: str, text: str, reason: str) -> status.StatusError:
    message = f'DeleteOptions.meta.k8s.io "" is invalid: {field}: {text}'
    details = {"group": "meta.k8s.io", "kind": "DeleteOptions"}
    return status.StatusError(422, "Invalid", message, [status.cause(field, text, reason)], details)


@dataclass(frozen=True, slots=True)
class Last:
    """The last state of an object that was deleted; it is `gone` unless something still holds it."""

    body: bytes
    gone: bool


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
        last = await self.delete_entry(call, entry, options)
        if last.gone and call.resource.qualified not in _ANSWERED_WITH_OBJECT:
            return respond(200, status.success(call.resource, call.name, entry.uid))
        return respond(200, choose(call.resource, call.request).single(last.body))

    async def delete_collection(self, call: Call) -> Response:
        call.read_options()
        options = DeleteOptions.of(call)
        resource = call.resource
        encoding = choose(resource, call.request)
        selection = Selection(resource, call.namespace, call.request)
        revision = self._store.durable
        chosen = [entry for entry in self._store.scan(resource.storage, selection.prefix) if selection(entry)]
        for entry in chosen:
            namespace, _, call.name = entry.key.rpartition("/")
            call.namespace = namespace or None
            current = self._store.latest(resource.storage, entry.key)
            if current is not None:
                await self.delete_entry(call, current, options, wait=False)
        await self._store.settled()
        return respond(200, encoding.listing(chosen, {"resourceVersion": str(revision)}))

    async def delete_entry(self, call: Call, entry: Entry, options: DeleteOptions, *, wait: bool = True) -> Last:
        """Delete one object, or mark it where something still holds it."""
        _check_preconditions(call, entry, options)
        document = entry.document()
        await self._admission.validate(Attributes(call, "DELETE", document, document))
        strategy = self._writes.strategy(call.resource)
        final = self._marked(call, document, options)
        if options.dry_run:
            return Last(entry.body, gone=final is None)
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
        if final is None and strategy.graceful and wait:
            return Last(msgspec.json.encode(self._ended(stored.document())), gone=True)
        return Last(stored.body, gone=final is None)

    def _ended(self, document: JsonObject) -> JsonObject:
        """An object that could have stayed for a while and did not have to."""
        meta = document["metadata"]
        if "deletionTimestamp" not in meta and "generation" in meta:
            meta["generation"] += 1
        meta.setdefault("deletionTimestamp", self._writes.clock.timestamp())
        meta["deletionGracePeriodSeconds"] = 0
        return document

    def _marked(self, call: Call, document: JsonObject, options: DeleteOptions) -> JsonObject | None:
        """The object as it waits for its end, or None if nothing holds it."""
        strategy = self._writes.strategy(call.resource)
        meta, asked = document["metadata"], options.grace_period_seconds
        deleting = meta.get("deletionTimestamp") is not None
        left = meta.get("deletionGracePeriodSeconds") or 0
        if deleting and left and (asked is None or asked >= left):
            return document  # its time runs, whatever has become of it: it may only be asked to go sooner
        _set_propagation(meta, options.propagation_policy)
        grace = asked if deleting and left and asked is not None else strategy.grace_seconds(document, asked)
        if grace == 0 and not strategy.holds(document):
            return None
        if deleting and grace >= left:
            return document
        strategy.mark_deleted(document)
        if not deleting and "generation" in meta and strategy.counts_deletion:
            meta["generation"] += 1
        meta["deletionTimestamp"] = self._writes.clock.timestamp(grace)
        if strategy.tells_grace:
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
    resource = call.resource
    if wanted.uid is not None and wanted.uid != entry.uid:
        why = (
            f"the UID in the precondition ({wanted.uid}) does not match the UID in record ({entry.uid}). "
            "The object might have been deleted and then recreated"
        )
        raise status.conflict(resource, call.name, why, kind=resource.kind)
    if wanted.resource_version is not None and wanted.resource_version != str(entry.revision):
        why = (
            f"the ResourceVersion in the precondition ({wanted.resource_version}) does not match the ResourceVersion "
            f"in record ({entry.revision}). The object might have been modified"
        )
        raise status.conflict(resource, call.name, why, kind=resource.kind)
