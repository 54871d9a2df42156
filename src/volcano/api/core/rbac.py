"""Roles, bindings and network policies: what job plugins create and the local API server evaluates."""

from __future__ import annotations

from msgspec import field

from volcano.api.meta import JsonObject, LabelSelector, Model, ObjectMeta, Value


class PolicyRule(Model, kw_only=True):
    verbs: list[str] = []
    api_groups: list[str] = []
    resources: list[str] = []
    resource_names: list[str] = []
    non_resource_urls: list[str] = field(default_factory=list, name="nonResourceURLs")


class Role(Model, kw_only=True):
    api_version: str = ""
    kind: str = ""
    metadata: ObjectMeta = field(default_factory=ObjectMeta)
    rules: list[PolicyRule] | None = None


class ClusterRole(Model, kw_only=True):
    api_version: str = ""
    kind: str = ""
    metadata: ObjectMeta = field(default_factory=ObjectMeta)
    rules: list[PolicyRule] | None = None
    aggregation_rule: JsonObject | None = None


class Subject(Value, kw_only=True, frozen=True):
    kind: str = ""
    api_group: str = ""
    name: str = ""
    namespace: str = ""


class RoleRef(Value, kw_only=True, frozen=True):
    api_group: str = ""
    kind: str = ""
    name: str = ""


class RoleBinding(Model, kw_only=True):
    api_version: str = ""
    kind: str = ""
    metadata: ObjectMeta = field(default_factory=ObjectMeta)
    subjects: list[Subject] = []
    role_ref: RoleRef = field(default_factory=RoleRef)


class ClusterRoleBinding(RoleBinding, kw_only=True):
    """Same shape, whole cluster."""


class NetworkPolicySpec(Model, kw_only=True):
    pod_selector: LabelSelector = field(default_factory=LabelSelector)
    ingress: list[JsonObject] = []
    egress: list[JsonObject] = []
    policy_types: list[str] = []


class NetworkPolicy(Model, kw_only=True):
    api_version: str = ""
    kind: str = ""
    metadata: ObjectMeta = field(default_factory=ObjectMeta)
    spec: NetworkPolicySpec = field(default_factory=NetworkPolicySpec)
