"""Questions about callers and their rights: the review kinds, answered and never stored."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import msgspec

from volcano.local.apiserver import bodies
from volcano.local.apiserver.access import Authorizer, Question
from volcano.local.apiserver.call import User
from volcano.local.apiserver.reads import respond

if TYPE_CHECKING:
    from volcano.http.message import Response
    from volcano.local.apiserver.authn import Authenticator
    from volcano.local.apiserver.call import Call

JsonObject = dict[str, Any]


class Reviews:
    """One method per kind of review."""

    def __init__(self, authorizer: Authorizer, authenticator: Authenticator) -> None:
        self._authorizer = authorizer
        self._authenticator = authenticator

    async def create(self, call: Call) -> Response:
        review = bodies.read_document(call.request)
        answers = {
            "selfsubjectreviews": self._self,
            "selfsubjectaccessreviews": self._access_of_self,
            "selfsubjectrulesreviews": self._rules_of_self,
            "subjectaccessreviews": self._access,
            "localsubjectaccessreviews": self._access,
            "tokenreviews": self._token,
        }
        review["kind"], review["apiVersion"] = call.resource.kind, call.resource.api_version
        review.setdefault("metadata", {}).setdefault("creationTimestamp", None)
        review["status"] = answers[call.resource.plural](call, review.get("spec") or {})
        return respond(201, msgspec.json.encode(review))

    def _self(self, call: Call, spec: JsonObject) -> JsonObject:
        return {"userInfo": call.user.document()}

    def _access_of_self(self, call: Call, spec: JsonObject) -> JsonObject:
        return self._verdict(call.user, spec, "")

    def _access(self, call: Call, spec: JsonObject) -> JsonObject:
        user = User(spec.get("user") or "", tuple(spec.get("groups") or ()), spec.get("uid") or "")
        return self._verdict(user, spec, call.namespace or "")

    def _verdict(self, user: User, spec: JsonObject, namespace: str) -> JsonObject:
        resource, path = spec.get("resourceAttributes"), spec.get("nonResourceAttributes") or {}
        if resource:
            question = Question(
                resource.get("verb", ""),
                resource.get("group", ""),
                resource.get("resource", ""),
                resource.get("subresource", ""),
                resource.get("namespace", namespace),
                resource.get("name", ""),
            )
        else:
            question = Question(path.get("verb", ""), path=path.get("path", "/"))
        allowed = self._authorizer.allowed(user, question)
        return (
            {"allowed": allowed} if allowed else {"allowed": False, "reason": f"no RBAC rule lets {user.name} do this"}
        )

    def _rules_of_self(self, call: Call, spec: JsonObject) -> JsonObject:
        everything: list[JsonObject] = [{"verbs": ["*"], "apiGroups": ["*"], "resources": ["*"]}]
        anywhere: list[JsonObject] = [{"verbs": ["*"], "nonResourceURLs": ["*"]}]
        if call.user.is_master:
            return {"resourceRules": everything, "nonResourceRules": anywhere, "incomplete": False}
        rules = list(self._authorizer.rules(call.user, spec.get("namespace") or ""))
        return {
            "resourceRules": [rule for rule in rules if rule.get("resources")],
            "nonResourceRules": [rule for rule in rules if rule.get("nonResourceURLs")],
            "incomplete": False,
        }

    def _token(self, call: Call, spec: JsonObject) -> JsonObject:
        user = self._authenticator.by_token(spec.get("token") or "")
        if user is None:
            return {"authenticated": False, "error": "the token is not known, expired, or its account is gone"}
        return {"authenticated": True, "user": user.document(), "audiences": spec.get("audiences") or []}
