"""Plugins that belong to the recorded tests themselves, as custom plugins of ours."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from tests.corpus.loader import Record
from volcano.scheduler.cluster.cluster import Cluster
from volcano.scheduler.cluster.hypernodes import ROOT
from volcano.scheduler.cluster.jobs import Job, SubJob
from volcano.scheduler.cluster.nodes import Rows
from volcano.scheduler.cluster.profiles import Profile
from volcano.scheduler.cluster.tasks import Status, Task
from volcano.scheduler.framework.plugin import Plugin, Vote
from volcano.scheduler.framework.reasons import FITS, Codes, Refusal


class HiddenDevice(Plugin):
    """A node takes no pod named `preemptor` while one named `preemptee` is there and not yet on its way out."""

    name = "device-fit-after-eviction"

    def filter(self, profile: Profile, rows: Rows) -> Codes:
        refused = self.session.refusals.code(Refusal(self.name, "the device is held"))
        table = self.nodes.tasks
        held = [
            any(task.name == "preemptee" and task.status is not Status.RELEASING for task in table[row].values())
            for row in rows.index.tolist()
        ]
        return np.where(held, refused, FITS).astype(np.int32)


class EvictLowPriority(Plugin):
    """The victims of `shuffle` are the pods of priority 10."""

    name = "fake"

    def victim_tasks(self, tasks: Sequence[Task]) -> Sequence[Task]:
        return [task for task in tasks if task.priority == 10]


def rejecter(record: Record) -> type[Plugin]:
    """Votes against the podgroup that is left Pending, and for all others."""
    pending = {name for name, phase in record["actual"].get("podgroupPhases", {}).items() if phase == "Pending"}

    class Rejecter(Plugin):
        name = "test-rejecter"

        def job_enqueueable(self, job: Job) -> Vote:
            return Vote.REJECT if job.key in pending else Vote.PERMIT

    return Rejecter


def plugins(record: Record) -> tuple[type[Plugin], ...]:
    return (HiddenDevice, EvictLowPriority, rejecter(record))


def nominate(record: Record, cluster: Cluster) -> list[SubJob]:
    """The sub-jobs to which the record's test promises the whole cluster; the promise is over after the run."""
    if "HonorsAndClearsNomination" not in record["test"]:
        return []
    found = [sub_job for job in cluster.jobs.values() for sub_job in job.sub_jobs.values()]
    for sub_job in found:
        sub_job.nominated_hypernode = ROOT
    return found
