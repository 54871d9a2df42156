"""Pods as the scheduler watches them: all that placement can depend on, nothing of what only a node needs to know.

Environment, mounts, probes and commands of containers are most of a pod; they stay empty. Of podgroups it also sees who
has written them. Used by ingest.py and statuses.py.
"""

from __future__ import annotations

from typing import Final

from msgspec import field

from volcano.api.core import Pod
from volcano.api.meta import Model, ObjectMeta
from volcano.api.narrow import Wanted, narrowed
from volcano.api.resource import Resource
from volcano.api.resources import PODGROUPS, PODS
from volcano.api.scheduling import PodGroup

_METADATA: Final[Wanted] = dict.fromkeys(
    (
        "name",
        "namespace",
        "uid",
        "resource_version",
        "generation",
        "creation_timestamp",
        "deletion_timestamp",
        "deletion_grace_period_seconds",
        "labels",
        "annotations",
        "owner_references",
    )
)

_CONTAINER: Final[Wanted] = dict.fromkeys(("name", "image", "ports", "resources", "restart_policy"))

_VOLUME: Final[Wanted] = dict.fromkeys(
    (
        "name",
        "persistent_volume_claim",
        "ephemeral",
        "csi",
        "nfs",
        "iscsi",
        "rbd",
        "aws_elastic_block_store",
        "gce_persistent_disk",
    )
)

_SPEC: Final[Wanted] = {
    **dict.fromkeys(
        (
            "affinity",
            "host_network",
            "node_name",
            "node_selector",
            "overhead",
            "preemption_policy",
            "priority",
            "priority_class_name",
            "resource_claims",
            "resources",
            "restart_policy",
            "runtime_class_name",
            "scheduler_name",
            "scheduling_gates",
            "termination_grace_period_seconds",
            "tolerations",
            "topology_spread_constraints",
        )
    ),
    "containers": _CONTAINER,
    "init_containers": _CONTAINER,
    "volumes": _VOLUME,
}

_CONTAINER_STATUS: Final[Wanted] = dict.fromkeys(("name", "allocated_resources", "resources"))

_STATUS: Final[Wanted] = {
    **dict.fromkeys(
        ("nominated_node_name", "phase", "qos_class", "reason", "resize", "resource_claim_statuses", "start_time")
    ),
    "conditions": dict.fromkeys(("type", "status", "last_transition_time", "reason", "message")),
    "container_statuses": _CONTAINER_STATUS,
    "init_container_statuses": _CONTAINER_STATUS,
}

PODS_IN_VIEW: Final[Resource[Pod]] = PODS.as_type(
    narrowed(Pod, {"api_version": None, "kind": None, "metadata": _METADATA, "spec": _SPEC, "status": _STATUS})
)


class Writer(Model, kw_only=True):
    """Who wrote fields of an object, and how: Update or Apply."""

    manager: str = ""
    operation: str = ""


class WrittenMeta(ObjectMeta, kw_only=True):
    managed_fields: list[Writer] = field(default_factory=list)


class PodGroupInView(PodGroup, kw_only=True):
    metadata: WrittenMeta = field(default_factory=WrittenMeta)


PODGROUPS_IN_VIEW: Final[Resource[PodGroup]] = PODGROUPS.as_type(PodGroupInView)
