"""numa-aware: Guaranteed pods only go where the kubelet would admit them, best where few NUMA cells serve them.

The kubelet's rules are in policies.py and cpus.py; ledger.py knows which CPUs are free.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Final

import msgspec
import numpy as np

from volcano.api import keys, quantity
from volcano.scheduler.cluster.nodes import Column, Index, Mask, Rows
from volcano.scheduler.cluster.profiles import Profile
from volcano.scheduler.cluster.tasks import Status, Task
from volcano.scheduler.framework.plugin import Plugin, Scores, ScoreTerm
from volcano.scheduler.framework.reasons import FITS, Codes, Reason, Refusal, Stage
from volcano.scheduler.framework.session import Session
from volcano.scheduler.plugins.numa_aware import cpus, policies
from volcano.scheduler.plugins.numa_aware.ledger import NodeCpus, NumaLedger

if TYPE_CHECKING:
    from volcano.api.core import Container, Pod

SCORE: Final = 100


class Arguments(msgspec.Struct, frozen=True):
    weight: int = 1


class NumaAware(Plugin):
    name = "numa-aware"
    Arguments = Arguments
    watches = ("numatopologies",)

    def open(self, session: Session) -> None:
        self._ledger = session.cluster.index(NumaLedger)
        self._ledger.begin()
        for node, problem in self._ledger.problems.items():
            session.warn(f"numa-aware: Numatopology {node} cannot be used: {problem}")
        self._guaranteed: dict[int, bool] = {}
        self._found: dict[tuple[int, int, int, str], int | str] = {}
        """Assignments by profile, layout, available CPUs and policy: most nodes of a cluster look alike."""

    def filter(self, profile: Profile, rows: Rows) -> Codes:
        codes = np.full(len(rows), FITS, dtype=np.int32)
        if self._applies(profile):
            for position, row in enumerate(rows.index.tolist()):
                found = self._assignment(profile, row)
                if isinstance(found, str):
                    refusal = Refusal(self.name, found, resolvable=False)
                    codes[position] = self.session.refusals.code(refusal)
        return codes

    def couples_nodes(self, profile: Profile) -> bool:
        return self._applies(profile)  # each pod gets CPUs of its own: no two are placed at once

    def affected(self, profile: Profile, changed: Index) -> Index | None:
        return changed[:0]

    def score_terms(self, profile: Profile) -> Sequence[ScoreTerm]:
        if not self._applies(profile) or wanted_policy(profile.pod) in ("", policies.NONE):
            return ()
        return (ScoreTerm(self._cells, _fewer_is_better, weight=self.arguments.weight, own_rows=True),)

    def allocated(self, tasks: Sequence[Task]) -> Reason | None:
        for task in tasks:
            if not self._applies(task.profile) or task.status not in (Status.ALLOCATED, Status.PIPELINED):
                continue
            found = self._assignment(task.profile, task.node)
            if isinstance(found, str):
                return Reason(Stage.DEVICE, "NoCpus", blocker=task.node_name, message=found)
            self._ledger.assign(task, found)
        return None

    def deallocated(self, tasks: Sequence[Task]) -> None:
        for task in tasks:
            if task.status in (Status.ALLOCATED, Status.PIPELINED):
                self._ledger.release(task)

    # Inside

    def _applies(self, profile: Profile) -> bool:
        guaranteed = self._guaranteed.get(profile.id)
        if guaranteed is None:
            guaranteed = self._guaranteed[profile.id] = is_guaranteed(profile.pod)
        return guaranteed and (bool(self._ledger) or wanted_policy(profile.pod) not in ("", policies.NONE))

    def _cells(self, profile: Profile, rows: Rows) -> Column:
        """How many NUMA cells would serve the pod on each node."""
        return np.fromiter((self._number_of_cells(profile, row) for row in rows.index.tolist()), np.int64, len(rows))

    def _number_of_cells(self, profile: Profile, row: int) -> int:
        found = self._assignment(profile, row)
        node = self._ledger.at(self.nodes.names[row])
        return 0 if node is None or isinstance(found, str) else node.layout.cells_of(found).bit_count()

    def _assignment(self, profile: Profile, row: int) -> int | str:
        """The CPUs that the pod would get (none where nothing is assigned), or why it gets none."""
        node = self._ledger.at(self.nodes.names[row])
        wanted = wanted_policy(profile.pod)
        if wanted in ("", policies.NONE):
            if node is None or not node.is_static or node.policy in ("", policies.NONE):
                return 0
            return self._assign(profile, node, node.policy)
        problem = _mismatch(node, wanted)
        return problem if problem or node is None else self._assign(profile, node, wanted)

    def _assign(self, profile: Profile, node: NodeCpus, policy: str) -> int | str:
        key = (profile.id, id(node.layout), node.available, policy)
        found = self._found.get(key)
        if found is None:
            found = self._found[key] = _assign(node, profile.pod, policy)
        return found


def _mismatch(node: NodeCpus | None, wanted: str) -> str:
    if node is None:
        return "numa info is empty"
    if not node.is_static:
        return "cpu manager policy isn't static"
    if node.policy != wanted:
        return f"task topology policy[{wanted}] is different with node[{node.policy}]"
    if not node.layout.cells:
        return "no topo information"
    return "" if node.free else "cpu allocatable map is empty"


def _assign(node: NodeCpus, pod: Pod, policy: str) -> int | str:
    available, assigned = node.available, 0
    for container in pod.spec.containers:
        number = whole_cpus(container)
        if number == 0:
            continue
        hints = cpus.hints(node.layout, available, number)
        best, admitted = policies.choose(policy, [{"cpu": hints}], list(node.layout.cells))
        taken = cpus.take_near(node.layout, available, best.cells, number) if admitted else None
        if taken is None:
            return f"container {container.name} cannot be assigned by numa"
        assigned |= taken
        available &= ~taken
    return assigned


def whole_cpus(container: Container) -> int:
    """Exclusive CPUs; a fraction is served from the shared ones and asks for none."""
    milli = quantity.milli(container.resources.requests.get("cpu", container.resources.limits.get("cpu", 0)))
    return milli // 1000 if milli % 1000 == 0 else 0


def wanted_policy(pod: Pod) -> str:
    return pod.metadata.annotations.get(keys.NUMA_TOPOLOGY_POLICY, "")


def is_guaranteed(pod: Pod) -> bool:
    """Whether every container has limits for CPU and memory, and requests no less."""
    if pod.status.qos_class:
        return pod.status.qos_class == "Guaranteed"
    return bool(pod.spec.containers) and all(_has_all(c) for c in (*pod.spec.containers, *pod.spec.init_containers))


def _has_all(container: Container) -> bool:
    return all(limit > 0 and request == limit for request, limit in _pairs(container))


def _pairs(container: Container) -> Iterator[tuple[int, int]]:
    resources = container.resources
    for name in ("cpu", "memory"):
        limit = resources.limits.get(name, 0)
        yield quantity.milli(resources.requests.get(name, limit)), quantity.milli(limit)


def _fewer_is_better(cells: Column, feasible: Mask) -> Scores:
    largest = int(cells[feasible].max()) if feasible.any() else 0
    if largest == 0:
        return np.full(len(cells), float(SCORE))
    return np.asarray(SCORE - SCORE * cells // largest, dtype=np.float64)
