"""The jobflow controller: asks what probes want to know, has `machine.step` decide, then creates, deletes and writes.

Flows, templates and jobs are looked at again whenever one of them changes; open probes are repeated.
"""

from __future__ import annotations

from collections import Counter
from typing import Final

import msgspec

from volcano.api import resources
from volcano.api.batch import Job
from volcano.api.flow import JobFlow
from volcano.api.meta import JsonObject
from volcano.controllers.jobflow import machine
from volcano.controllers.jobflow.jobs import KIND, belongs, job_for
from volcano.controllers.jobflow.prober import Prober
from volcano.controllers.notes import NORMAL, WARNING
from volcano.controllers.owned import Owned
from volcano.controllers.runtime import Context, Waits
from volcano.controllers.statuses import Statuses, key_of
from volcano.kube.errors import AlreadyExists, NotFound
from volcano.kube.informer import Callbacks
from volcano.kube.workqueue import WorkQueue

DOCUMENTS: Final = resources.JOB_FLOWS.untyped
TEMPLATES: Final = resources.JOB_TEMPLATES.untyped
SYNC: Final = "SyncJobFlow"
PROBE_SECONDS: Final = 2.0
COUNTED: Final = {machine.Phase.SUCCEED: "succeed", machine.Phase.FAILED: "failed"}


class JobFlowController:
    name = "jobflow-controller"

    def __init__(self, context: Context, *, workers: int = 4) -> None:
        self.workers = workers
        self.queue: WorkQueue[str] = WorkQueue(max_seconds=60.0)
        self._context = context
        self._client = context.client
        self._prober = Prober(context.client)
        self._statuses = Statuses(context.client, DOCUMENTS)
        self._flows = context.informers.of(DOCUMENTS, Callbacks(self._added, self._updated, self._deleted))
        self._templates = context.informers.of(TEMPLATES, Callbacks(self._template_added))
        self._jobs: Owned[Job] = Owned(KIND, self.queue.add)
        self._jobs.follow(context.informers, resources.JOBS)
        self._gauges = {
            phase: context.metrics.gauges(
                f"volcano_jobflow_{word}_phase_count", f"JobFlows of a namespace that are {phase}.", "jobflow_namespace"
            )
            for phase, word in COUNTED.items()
        }
        self._counted: set[str] = set()
        """Namespaces that the gauges tell of."""
        context.metrics.before_scrape(self._refresh_gauges)

    async def reconcile(self, key: str) -> None:
        seen = self._flows.store.get(key)
        if seen is None:
            return
        document = self._statuses.newest(key, seen)
        flow = msgspec.convert(document, JobFlow, strict=False)
        jobs = {job.metadata.name: job for job in self._jobs.of(flow.metadata.uid) if belongs(job, flow.metadata)}
        now = self._context.now()
        plan = machine.step(flow, jobs, (), now)
        if plan.questions:
            plan = machine.step(flow, jobs, await self._prober.ask(plan.questions, flow.metadata.namespace), now)
            self.queue.add_after(key, PROBE_SECONDS)
        if plan.unknown_tasks:
            names = ", ".join(plan.unknown_tasks)
            self._note(flow, WARNING, SYNC, f"dependsOn.probe names tasks that no target has: {names}")
        for obstacle in plan.obstacles:
            self._note(flow, WARNING, SYNC, obstacle)
        for name in plan.remove:
            await self._remove(flow, jobs[name])
        try:
            for name in plan.start:
                await self._start(flow, document, name)
        except Exception:  # not `finally`: what the write raises would take the place of an order to stop
            await self._tell(key, document, plan)
            raise
        await self._tell(key, document, plan)

    async def gave_up(self, key: str, error: Exception) -> None:
        """Tell, and try again when something changes or a minute has passed."""
        document = self._flows.store.get(key)
        if document is not None:
            flow = msgspec.convert(document, JobFlow, strict=False)
            self._note(flow, WARNING, SYNC, f"{SYNC} JobFlow failed for {error}")
            self.queue.add_after(key, 60.0)

    async def _tell(self, key: str, document: JsonObject, plan: machine.Plan) -> None:
        if plan.status is not None:
            await self._statuses.write(key, document, msgspec.to_builtins(plan.status))

    async def _start(self, flow: JobFlow, document: JsonObject, name: str) -> None:
        template = self._templates.get(name, flow.metadata.namespace)
        if template is None:
            message = f"jobtemplate {name!r} does not exist: create it, or take the flow out of spec.flows"
            self._note(flow, WARNING, SYNC, message)
            raise Waits(message)
        step = next(one for one in document["spec"]["flows"] if one["name"] == name)
        job = job_for(flow.metadata, step, template)
        try:
            await self._client.create(resources.JOBS.untyped, job, flow.metadata.namespace)
        except AlreadyExists:
            await self._check_ours(flow, job["metadata"]["name"])
            return
        self._note(flow, NORMAL, "Created", f"create a job named {job['metadata']['name']}!")

    async def _check_ours(self, flow: JobFlow, name: str) -> None:
        """The watch may be behind; but a job of somebody else must not pass for a step of the flow."""
        try:
            job = await self._client.get(resources.JOBS, name, flow.metadata.namespace)
        except NotFound:
            raise Waits(f"job {name!r} was there a moment ago and is gone") from None
        if not belongs(job, flow.metadata):
            message = f"job {name!r} exists and does not belong to this flow: delete it or rename one of them"
            self._note(flow, WARNING, SYNC, message)
            raise Waits(message)

    async def _remove(self, flow: JobFlow, job: Job) -> None:
        meta = job.metadata
        try:
            await self._client.delete(
                resources.JOBS, meta.name, flow.metadata.namespace, propagation="Background", uid=meta.uid
            )
        except NotFound:
            return

    def _note(self, flow: JobFlow, type_: str, reason: str, message: str) -> None:
        self._context.recorder.record(resources.JOB_FLOWS, flow, type_, reason, message)

    def _refresh_gauges(self) -> None:
        counts: Counter[tuple[str, str]] = Counter()
        for document in self._flows.store.values():
            counts[document["metadata"]["namespace"], _phase(document)] += 1
        namespaces = {namespace for namespace, _ in counts}
        for phase, family in self._gauges.items():
            for namespace in namespaces:
                family.labels(namespace).set(counts[namespace, phase.value])
            for namespace in self._counted - namespaces:
                family.remove(namespace)
        self._counted = namespaces

    # What the watches tell

    def _added(self, document: JsonObject) -> None:
        self.queue.add(key_of(document))

    def _updated(self, old: JsonObject, new: JsonObject) -> None:
        if old["spec"] != new["spec"] or _phase(old) != _phase(new) or "deletionTimestamp" in new["metadata"]:
            self.queue.add(key_of(new))

    def _deleted(self, document: JsonObject) -> None:
        self._statuses.forget(key_of(document))

    def _template_added(self, template: JsonObject) -> None:
        """Flows may have waited for it."""
        name, namespace = template["metadata"]["name"], template["metadata"]["namespace"]
        for key, document in self._flows.store.items():
            steps = document["spec"].get("flows") or []
            if document["metadata"]["namespace"] == namespace and any(step["name"] == name for step in steps):
                self.queue.add(key)


def _phase(document: JsonObject) -> str:
    phase: str = ((document.get("status") or {}).get("state") or {}).get("phase", "")
    return phase
