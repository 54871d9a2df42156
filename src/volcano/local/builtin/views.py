"""As much of an object as these controllers need: heads for the collector, a little more of pods; all cheap.

Neighbours: `world` makes informers of these types; everything else here reads them.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, TypeVar, cast

import msgspec
from msgspec import field

from volcano.api import keys
from volcano.api.meta import JsonObject, Model, OwnerReference
from volcano.api.resources import PODS

T = TypeVar("T")

_CHOOSING = frozenset(
    {("apps/v1", "ReplicaSet"), ("apps/v1", "StatefulSet"), ("apps/v1", "DaemonSet"), ("batch/v1", "Job")}
)


class Marks(Model, kw_only=True):
    """The one annotation that informers look for; the others are not kept."""

    initial_events_end: str = field(default="", name=keys.INITIAL_EVENTS_END)

    def get(self, name: str, default: str | None = None) -> str | None:
        return self.initial_events_end if name == keys.INITIAL_EVENTS_END else default


class Meta(Model, kw_only=True):
    name: str = ""
    namespace: str = ""
    uid: str = ""
    resource_version: str = ""
    creation_timestamp: str | None = None
    deletion_timestamp: str | None = None
    annotations: Marks = field(default_factory=Marks)
    owner_references: list[OwnerReference] = field(default_factory=list)
    finalizers: list[str] = field(default_factory=list)

    @property
    def key(self) -> str:
        return f"{self.namespace}/{self.name}" if self.namespace else self.name


class LabelledMeta(Meta, kw_only=True):
    """Of what controllers choose by its labels."""

    labels: dict[str, str] = field(default_factory=dict)


class Head(Model, kw_only=True):
    """Any object, by its metadata."""

    metadata: Meta = field(default_factory=Meta)


class PodSpecView(Model, kw_only=True):
    node_name: str = ""


class ConditionView(Model, kw_only=True):
    type: str = ""
    status: str = ""
    last_transition_time: str | None = None


class PodStatusView(Model, kw_only=True):
    phase: str = ""
    conditions: list[ConditionView] = field(default_factory=list)


class PodView(Model, kw_only=True):
    metadata: LabelledMeta = field(default_factory=LabelledMeta)
    spec: PodSpecView = field(default_factory=PodSpecView)
    status: PodStatusView = field(default_factory=PodStatusView)

    def __post_init__(self) -> None:
        """Labels are kept only of pods that controllers of ours may choose: those of jobs are many."""
        controller = controller_of(self.metadata.owner_references)
        if controller is not None and (controller.api_version, controller.kind) not in _CHOOSING:
            self.metadata.labels = {}

    @property
    def is_active(self) -> bool:
        """Still running or about to, and meant to go on."""
        return self.metadata.deletion_timestamp is None and not self.is_finished

    @property
    def is_finished(self) -> bool:
        return self.status.phase in ("Succeeded", "Failed")

    @property
    def ready_since(self) -> str | None:
        """Since when the pod is ready; None when it is not."""
        for condition in self.status.conditions:
            if condition.type == "Ready" and condition.status == "True":
                return condition.last_transition_time or ""
        return None


POD_VIEWS = PODS.as_type(PodView)


def meta_of(obj: Any) -> Meta:
    """The metadata of a view or of an untyped object."""
    if isinstance(obj, dict):
        return msgspec.convert(obj["metadata"], Meta)
    return cast("Meta", obj.metadata)


def controller_of(references: list[OwnerReference]) -> OwnerReference | None:
    return next((reference for reference in references if reference.controller), None)


def document_controller_uid(document: JsonObject) -> str:
    """The uid of the controller that owns an untyped object, or ""."""
    owners: list[Mapping[str, Any]] = document["metadata"].get("ownerReferences") or []
    return next((str(owner["uid"]) for owner in owners if owner.get("controller")), "")
