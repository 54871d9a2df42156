"""Questions about callers and their rights: the review kinds, answered and never stored."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import msgspec

from volcano.api.meta import JsonObject
from volcano.local.apiserver import status
from volcano.local.apiserver.access.authorizer import Authorizer, Question
from volcano.local.apiserver.access.tokens import ISSUER, NotTrusted
from volcano.local.apiserver.call import User
from volcano.local.apiserver.verbs.patching import track_new
from volcano.local.apiserver.verbs.reads import respond
from volcano.local.apiserver.wire import bodies

if TYPE_CHECKING:
    from collections.abc import Iterator

    from volcano.http.message import Response
    from volcano.local.apiserver.access.authn import Authenticator
    from volcano.local.apiserver.call import Call
    from volcano.local.apiserver.catalog.kinds import Kinds
    from volcano.local.apiserver.clock import WallClock
    from volcano.local.apiserver.faults import Cause


class Reviews:
    """One method per kind of review."""

    def __init__(self, authorizer: Authorizer, authenticator: Authenticator, kinds: Kinds, clock: WallClock) -> None:
        self._authorizer = authorizer
        self._authenticator = authenticator
        self._kinds = kinds
        self._clock = clock

    async def create(self, call: Call) -> Response:
        resource = call.resource
        body = bodies.read_document(call.request)
        if resource.plural == "tokenreviews" and not (body.get("spec") or {}).get("token"):
            raise status.bad_request("token is required for TokenReview in authentication")
        review = self._kinds.read(body, resource.group, resource.version, resource.kind)
        answers = {
            "selfsubjectreviews": self._self,
            "selfsubjectaccessreviews": self._access_of_self,
            "selfsubjectrulesreviews": self._rules_of_self,
            "subjectaccessreviews": self._access,
            "localsubjectaccessreviews": self._access,
            "tokenreviews": self._token,
        }
        review["kind"], review["apiVersion"] = resource.kind, resource.api_version
        meta = review["metadata"]
        if call.namespace and meta.setdefault("namespace", call.namespace) != call.namespace:
            raise status.bad_request(
                "the namespace of the provided object does not match the namespace sent on the request"
            )
        if resource.plural.endswith("accessreviews"):
            _check_access_review(call, review)
        call.read_options()
        answer = answers[resource.plural](call, review.get("spec") or {})
        track_new(call, review, {"spec": {}}, self._clock.timestamp())
        review["status"] = answer
        return respond(201, msgspec.json.encode(review))

    def _self(self, call: Call, spec: JsonObject) -> JsonObject:
        return {"userInfo": call.user.document()}

    def _access_of_self(self, call: Call, spec: JsonObject) -> JsonObject:
        return self._verdict(call.user, spec)

    def _access(self, call: Call, spec: JsonObject) -> JsonObject:
        user = User(spec.get("user") or "", tuple(spec.get("groups") or ()), spec.get("uid") or "")
        return self._verdict(user, spec)

    def _verdict(self, user: User, spec: JsonObject) -> JsonObject:
        resource, path = spec.get("resourceAttributes"), spec.get("nonResourceAttributes") or {}
        if resource:
            question = Question(
                resource.get("verb", ""),
                resource.get("group", ""),
                resource.get("resource", ""),
                resource.get("subresource", ""),
                resource.get("namespace", ""),
                resource.get("name", ""),
            )
        else:
            question = Question(path.get("verb", ""), path=path.get("path") or "/")
        verdict = self._authorizer.decide(user, question)
        return {"allowed": verdict.allowed, **({"reason": verdict.reason} if verdict.reason else {})}

    def _rules_of_self(self, call: Call, spec: JsonObject) -> JsonObject:
        namespace = spec.get("namespace")
        if not namespace:
            raise status.bad_request("no namespace on request")
        grants = self._authorizer.grants(call.user, namespace)
        spec.clear()  # the answer repeats no question
        rules = [grant.rule.document for grant in grants.rules]
        about_resources = ("verbs", "apiGroups", "resources", "resourceNames")
        found: JsonObject = {
            "resourceRules": [_only(rule, about_resources) for rule in rules if rule.get("resources")],
            "nonResourceRules": [
                _only(rule, ("verbs", "nonResourceURLs")) for rule in rules if rule.get("nonResourceURLs")
            ],
            "incomplete": False,
        }
        return found | {"evaluationError": grants.error} if grants.errors else found

    def _token(self, call: Call, spec: JsonObject) -> JsonObject:
        try:
            proof = self._authenticator.by_token(spec["token"], spec.get("audiences") or (ISSUER,))
        except NotTrusted as error:
            return {"user": {}, "error": str(error)}
        return {"authenticated": True, "user": proof.user.document(), "audiences": proof.audiences}


def _only(rule: JsonObject, fields: tuple[str, ...]) -> JsonObject:
    return {field: rule[field] for field in fields if rule.get(field)}


def _check_access_review(call: Call, review: JsonObject) -> None:
    causes = list(_access_causes(call, review, review.get("spec") or {}))
    if causes:
        raise status.invalid_kind("", call.resource.group, "", causes)  # the kind is not said, as in Kubernetes


def _access_causes(call: Call, review: JsonObject, spec: JsonObject) -> Iterator[Cause]:
    resource, path = spec.get("resourceAttributes"), spec.get("nonResourceAttributes")
    if resource is not None and path is not None:
        why = "cannot be specified in combination with resourceAttributes"
        yield _invalid("spec.nonResourceAttributes", path, why)
    if resource is None and path is None:
        why = "exactly one of nonResourceAttributes or resourceAttributes must be specified"
        yield _invalid("spec.resourceAttributes", None, why)
    if not call.resource.plural.startswith("self") and not spec.get("user") and not spec.get("groups"):
        yield _invalid("spec.user", "", "at least one of user or group must be specified")
    extra = {key for key, value in review["metadata"].items() if value} - {"managedFields"}
    if extra - ({"namespace"} if call.namespace else set()):
        why = "must be empty except for namespace" if call.namespace else "must be empty"
        yield _invalid("metadata", review["metadata"], why)
    if call.namespace and resource is not None and resource.get("namespace", "") != call.namespace:
        yield _invalid(
            "spec.resourceAttributes.namespace", resource.get("namespace", ""), "must match metadata.namespace"
        )
    if call.namespace and path is not None:
        yield _invalid("spec.nonResourceAttributes", path, "disallowed on this kind of request")


def _invalid(field: str, value: Any, why: str) -> Cause:
    return status.cause(field, f"Invalid value: {msgspec.json.encode(value).decode()}: {why}")
