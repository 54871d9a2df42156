"""Users' admission webhooks: which configurations match a write, and what their servers say.

A step of admission that may wait: mutating webhooks run one after the other, validating ones side by side.
`webhook_client.py` talks to the servers.
"""

from __future__ import annotations

import asyncio
import base64
import binascii
import uuid
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import msgspec

from volcano.api.meta import JsonObject
from volcano.local.apiserver import status
from volcano.local.apiserver.admission.conditions import ConditionError, NoEngine, hold
from volcano.local.apiserver.admission.webhook_client import WebhookClient, WebhookFailed
from volcano.local.apiserver.merging.patch import json_patch
from volcano.local.apiserver.verbs.selection import selector_matches

if TYPE_CHECKING:
    from volcano.local.apiserver.admission.chain import Attributes
    from volcano.local.apiserver.call import Call
    from volcano.local.apiserver.storage.store import Store

MUTATING = "mutatingwebhookconfigurations.admissionregistration.k8s.io"
VALIDATING = "validatingwebhookconfigurations.admissionregistration.k8s.io"
_OPTIONS = {"CREATE": "CreateOptions", "UPDATE": "UpdateOptions", "DELETE": "DeleteOptions"}


@dataclass(frozen=True, slots=True)
class Webhook:
    """One entry of a configuration object."""

    configuration: str
    spec: JsonObject

    @property
    def name(self) -> str:
        return str(self.spec.get("name", ""))

    @property
    def fails_closed(self) -> bool:
        return bool(self.spec.get("failurePolicy", "Fail") == "Fail")


class Webhooks:
    """Calls whoever registered for a write."""

    def __init__(self, store: Store) -> None:
        self._store = store
        self._client = WebhookClient(store)
        self._parsed: dict[str, tuple[int, list[Webhook]]] = {}

    async def mutate(self, attributes: Attributes) -> None:
        """Ask the mutating webhooks in order, and once more those who want to know what later ones changed."""
        matching = self._matching(MUTATING, attributes)
        last_change = -1
        for index, webhook in enumerate(matching):
            if await self._mutate_with(webhook, attributes):
                last_change = index
        for webhook in matching[: max(last_change, 0)]:
            if webhook.spec.get("reinvocationPolicy") == "IfNeeded":
                await self._mutate_with(webhook, attributes)

    async def validate(self, attributes: Attributes) -> None:
        matching = self._matching(VALIDATING, attributes)
        if matching:
            await asyncio.gather(*(self._review(webhook, attributes) for webhook in matching))

    async def _mutate_with(self, webhook: Webhook, attributes: Attributes) -> bool:
        answer = await self._review(webhook, attributes)
        encoded = answer.get("patch")
        if not encoded:
            return False
        try:
            operations = msgspec.json.decode(base64.b64decode(encoded, validate=True))
        except (binascii.Error, ValueError, msgspec.DecodeError) as error:
            raise _failed(webhook, f"its patch is not base64-encoded JSON: {error}") from None
        before = attributes.document
        attributes.document = json_patch(before, operations)
        return bool(attributes.document != before)

    async def _review(self, webhook: Webhook, attributes: Attributes) -> JsonObject:
        """The webhook's response; refusals are raised, failures too unless the webhook may be ignored."""
        call = attributes.call
        if call.dry_run and webhook.spec.get("sideEffects") not in ("None", "NoneOnDryRun"):
            raise status.bad_request(f'admission webhook "{webhook.name}" does not support dry run')
        identity = str(uuid.uuid4())
        body = {
            "apiVersion": "admission.k8s.io/v1",
            "kind": "AdmissionReview",
            "request": _request(attributes, identity),
        }
        try:
            answer = await self._client.post(webhook.spec, msgspec.json.encode(body), identity)
        except WebhookFailed as error:
            if webhook.fails_closed:
                raise _failed(webhook, str(error)) from error
            return {}
        call.warnings += answer.get("warnings") or []
        if not answer.get("allowed"):
            raise _denied(webhook, answer.get("status") or {})
        return answer

    def _matching(self, collection: str, attributes: Attributes) -> list[Webhook]:
        webhooks = self._webhooks(collection)
        if not webhooks or attributes.call.resource.group == "admissionregistration.k8s.io":
            return []
        return [
            webhook for webhook in webhooks if self._matches(webhook.spec, attributes) and _holds(webhook, attributes)
        ]

    def _webhooks(self, name: str) -> list[Webhook]:
        collection = self._store.collection(name)
        if not collection.entries:
            return []
        known = self._parsed.get(name)
        if known is None or known[0] != collection.changes:
            parsed = [
                Webhook(key, spec)
                for key, entry in collection.entries.items()
                for spec in entry.document().get("webhooks") or ()
            ]
            known = self._parsed[name] = (collection.changes, parsed)
        return known[1]

    def _matches(self, spec: JsonObject, attributes: Attributes) -> bool:
        call = attributes.call
        if not any(_rule_covers(rule, call, attributes.operation) for rule in spec.get("rules") or ()):
            return False
        selector = spec.get("namespaceSelector")
        if selector and not self._namespace_matches(selector, call):
            return False
        selector = spec.get("objectSelector")
        if not selector:
            return True
        documents = (attributes.document, attributes.old)
        return any(selector_matches(selector, item["metadata"].get("labels") or {}) for item in documents if item)

    def _namespace_matches(self, selector: JsonObject, call: Call) -> bool:
        if call.resource.qualified == "namespaces":
            name = call.name
        elif call.resource.namespaced:
            name = call.namespace or ""
        else:
            return True
        entry = self._store.latest("namespaces", name)
        return entry is None or selector_matches(selector, entry.labels or {})


