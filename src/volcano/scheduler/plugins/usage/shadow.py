"""What pods that were just placed are going to use, per node, until the monitor sees them.

Each pod's estimate is kept, and a node's sum is made anew from them, so that taking one back leaves no trace.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from volcano.scheduler.cluster.tasks import Task


class Shadow:
    def __init__(self, capacity: int) -> None:
        self.cpu: NDArray[np.float64] = np.zeros(capacity)
        """Milli-CPU per row."""
        self.memory: NDArray[np.float64] = np.zeros(capacity)
        self._pods: dict[int, dict[str, tuple[float, float]]] = {}
        self._row_of: dict[str, int] = {}

    def add(self, task: Task, milli_cpu: float, memory_bytes: float) -> None:
        self.remove(task)
        self._row_of[task.uid] = task.node
        self._pods.setdefault(task.node, {})[task.uid] = (milli_cpu, memory_bytes)
        self._sum_up(task.node)

    def remove(self, task: Task) -> None:
        row = self._row_of.pop(task.uid, None)
        if row is not None:
            del self._pods[row][task.uid]
            self._sum_up(row)

    def _sum_up(self, row: int) -> None:
        cpu = memory = 0.0
        for milli_cpu, memory_bytes in self._pods[row].values():
            cpu += milli_cpu
            memory += memory_bytes
        self.cpu[row], self.memory[row] = cpu, memory
