"""pdb: evictions stay within the PodDisruptionBudgets of their namespaces."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

from volcano.scheduler.cluster.selectors import selects
from volcano.scheduler.cluster.tasks import Status, Task
from volcano.scheduler.framework.plugin import Plugin
from volcano.scheduler.framework.session import Session

if TYPE_CHECKING:
    from volcano.api.core import PodDisruptionBudget


class DisruptionBudgets(Plugin):
    name = "pdb"
    watches = ("poddisruptionbudgets",)
    protects = True

    def open(self, session: Session) -> None:
        self._budgets: defaultdict[str, list[PodDisruptionBudget]] = defaultdict(list)
        for budget in session.cluster.objects["poddisruptionbudgets"].values():
            selector = budget.spec.selector
            if selector is not None and (selector.match_labels or selector.match_expressions):
                self._budgets[budget.metadata.namespace].append(budget)
        self._spent: defaultdict[str, int] = defaultdict(int)
        """Per budget, how many evictions of this session it has paid for."""

    def preemptable(self, claimant: Task, candidates: Sequence[Task]) -> Sequence[Task]:
        """As many of the candidates, in order, as every budget that covers them allows."""
        spent = dict(self._spent)
        victims = []
        for task in candidates:
            covering = list(self._covering(task))
            if all(spent.get(budget.metadata.key, 0) < budget.status.disruptions_allowed for budget in covering):
                victims.append(task)
                for budget in covering:
                    spent[budget.metadata.key] = spent.get(budget.metadata.key, 0) + 1
        return victims

    reclaimable = preemptable

    def deallocated(self, tasks: Sequence[Task]) -> None:
        if tasks[0].status is Status.RELEASING:
            self._spend(tasks, 1)

    def allocated(self, tasks: Sequence[Task]) -> None:
        if tasks[0].status in (Status.BOUND, Status.RUNNING):  # an eviction that was taken back
            self._spend(tasks, -1)

    def _spend(self, tasks: Sequence[Task], number: int) -> None:
        for task in tasks:
            for budget in self._covering(task):
                self._spent[budget.metadata.key] += number

    def _covering(self, task: Task) -> Iterator[PodDisruptionBudget]:
        """Budgets that an eviction of the task is charged to; not those that it has been charged to already."""
        for budget in self._budgets.get(task.namespace, ()):
            if task.name not in budget.status.disrupted_pods and selects(
                budget.spec.selector, task.pod.metadata.labels
            ):
                yield budget
