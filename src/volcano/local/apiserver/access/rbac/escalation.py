"""Nobody grants rights that they do not have: a step of admission for roles and bindings.

Administrators may, and so may those who have the verbs `escalate` (roles) and `bind` (bindings).
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from volcano.api.meta import JsonObject
from volcano.local.apiserver.access.rbac import grants, rules
from volcano.local.apiserver.access.rbac.rules import Question, Rule
from volcano.local.apiserver.status import forbidden, not_found

if TYPE_CHECKING:
    from collections.abc import Iterable

    from volcano.local.apiserver.access.rbac.grants import Resolver
    from volcano.local.apiserver.admission.chain import Attributes
    from volcano.local.apiserver.call import Call

_ROLES = frozenset({grants.ROLES, grants.CLUSTER_ROLES})
_BINDINGS = frozenset({grants.BINDINGS, grants.CLUSTER_BINDINGS})
_EVERYTHING: tuple[JsonObject, ...] = (
    {"verbs": ["*"], "apiGroups": ["*"], "resources": ["*"]},
    {"verbs": ["*"], "nonResourceURLs": ["*"]},
)


class Escalation:
    """Compares what is granted with what the writer has."""

    def __init__(self, resolver: Resolver) -> None:
        self._resolver = resolver

    def mutate(self, attributes: Attributes) -> None:
        call = attributes.call
        if call.user.is_master or attributes.operation == "DELETE" or call.resource.group != grants.GROUP:
            return
        if attributes.old is not None and _only_ownership_changed(attributes.document, attributes.old):
            return
        if call.resource.qualified in _ROLES:
            self._check_role(call, attributes.document, attributes.old or {})
        elif call.resource.qualified in _BINDINGS:
            self._check_binding(call, attributes.document.get("roleRef") or {})

    def validate(self, attributes: Attributes) -> None:
        return None

    def _check_role(self, call: Call, role: JsonObject, old: JsonObject) -> None:
        resource = call.resource
        if self._may(call, "escalate", resource.plural, call.name):
            return
        self._confirm(call, role.get("rules") or ())
        if (role.get("aggregationRule") or old.get("aggregationRule")) and self._lacks(call, _EVERYTHING):
            raise forbidden(resource, call.name, "must have cluster-admin privileges to use the aggregationRule")

    def _check_binding(self, call: Call, reference: JsonObject) -> None:
        plural = "roles" if reference.get("kind") == "Role" else "clusterroles"
        if self._may(call, "bind", plural, str(reference.get("name"))):
            return
        granted = self._resolver.rules_of(reference, call.namespace or "")
        if granted is None:
            raise not_found(call.resource, str(reference.get("name")))  # Kubernetes names the binding's resource, too
        self._confirm(call, [rule.document for rule in granted])

    def _may(self, call: Call, verb: str, plural: str, name: str) -> bool:
        question = Question(verb, grants.GROUP, plural, namespace=call.namespace or "", name=name)
        return self._resolver.grants(call.user, question.namespace).allowing(question) is not None

    def _lacks(self, call: Call, wanted: Iterable[JsonObject]) -> list[JsonObject]:
        return rules.missing(self._owned(call), wanted)

    def _owned(self, call: Call) -> list[Rule]:
        return [grant.rule for grant in self._resolver.grants(call.user, call.namespace or "").rules]

    def _confirm(self, call: Call, wanted: Iterable[JsonObject]) -> None:
        lacking = self._lacks(call, wanted)
        if not lacking:
            return
        user, errors = call.user, self._resolver.grants(call.user, call.namespace or "").error
        why = (
            f'user "{user.name}" (groups={rules.quoted(user.groups)}) is attempting to grant RBAC permissions not '
            f"currently held:\n" + "\n".join(rules.describe(lacking))
        )
        raise forbidden(call.resource, call.name, f"{why}; resolution errors: [{errors}]" if errors else why)


def _only_ownership_changed(new: JsonObject, old: JsonObject) -> bool:
    """The garbage collector may do its work on what it could not grant."""
    return _without_ownership(new) == _without_ownership(old)


def _without_ownership(document: JsonObject) -> JsonObject:
    kept = ("ownerReferences", "finalizers", "managedFields", "resourceVersion", "generation")
    return document | {"metadata": {key: value for key, value in document["metadata"].items() if key not in kept}}
