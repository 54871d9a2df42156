"""Create, update and patch: decode, default, admit, validate, store, and wait until it is durable.

`deletes.py` removes; `strategies.py` knows the kinds; `admission.py` has the last word on what may be stored.
"""

from __future__ import annotations

import uuid
from typing import TYPE_CHECKING, Protocol

import msgspec

from volcano.api.meta import JsonObject
from volcano.http.message import Response
from volcano.local.apiserver import status
from volcano.local.apiserver.admission.chain import Attributes
from volcano.local.apiserver.catalog.kinds import written_json
from volcano.local.apiserver.merging.managers import differ_in_times_only
from volcano.local.apiserver.storage.store import Stale
from volcano.local.apiserver.strategies import metadata
from volcano.local.apiserver.strategies.strategy import Strategy, strategy_of
from volcano.local.apiserver.verbs import patching
from volcano.local.apiserver.verbs.reads import respond
from volcano.local.apiserver.wire import bodies
from volcano.local.apiserver.wire.encodings import choose

if TYPE_CHECKING:
    from volcano.local.apiserver.admission.chain import Admission
    from volcano.local.apiserver.call import Call
    from volcano.local.apiserver.catalog.kinds import Kinds
    from volcano.local.apiserver.catalog.registry import ResourceInfo
    from volcano.local.apiserver.storage.entries import Entry
    from volcano.local.apiserver.storage.store import Store

NAME_ATTEMPTS = 8
PATCH_ATTEMPTS = 5

_encode = msgspec.json.encode


class Clock(Protocol):
    """The time stamps that objects carry."""

    def timestamp(self, ahead_seconds: int = 0) -> str:
        """Now, or some seconds ahead, in RFC 3339."""


