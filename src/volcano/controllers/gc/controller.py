"""The garbage collector: waits for the end of finished jobs' time to live, then deletes them with their pods."""

from __future__ import annotations

from typing import TYPE_CHECKING

from volcano.api import resources
from volcano.controllers.gc import expiry
from volcano.controllers.runtime import Context
from volcano.kube.errors import NotFound
from volcano.kube.informer import Callbacks
from volcano.kube.workqueue import WorkQueue

if TYPE_CHECKING:
    from volcano.api.batch import Job


class GarbageCollector:
    name = "gc-controller"

    def __init__(self, context: Context, *, workers: int = 1) -> None:
        self.workers = workers
        self.queue: WorkQueue[str] = WorkQueue(max_seconds=60.0)
        self._context = context
        context.clock.tell(self.queue.hasten)
        self._jobs = context.informers.of(resources.JOBS, Callbacks(self._seen, lambda _old, new: self._seen(new)))

    async def reconcile(self, key: str) -> None:
        job = self._jobs.store.get(key)
        if job is None or not expiry.expires(job):
            return
        left = expiry.time_left(job, self._context.now()).total_seconds()
        if left > 0:
            self.queue.add_after(key, left)
            return
        await self._delete_if_still_due(job)

    async def gave_up(self, key: str, error: Exception) -> None:
        """A job that cannot be collected now can be tomorrow."""
        self.queue.add_after(key, 60.0)

    async def _delete_if_still_due(self, seen: Job) -> None:
        """Ask the server once more: the watch may lag behind an edit of the time to live, and more edits may come."""
        meta = seen.metadata
        client = self._context.client
        try:
            job = await client.get(resources.JOBS, meta.name, meta.namespace)
            if job.metadata.uid != meta.uid or not expiry.expires(job):
                return
            left = expiry.time_left(job, self._context.now()).total_seconds()
            if left > 0:
                self.queue.add_after(meta.key, left)
                return
            await client.delete(
                resources.JOBS,
                meta.name,
                meta.namespace,
                propagation="Foreground",
                uid=meta.uid,
                resource_version=job.metadata.resource_version,
            )
        except NotFound:
            return

    def _seen(self, job: Job) -> None:
        if expiry.expires(job):
            self.queue.add(job.metadata.key)
