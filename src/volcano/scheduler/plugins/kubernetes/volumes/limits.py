"""Volume limits: a node attaches only so many volumes of a CSI driver."""

from __future__ import annotations

from collections import defaultdict
from typing import TYPE_CHECKING

import numpy as np

from volcano.scheduler.cluster.nodes import Mask, Rows
from volcano.scheduler.cluster.profiles import Profile
from volcano.scheduler.plugins.kubernetes.volumes.claims import CLAIMS, VOLUMES, claim_names, class_of

if TYPE_CHECKING:
    from volcano.api.core import CsiNode, Pod
    from volcano.scheduler.cluster.cluster import Cluster

Attached = set[tuple[str, str]]
"""(driver, handle) of volumes."""


class VolumeLimits:
    """For one session: nodes without limits cost nothing, those with some count the volumes of their pods."""

    def __init__(self, cluster: Cluster) -> None:
        self._cluster = cluster
        self._limited: dict[int, dict[str, int]] = {}
        for name, csi_node in cluster.objects["csinodes"].items():
            row = cluster.nodes.row_of.get(name)
            limits = _limits(csi_node)
            if row is not None and limits:
                self._limited[row] = limits
        self._needed: dict[int, Attached] = {}

    def applies(self, profile: Profile) -> bool:
        return bool(self._limited) and any(True for _ in claim_names(profile.pod))

    def exceeded(self, profile: Profile, rows: Rows) -> Mask:
        needed = self._needed.get(profile.id)
        if needed is None:
            needed = self._needed[profile.id] = self._volumes(profile.pod)
        return np.fromiter((self._is_full(row, needed) for row in rows.index.tolist()), np.bool_, len(rows))

    def _is_full(self, row: int, needed: Attached) -> bool:
        limits = self._limited.get(row)
        if not limits or not needed:
            return False
        attached: Attached = set()
        for task in self._cluster.nodes.tasks[row].values():
            attached |= self._volumes(task.pod)
        totals: defaultdict[str, int] = defaultdict(int)
        for driver, _ in attached | needed | self._attachments(row):
            totals[driver] += 1
        fresh = {driver for driver, handle in needed if (driver, handle) not in attached}
        return any(totals[driver] > limits[driver] for driver in fresh if driver in limits)

    def _attachments(self, row: int) -> Attached:
        """Volumes that are attached to the node already, by whatever pod."""
        name = self._cluster.nodes.names[row]
        found: Attached = set()
        for attachment in self._cluster.objects["volumeattachments"].values():
            volume_name = attachment.spec.source.persistent_volume_name
            if attachment.spec.node_name == name and volume_name:
                volume = self._cluster.objects[VOLUMES].get(volume_name)
                if volume is not None and volume.spec.csi is not None:
                    found.add((volume.spec.csi.driver, volume.spec.csi.volume_handle))
        return found

    def _volumes(self, pod: Pod) -> Attached:
        found: Attached = set()
        for name, _ in claim_names(pod):
            claim = self._cluster.objects[CLAIMS].get(f"{pod.metadata.namespace}/{name}")
            if claim is None:
                continue
            volume = self._cluster.objects[VOLUMES].get(claim.spec.volume_name)
            if volume is not None and volume.spec.csi is not None:
                found.add((volume.spec.csi.driver, volume.spec.csi.volume_handle))
            elif volume is None:
                storage_class = class_of(self._cluster, claim)
                if storage_class is not None and storage_class.provisioner:
                    found.add((storage_class.provisioner, f"{claim.metadata.key} (not made yet)"))
        return found


def _limits(csi_node: CsiNode) -> dict[str, int]:
    return {
        driver.name: driver.allocatable.count
        for driver in csi_node.spec.drivers
        if driver.allocatable is not None and driver.allocatable.count is not None
    }
