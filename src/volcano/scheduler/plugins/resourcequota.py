"""resourcequota: a job enters its queue only if the quotas of its namespace can admit its minimum."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Mapping
from typing import Any

from volcano.api import quantity
from volcano.api.quantity import Quantity, readable
from volcano.scheduler.cluster.jobs import Job
from volcano.scheduler.framework.plugin import Plugin, Vote
from volcano.scheduler.framework.reasons import Reason, Stage
from volcano.scheduler.framework.session import Session

Amounts = dict[str, Quantity]
ZERO = Quantity(0)


class ResourceQuotas(Plugin):
    """Names must be spelled as the quota spells them: `cpu` and `requests.cpu` are different resources."""

    name = "resourcequota"
    watches = ("resourcequotas",)

    def open(self, session: Session) -> None:
        self._claimed: defaultdict[str, Amounts] = defaultdict(dict)
        """Per namespace, what jobs that were let in during this session will ask for."""
        self._quotas: defaultdict[str, list[Any]] = defaultdict(list)
        for quota in session.cluster.objects["resourcequotas"].values():
            self._quotas[quota.metadata.namespace].append(quota)

    def job_enqueueable(self, job: Job) -> Vote | Reason:
        wanted = _minimum(job)
        if wanted is None:
            return Vote.PERMIT
        for quota in self._quotas[job.namespace]:
            refused = self._refusal(job, wanted, quota)
            if refused is not None:
                return refused
        return Vote.PERMIT

    def job_enqueued(self, job: Job) -> None:
        wanted = _minimum(job)
        if wanted is not None and self._quotas[job.namespace]:
            claimed = self._claimed[job.namespace]
            for name, amount in wanted.items():
                claimed[name] = claimed.get(name, ZERO) + amount

    def _refusal(self, job: Job, wanted: Amounts, quota: Any) -> Reason | None:
        hard, used = _amounts(quota.status.hard), _amounts(quota.status.used)
        claimed = self._claimed[job.namespace]
        total = {
            name: used.get(name, ZERO) + claimed.get(name, ZERO) + amount
            for name, amount in wanted.items()
            if name in hard
        }
        over = sorted(name for name, amount in total.items() if amount > hard[name])
        if not over:
            return None
        text = (
            f"resource quota insufficient, requested: {_listed(wanted, over)}, "
            f"used: {_listed(used, over)}, limited: {_listed(hard, over)}"
        )
        self.session.tell_pod_group(job, "Unschedulable", text)
        first = over[0]
        return Reason(
            Stage.ENQUEUE,
            "ResourceQuotaExceeded",
            need=total[first].milli / 1000,
            have=hard[first].milli / 1000,
            blocker=quota.metadata.key,
            message=text,
            resource=first,
            amounts=(readable(first, total[first]), readable(first, hard[first])),
        )


def _minimum(job: Job) -> Amounts | None:
    resources = job.pod_group.spec.min_resources if job.pod_group else None
    return None if resources is None else _amounts(resources)


def _amounts(resources: Mapping[str, Any]) -> Amounts:
    return {name: quantity.parse(value) for name, value in resources.items()}


def _listed(amounts: Amounts, names: Iterable[str]) -> str:
    return ",".join(f"{name}={amounts[name]}" for name in names if name in amounts)
