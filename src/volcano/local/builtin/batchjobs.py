"""The batch/v1 Job controller: runs pods until enough of them have succeeded.

Neighbours: `completion` decides.
"""

from __future__ import annotations

import asyncio
import time

from volcano.api.meta import JsonObject
from volcano.api.resources import BATCH_JOBS, PODS
from volcano.kube.errors import NotFound
from volcano.kube.informer import Callbacks
from volcano.local.builtin import completion
from volcano.local.builtin.controller import Controller
from volcano.local.builtin.dependents import Dependents, pod_meta
from volcano.local.builtin.expectations import Expectations
from volcano.local.builtin.podmaking import pod_from_template
from volcano.local.builtin.views import PodView, controller_of
from volcano.local.steady import steady_seconds

_API_VERSION = "batch/v1"


class BatchJobController(Controller):
    name = "job"

    def connect(self) -> None:
        self._expectations = Expectations()
        world = self.world
        self._pods = Dependents(self.client, PODS.untyped, world.pods, pod_meta, BATCH_JOBS, world.jobs)
        world.jobs.add_handler(Callbacks(self._add, lambda _old, new: self._add(new), self._forget))
        world.pods.add_handler(Callbacks(self._pod_seen, self._pod_changed, lambda old: self._pod_seen(old, gone=True)))

    def _forget(self, document: JsonObject) -> None:
        self._expectations.forget(document["metadata"]["uid"])

    def _pod_seen(self, pod: PodView, *, gone: bool = False) -> None:
        owner = controller_of(pod.metadata.owner_references)
        if owner is not None and owner.kind == "Job" and owner.api_version == _API_VERSION:
            is_going = gone or pod.metadata.deletion_timestamp is not None
            self._expectations.seen(owner.uid, pod.metadata.key, is_going=is_going)
        for key in self._pods.concerned(pod):
            self.queue.add(key)

    def _pod_changed(self, old: PodView, new: PodView) -> None:
        if controller_of(old.metadata.owner_references) != controller_of(new.metadata.owner_references):
            self._pod_seen(old, gone=True)
        self._pod_seen(new)

    async def reconcile(self, key: str) -> float | None:
        job = self.world.jobs.store.get(key)
        if job is None or "deletionTimestamp" in job["metadata"]:
            return None
        now, uid = time.time(), job["metadata"]["uid"]
        pods = await self._pods.claim(job)
        may_act = self._expectations.are_met(uid, self.world.pods.store, steady_seconds())
        step = completion.step(job, pods, now, may_act=may_act)
        await asyncio.gather(*(self._delete(uid, pod) for pod in step.delete))
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
        created = await self.client.create(PODS.untyped, completion.decorate(pod, job, index))
        key = f"{created['metadata']['namespace']}/{created['metadata']['name']}"
        if key not in self.world.pods.store:
            self._expectations.created(job["metadata"]["uid"], key, steady_seconds())

    async def _delete(self, uid: str, pod: PodView) -> None:
        self._expectations.deleted(uid, pod.metadata.key, steady_seconds())
        try:
            await self.client.delete(PODS, pod.metadata.name, pod.metadata.namespace, uid=pod.metadata.uid)
        except NotFound:
            self._expectations.seen(uid, pod.metadata.key, is_going=True)

    async def _report(self, job: JsonObject, status: JsonObject) -> None:
        stored, metadata = job.get("status") or {}, job["metadata"]
        if all((stored.get(name) or None) == (value or None) for name, value in status.items()):
            return
        if completion.finished_condition(job) is not None:
            status = {name: value for name, value in status.items() if name != "completionTime"}
        body = {"metadata": {"uid": metadata["uid"]}, "status": status}
        try:
            await self.client.patch(
                BATCH_JOBS.untyped, metadata["name"], body, metadata["namespace"], subresource="status"
            )
        except NotFound:
            return
