"""Which filters are on, and how volumes are bound."""

from __future__ import annotations

from typing import Any

import msgspec


def _argument(name: str, default: Any = True) -> Any:
    return msgspec.field(default=default, name=name)


class Arguments(msgspec.Struct, frozen=True):
    node_affinity: bool = _argument("predicate.NodeAffinityEnable")
    node_ports: bool = _argument("predicate.NodePortsEnable")
    taints: bool = _argument("predicate.TaintTolerationEnable")
    pod_affinity: bool = _argument("predicate.PodAffinityEnable")
    volume_limits: bool = _argument("predicate.NodeVolumeLimitsEnable")
    volume_zone: bool = _argument("predicate.VolumeZoneEnable")
    topology_spread: bool = _argument("predicate.PodTopologySpreadEnable")
    volume_binding: bool = _argument("predicate.VolumeBindingEnable")
    cache: bool = _argument("predicate.CacheEnable", default=False)
    """Accepted: verdicts are always kept per profile."""
    resource_claims: bool = _argument("predicate.DynamicResourceAllocationEnable")
    bind_timeout_seconds: int = _argument("volumebinding.bindTimeoutSeconds", default=600)
    volume_weight: int = _argument("volumebinding.weight", default=1)
    volume_shape: list[dict[str, int]] = _argument("volumebinding.shape", default=[])
    claim_timeout_seconds: int = _argument("dynamicresources.filterTimeoutSeconds", default=10)
