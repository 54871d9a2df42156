"""Free CPUs of each node: what its Numatopology says, less what pods got that it does not list yet."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING

from volcano.api import quantity
from volcano.scheduler.cluster.tasks import Status, Task
from volcano.scheduler.plugins.numa_aware import bits, cpus
from volcano.scheduler.plugins.numa_aware.cpus import Layout

if TYPE_CHECKING:
    from volcano.api.nodeinfo import CpuInfo, Numatopology
    from volcano.scheduler.cluster.cluster import Cluster


@dataclass(slots=True)
class NodeCpus:
    source: Numatopology
    layout: Layout
    reserved: int
    listed: int
    """Free, as the node's agent reports it."""
    free: int = 0

    @property
    def is_static(self) -> bool:
        return self.source.spec.policies.get("CPUManagerPolicy") == "static"

    @property
    def policy(self) -> str:
        return self.source.spec.policies.get("TopologyManagerPolicy", "")

    @property
    def available(self) -> int:
        return self.free & ~self.reserved


class NumaLedger:
    """One for a cluster."""

    def __init__(self, cluster: Cluster) -> None:
        self._cluster = cluster
        self._nodes: dict[str, NodeCpus] = {}
        self._layouts: dict[tuple[tuple[str, int, int, int], ...], Layout] = {}
        """Machines of one kind share theirs."""
        self._assigned: dict[str, tuple[str, int]] = {}
        """By pod uid: its node and CPUs, from the decision until the node's agent lists the pod."""
        self.problems: dict[str, str] = {}
        """Nodes whose report cannot be understood."""

    def begin(self) -> None:
        """A session begins."""
        reports: dict[str, Numatopology] = self._cluster.objects["numatopologies"]
        self._nodes = {name: cpus for name, cpus in self._nodes.items() if reports.get(name) is cpus.source}
        self.problems = {name: text for name, text in self.problems.items() if name in reports}
        for name, report in reports.items():
            if name not in self._nodes:
                self._read(name, report)
        for node in self._nodes.values():
            node.free = node.listed
        for uid, (name, taken) in list(self._assigned.items()):
            if not self._is_open(uid, name):
                del self._assigned[uid]
            elif name in self._nodes:
                self._nodes[name].free &= ~taken

    def __bool__(self) -> bool:
        return bool(self._nodes)

    def at(self, node: str) -> NodeCpus | None:
        return self._nodes.get(node)

    def assign(self, task: Task, taken: int) -> None:
        node = self._nodes.get(task.node_name)
        if node is not None and taken:
            node.free &= ~taken
            self._assigned[task.uid] = (task.node_name, taken)

    def release(self, task: Task) -> None:
        """What was decided in this session is undone."""
        name, taken = self._assigned.pop(task.uid, ("", 0))
        if name in self._nodes:
            self._nodes[name].free |= taken

    def _read(self, name: str, report: Numatopology) -> None:
        spec = report.spec
        try:
            layout = self._layout(spec.cpu_detail)
            cpu = spec.numares.get("cpu")
            listed = bits.parse(cpu.allocatable) if cpu is not None else 0
            kept = -(-quantity.milli(spec.res_reserved.get("cpu", "0")) // 1000)
        except (bits.CpuSetError, quantity.QuantityError, ValueError) as problem:
            self.problems[name] = str(problem)
            return
        self.problems.pop(name, None)
        reserved = cpus.take(layout, layout.all, kept) or 0
        self._nodes[name] = NodeCpus(report, layout, reserved, listed)

    def _layout(self, detail: Mapping[str, CpuInfo]) -> Layout:
        key = tuple((name, info.numa, info.socket, info.core) for name, info in sorted(detail.items()))
        layout = self._layouts.get(key)
        if layout is None:
            layout = self._layouts[key] = Layout.of(detail)
        return layout

    def _is_open(self, uid: str, name: str) -> bool:
        task = self._cluster.tasks.get(uid)
        if task is None or task.status is Status.PENDING or task.node_name != name:
            return False
        node = self._nodes.get(name)
        if node is None:
            return True
        pods = node.source.spec.pod_allocations
        return not any(pod.uid == uid or (pod.namespace, pod.name) == (task.namespace, task.name) for pod in pods)