class Writes:
    """The write side of every stored resource."""

    def __init__(self, store: Store, admission: Admission, kinds: Kinds, clock: Clock) -> None:
        self.store = store
        self.kinds = kinds
        self.clock = clock
        self._admission = admission
        self._strategies: dict[ResourceInfo, Strategy] = {}

    def strategy(self, resource: ResourceInfo) -> Strategy:
        found = self._strategies.get(resource)
        if found is None:
            found = self._strategies[resource] = strategy_of(resource)
        return found

    # Create

    async def create(self, call: Call) -> Response:
        call.read_options()
        document = bodies.read_document(call.request)
        document["metadata"].pop("managedFields", None)  # of the object that this one was copied from
        _check_identity(call, document)
        document = self._read(call, document, written_json(call))
        return self._answer(call, 201, await self.create_document(call, document))

    async def create_document(self, call: Call, document: JsonObject) -> bytes:
        """Store a new object and return its bytes once it is durable."""
        meta = document["metadata"]
        if causes := metadata.missing_name(meta):
            raise status.invalid(call.resource, "", causes)
        base = "" if meta.get("name") else meta.get("generateName") or ""
        call.name = meta.get("name") or ""
        for _ in range(NAME_ATTEMPTS if base else 0):
            call.name = meta["name"] = metadata.generated_name(base)
            if not self._exists(call):
                break
        strategy = self.strategy(call.resource)
        strategy.default(document)
        if "managedFields" not in meta:
            patching.track_new(call, document, self.kinds.empty(call.resource), self.clock.timestamp())
        document = await self._admit(call, "CREATE", document, None, strategy)
        if call.dry_run:
            if (taken := self.store.latest(call.resource.storage, self._key(call))) is not None:
                raise _taken(call, taken)
            return _encode(document)
        try:
            entry = self.store.put(call.resource.storage, self._key(call), document, 0)
        except Stale as error:
            raise _taken(call, error.found) from None
        await self.store.settled(entry.revision)
        return entry.body

    def seed(self, resource: ResourceInfo, document: JsonObject) -> Entry:
        """Store an object of the server's own, without admission."""
        document = {"kind": resource.kind, "apiVersion": resource.api_version, **document}
        meta = document["metadata"]
        strategy = self.strategy(resource)
        strategy.default(document)
        self._identify(document)
        strategy.prepare_create(document)
        return self.store.put(resource.storage, resource.key(meta.get("namespace"), meta["name"]), document, 0)

    def _identify(self, document: JsonObject) -> None:
        meta = document["metadata"]
        metadata.drop_system_fields(meta)
        meta["uid"] = str(uuid.uuid4())
        meta["creationTimestamp"] = self.clock.timestamp()

    def _read(self, call: Call, document: JsonObject, written: bytes = b"") -> JsonObject:
        """What a client sent, in its stored form: pruned, defaulted by its schema, of the right types."""
        self.kinds.clean(call, document, written=written)
        if not call.resource.custom:
            self.kinds.check_types(call, document)
        self.kinds.bring_into_form(call.resource, document)
        return self.strategy(call.resource).inward(document)

    def _read_patched(self, call: Call, document: JsonObject) -> JsonObject:
        """As `_read`; what no decoder could read is the fault of the patch."""
        try:
            return self._read(call, document, written_json(call))
        except status.StatusError as error:
            if error.status != 400:
                raise
            cause = status.cause("patch", f"Invalid value: {error.message}")
            raise status.invalid_kind("", "", "", [cause]) from None

    # Update and patch

    async def update(self, call: Call) -> Response:
        call.read_options()
        document = bodies.read_document(call.request)
        _check_identity(call, document)
        entry = self.existing(call)
        _check_body_name(call, document)
        document = self._read(call, document, written_json(call))
        return self._answer(call, 200, await self.replace(call, entry, document))

    async def patch(self, call: Call) -> Response:
        call.read_options()
        patch = patching.read(call, patching.subject_of(call.resource, self.kinds.empty(call.resource)))
        if isinstance(patch, patching.ApplyPatch):
            self.kinds.check_declared(call, patch.applied)
        for attempt in range(PATCH_ATTEMPTS):
            entry = self.store.latest(call.resource.storage, self._key(call))
            if entry is None:
                if not patch.creates or call.subresource:
                    raise status.not_found(call.resource, call.name)
                document = patch.apply(None, self.clock.timestamp())
                _check_patched(call, document)
                document = self._read(call, document)
                return self._answer(call, 201, await self.create_document(call, document))
            current = self.strategy(call.resource).outward(entry.document())
            document = patch.apply(current, self.clock.timestamp())
            _check_patched(call, document)
            document = self._read_patched(call, document)
            pinned = document["metadata"].get("resourceVersion") != str(entry.revision)
            try:
                return self._answer(call, 200, await self.replace(call, entry, document, tracked=patch.creates))
            except status.StatusError as error:
                if error.reason != "Conflict" or pinned or attempt + 1 == PATCH_ATTEMPTS:
                    raise
        raise status.conflict(call.resource, call.name)

    async def replace(self, call: Call, entry: Entry, new: JsonObject, *, tracked: bool = False) -> bytes:
        """Store `new` in place of `entry` by the rules of the call's endpoint; an unchanged object stays as it is."""
        resource, strategy = call.resource, self.strategy(call.resource)
        old = entry.document()
        meta, old_meta = new["metadata"], old["metadata"]
        _check_preconditions(call, entry, meta)
        meta.pop("resourceVersion", None)
        if call.subresource == "status":
            strategy.prepare_status_update(new, old)
        else:
            strategy.default(new)
        if not tracked:
            patching.track(call, old, new, self.clock.timestamp())
        metadata.restore_system_fields(meta, old_meta)
        new = await self._admit(call, "UPDATE", new, old, strategy)
        meta = new["metadata"]
        meta["resourceVersion"] = old_meta["resourceVersion"]
        if new == old or differ_in_times_only(new, old):
            await self.store.settled(entry.revision)
            return entry.body
        if call.dry_run:
            return _encode(new)
        return await self.store_update(resource, entry, new)

    async def store_update(self, resource: ResourceInfo, entry: Entry, new: JsonObject) -> bytes:
        """Put `new`, or let the object go if it was only waiting for this change."""
        meta = new["metadata"]
        gone = meta.get("deletionTimestamp") and not self.strategy(resource).holds(new)
        try:
            if gone and not meta.get("deletionGracePeriodSeconds"):
                # Watches see the last stored state go; the answer is of the version that was never stored.
                meta["resourceVersion"] = str(entry.revision)
                stored, body = self.store.delete(resource.storage, entry.key, None, entry.revision), _encode(new)
            else:
                stored = self.store.put(resource.storage, entry.key, new, entry.revision)
                body = stored.body
        except Stale as error:
            if error.found is None:
                raise status.not_found(resource, meta["name"]) from None
            raise status.conflict(resource, meta["name"]) from None
        await self.store.settled(stored.revision)
        return body

    async def finalize_namespace(self, call: Call) -> Response:
        """PUT namespaces/NAME/finalize: the one way to change spec.finalizers."""
        document = bodies.read_document(call.request)
        entry = self.existing(call)
        _check_preconditions(call, entry, document["metadata"])
        new = entry.document()
        finalizers = (document.get("spec") or {}).get("finalizers")
        new["spec"] = {"finalizers": finalizers} if finalizers else {}
        return self._answer(call, 200, await self.store_update(call.resource, entry, new))

    def _exists(self, call: Call) -> bool:
        return self.store.latest(call.resource.storage, self._key(call)) is not None

    def existing(self, call: Call) -> Entry:
        entry = self.store.latest(call.resource.storage, self._key(call))
        if entry is None:
            raise status.not_found(call.resource, call.name)
        return entry

    async def _admit(
        self, call: Call, operation: str, new: JsonObject, old: JsonObject | None, strategy: Strategy
    ) -> JsonObject:
        attributes = Attributes(call, operation, new, old)
        await self._admission.mutate(attributes)
        if attributes.document is not new:
            new = attributes.document
            self.kinds.tidy(call.resource, new)
        if old is None:
            self._identify(new)
            strategy.prepare_create(new)
            causes = strategy.validate(new)
        elif call.subresource == "status":
            causes = []
        else:
            strategy.prepare_update(new, old)
            causes = metadata.immutable_causes(new["metadata"], old["metadata"]) or strategy.validate_update(new, old)
        if call.resource.custom:
            causes += self.kinds.check(call.resource, new)
        if causes:
            raise status.invalid(call.resource, call.name, causes)
        await self._admission.validate(attributes)
        return new

    def _key(self, call: Call) -> str:
        return call.resource.key(call.namespace, call.name)

    def _answer(self, call: Call, code: int, body: bytes) -> Response:
        encoding = choose(call.resource, call.request)
        return respond(code, encoding.single(body), call.warning_headers())


