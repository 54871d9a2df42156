"""Short ways to write the objects of a small world: nodes, pods, gangs, queues."""

from __future__ import annotations

import datetime
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from volcano.api import keys
from volcano.api.core import (
    Affinity,
    Container,
    ContainerPort,
    Node,
    NodeSpec,
    NodeStatus,
    Pod,
    PodSpec,
    PodStatus,
    PriorityClass,
    ResourceRequirements,
    Taint,
    Toleration,
)
from volcano.api.meta import ObjectMeta
from volcano.api.scheduling import (
    Guarantee,
    PodGroup,
    PodGroupSpec,
    PodGroupStatus,
    Queue,
    QueueSpec,
    QueueStatus,
)

Amount = str | int | float
EPOCH = datetime.datetime(2026, 1, 1, tzinfo=datetime.UTC)


def at(seconds: float) -> datetime.datetime:
    """A creation time, in seconds after the epoch of test worlds."""
    return EPOCH + datetime.timedelta(seconds=seconds)


def node(
    name: str,
    *,
    cpu: Amount = 8,
    memory: Amount = "64Gi",
    pods: Amount = 110,
    labels: Mapping[str, str] | None = None,
    taints: Sequence[Taint] = (),
    unschedulable: bool = False,
    annotations: Mapping[str, str] | None = None,
    **extended: Amount,
) -> Node:
    """A node; `extended` are further resources, as in `**{"nvidia.com/gpu": 8}`."""
    offer = _amounts(cpu=cpu, memory=memory, pods=pods, **extended)
    return Node(
        metadata=ObjectMeta(
            name=name,
            uid=name,
            labels={keys.HOSTNAME: name, **(labels or {})},
            annotations=dict(annotations or {}),
        ),
        spec=NodeSpec(taints=list(taints), unschedulable=unschedulable),
        status=NodeStatus(allocatable=dict(offer), capacity=dict(offer)),
    )


def pod(
    name: str,
    *,
    group: str = "",
    namespace: str = "default",
    cpu: Amount | None = None,
    memory: Amount | None = None,
    resources: Mapping[str, Amount] | None = None,
    node: str = "",
    phase: str = "",
    role: str = "",
    priority: int | None = None,
    labels: Mapping[str, str] | None = None,
    annotations: Mapping[str, str] | None = None,
    node_selector: Mapping[str, str] | None = None,
    tolerations: Sequence[Toleration] = (),
    affinity: Affinity | None = None,
    host_port: int = 0,
    created: float = 0.0,
) -> Pod:
    """A pod; with a node it runs there, without one it is pending."""
    requests = _amounts(cpu=cpu, memory=memory, **(resources or {}))
    notes = dict(annotations or {})
    if group:
        notes[keys.GROUP_NAME] = group
    if role:
        notes[keys.TASK_SPEC] = role
    container = Container(
        name="main",
        image="busybox",
        resources=ResourceRequirements(requests=requests),
        ports=[ContainerPort(host_port=host_port, container_port=host_port)] if host_port else [],
    )
    return Pod(
        metadata=ObjectMeta(
            name=name,
            namespace=namespace,
            uid=f"{namespace}-{name}",
            labels=dict(labels or {}),
            annotations=notes,
            creation_timestamp=at(created),
        ),
        spec=PodSpec(
            containers=[container],
            node_name=node,
            scheduler_name=keys.DEFAULT_SCHEDULER_NAME,
            priority=priority,
            node_selector=dict(node_selector or {}),
            tolerations=list(tolerations),
            affinity=affinity,
        ),
        status=PodStatus(phase=phase or ("Running" if node else "Pending")),
    )


@dataclass(frozen=True)
class Gang:
    """A PodGroup and its pods."""

    pod_group: PodGroup
    pods: tuple[Pod, ...]


def gang(
    name: str,
    *,
    pods: int | Sequence[Pod] = 1,
    min_available: int | None = None,
    namespace: str = "default",
    queue: str = keys.DEFAULT_QUEUE,
    phase: str = "Inqueue",
    priority_class: str = "",
    role_minimums: Mapping[str, int] | None = None,
    min_resources: Mapping[str, Amount] | None = None,
    created: float = 0.0,
    nodes: Sequence[str] = (),
    **pod_options: Any,
) -> Gang:
    """A gang of `pods` identical replicas (the first of them on `nodes`), or of the given pods."""
    if isinstance(pods, int):
        placed = [*nodes, *[""] * (pods - len(nodes))]
        members = [
            pod(f"{name}-worker-{i}", group=name, namespace=namespace, node=placed[i], **pod_options)
            for i in range(pods)
        ]
    else:
        members = list(pods)
    return Gang(
        PodGroup(
            metadata=ObjectMeta(name=name, namespace=namespace, uid=f"pg-{name}", creation_timestamp=at(created)),
            spec=PodGroupSpec(
                min_member=len(members) if min_available is None else min_available,
                min_task_member=dict(role_minimums or {}),
                queue=queue,
                priority_class_name=priority_class,
                min_resources=None if min_resources is None else dict(min_resources),
            ),
            status=PodGroupStatus(phase=phase),
        ),
        tuple(members),
    )


def queue(
    name: str,
    *,
    weight: int = 1,
    capability: Mapping[str, Amount] | None = None,
    deserved: Mapping[str, Amount] | None = None,
    guarantee: Mapping[str, Amount] | None = None,
    priority: int = 0,
    parent: str = "",
    reclaimable: bool | None = None,
    state: str = "Open",
    annotations: Mapping[str, str] | None = None,
) -> Queue:
    return Queue(
        metadata=ObjectMeta(name=name, annotations=dict(annotations or {})),
        spec=QueueSpec(
            weight=weight,
            capability=dict(capability or {}),
            deserved=dict(deserved or {}),
            guarantee=Guarantee(resource=dict(guarantee or {})),
            priority=priority,
            parent=parent,
            reclaimable=reclaimable,
        ),
        status=QueueStatus(state=state),
    )


def priority_class(name: str, value: int, *, is_default: bool = False) -> PriorityClass:
    return PriorityClass(metadata=ObjectMeta(name=name), value=value, global_default=is_default)


def _amounts(**amounts: Amount | None) -> dict[str, Amount]:
    return {name: amount for name, amount in amounts.items() if amount is not None}
