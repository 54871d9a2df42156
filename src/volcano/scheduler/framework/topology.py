"""What a session knows about topology: the tree of domains, how far each job may spread, and where it lives already."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from volcano.scheduler.cluster.hypernodes import HyperNodes, Topology
from volcano.scheduler.cluster.jobs import Job, SubJob
from volcano.scheduler.cluster.nodes import Index
from volcano.scheduler.cluster.tasks import ALLOCATED_STATUSES, NO_NODE, Status, Task
from volcano.scheduler.framework.reasons import Reason, Stage

if TYPE_CHECKING:
    from volcano.api.batch import NetworkTopologySpec
    from volcano.scheduler.framework.session import Session


@dataclass(frozen=True, slots=True)
class Limit:
    """The highest tier that the members may span. A soft wish is a limit at the root: all domains are allowed."""

    tier: int


class SessionTopology:
    def __init__(self, session: Session) -> None:
        self.session = session
        self.tree: HyperNodes = session.cluster.index(Topology).tree()
        self._limits: dict[int, Limit | None] = {}

    @property
    def root_tier(self) -> int:
        return self.tree.tiers[-1]

    def problem(self, job: Job) -> Reason | None:
        """Why a job that asks for topology cannot have it now."""
        if not job.has_topology:
            return None
        if self.tree.problems:
            return Reason(Stage.TOPOLOGY, "HyperNodesNotReady", message="; ".join(self.tree.problems))
        for spec in _specs(job):
            if spec.highest_tier_name and spec.highest_tier_allowed is None and self._tier(spec) is None:
                text = f"no hypernode has the tier name {spec.highest_tier_name!r} (networkTopology.highestTierName)"
                return Reason(Stage.TOPOLOGY, "TierUnknown", blocker=spec.highest_tier_name, message=text)
        return None

    def limit(self, subject: Job | SubJob) -> Limit | None:
        """None: it may be placed anywhere."""
        if id(subject) not in self._limits:
            self._limits[id(subject)] = self._limit(subject)
        return self._limits[id(subject)]

    def is_structured(self, job: Job) -> bool:
        """Whether domains or sub-groups have a say in where its tasks go."""
        return bool(job.policies) or self.limit(job) is not None

    def locate(self, job: Job) -> None:
        """Find the domains in which the job and its sub-jobs live, from the nodes that their members have."""
        for sub_job in job.sub_jobs.values():
            sub_job.allocated_hypernode = self.tree.smallest_holding(rows_of(sub_job))
        job.allocated_hypernode = ""
        for sub_job in job.sub_jobs.values():
            job.allocated_hypernode = self.tree.common(job.allocated_hypernode, sub_job.allocated_hypernode)

    def nominate(self, job: Job) -> None:
        """Room has been made on the nodes that its members have now: it comes back to these domains."""
        if self.is_structured(job):
            for sub_job in job.sub_jobs.values():
                sub_job.nominated_hypernode = self.tree.smallest_holding(rows_of(sub_job))

    def recall(self, job: Job) -> None:
        """`nominate`, from the nodes that are promised: a scheduler that takes over knows no more than these."""
        if not self.is_structured(job):
            return
        row_of = self.session.nodes.row_of
        for sub_job in job.sub_jobs.values():
            promised = {row_of[task.promised] for task in sub_job.tasks.values() if task.promised in row_of}
            if promised and not sub_job.nominated_hypernode:
                rows = np.union1d(rows_of(sub_job), sorted(promised)).astype(np.intp)
                sub_job.nominated_hypernode = self.tree.smallest_holding(rows)

    def reachable(self, task: Task) -> Index:
        """Nodes where the task could live with the members of its job that have a place, as far as each may spread."""
        rows: Index = self.session.rows
        if task.job is None or task.sub_job is None or not task.job.has_topology:
            return rows
        everybody = np.unique(np.concatenate([rows_of(sub_job) for sub_job in task.job.sub_jobs.values()]))
        for subject, members in ((task.job, everybody), (task.sub_job, rows_of(task.sub_job))):
            limit = self.limit(subject)
            if limit is not None:
                rows = np.intersect1d(rows, self._around(members, limit.tier))
        return rows

    def _around(self, members: Index, tier: int) -> Index:
        """The nodes of the largest domain up to this tier that holds the members, or of all such domains."""
        tree = self.tree
        around = tree.ancestors(tree.smallest_holding(members)) if len(members) else list(tree.domains)
        found = [tree[name] for name in around if tree[name].tier <= tier]
        return np.unique(np.concatenate([domain.rows for domain in found])) if found else np.empty(0, dtype=np.intp)

    def _limit(self, subject: Job | SubJob) -> Limit | None:
        if isinstance(subject, Job):
            spec = subject.pod_group.spec.network_topology if subject.pod_group else None
            above = None
        elif subject.policy is None:
            return self.limit(subject.job)
        else:
            spec = subject.policy.network_topology
            above = self.limit(subject.job)
        if spec is None:
            return None
        if spec.mode == "soft":
            return above or Limit(self.root_tier)
        tier = self._tier(spec)
        return Limit(tier) if tier is not None else None

    def _tier(self, spec: NetworkTopologySpec) -> int | None:
        if spec.highest_tier_allowed is not None:
            return spec.highest_tier_allowed
        return self.tree.tier_numbers.get(spec.highest_tier_name)


def rows_of(sub_job: SubJob) -> Index:
    """The nodes that its members hold."""
    statuses = {*ALLOCATED_STATUSES, Status.PIPELINED}
    rows = {task.node for task in sub_job.tasks.values() if task.node != NO_NODE and task.status in statuses}
    return np.array(sorted(rows), dtype=np.intp)


def _specs(job: Job) -> list[NetworkTopologySpec]:
    group = job.pod_group
    if group is None:
        return []
    specs = [group.spec.network_topology, *(policy.network_topology for policy in group.spec.sub_group_policy)]
    return [spec for spec in specs if spec is not None]
