"""The jobtemplate controller: keeps `status.jobDependsOnList` of templates equal to the jobs that name them."""

from __future__ import annotations

from volcano.api import keys, resources
from volcano.api.batch import Job
from volcano.api.flow import JobTemplate
from volcano.controllers.jobtemplate.links import template_of
from volcano.controllers.notes import WARNING
from volcano.controllers.runtime import Context
from volcano.kube.errors import NotFound
from volcano.kube.informer import Callbacks
from volcano.kube.workqueue import WorkQueue

SYNC = "SyncJobTemplate"


class JobTemplateController:
    name = "jobtemplate-controller"

    def __init__(self, context: Context, *, workers: int = 1) -> None:
        self.workers = workers
        self.queue: WorkQueue[str] = WorkQueue(max_seconds=60.0)
        self._context = context
        self._jobs: dict[str, dict[str, None]] = {}
        """Names of the jobs made from each template."""
        self._templates = context.informers.of(resources.JOB_TEMPLATES, Callbacks(self._added, self._updated))
        context.informers.of(resources.JOBS, Callbacks(self._job_added, self._job_updated, self._job_deleted))

    async def reconcile(self, key: str) -> None:
        template = self._templates.store.get(key)
        if template is None:
            return
        names = sorted(self._jobs.get(key, ()))
        if names == template.status.job_depends_on_list:
            return
        meta = template.metadata
        body = {"metadata": {"uid": meta.uid}, "status": {"jobDependsOnList": names}}
        try:
            await self._context.client.patch(
                resources.JOB_TEMPLATES, meta.name, body, meta.namespace, subresource="status"
            )
        except NotFound:
            return

    async def gave_up(self, key: str, error: Exception) -> None:
        template = self._templates.store.get(key)
        if template is not None:
            message = f"{SYNC} JobTemplate failed for {error}"
            self._context.recorder.record(resources.JOB_TEMPLATES, template, WARNING, SYNC, message)

    # What the watches tell

    def _added(self, template: JobTemplate) -> None:
        self.queue.add(template.metadata.key)

    def _updated(self, old: JobTemplate, new: JobTemplate) -> None:
        """Until the watch showed what we wrote, we may have taken an older list for the right one."""
        if old.status.job_depends_on_list != new.status.job_depends_on_list:
            self.queue.add(new.metadata.key)

    def _job_added(self, job: Job) -> None:
        key = template_of(job.metadata)
        if key:
            self._jobs.setdefault(key, {})[job.metadata.name] = None
            self.queue.add(key)

    def _job_updated(self, old: Job, new: Job) -> None:
        if old.metadata.labels.get(keys.CREATED_BY_JOB_TEMPLATE) != new.metadata.labels.get(
            keys.CREATED_BY_JOB_TEMPLATE
        ):
            self._job_deleted(old)
            self._job_added(new)

    def _job_deleted(self, job: Job) -> None:
        key = template_of(job.metadata)
        names = self._jobs.get(key, {})
        if names.pop(job.metadata.name, job) is None:
            if not names:
                del self._jobs[key]
            self.queue.add(key)
