"""Volumes for claims that wait for their pod: on which node which volume, or else whether one can be made there."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from volcano.api import keys, quantity
from volcano.scheduler.cluster.nodes import Mask, NodeTable
from volcano.scheduler.cluster.selectors import selects
from volcano.scheduler.plugins.kubernetes import node_terms
from volcano.scheduler.plugins.kubernetes.volumes.claims import VOLUMES, class_name, class_of

if TYPE_CHECKING:
    from volcano.api.core import PersistentVolume, PersistentVolumeClaim, StorageClass
    from volcano.scheduler.cluster.cluster import Cluster


@dataclass(frozen=True, slots=True)
class Match:
    """What one claim finds, per row of the node table."""

    claim: PersistentVolumeClaim
    choices: tuple[tuple[PersistentVolume, Mask], ...]
    """Volumes with the rows where each is the one to take."""
    provisioned: Mask
    """Rows where a volume will be made."""
    too_small: Mask
    """Rows where one could be made, were there room for it."""

    @property
    def served(self) -> Mask:
        served = self.provisioned.copy()
        for _, rows in self.choices:
            served |= rows
        return served

    def volume_at(self, row: int) -> PersistentVolume | None:
        return next((volume for volume, rows in self.choices if rows[row]), None)


def match(cluster: Cluster, claims: Sequence[PersistentVolumeClaim], taken: Collection[str]) -> list[Match]:
    """For each claim, the smaller ones first. Volumes in `taken` are promised to others."""
    used: dict[str, Mask] = {}
    return [_match(cluster, claim, taken, used) for claim in sorted(claims, key=_size)]


def volume_rows(nodes: NodeTable, volume: PersistentVolume) -> Mask:
    """The nodes from which the volume can be reached."""
    affinity = volume.spec.node_affinity
    if affinity is None or affinity.required is None:
        return np.ones(nodes.capacity, dtype=np.bool_)
    return node_terms.selects(nodes, affinity.required)


def _match(cluster: Cluster, claim: PersistentVolumeClaim, taken: Collection[str], used: dict[str, Mask]) -> Match:
    nodes = cluster.nodes
    volumes: list[PersistentVolume] = list(cluster.objects[VOLUMES].values())
    open_rows = np.ones(nodes.capacity, dtype=np.bool_)
    choices: list[tuple[PersistentVolume, Mask]] = []
    bound_before = [volume for volume in volumes if _is_meant_for(volume, claim)]
    candidates = bound_before or sorted((v for v in volumes if _suits(v, claim, taken)), key=_capacity)
    for volume in candidates:
        name = volume.metadata.name
        rows = open_rows & volume_rows(nodes, volume)
        if name in used:
            rows &= ~used[name]
        if rows.any():
            choices.append((volume, rows))
            used[name] = used.get(name, np.zeros_like(rows)) | rows
            open_rows &= ~rows
    if bound_before:
        open_rows[:] = False
    provisioned, too_small = _provisioning(cluster, claim, open_rows)
    return Match(claim, tuple(choices), provisioned, too_small)


def _is_meant_for(volume: PersistentVolume, claim: PersistentVolumeClaim) -> bool:
    reference = volume.spec.claim_ref
    if reference is None or (reference.namespace, reference.name) != (claim.metadata.namespace, claim.metadata.name):
        return False
    return not reference.uid or reference.uid == claim.metadata.uid


def _suits(volume: PersistentVolume, claim: PersistentVolumeClaim, taken: Collection[str]) -> bool:
    spec, wanted = volume.spec, claim.spec
    if volume.metadata.name in taken or spec.claim_ref is not None or volume.status.phase != "Available":
        return False
    return (
        volume.metadata.deletion_timestamp is None
        and spec.storage_class_name == class_name(claim)
        and _capacity(volume) >= _size(claim)
        and (spec.volume_mode or "Filesystem") == (wanted.volume_mode or "Filesystem")
        and (spec.volume_attributes_class_name or "") == (wanted.volume_attributes_class_name or "")
        and (wanted.selector is None or selects(wanted.selector, volume.metadata.labels))
        and set(wanted.access_modes) <= set(spec.access_modes)
    )


def _provisioning(cluster: Cluster, claim: PersistentVolumeClaim, among: Mask) -> tuple[Mask, Mask]:
    nobody = np.zeros_like(among)
    storage_class = class_of(cluster, claim)
    if storage_class is None or storage_class.provisioner in ("", keys.NO_PROVISIONER) or not among.any():
        return nobody, nobody
    rows = among & _allowed(cluster.nodes, storage_class)
    driver = cluster.objects["csidrivers"].get(storage_class.provisioner)
    if driver is None or not driver.spec.storage_capacity:
        return rows, nobody
    roomy = rows & _with_capacity(cluster, storage_class, _size(claim))
    return roomy, rows & ~roomy


def _allowed(nodes: NodeTable, storage_class: StorageClass) -> Mask:
    """Where the class may make volumes: any of its topology terms, each with all of its labels."""
    if not storage_class.allowed_topologies:
        return np.ones(nodes.capacity, dtype=np.bool_)
    allowed = np.zeros(nodes.capacity, dtype=np.bool_)
    for term in storage_class.allowed_topologies:
        meets = np.ones(nodes.capacity, dtype=np.bool_)
        for requirement in term.match_label_expressions:
            codes = [nodes.labels.code(requirement.key, value) for value in requirement.values]
            meets &= np.isin(nodes.labels.column(requirement.key), codes)
        allowed |= meets
    return allowed


def _with_capacity(cluster: Cluster, storage_class: StorageClass, size: int) -> Mask:
    nodes = cluster.nodes
    found = np.zeros(nodes.capacity, dtype=np.bool_)
    for capacity in cluster.objects["csistoragecapacities"].values():
        limit = capacity.maximum_volume_size if capacity.maximum_volume_size is not None else capacity.capacity
        if capacity.storage_class_name != storage_class.metadata.name or limit is None:
            continue
        if quantity.units(limit) < size:
            continue
        for row, node in enumerate(nodes.objects):
            if node is not None and selects(capacity.node_topology, node.metadata.labels):
                found[row] = True
    return found


def _size(claim: PersistentVolumeClaim) -> int:
    return quantity.units(claim.spec.resources.requests.get("storage", 0))


def _capacity(volume: PersistentVolume) -> int:
    return quantity.units(volume.spec.capacity.get("storage", 0))
