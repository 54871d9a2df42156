"""The cronjob controller: asks `machine.step` what is due, then deletes, starts and writes down.

Jobs are named after the minute they are for, so that a start that was interrupted is found and not repeated.
"""

from __future__ import annotations

import datetime
import os
from pathlib import Path
from typing import TYPE_CHECKING

import msgspec

from volcano.api import cron, resources
from volcano.api.batch import CronJob, Job
from volcano.api.meta import JsonObject
from volcano.controllers.cronjob import machine
from volcano.controllers.cronjob.jobs import job_for
from volcano.controllers.notes import NORMAL, WARNING, Note
from volcano.controllers.owned import Owned
from volcano.controllers.runtime import Context
from volcano.controllers.statuses import Statuses, key_of
from volcano.kube.errors import AlreadyExists, ApiError, Conflict, Forbidden, NotFound
from volcano.kube.informer import Callbacks
from volcano.kube.workqueue import WorkQueue

if TYPE_CHECKING:
    from volcano.api.meta import ObjectReference

DOCUMENTS = resources.CRON_JOBS.untyped
NAMESPACE_TERMINATING = "NamespaceTerminating"
LOCALTIME = Path("/etc/localtime")
ZONEINFO = "zoneinfo/"
LONGEST_WAIT_SECONDS = 300.0
"""Machines sleep, and no timer hears of it."""


