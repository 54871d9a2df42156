"""The claims of a pod and the state each is in: bound, to be bound with the pod, or not usable."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Final

if TYPE_CHECKING:
    from volcano.api.core import PersistentVolumeClaim, Pod, StorageClass
    from volcano.scheduler.cluster.cluster import Cluster

CLAIMS: Final = "persistentvolumeclaims"
VOLUMES: Final = "persistentvolumes"
CLASSES: Final = "storageclasses"

BIND_COMPLETED: Final = "pv.kubernetes.io/bind-completed"
CLASS_ANNOTATION: Final = "volume.beta.kubernetes.io/storage-class"
WAIT_FOR_CONSUMER: Final = "WaitForFirstConsumer"


@dataclass(slots=True)
class PodClaims:
    """The pod's claims by state; `problem` says why the pod cannot be placed at all."""

    bound: list[PersistentVolumeClaim] = field(default_factory=list)
    delayed: list[PersistentVolumeClaim] = field(default_factory=list)
    problem: str = ""


def claim_names(pod: Pod) -> Iterator[tuple[str, bool]]:
    """(claim name, made for this very pod) of each volume that is a claim."""
    for volume in pod.spec.volumes:
        if volume.persistent_volume_claim is not None:
            yield volume.persistent_volume_claim.claim_name, False
        elif volume.ephemeral is not None:
            yield f"{pod.metadata.name}-{volume.name}", True


def claims_of(cluster: Cluster, pod: Pod) -> PodClaims:
    found = PodClaims()
    known = cluster.objects[CLAIMS]
    immediate = False
    for name, ephemeral in claim_names(pod):
        claim: Any = known.get(f"{pod.metadata.namespace}/{name}")
        found.problem = _problem(pod, name, claim, ephemeral=ephemeral)
        if found.problem:
            return found
        if is_bound(claim):
            found.bound.append(claim)
        elif not claim.spec.volume_name and is_delayed(cluster, claim):
            found.delayed.append(claim)
        else:
            immediate = True
    if immediate:
        found.problem = "pod has unbound immediate PersistentVolumeClaims"
    return found


def is_bound(claim: PersistentVolumeClaim) -> bool:
    return bool(claim.spec.volume_name) and BIND_COMPLETED in claim.metadata.annotations


def is_delayed(cluster: Cluster, claim: PersistentVolumeClaim) -> bool:
    storage_class = class_of(cluster, claim)
    return storage_class is not None and storage_class.volume_binding_mode == WAIT_FOR_CONSUMER


def class_name(claim: PersistentVolumeClaim) -> str:
    return claim.metadata.annotations.get(CLASS_ANNOTATION) or claim.spec.storage_class_name or ""


def class_of(cluster: Cluster, claim: PersistentVolumeClaim) -> StorageClass | None:
    found: StorageClass | None = cluster.objects[CLASSES].get(class_name(claim))
    return found


def _problem(pod: Pod, name: str, claim: Any, *, ephemeral: bool) -> str:
    """Why this claim keeps the pod from any node."""
    if claim is None and ephemeral:
        return f'waiting for ephemeral volume controller to create the persistentvolumeclaim "{name}"'
    if claim is None:
        return f'persistentvolumeclaim "{name}" not found'
    if claim.status.phase == "Lost":
        return f'persistentvolumeclaim "{name}" bound to non-existent persistentvolume "{claim.spec.volume_name}"'
    if claim.metadata.deletion_timestamp is not None:
        return f'persistentvolumeclaim "{name}" is being deleted'
    if ephemeral and all(owner.uid != pod.metadata.uid for owner in claim.metadata.owner_references):
        return f'PVC "{claim.metadata.key}" was not created for pod "{pod.metadata.key}" (pod is not owner)'
    return ""
