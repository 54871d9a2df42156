"""The batch/v1 Job controller: runs pods until enough of them have succeeded.

Neighbours: `completion` decides.
"""

from __future__ import annotations

import asyncio
import time

from volcano.api.meta import JsonObject
from volcano.api.resources import BATCH_JOBS
from volcano.kube.informer import Callbacks
from volcano.local.builtin import completion
from volcano.local.builtin.controller import Controller
from volcano.local.builtin.ownedpods import OwnedPods
from volcano.local.builtin.podmaking import pod_from_template

_API_VERSION = "batch/v1"


class BatchJobController(Controller):
    name = "job"

    def connect(self) -> None:
        owners = self.world.jobs
        self._pods = OwnedPods(self.client, self.world, BATCH_JOBS, owners, self.queue)
        owners.add_handler(Callbacks(self._add, lambda _old, new: self._add(new), self._pods.forget))

    async def reconcile(self, key: str) -> float | None:
        job = self.world.jobs.store.get(key)
        if job is None or "deletionTimestamp" in job["metadata"]:
            return None
        now, uid = time.time(), job["metadata"]["uid"]
        pods = await self._pods.claim(job)
        step = completion.step(job, pods, now, may_act=self._pods.are_settled(job))
        await asyncio.gather(*(self._pods.delete(job, pod) for pod in step.delete))
        await asyncio.gather(*(self._create(job, index) for index in step.create))
        await self._report(job, step.status)
        left = completion.expires_in(job, now)
        if left is not None and left <= 0:
            await self.client.delete(
                BATCH_JOBS, job["metadata"]["name"], job["metadata"]["namespace"], uid=uid, propagation="Background"
            )
            return None
        return left if left is not None else step.again_seconds

    async def _create(self, job: JsonObject, index: int | None) -> None:
        pod = pod_from_template(job, _API_VERSION, "Job", job["spec"]["template"])
        await self._pods.create(job, completion.decorate(pod, job, index))

    async def _report(self, job: JsonObject, status: JsonObject) -> None:
        stored = job.get("status") or {}
        if all((stored.get(name) or None) == (value or None) for name, value in status.items()):
            return
        if completion.finished_condition(job) is not None:
            status = {name: value for name, value in status.items() if name != "completionTime"}
        await self.show(BATCH_JOBS, job, status)