def _holds(webhook: Webhook, attributes: Attributes) -> bool:
    """Whether the webhook's conditions hold; those that have no answer fail the write, or leave the webhook out."""
    conditions = webhook.spec.get("matchConditions")
    if not conditions:
        return True
    request = _request(attributes, "")
    values = {"object": request.pop("object"), "oldObject": request.pop("oldObject"), "request": request}
    try:
        return hold(conditions, values)
    except (ConditionError, NoEngine) as error:
        if webhook.fails_closed:
            raise _failed(webhook, str(error)) from error
        return False


def _rule_covers(rule: JsonObject, call: Call, operation: str) -> bool:
    resource = call.resource
    scope = rule.get("scope", "*")
    return (
        _among(operation, rule.get("operations"))
        and _among(resource.group, rule.get("apiGroups"))
        and _among(resource.version, rule.get("apiVersions"))
        and any(_covers_resource(pattern, call) for pattern in rule.get("resources") or ())
        and (scope == "*" or (scope == "Namespaced") == resource.namespaced)
    )


def _covers_resource(pattern: str, call: Call) -> bool:
    plural, _, subresource = pattern.partition("/")
    if plural not in ("*", call.resource.plural):
        return False
    return subresource in ("*", call.subresource) if subresource or call.subresource else True


def _among(value: str, allowed: Any) -> bool:
    return bool(allowed) and ("*" in allowed or value in allowed)


def _request(attributes: Attributes, identity: str) -> JsonObject:
    call, deleting = attributes.call, attributes.operation == "DELETE"
    resource = call.resource
    kind = {"group": resource.group, "version": resource.version, "kind": resource.kind}
    plural = {"group": resource.group, "version": resource.version, "resource": resource.plural}
    request: JsonObject = {
        "uid": identity,
        "kind": kind,
        "resource": plural,
        "requestKind": kind,
        "requestResource": plural,
        "name": call.name,
        "operation": attributes.operation,
        "userInfo": call.user.document(),
        "object": None if deleting else attributes.document,
        "oldObject": attributes.old,
        "dryRun": call.dry_run,
        "options": {"kind": _OPTIONS[attributes.operation], "apiVersion": "meta.k8s.io/v1"},
    }
    if call.namespace:
        request["namespace"] = call.namespace
    if call.subresource:
        request["subResource"] = request["requestSubResource"] = call.subresource
    return request


def _denied(webhook: Webhook, given: JsonObject) -> status.StatusError:
    denied = f'admission webhook "{webhook.name}" denied the request'
    text = given.get("message") or given.get("reason")
    code = max(int(given.get("code") or 0), 400)
    message = f"{denied}: {text}" if text else f"{denied} without explanation"
    causes = (given.get("details") or {}).get("causes") or ()
    return status.StatusError(code, given.get("reason") or ("BadRequest" if code == 400 else ""), message, causes)


def _failed(webhook: Webhook, why: str) -> status.StatusError:
    message = f'Internal error occurred: failed calling webhook "{webhook.name}": {why}'
    return status.StatusError(500, "InternalError", message, [{"reason": "", "message": why}])
