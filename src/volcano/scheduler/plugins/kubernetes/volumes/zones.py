"""Volume zones: a volume that says its zone or region binds its pod to nodes there."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

import numpy as np

from volcano.api import keys
from volcano.scheduler.cluster.nodes import Mask
from volcano.scheduler.plugins.kubernetes.volumes.claims import CLAIMS, VOLUMES, WAIT_FOR_CONSUMER, class_name, class_of

if TYPE_CHECKING:
    from volcano.api.core import Pod
    from volcano.scheduler.cluster.cluster import Cluster

CURRENT: Final = {
    "failure-domain.beta.kubernetes.io/zone": keys.ZONE,
    "failure-domain.beta.kubernetes.io/region": keys.REGION,
}
"""Old label keys and what they are called today."""
LABELS: Final = (*CURRENT, *CURRENT.values())


def problem(cluster: Cluster, pod: Pod) -> str:
    """Why the pod's claims have no zone yet and never will by themselves."""
    for volume in pod.spec.volumes:
        if volume.persistent_volume_claim is None:
            continue
        name = volume.persistent_volume_claim.claim_name
        claim = cluster.objects[CLAIMS].get(f"{pod.metadata.namespace}/{name}")
        if claim is None:
            return f'persistentvolumeclaim "{name}" not found'
        if claim.spec.volume_name:
            continue
        if not class_name(claim):
            return "PersistentVolumeClaim had no pv name and storageClass name"
        storage_class = class_of(cluster, claim)
        if storage_class is None:
            return f'storageclass.storage.k8s.io "{class_name(claim)}" not found'
        if storage_class.volume_binding_mode is None:
            return f'VolumeBindingMode not set for StorageClass "{class_name(claim)}"'
        if storage_class.volume_binding_mode != WAIT_FOR_CONSUMER:
            return "PersistentVolume had no name"
    return ""


def outside(cluster: Cluster, pod: Pod) -> Mask | None:
    """Rows of the node table in other zones than a volume of the pod; None if no volume says its zone."""
    nodes = cluster.nodes
    wanted = list(_wanted(cluster, pod))
    if not wanted:
        return None
    labelled = np.zeros(nodes.capacity, dtype=np.bool_)
    for key in LABELS:
        labelled |= nodes.labels.column(key) >= 0
    refused = np.zeros(nodes.capacity, dtype=np.bool_)
    for key, values in wanted:
        inside = np.zeros(nodes.capacity, dtype=np.bool_)
        for name in {key, CURRENT.get(key, key)}:
            inside |= np.isin(nodes.labels.column(name), [nodes.labels.code(name, value) for value in values])
        refused |= labelled & ~inside
    return refused


def _wanted(cluster: Cluster, pod: Pod) -> list[tuple[str, list[str]]]:
    found = []
    for volume in pod.spec.volumes:
        if volume.persistent_volume_claim is None:
            continue
        key = f"{pod.metadata.namespace}/{volume.persistent_volume_claim.claim_name}"
        claim = cluster.objects[CLAIMS].get(key)
        bound = cluster.objects[VOLUMES].get(claim.spec.volume_name) if claim is not None else None
        if bound is not None:
            labels = bound.metadata.labels
            found += [(label, labels[label].split("__")) for label in LABELS if label in labels]
    return found
