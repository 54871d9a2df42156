"""Snakemake's executor: each job of a workflow is a job of Volcano that calls Snakemake again in the shared folder."""

from __future__ import annotations

import uuid
from collections.abc import AsyncGenerator
from typing import Any

from snakemake_interface_common.exceptions import WorkflowError
from snakemake_interface_executor_plugins.executors.base import SubmittedJobInfo
from snakemake_interface_executor_plugins.executors.remote import RemoteExecutor

from volcano.kube.errors import ApiError
from volcano.sdk import Client, Options, SdkError
from volcano.sdk.status import status_of

LABEL = "volcano.sh/snakemake-run"


class VolcanoExecutor(RemoteExecutor):
    """Submits, asks for all at once, cancels all at once."""

    def __post_init__(self) -> None:
        settings = self.workflow.executor_settings
        self._run = uuid.uuid4().hex[:8]
        self._client = Client(settings.kubeconfig, namespace=settings.namespace)

    def run_job(self, job: Any) -> None:
        script = self.get_jobscript(job)
        self.write_jobscript(job, script)
        try:
            submitted = self._client.submit(["sh", script], **self._options(job))
        except (SdkError, ApiError, OSError) as error:
            raise WorkflowError(f"job {job.name} cannot be submitted: {error}") from error
        self.report_job_submission(SubmittedJobInfo(job, external_jobid=submitted.name))

    def _options(self, job: Any) -> Options:
        """What a rule says about its resources."""
        settings, resources = self.workflow.executor_settings, job.resources
        options = Options(name=_job_name(job, self._run), cpu=job.threads, labels={LABEL: self._run})
        if settings.queue:
            options["queue"] = settings.queue
        if settings.image:
            options["image"] = settings.image
        if resources.get("mem_mb"):
            options["memory"] = f"{resources['mem_mb']}M"
        if resources.get("runtime"):
            options["time_limit"] = resources["runtime"] * 60
        if resources.get("gpu"):
            options["gpus"] = resources["gpu"]
        return options

    async def check_active_jobs(self, active_jobs: list[SubmittedJobInfo]) -> AsyncGenerator[SubmittedJobInfo, None]:
        if not active_jobs:
            return
        found = {one["metadata"]["name"]: one for one in self._client.documents({LABEL: self._run})}
        for job in active_jobs:
            document = found.get(job.external_jobid)
            if document is None:
                self.report_job_error(job, msg=f"job {job.external_jobid} was removed. ")
                continue
            status = status_of(document)
            if not status.finished:
                yield job
            elif status.ok:
                self.report_job_success(job)
            else:
                self.report_job_error(job, msg=f"{self._why(job.external_jobid)} ")

    def _why(self, name: str) -> str:
        try:
            self._client.job(name).result()
        except (SdkError, ApiError) as error:
            return str(error)
        return f"{name} has not completed."

    def cancel_jobs(self, active_jobs: list[SubmittedJobInfo]) -> None:
        if active_jobs:
            self._client.cancel({LABEL: self._run})

    def shutdown(self) -> None:
        super().shutdown()
        self._client.close()


def _job_name(job: Any, run: str) -> str:
    stem = "".join(letter if letter.isalnum() else "-" for letter in job.name.lower()).strip("-")
    return f"{stem[:30].rstrip('-')}-{job.jobid}-{job.attempt}-{run}"
