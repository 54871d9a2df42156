"""What every API object carries: metadata, owner references, selectors, conditions, statuses of failed requests.

All API types derive from `Model`. They are trees of plain data, never cycles: the garbage collector skips them.
"""

from __future__ import annotations

import datetime
from typing import Annotated, Any, TypeAlias

from msgspec import Struct, field

from volcano.api.constraints import QUALIFIED_NAME, REASON_NAME, Schema

JsonObject: TypeAlias = dict[str, Any]
Time: TypeAlias = datetime.datetime
MicroTime: TypeAlias = str  # RFC 3339 with exactly six digits: Kubernetes' own decoders insist on them
IntOrString: TypeAlias = int | str
ResourceList: TypeAlias = dict[str, str | int | float]


class Model(Struct, rename="camel", omit_defaults=True, kw_only=True, gc=False):
    """Base of all API types: camelCase on the wire, defaults left out."""


class Value(Struct, rename="camel", omit_defaults=True, kw_only=True, frozen=True, gc=False):
    """Base of the small immutable ones: compared and hashed by value, so that they can be interned."""


class OwnerReference(Value, kw_only=True, frozen=True):
    api_version: str = ""
    kind: str = ""
    name: str = ""
    uid: str = ""
    controller: bool | None = None
    block_owner_deletion: bool | None = None


class ObjectMeta(Model, kw_only=True):
    """Metadata as far as we act on it; `managedFields` are left out: a write without them keeps the server's."""

    name: str = ""
    generate_name: str = ""
    namespace: str = ""
    uid: str = ""
    resource_version: str = ""
    generation: int = 0
    creation_timestamp: Time | None = None
    deletion_timestamp: Time | None = None
    deletion_grace_period_seconds: int | None = None
    labels: dict[str, str] = {}
    annotations: dict[str, str] = {}
    owner_references: list[OwnerReference] = []
    finalizers: list[str] = []

    @property
    def key(self) -> str:
        """`namespace/name`, or the name alone for cluster-scoped objects."""
        return f"{self.namespace}/{self.name}" if self.namespace else self.name


class ListMeta(Model, kw_only=True):
    resource_version: str = ""
    continue_: str = field(default="", name="continue")
    remaining_item_count: int | None = None


class PartialObject(Model, kw_only=True):
    """Any object's head."""

    api_version: str = ""
    kind: str = ""
    metadata: ObjectMeta = field(default_factory=ObjectMeta)


class LabelSelectorRequirement(Model, kw_only=True):
    key: str = ""
    operator: str = ""
    values: list[str] = []


class LabelSelector(Model, kw_only=True):
    match_labels: dict[str, str] = {}
    match_expressions: list[LabelSelectorRequirement] = []


class ObjectReference(Value, kw_only=True, frozen=True):
    kind: str = ""
    namespace: str = ""
    name: str = ""
    uid: str = ""
    api_version: str = ""
    resource_version: str = ""
    field_path: str = ""


class LocalObjectReference(Value, kw_only=True, frozen=True):
    name: str = ""


class Condition(Model, kw_only=True):
    """The standard condition of Kubernetes' newer types."""

    type: Annotated[
        str, Schema(required=True, max_length=316, pattern=QUALIFIED_NAME, doc="What the condition is about.")
    ] = ""
    status: Annotated[
        str, Schema(required=True, enum=("True", "False", "Unknown"), doc="Whether the condition holds.")
    ] = ""
    observed_generation: Annotated[
        int, Schema(format="int64", minimum=0, doc="The metadata.generation the condition was found for.")
    ] = 0
    last_transition_time: Annotated[Time | None, Schema(required=True, doc="When the status last changed.")] = None
    reason: Annotated[
        str,
        Schema(required=True, min_length=1, max_length=1024, pattern=REASON_NAME, doc="Why, in one word."),
    ] = ""
    message: Annotated[str, Schema(required=True, max_length=32768, doc="Why, for people.")] = ""


class StatusCause(Model, kw_only=True):
    reason: str = ""
    message: str = ""
    field: str = ""


class StatusDetails(Model, kw_only=True):
    name: str = ""
    group: str = ""
    kind: str = ""
    uid: str = ""
    causes: list[StatusCause] = []
    retry_after_seconds: int = 0


class Status(Model, kw_only=True):
    """The answer of a request that returns no object, above all of a failed one."""

    api_version: str = ""
    kind: str = ""
    metadata: ListMeta = field(default_factory=ListMeta)
    status: str = ""
    message: str = ""
    reason: str = ""
    details: StatusDetails | None = None
    code: int = 0


class Preconditions(Model, kw_only=True):
    uid: str | None = None
    resource_version: str | None = None


class DeleteOptions(Model, kw_only=True):
    api_version: str = ""
    kind: str = ""
    grace_period_seconds: int | None = None
    preconditions: Preconditions | None = None
    orphan_dependents: bool | None = None
    propagation_policy: str | None = None
    dry_run: list[str] = []


def whole_seconds(moment: datetime.datetime) -> Time:
    """`moment` in UTC as Kubernetes stores times: without a fraction."""
    return moment.astimezone(datetime.UTC).replace(microsecond=0)


def format_micro_time(moment: datetime.datetime) -> MicroTime:
    """`moment` with exactly six digits of fraction, as Leases and Events want it."""
    return moment.astimezone(datetime.UTC).strftime("%Y-%m-%dT%H:%M:%S.%fZ")


def parse_time(text: str) -> Time:
    """An RFC 3339 time with or without fraction."""
    return datetime.datetime.fromisoformat(text)


def without_nulls(document: Any) -> Any:
    """A document of JSON without its `key: null`: to Kubernetes null is absent, to a strict decoder a wrong type."""
    if isinstance(document, dict):
        return {key: without_nulls(value) for key, value in document.items() if value is not None}
    if isinstance(document, list):
        return [without_nulls(item) for item in document]
    return document


def controller_of(metadata: ObjectMeta) -> OwnerReference | None:
    """The owner that manages the object, if any."""
    for owner in metadata.owner_references:
        if owner.controller:
            return owner
    return None
