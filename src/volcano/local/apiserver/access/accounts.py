"""serviceaccounts/token: short-lived credentials for pods and for people."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING, Any

import msgspec

from volcano.local.apiserver import status
from volcano.local.apiserver.verbs.reads import respond
from volcano.local.apiserver.wire import bodies

if TYPE_CHECKING:
    from volcano.http.message import Response
    from volcano.local.apiserver.access.tokens import ServiceAccountTokens
    from volcano.local.apiserver.call import Call
    from volcano.local.apiserver.verbs.writes import Writes

JsonObject = dict[str, Any]

DEFAULT_SECONDS = 3600
LEAST_SECONDS = 600


class TokenRequests:
    """POST serviceaccounts/NAME/token."""

    def __init__(self, writes: Writes, tokens: ServiceAccountTokens) -> None:
        self._writes = writes
        self._tokens = tokens

    async def create(self, call: Call) -> Response:
        body = bodies.read_document(call.request)
        request = self._writes.kinds.read(body, "authentication.k8s.io", "v1", "TokenRequest")
        entry = self._writes.existing(call)
        spec = request.setdefault("spec", {})
        seconds = spec.get("expirationSeconds") or DEFAULT_SECONDS
        if seconds < LEAST_SECONDS:
            text = f"Invalid value: {seconds}: may not specify a duration less than 10 minutes"
            raise status.invalid(call.resource, call.name, [status.cause("spec.expirationSeconds", text)])
        spec["expirationSeconds"] = seconds
        account = {"name": call.name, "uid": entry.uid}
        token = self._tokens.issue(
            call.namespace or "", account, seconds, spec.get("audiences") or [], self._bound_pod(call, spec)
        )
        expires = datetime.now(UTC) + timedelta(seconds=seconds)
        request |= {"kind": "TokenRequest", "apiVersion": "authentication.k8s.io/v1"}
        request["metadata"] = {
            "name": call.name,
            "namespace": call.namespace,
            "creationTimestamp": self._writes.clock.timestamp(),
        }
        request["status"] = {"token": token, "expirationTimestamp": expires.strftime("%Y-%m-%dT%H:%M:%SZ")}
        return respond(201, msgspec.json.encode(request))

    def _bound_pod(self, call: Call, spec: JsonObject) -> JsonObject | None:
        reference = spec.get("boundObjectRef") or {}
        if reference.get("kind") != "Pod":
            return None
        pod = self._writes.store.latest("pods", f"{call.namespace}/{reference.get('name')}")
        if pod is None or (reference.get("uid") and reference["uid"] != pod.uid):
            raise status.bad_request(f"boundObjectRef: pod {reference.get('name')!r} does not exist (any more)")
        return {"name": reference["name"], "uid": pod.uid}