class CronJobController:
    name = "cronjob-controller"

    def __init__(self, context: Context, *, workers: int = 3, local: datetime.tzinfo | None = None) -> None:
        self.workers = workers
        self.queue: WorkQueue[str] = WorkQueue(max_seconds=60.0)
        self._context = context
        context.clock.tell(self.queue.hasten)
        self._client = context.client
        self._local = local or local_zone()
        self._statuses = Statuses(context.client, DOCUMENTS)
        self._cronjobs = context.informers.of(DOCUMENTS, Callbacks(self._added, self._updated, self._deleted))
        self._jobs: Owned[Job] = Owned(machine.KIND, self.queue.add)
        self._jobs.follow(context.informers, resources.JOBS)

    async def reconcile(self, key: str) -> None:
        seen = self._cronjobs.store.get(key)
        if seen is None:
            return
        document = self._statuses.newest(key, seen)
        cronjob = msgspec.convert(document, CronJob, strict=False)
        owned = [job for job in self._jobs.of(cronjob.metadata.uid) if machine.owns(cronjob, job)]
        others = await self._others(cronjob, owned)
        plan = machine.step(cronjob, owned, others, self._context.now(), self._local)
        self._note(cronjob, *plan.notes)
        if plan.status.last_schedule_time != cronjob.status.last_schedule_time:  # before the job that tells of it goes
            await self._statuses.write(key, document, msgspec.to_builtins(plan.status))
            document = self._statuses.newest(key, document)
        for name in plan.remove:
            await self._remove(cronjob, name)
        if plan.start is not None:
            await self._replace(cronjob, plan)
            job = await self._start(cronjob, document, plan.start)
            if job is not None:
                plan.status = machine.settled(plan.status, job, plan.start)
        await self._statuses.write(key, document, msgspec.to_builtins(plan.status))
        if plan.wait is not None:
            self.queue.add_after(key, min(plan.wait.total_seconds(), LONGEST_WAIT_SECONDS))

    async def gave_up(self, key: str, error: Exception) -> None:
        """The next minute may be better."""
        self.queue.add_after(key, 60.0)

    async def _others(self, cronjob: CronJob, owned: list[Job]) -> dict[str, Job]:
        """Jobs of the active list that the watch does not show as ours: just created, or somebody else's."""
        known = {job.metadata.uid for job in owned}
        found: dict[str, Job] = {}
        for reference in cronjob.status.active:
            if reference.uid not in known:
                job = await self._get(cronjob, reference.name)
                if job is not None:
                    found[reference.name] = job
        return found

    async def _get(self, cronjob: CronJob, name: str) -> Job | None:
        try:
            return await self._client.get(resources.JOBS, name, cronjob.metadata.namespace)
        except NotFound:
            return None

    async def _remove(self, cronjob: CronJob, name: str) -> None:
        """A job that cannot be removed is no reason not to start the next one."""
        try:
            await self._delete(cronjob, name)
        except ApiError:
            return

    async def _delete(self, cronjob: CronJob, name: str, uid: str | None = None) -> None:
        try:
            await self._client.delete(
                resources.JOBS, name, cronjob.metadata.namespace, propagation="Background", uid=uid
            )
        except NotFound:
            return
        except ApiError as error:
            self._note(cronjob, Note(WARNING, "FailedDelete", f'Error deleting job "{name}": {error}'))
            raise
        self._note(cronjob, Note(NORMAL, "SuccessfulDelete", f'Deleted job "{name}"'))

    async def _replace(self, cronjob: CronJob, plan: machine.Plan) -> None:
        for reference in plan.replace:
            await self._delete_active(cronjob, reference)
            plan.status.active.remove(reference)

    async def _delete_active(self, cronjob: CronJob, reference: ObjectReference) -> None:
        try:
            await self._delete(cronjob, reference.name, reference.uid or None)
        except Conflict:
            job = await self._get(cronjob, reference.name)
            if job is not None and job.metadata.uid == reference.uid:
                raise  # else another job has taken the name, and the one meant is gone

    async def _start(self, cronjob: CronJob, document: JsonObject, scheduled: datetime.datetime) -> Job | None:
        """Create the job for `scheduled`, or find the one created before; None when there is none to follow."""
        wanted = job_for(cronjob, document, scheduled)
        name, meta = wanted["metadata"]["name"], cronjob.metadata
        try:
            made = await self._client.create(resources.JOBS.untyped, wanted, meta.namespace)
        except AlreadyExists:
            return await self._existing(cronjob, name)
        except ApiError as error:
            if isinstance(error, Forbidden) and any(cause.reason == NAMESPACE_TERMINATING for cause in error.causes):
                message = f"Namespace {meta.namespace} is terminating, skipping job creation"
                self._note(cronjob, Note(WARNING, NAMESPACE_TERMINATING, message))
                return None
            self._note(cronjob, Note(WARNING, "FailedCreate", f"Error creating job: {error}"))
            raise
        message = f"Created job {name} for CronJob {meta.namespace}/{meta.name}"
        self._note(cronjob, Note(NORMAL, "SuccessfulCreate", message))
        return msgspec.convert(made, Job, strict=False)

    async def _existing(self, cronjob: CronJob, name: str) -> Job | None:
        job = await self._get(cronjob, name)
        if job is None:
            return None
        if not machine.owns(cronjob, job):
            self._note(cronjob, machine.foreign(job))
            return None
        return None if job.status.state.phase in machine.OVER else job

    def _note(self, cronjob: CronJob, *notes: Note) -> None:
        for note in notes:
            self._context.recorder.record(resources.CRON_JOBS, cronjob, note.type, note.reason, note.message)

    # What the watches tell

    def _added(self, document: JsonObject) -> None:
        self.queue.add(key_of(document))

    def _updated(self, old: JsonObject, new: JsonObject) -> None:
        if old["spec"] != new["spec"] or (old["metadata"].keys() ^ new["metadata"].keys()):
            self.queue.add(key_of(new))

    def _deleted(self, document: JsonObject) -> None:
        self._statuses.forget(key_of(document))


def local_zone() -> datetime.tzinfo:
    """The zone of this machine, with its changes of clocks; UTC when it does not say."""
    name = os.environ.get("TZ", "")
    if not name and LOCALTIME.is_symlink():
        name = str(LOCALTIME.resolve()).partition(ZONEINFO)[2]
    try:
        return cron.zone_of(name.removeprefix(":"))
    except cron.ScheduleError:
        return datetime.UTC
