"""Which claims a pod has, in which state they are, and what keeps it from using them."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from volcano.scheduler.plugins.kubernetes.claims.allocator import alternatives

if TYPE_CHECKING:
    from volcano.api.core import Pod, ResourceClaim
    from volcano.api.core.dra import AllocatedDevice
    from volcano.scheduler.cluster.cluster import Cluster

CLAIMS: Final = "resourceclaims"
SLICES: Final = "resourceslices"
CLASSES: Final = "deviceclasses"
TAINT_RULES: Final = "devicetaintrules"
MOST_CONSUMERS: Final = 256


@dataclass(frozen=True, slots=True)
class PodClaims:
    allocated: tuple[ResourceClaim, ...] = ()
    pending: tuple[ResourceClaim, ...] = ()
    problem: str = ""
    """Why the pod cannot go anywhere."""


def has_claims(pod: Pod) -> bool:
    return bool(pod.spec.resource_claims)


def claims_of(cluster: Cluster, pod: Pod) -> PodClaims:
    allocated: list[ResourceClaim] = []
    pending: list[ResourceClaim] = []
    found: Mapping[str, ResourceClaim] = cluster.objects[CLAIMS]
    for name, is_own in _names(pod):
        if not name:
            text = f'waiting for dynamic resource controller to create the resourceclaim for pod "{pod.metadata.name}"'
            return PodClaims(problem=text)
        claim = found.get(f"{pod.metadata.namespace}/{name}")
        problem = _problem(cluster, pod, name, claim, is_own)
        if problem or claim is None:
            return PodClaims(problem=problem)
        (pending if claim.status.allocation is None or is_lost(claim) else allocated).append(claim)
    return PodClaims(tuple(allocated), tuple(pending))


def existing_claims(cluster: Cluster, pod: Pod) -> list[ResourceClaim]:
    """Those of its claims that exist, whatever state they are in."""
    found: Mapping[str, ResourceClaim] = cluster.objects[CLAIMS]
    keys = (f"{pod.metadata.namespace}/{name}" for name, _ in _names(pod) if name)
    return [found[key] for key in keys if key in found]


def is_lost(claim: ResourceClaim) -> bool:
    """Whether its devices could not be made ready for use, and nobody uses them: it needs other ones."""
    return has_failed(claim) and len(claim.status.reserved_for) <= 1


def has_failed(claim: ResourceClaim) -> bool:
    """Whether its driver says of a device that it cannot be made ready for use."""
    return any(
        condition in result.binding_failure_conditions
        for result, conditions in _met_conditions(claim)
        for condition in conditions
    )


def is_ready(claim: ResourceClaim) -> bool:
    """Whether its driver says that all of its devices are ready for use."""
    return all(set(result.binding_conditions) <= conditions for result, conditions in _met_conditions(claim))


def _met_conditions(claim: ResourceClaim) -> Iterator[tuple[AllocatedDevice, set[str]]]:
    """Its devices that have such conditions, and which of them are true."""
    allocation = claim.status.allocation
    for result in allocation.devices.results if allocation is not None else ():
        if not result.binding_conditions:
            continue
        identity = (result.driver, result.pool, result.device, result.share_id)
        yield (
            result,
            {
                str(condition.get("type"))
                for status in claim.status.devices
                if tuple(status.get(key) for key in ("driver", "pool", "device", "shareID")) == identity
                for condition in status.get("conditions") or ()
                if condition.get("status") == "True"
            },
        )


def _names(pod: Pod) -> Iterator[tuple[str, bool]]:
    """Names of its claims, empty where the claim is still to be made, and whether it was made for the pod."""
    made = {status.name: status for status in pod.status.resource_claim_statuses}
    for entry in pod.spec.resource_claims:
        if entry.resource_claim_name:
            yield entry.resource_claim_name, False
        elif entry.name not in made:
            yield "", True
        elif made[entry.name].resource_claim_name:  # else it turned out not to be needed
            yield made[entry.name].resource_claim_name or "", True


def _problem(cluster: Cluster, pod: Pod, name: str, claim: ResourceClaim | None, is_own: bool) -> str:
    if claim is None:
        return f'resourceclaim "{name}" not found'
    if claim.metadata.deletion_timestamp is not None:
        return f'resourceclaim "{name}" is being deleted'
    if is_own and not any(owner.name == pod.metadata.name for owner in claim.metadata.owner_references):
        return f"ResourceClaim {claim.metadata.key} was not created for pod {pod.metadata.key} (pod is not owner)"
    if claim.status.allocation is not None and not is_lost(claim):
        consumers = claim.status.reserved_for
        mine = any(consumer.uid == pod.metadata.uid for consumer in consumers)
        return "" if mine or len(consumers) < MOST_CONSUMERS else "resourceclaim in use"
    for request in claim.spec.devices.requests:
        for _, wanted in alternatives(request):
            if wanted.device_class_name not in cluster.objects[CLASSES]:
                return f"request {request.name}: device class {wanted.device_class_name} does not exist"
    return ""
