"""admission.k8s.io/v1 AdmissionReview and the webhook configurations that ask for it."""

from __future__ import annotations

from msgspec import field

from volcano.api.authorization import UserInfo
from volcano.api.meta import JsonObject, LabelSelector, Model, ObjectMeta, Status, Value


class GroupVersionKind(Value, kw_only=True, frozen=True):
    group: str = ""
    version: str = ""
    kind: str = ""


class GroupVersionResource(Value, kw_only=True, frozen=True):
    group: str = ""
    version: str = ""
    resource: str = ""


class ReviewRequest(Model, kw_only=True):
    """What the API server asks a webhook."""

    uid: str = ""
    kind: GroupVersionKind = field(default_factory=GroupVersionKind)
    resource: GroupVersionResource = field(default_factory=GroupVersionResource)
    sub_resource: str = ""
    request_kind: GroupVersionKind | None = None
    request_resource: GroupVersionResource | None = None
    request_sub_resource: str = ""
    name: str = ""
    namespace: str = ""
    operation: str = ""
    user_info: UserInfo = field(default_factory=UserInfo)
    object: JsonObject | None = None
    old_object: JsonObject | None = None
    dry_run: bool | None = None
    options: JsonObject | None = None


class ReviewResponse(Model, kw_only=True):
    """What a webhook answers; `patch` is a base64 JSON Patch."""

    uid: str = ""
    allowed: bool | None = None
    status: Status | None = None
    patch: str | None = None
    patch_type: str | None = None
    warnings: list[str] = []
    audit_annotations: dict[str, str] = {}


class AdmissionReview(Model, kw_only=True):
    api_version: str = ""
    kind: str = ""
    request: ReviewRequest | None = None
    response: ReviewResponse | None = None


class ServiceReference(Model, kw_only=True):
    namespace: str = ""
    name: str = ""
    path: str | None = None
    port: int | None = None


class WebhookClientConfig(Model, kw_only=True):
    url: str | None = None
    service: ServiceReference | None = None
    ca_bundle: str = ""


class RuleWithOperations(Model, kw_only=True):
    operations: list[str] = []
    api_groups: list[str] = []
    api_versions: list[str] = []
    resources: list[str] = []
    scope: str | None = None


class MatchCondition(Model, kw_only=True):
    name: str = ""
    expression: str = ""


class Webhook(Model, kw_only=True):
    name: str = ""
    client_config: WebhookClientConfig = field(default_factory=WebhookClientConfig)
    rules: list[RuleWithOperations] = []
    failure_policy: str | None = None
    match_policy: str | None = None
    namespace_selector: LabelSelector | None = None
    object_selector: LabelSelector | None = None
    side_effects: str | None = None
    timeout_seconds: int | None = None
    admission_review_versions: list[str] = []
    reinvocation_policy: str | None = None
    match_conditions: list[MatchCondition] = []


class MutatingWebhookConfiguration(Model, kw_only=True):
    api_version: str = ""
    kind: str = ""
    metadata: ObjectMeta = field(default_factory=ObjectMeta)
    webhooks: list[Webhook] = []


class ValidatingWebhookConfiguration(Model, kw_only=True):
    api_version: str = ""
    kind: str = ""
    metadata: ObjectMeta = field(default_factory=ObjectMeta)
    webhooks: list[Webhook] = []
