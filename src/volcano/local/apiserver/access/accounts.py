"""serviceaccounts/token: short-lived credentials for pods and for people."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING

import msgspec

from volcano.api.meta import JsonObject
from volcano.local.apiserver import status
from volcano.local.apiserver.access.tokens import BINDABLE, ISSUER
from volcano.local.apiserver.verbs.reads import respond
from volcano.local.apiserver.wire import bodies

if TYPE_CHECKING:
    from volcano.http.message import Response
    from volcano.local.apiserver.access.tokens import ServiceAccountTokens
    from volcano.local.apiserver.call import Call
    from volcano.local.apiserver.verbs.writes import Writes

DEFAULT_SECONDS = 3600
LEAST_SECONDS = 600
MOST_SECONDS = 2**32


class TokenRequests:
    """POST serviceaccounts/NAME/token."""

    def __init__(self, writes: Writes, tokens: ServiceAccountTokens) -> None:
        self._writes = writes
        self._tokens = tokens

    async def create(self, call: Call) -> Response:
        body = bodies.read_document(call.request)
        request = self._writes.kinds.read(body, "authentication.k8s.io", "v1", "TokenRequest")
        entry = self._writes.existing(call)
        call.read_options()
        spec = request.setdefault("spec", {})
        spec["expirationSeconds"] = seconds = spec.get("expirationSeconds") or DEFAULT_SECONDS
        spec["audiences"] = spec.get("audiences") or [ISSUER]
        spec.setdefault("boundObjectRef", None)
        _check_duration(seconds)
        account = {"name": call.name, "uid": entry.uid}
        bound = self._bound(call, spec["boundObjectRef"] or {})
        token = self._tokens.issue(call.namespace or "", account, seconds, spec["audiences"], bound)
        expires = datetime.now(UTC) + timedelta(seconds=seconds)
        now = self._writes.clock.timestamp()
        request |= {"kind": "TokenRequest", "apiVersion": "authentication.k8s.io/v1"}
        request["metadata"] = {**account, "namespace": call.namespace, "creationTimestamp": now}
        request["status"] = {"token": token, "expirationTimestamp": expires.strftime("%Y-%m-%dT%H:%M:%SZ")}
        return respond(201, msgspec.json.encode(request))

    def _bound(self, call: Call, reference: JsonObject) -> JsonObject:
        """The object without which the token will be worth nothing, as its claims name it."""
        if not reference:
            return {}
        kind, name = reference.get("kind") or "", reference.get("name") or ""
        collection = BINDABLE.get(kind)
        if collection is None:
            raise status.bad_request(f'cannot bind token for serviceaccount "{call.name}" to type {kind}')
        entry = self._writes.store.latest(collection, name if kind == "Node" else f"{call.namespace}/{name}")
        if entry is None:
            details = {"name": name, "kind": collection}
            raise status.StatusError(404, "NotFound", f'{collection} "{name}" not found', details=details)
        if reference.get("uid", entry.uid) != entry.uid:
            why = f"the UID in the bound object reference ({reference['uid']}) does not match the UID in record"
            raise status.StatusError(409, "Conflict", f"{why}. The object might have been deleted and then recreated")
        return {kind.lower(): {"name": name, "uid": entry.uid}}


def _check_duration(seconds: int) -> None:
    if LEAST_SECONDS <= seconds <= MOST_SECONDS:
        return
    bound = "less than 10 minutes" if seconds < LEAST_SECONDS else "larger than 2^32 seconds"
    cause = status.cause("spec.expirationSeconds", f"Invalid value: {seconds}: may not specify a duration {bound}")
    raise status.invalid_kind("TokenRequest", "authentication.k8s.io", "", [cause])