def _check_identity(call: Call, document: JsonObject) -> None:
    """The body says what the URL says; what it leaves out is filled in."""
    resource = call.resource
    kind, api_version = (
        document.setdefault("kind", resource.kind),
        document.setdefault("apiVersion", resource.api_version),
    )
    if resource.custom and api_version == resource.api_version and kind != resource.kind:
        raise _wrong_kind(resource, kind, document["metadata"].get("name") or "")
    if kind != resource.kind or api_version != resource.api_version:
        raise status.bad_request(
            f"{resource.kind} in version {resource.version!r} cannot be handled as a {resource.kind}: the body says "
            f"apiVersion {api_version!r}, kind {kind!r}, the URL wants {resource.api_version!r}, {resource.kind!r}"
        )
    meta = document["metadata"]
    if not resource.namespaced:
        meta.pop("namespace", None)
    elif meta.setdefault("namespace", call.namespace) != call.namespace:
        raise status.bad_request(
            "the namespace of the provided object does not match the namespace sent on the request"
        )
    if not call.name and document["metadata"].get("resourceVersion"):
        raise status.bad_request("resourceVersion should not be set on objects to be created")


def _wrong_kind(resource: ResourceInfo, kind: str, name: str) -> status.StatusError:
    text = f'Invalid value: "{kind}": must be {resource.kind}'
    qualified = f"{kind}.{resource.group}"
    details = {"name": name, "group": resource.group, "kind": kind}
    message = f'{qualified} "{name}" is invalid: kind: {text}'
    return status.StatusError(422, "Invalid", message, [status.cause("kind", text)], details)


def _taken(call: Call, entry: Entry | None) -> status.StatusError:
    """The name belongs to another object, or still does."""
    error = status.already_exists(call.resource, call.name)
    if entry is not None and "deletionTimestamp" in entry.document()["metadata"]:
        error.message = f"object is being deleted: {error.message}"
    return error


def _check_body_name(call: Call, document: JsonObject) -> None:
    name = document["metadata"].get("name")
    if not name:
        raise status.bad_request(
            f"the name of the object ({call.name} based on URL) was undeterminable: name must be provided"
        )
    if name != call.name:
        raise status.bad_request(f"the name of the object ({name}) does not match the name on the URL ({call.name})")


def _check_patched(call: Call, document: JsonObject) -> None:
    if not isinstance(document, dict) or not isinstance(document.setdefault("metadata", {}), dict):
        raise status.bad_request("the patch leaves no object behind: metadata is gone")
    kind, api_version = document.get("kind"), document.get("apiVersion")
    if not call.resource.custom and (kind, api_version) != (call.resource.kind, call.resource.api_version):
        why = f"Invalid value: the patch makes it {api_version!r}, {kind!r}: kinds do not change"
        raise status.StatusError(422, "Invalid", f' "" is invalid: patch: {why}', [status.cause("patch", why)], {})
    _check_identity(call, document)
    _check_body_name(call, document)


def _check_preconditions(call: Call, entry: Entry, meta: JsonObject) -> None:
    if meta.get("uid") and meta["uid"] != entry.uid:
        if call.request.method == "PATCH":
            text = f'Invalid value: "{meta["uid"]}": field is immutable'
            raise status.invalid(call.resource, call.name, [status.cause("metadata.uid", text)])
        why = f"Precondition failed: UID in precondition: {meta['uid']}, UID in object meta: {entry.uid}"
        raise status.conflict(call.resource, call.name, why)
    wanted = meta.get("resourceVersion")
    if wanted and wanted != "0" and wanted != str(entry.revision):
        raise status.conflict(call.resource, call.name)
    if not wanted and call.resource.custom and call.request.method == "PUT":
        cause = status.cause("metadata.resourceVersion", "Invalid value: 0: must be specified for an update")
        resource = call.resource
        message = f'{resource.qualified} "{call.name}" is invalid: {cause["field"]}: {cause["message"]}'
        details = {"name": call.name, "group": resource.group, "kind": resource.plural}
        raise status.StatusError(422, "Invalid", message, [cause], details)
