"""Image locality: nodes that have a pod's images need not pull them."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

import numpy as np

from volcano.scheduler.cluster.nodes import Column, NodeTable
from volcano.scheduler.plugins.kubernetes.resources import NODE_SCORE_MAX

if TYPE_CHECKING:
    from volcano.api.core import Pod
    from volcano.scheduler.cluster.cluster import Cluster

SMALLEST: Final = 23 << 20
LARGEST_PER_CONTAINER: Final = 1000 << 20
"""Sums of image sizes between these two (bytes) make the score."""


class Images:
    """Which node has which image, and how large it is: one for a cluster, repaired where nodes changed."""

    def __init__(self, cluster: Cluster) -> None:
        self._nodes: NodeTable = cluster.nodes
        self._sizes: dict[str, dict[int, int]] = {}
        self._names: dict[int, tuple[str, ...]] = {}
        self._cursor = -1

    def refresh(self) -> None:
        """Catch up with nodes that changed; called when a session opens."""
        changes = self._nodes.object_changes
        if changes.cursor == self._cursor:
            return
        changed = changes.since(self._cursor) if self._cursor >= 0 else None
        self._cursor = changes.cursor
        for row in range(self._nodes.capacity) if changed is None else changed.tolist():
            self._read(row)

    def score(self, pod: Pod) -> Column | None:
        """0 to 100 per row of the table; None if no node has any of the images."""
        containers = [*pod.spec.init_containers, *pod.spec.containers]
        total = np.zeros(self._nodes.capacity, dtype=np.int64)
        found = False
        number = max(len(self._nodes), 1)
        for container in containers:
            sizes = self._sizes.get(normalized_name(container.image)) if container.image else None
            if sizes:
                found = True
                rows = np.fromiter(sizes, dtype=np.intp, count=len(sizes))
                share = len(sizes) / number
                total[rows] += (np.fromiter(sizes.values(), dtype=np.int64, count=len(sizes)) * share).astype(np.int64)
        if not found:
            return None
        largest = LARGEST_PER_CONTAINER * len(containers)
        return np.asarray(NODE_SCORE_MAX * (np.clip(total, SMALLEST, largest) - SMALLEST) // (largest - SMALLEST))

    def _read(self, row: int) -> None:
        node = self._nodes.objects[row]
        for name in self._names.pop(row, ()):
            self._sizes[name].pop(row, None)
        if node is None or not node.status.images:
            return
        names: list[str] = []
        for image in node.status.images:
            for name in image.names:
                self._sizes.setdefault(name, {})[row] = image.size_bytes
                names.append(name)
        self._names[row] = tuple(names)


def normalized_name(image: str) -> str:
    """With `:latest` where no tag is given."""
    return image if image.rfind(":") > image.rfind("/") else f"{image}:latest"
