"""Roles and bindings as the server writes them: defaults, and what makes one impossible.

Neighbours: `strategies.py` of the server is what all kinds have in common.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import msgspec

from volcano.api.meta import JsonObject
from volcano.local.apiserver.access.rbac.grants import GROUP
from volcano.local.apiserver.status import cause, required
from volcano.local.apiserver.strategies import metadata
from volcano.local.apiserver.strategies.strategy import Strategy

if TYPE_CHECKING:
    from collections.abc import Iterator

    from volcano.local.apiserver.catalog.registry import ResourceInfo
    from volcano.local.apiserver.faults import Cause


_ACCOUNT, _PEOPLE = "ServiceAccount", ("User", "Group")


class RoleStrategy(Strategy):
    """Roles and cluster roles."""

    def validate(self, document: JsonObject) -> list[Cause]:
        causes = super().validate(document)
        for index, rule in enumerate(document.get("rules") or ()):
            causes += _rule_causes(rule, f"rules[{index}]", namespaced=self.resource.namespaced)
        aggregation = document.get("aggregationRule")
        if aggregation is not None and not aggregation.get("clusterRoleSelectors"):
            why = "at least one clusterRoleSelector required if aggregationRule is non-nil"
            causes.append(required("aggregationRule.clusterRoleSelectors", why))
        return causes

    def validate_update(self, new: JsonObject, old: JsonObject) -> list[Cause]:
        return self.validate(new)


class BindingStrategy(Strategy):
    """Role bindings and cluster role bindings; whom they refer to is fixed."""

    def default(self, document: JsonObject) -> None:
        reference = document.get("roleRef")
        if isinstance(reference, dict) and not reference.get("apiGroup"):
            reference["apiGroup"] = GROUP
        for subject in document.get("subjects") or ():
            if subject.get("kind") in _PEOPLE and not subject.get("apiGroup"):
                subject["apiGroup"] = GROUP

    def validate(self, document: JsonObject) -> list[Cause]:
        kinds = ("Role", "ClusterRole") if self.resource.namespaced else ("ClusterRole",)
        causes = super().validate(document) + list(_reference_causes(document.get("roleRef") or {}, kinds))
        for index, subject in enumerate(document.get("subjects") or ()):
            causes += _subject_causes(subject, f"subjects[{index}]", namespaced=self.resource.namespaced)
        return causes

    def validate_update(self, new: JsonObject, old: JsonObject) -> list[Cause]:
        causes = self.validate(new)
        if new.get("roleRef") != old.get("roleRef"):
            text = f"Invalid value: {msgspec.json.encode(new.get('roleRef')).decode()}: cannot change roleRef"
            causes.append(cause("roleRef", text))
        return causes


def rbac_strategy(resource: ResourceInfo) -> Strategy | None:
    """The strategy of `resource` if it is about access."""
    if resource.group != GROUP:
        return None
    return BindingStrategy(resource) if resource.plural.endswith("bindings") else RoleStrategy(resource)


def _rule_causes(rule: JsonObject, field: str, *, namespaced: bool) -> Iterator[Cause]:
    if not rule.get("verbs"):
        yield required(f"{field}.verbs", "verbs must contain at least one value")
    paths = rule.get("nonResourceURLs")
    if paths:
        shown = f"Invalid value: {msgspec.json.encode(paths).decode()}: "
        if namespaced:
            yield cause(f"{field}.nonResourceURLs", shown + "namespaced rules cannot apply to non-resource URLs")
        if rule.get("apiGroups") or rule.get("resources") or rule.get("resourceNames"):
            why = "rules cannot apply to both regular resources and non-resource URLs"
            yield cause(f"{field}.nonResourceURLs", shown + why)
        return
    if not rule.get("apiGroups"):
        yield required(f"{field}.apiGroups", "resource rules must supply at least one api group")
    if not rule.get("resources"):
        yield required(f"{field}.resources", "resource rules must supply at least one resource")


def _reference_causes(reference: JsonObject, kinds: tuple[str, ...]) -> Iterator[Cause]:
    if reference.get("apiGroup") != GROUP:
        yield _unsupported("roleRef.apiGroup", reference.get("apiGroup"), (GROUP,))
    if reference.get("kind") not in kinds:
        yield _unsupported("roleRef.kind", reference.get("kind"), kinds)
    if not reference.get("name"):
        yield required("roleRef.name")


def _subject_causes(subject: JsonObject, field: str, *, namespaced: bool) -> Iterator[Cause]:
    kind, name = subject.get("kind"), subject.get("name") or ""
    if not name:
        yield required(f"{field}.name")
    if kind == _ACCOUNT:
        for found in metadata.name_causes("serviceaccounts", name) if name else ():
            yield found | {"field": f"{field}.name"}
        if subject.get("apiGroup"):
            yield _unsupported(f"{field}.apiGroup", subject["apiGroup"], ("",))
        if not namespaced and not subject.get("namespace"):
            yield required(f"{field}.namespace")
    elif kind in _PEOPLE:
        if subject.get("apiGroup") != GROUP:
            yield _unsupported(f"{field}.apiGroup", subject.get("apiGroup"), (GROUP,))
    else:
        yield _unsupported(f"{field}.kind", kind, (_ACCOUNT, *_PEOPLE))


def _unsupported(field: str, value: object, supported: tuple[str, ...]) -> Cause:
    allowed = ", ".join(f'"{item}"' for item in supported)
    text = f'Unsupported value: "{value or ""}": supported values: {allowed}'
    return cause(field, text, "FieldValueNotSupported")
