"""tdm: revocable nodes take preemptable work during their daily window, and are cleared when it has closed.

Nodes name their zone in a label, the arguments give each zone its window (window.py).
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Any, ClassVar, Final

import msgspec
import numpy as np

from volcano.api import duration, keys
from volcano.scheduler.cluster.jobs import Job
from volcano.scheduler.cluster.nodes import Rows
from volcano.scheduler.cluster.profiles import Profile
from volcano.scheduler.cluster.tasks import Status, Task, revocable_zone
from volcano.scheduler.framework.plugin import Plugin, Scores, SortKey, Vote
from volcano.scheduler.framework.reasons import FITS, Codes, Refusal
from volcano.scheduler.framework.session import Session
from volcano.scheduler.plugins.tdm import window
from volcano.scheduler.plugins.tdm.disruption import largest_disruption

if TYPE_CHECKING:
    from volcano.scheduler.cluster.cluster import Cluster

PREFIX: Final = "tdm.revocable-zone."
DEFAULT_PERIOD_SECONDS: Final = 60.0
SCORE: Final = 100.0
NOT_REVOCABLE: Final = Refusal("tdm", "not allow to dispatch to revocable node", resolvable=False)


class Arguments(msgspec.Struct, frozen=True):
    prefixes: ClassVar[tuple[str, ...]] = (PREFIX,)

    period: str = msgspec.field(default="1m", name="tdm.evict.period")
    rest: dict[str, Any] = msgspec.field(default_factory=dict)


class LastEviction:
    """When closed zones were last cleared: one for a cluster, so that it is not done in every cycle."""

    def __init__(self, _cluster: Cluster) -> None:
        self.at = float("-inf")

    def shift_times(self, seconds: float) -> None:
        self.at += seconds


class TimeDivision(Plugin):
    name = "tdm"
    Arguments = Arguments

    def open(self, session: Session) -> None:
        self._period = self._eviction_period()
        self._zones: dict[str, str] = {}
        """Per configured zone why it is closed; empty: it is open."""
        for key, text in self.arguments.rest.items():
            self._zones[key.removeprefix(PREFIX)] = self._closed(key.removeprefix(PREFIX), text)

    # Nodes

    def filter(self, profile: Profile, rows: Rows) -> Codes:
        refusals, labels = self.session.refusals, self.nodes.labels
        zone_of = labels.column(keys.REVOCABLE_ZONE)[rows.index]
        welcome = bool(revocable_zone(profile.pod.metadata.annotations))
        by_zone = np.zeros(len(labels.values(keys.REVOCABLE_ZONE)) + 1, dtype=np.int32)  # the last place is no zone
        for code, zone in enumerate(labels.values(keys.REVOCABLE_ZONE)):
            closed = self._zones.get(zone, f"revocable zone {zone} not support")
            if closed:
                by_zone[code] = refusals.code(Refusal("tdm", closed, resolvable=False))
            else:
                by_zone[code] = FITS if welcome else refusals.code(NOT_REVOCABLE)
        found: Codes = by_zone[zone_of]
        return found

    def score(self, profile: Profile, rows: Rows) -> Scores:
        if not revocable_zone(profile.pod.metadata.annotations):
            return np.zeros(len(rows))
        return np.where(self.nodes.labels.column(keys.REVOCABLE_ZONE)[rows.index] >= 0, SCORE, 0.0)

    # Jobs

    def job_order(self, job: Job) -> SortKey:
        return is_preemptable(job)  # False first: work that cannot be interrupted has no other nodes

    def job_pipelined(self, job: Job) -> Vote:
        return Vote.PERMIT if job.is_pipelined else Vote.REJECT

    def job_starving(self, job: Job) -> bool:
        return not is_preemptable(job) and bool(job.pending)

    # Evictions

    def preemptable(self, claimant: Task, candidates: Sequence[Task]) -> Sequence[Task]:
        """Who can be interrupted makes room, outside revocable nodes, for who cannot."""
        if claimant.preemptable or claimant.revocable_zone:
            return []
        movable = [t for t in candidates if t.preemptable and t.status is Status.RUNNING and not self._zone_of(t)]
        return list(_allowed(movable))

    def victim_tasks(self, tasks: Sequence[Task]) -> Sequence[Task]:
        """Work on nodes whose window has closed."""
        last = self.session.cluster.index(LastEviction)
        if last.at + self._period > self.session.now:
            return []
        last.at = self.session.now
        closed = {zone for zone, reason in self._zones.items() if reason}
        on_closed = [
            task
            for job in self.session.jobs.values()
            for task in job.tasks.values()
            if task.preemptable and task.status is Status.RUNNING and self._zone_of(task) in closed
        ]
        return list(_allowed(on_closed))

    # Inside

    def _zone_of(self, task: Task) -> str:
        node = self.nodes.objects[task.node] if task.node >= 0 else None
        return node.metadata.labels.get(keys.REVOCABLE_ZONE, "") if node is not None else ""

    def _closed(self, zone: str, text: Any) -> str:
        if not isinstance(text, str):
            self.session.warn(f"tdm: {PREFIX}{zone} is {text!r}, but a window like '1:00-8:00' is wanted")
            return f"revocable zone {zone} not support"
        try:
            opened = window.parse(text).contains(self.session.now)
        except window.WindowError as problem:
            self.session.warn(f"tdm: {PREFIX}{zone}: {problem}")
            return str(problem)
        return "" if opened else f"current time beyond revocable zone {zone}:{text}"

    def _eviction_period(self) -> float:
        try:
            return duration.parse_seconds(self.arguments.period)
        except duration.DurationError as problem:
            self.session.warn(f"tdm: tdm.evict.period: {problem}; 1m is used")
            return DEFAULT_PERIOD_SECONDS


def is_preemptable(job: Job) -> bool:
    """What the PodGroup says; by default a job is not."""
    if job.pod_group is None:
        return False
    meta = job.pod_group.metadata
    text = meta.annotations.get(keys.PREEMPTABLE) or meta.labels.get(keys.PREEMPTABLE, "")
    return text in ("1", "t", "T", "TRUE", "true", "True")


def _allowed(tasks: Sequence[Task]) -> Iterator[Task]:
    """Of each job no more than may be disrupted at once."""
    by_job: defaultdict[str, list[Task]] = defaultdict(list)
    for task in tasks:
        if task.job is not None:
            by_job[task.job.key].append(task)
    for members in by_job.values():
        job = members[0].job
        assert job is not None, "only members of jobs are collected"
        yield from members[: largest_disruption(job)]
