"""nodeinfo.volcano.sh/v1alpha1: Numatopology, what a node's agent reports about sockets and NUMA cells."""

from __future__ import annotations

from typing import Annotated

from msgspec import field

from volcano.api.constraints import Schema
from volcano.api.meta import Model, ObjectMeta


class NumaResource(Model, kw_only=True):
    allocatable: str = ""
    capacity: int = 0


class CpuInfo(Model, kw_only=True):
    numa: Annotated[int, Schema(minimum=0)] = 0
    socket: Annotated[int, Schema(minimum=0)] = 0
    core: Annotated[int, Schema(minimum=0)] = 0


class ContainerAllocation(Model, kw_only=True):
    name: Annotated[str, Schema(doc="Name of the container.")] = ""
    allocations: Annotated[dict[str, str], Schema(doc="What it holds, by resource; a CPU set for cpu.")] = {}


class PodAllocation(Model, kw_only=True):
    uid: Annotated[str, Schema(doc="Uid of the pod.")] = ""
    name: Annotated[str, Schema(doc="Name of the pod.")] = ""
    namespace: Annotated[str, Schema(doc="Namespace of the pod.")] = ""
    container_allocations: Annotated[list[ContainerAllocation], Schema(doc="What its containers hold.")] = []


class NumatopologySpec(Model, kw_only=True):
    policies: Annotated[dict[str, str], Schema(doc="Policies of the kubelet's managers.")] = {}
    res_reserved: Annotated[dict[str, str], Schema(doc="Resources kept for the system.")] = {}
    numares: Annotated[dict[str, NumaResource], Schema(doc="Resources per NUMA cell.")] = {}
    cpu_detail: Annotated[dict[str, CpuInfo], Schema(doc="Where each CPU sits.")] = {}
    pod_allocations: Annotated[list[PodAllocation], Schema(doc="What pods hold exclusively.")] = []


class Numatopology(Model, kw_only=True):
    """NUMA layout of the node of the same name."""

    api_version: str = ""
    kind: str = ""
    metadata: ObjectMeta = field(default_factory=ObjectMeta)
    spec: Annotated[NumatopologySpec, Schema(doc="The layout.")] = field(default_factory=NumatopologySpec)
