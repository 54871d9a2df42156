"""Slim types for watching: the few fields that controllers read of objects that come in thousands.

Resources such as `POD_VIEWS` decode into these; everything else on the wire is skipped.
"""

from __future__ import annotations

from typing import Final

from msgspec import field

from volcano.api import resources
from volcano.api.meta import Model, ObjectMeta


class Terminated(Model, kw_only=True):
    exit_code: int = 0


class ContainerStateView(Model, kw_only=True):
    terminated: Terminated | None = None


class ContainerStatusView(Model, kw_only=True):
    ready: bool = False
    restart_count: int = 0
    state: ContainerStateView = field(default_factory=ContainerStateView)


class PodStatusView(Model, kw_only=True):
    phase: str = ""
    init_container_statuses: list[ContainerStatusView] = field(default_factory=list)
    container_statuses: list[ContainerStatusView] = field(default_factory=list)


class PodSpecView(Model, kw_only=True):
    scheduler_name: str = ""


class PodView(Model, kw_only=True):
    """A pod as controllers watch it."""

    metadata: ObjectMeta = field(default_factory=ObjectMeta)
    spec: PodSpecView = field(default_factory=PodSpecView)
    status: PodStatusView = field(default_factory=PodStatusView)


class NodeView(Model, kw_only=True):
    """A node as far as its labels go."""

    metadata: ObjectMeta = field(default_factory=ObjectMeta)


NODE_VIEWS: Final = resources.NODES.as_type(NodeView)
POD_VIEWS: Final = resources.PODS.as_type(PodView)
