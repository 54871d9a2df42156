"""Who is asking, and may they: authentication.k8s.io and authorization.k8s.io reviews."""

from __future__ import annotations

from msgspec import field

from volcano.api.meta import Model, ObjectMeta, ObjectReference, Time


class UserInfo(Model, kw_only=True):
    username: str = ""
    uid: str = ""
    groups: list[str] = []
    extra: dict[str, list[str]] = {}


class ResourceAttributes(Model, kw_only=True):
    namespace: str = ""
    verb: str = ""
    group: str = ""
    version: str = ""
    resource: str = ""
    subresource: str = ""
    name: str = ""


class NonResourceAttributes(Model, kw_only=True):
    path: str = ""
    verb: str = ""


class SubjectAccessReviewSpec(Model, kw_only=True):
    """Spec of every access review; the self reviews leave the user out."""

    resource_attributes: ResourceAttributes | None = None
    non_resource_attributes: NonResourceAttributes | None = None
    user: str = ""
    groups: list[str] = []
    extra: dict[str, list[str]] = {}
    uid: str = ""


class SubjectAccessReviewStatus(Model, kw_only=True):
    allowed: bool | None = None
    denied: bool = False
    reason: str = ""
    evaluation_error: str = ""


class SubjectAccessReview(Model, kw_only=True):
    api_version: str = ""
    kind: str = ""
    metadata: ObjectMeta = field(default_factory=ObjectMeta)
    spec: SubjectAccessReviewSpec = field(default_factory=SubjectAccessReviewSpec)
    status: SubjectAccessReviewStatus = field(default_factory=SubjectAccessReviewStatus)


class ResourceRule(Model, kw_only=True):
    verbs: list[str] = []
    api_groups: list[str] = []
    resources: list[str] = []
    resource_names: list[str] = []


class NonResourceRule(Model, kw_only=True):
    verbs: list[str] = []
    non_resource_urls: list[str] = field(default_factory=list, name="nonResourceURLs")


class SelfSubjectRulesReviewSpec(Model, kw_only=True):
    namespace: str = ""


class SubjectRulesReviewStatus(Model, kw_only=True):
    resource_rules: list[ResourceRule] | None = None
    non_resource_rules: list[NonResourceRule] | None = None
    incomplete: bool | None = None
    evaluation_error: str = ""


class SelfSubjectRulesReview(Model, kw_only=True):
    api_version: str = ""
    kind: str = ""
    metadata: ObjectMeta = field(default_factory=ObjectMeta)
    spec: SelfSubjectRulesReviewSpec = field(default_factory=SelfSubjectRulesReviewSpec)
    status: SubjectRulesReviewStatus = field(default_factory=SubjectRulesReviewStatus)


class SelfSubjectReviewStatus(Model, kw_only=True):
    user_info: UserInfo = field(default_factory=UserInfo)


class SelfSubjectReview(Model, kw_only=True):
    api_version: str = ""
    kind: str = ""
    metadata: ObjectMeta = field(default_factory=ObjectMeta)
    status: SelfSubjectReviewStatus = field(default_factory=SelfSubjectReviewStatus)


class TokenReviewSpec(Model, kw_only=True):
    token: str = ""
    audiences: list[str] = []


class TokenReviewStatus(Model, kw_only=True):
    authenticated: bool = False
    user: UserInfo | None = None
    audiences: list[str] = []
    error: str = ""


class TokenReview(Model, kw_only=True):
    api_version: str = ""
    kind: str = ""
    metadata: ObjectMeta = field(default_factory=ObjectMeta)
    spec: TokenReviewSpec = field(default_factory=TokenReviewSpec)
    status: TokenReviewStatus = field(default_factory=TokenReviewStatus)


class TokenRequestSpec(Model, kw_only=True):
    audiences: list[str] = []
    expiration_seconds: int | None = None
    bound_object_ref: ObjectReference | None = None


class TokenRequestStatus(Model, kw_only=True):
    token: str = ""
    expiration_timestamp: Time | None = None


class TokenRequest(Model, kw_only=True):
    api_version: str = ""
    kind: str = ""
    metadata: ObjectMeta = field(default_factory=ObjectMeta)
    spec: TokenRequestSpec = field(default_factory=TokenRequestSpec)
    status: TokenRequestStatus = field(default_factory=TokenRequestStatus)
