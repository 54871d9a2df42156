"""The books of all devices: who holds which ones, by node. Kept beside the cluster's tables, from session to session.

What a pod holds is what its annotations say; a grant counts from its decision until the pod shows it.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING

from volcano.scheduler.cluster.tasks import Status, Task
from volcano.scheduler.plugins.deviceshare.device import Devices, Family

if TYPE_CHECKING:
    from volcano.scheduler.cluster.cluster import Cluster


class DeviceLedger:
    """One for a cluster. Rows are read from their node and its pods when somebody first asks about them."""

    def __init__(self, cluster: Cluster) -> None:
        self._cluster = cluster
        self._families: tuple[Family, ...] = ()
        self._rows: dict[int, dict[str, Devices]] = {}
        self._cursor = 0
        self.grants: dict[str, Mapping[str, str]] = {}
        """By pod uid."""

    def begin(self, families: Sequence[Family]) -> None:
        """A session begins: rows that have changed since the last one, its own trials among them, are read anew."""
        changes = self._cluster.nodes.changes
        changed = changes.since(self._cursor)
        self._cursor = changes.cursor
        if changed is None or tuple(families) != self._families:
            self._rows.clear()
        else:
            for row in changed.tolist():
                self._rows.pop(row, None)
        self._families = tuple(families)
        self.grants = {uid: grant for uid, grant in self.grants.items() if self._is_open(uid, grant)}

    def at(self, row: int) -> Mapping[str, Devices]:
        """The devices of a node, by family."""
        devices = self._rows.get(row)
        if devices is None:
            devices = self._rows[row] = dict(self._read(row))
        return devices

    def charge(self, task: Task) -> None:
        """The task holds what it was granted, or what its pod shows."""
        annotations = self.grants.get(task.uid, task.pod.metadata.annotations)
        for devices in self.at(task.node).values():
            devices.charge(task.uid, task.pod, annotations)

    def release(self, task: Task) -> None:
        for devices in self.at(task.node).values():
            devices.release(task.uid)

    def _read(self, row: int) -> Iterator[tuple[str, Devices]]:
        node = self._cluster.nodes.objects[row]
        if node is None:
            return
        tasks = self._cluster.nodes.tasks[row].values()
        for family in self._families:
            devices = family.on_node(node)
            if devices is None:
                continue
            for task in tasks:
                devices.charge(task.uid, task.pod, self.grants.get(task.uid, task.pod.metadata.annotations))
            yield family.name, devices

    def _is_open(self, uid: str, grant: Mapping[str, str]) -> bool:
        """Decided, and not visible in the pod yet."""
        task = self._cluster.tasks.get(uid)
        if task is None or task.status is Status.PENDING:
            return False
        return not grant.items() <= task.pod.metadata.annotations.items()
