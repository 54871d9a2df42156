"""One node: follows the pods bound to it, runs them, and reports what became of them.

Neighbours: `runtime` runs processes; `plan`, `admission`, `status` and `simulation` decide; `registration` announces.
"""

from __future__ import annotations

import asyncio
import logging
import time
from collections.abc import Mapping
from dataclasses import dataclass

from volcano.api.meta import JsonObject
from volcano.api.resources import PODS
from volcano.kube.client import Client
from volcano.kube.errors import ApiError, Conflict, NotFound
from volcano.kube.events import WARNING, EventRecorder
from volcano.kube.informer import Callbacks, Informer
from volcano.kube.workqueue import WorkQueue
from volcano.local.node import admission, news, plan, simulation, sources, status, volumes
from volcano.local.node.addresses import loopback_address
from volcano.local.node.cgroups import limits_of
from volcano.local.node.fetching import Fetcher
from volcano.local.node.hosts import HostsFiles
from volcano.local.node.layout import Layout
from volcano.local.node.runtime import ProcessRuntime, Run
from volcano.local.node.sources import PlanError, PodFacts
from volcano.local.node.status import Place
from volcano.local.steady import steady_seconds
from volcano.local.times import timestamp

log = logging.getLogger(__name__)

TERMINAL = ("Succeeded", "Failed")
ORPHAN_GRACE_SECONDS = 2.0
LOST_MESSAGE = "the pod ran here before, but the node's data folder has no record of it, so it is not run again"
_WORKERS = 16
_REFRESH_SECONDS = 60.0
_LONGEST_RETRY_SECONDS = 10.0


@dataclass(frozen=True)
class NodeIdentity:
    """The node as pods see it."""

    name: str
    address: str
    allocatable: Mapping[str, str]


class NodeAgent:
    """`run` follows the API until cancelled; pods' processes go on when it ends, and the next one adopts them."""

    def __init__(
        self,
        client: Client,
        identity: NodeIdentity,
        layout: Layout,
        base_environment: Mapping[str, str],
        cgroup_root: str = "",
    ) -> None:
        self.identity = identity
        self.runtime = ProcessRuntime(layout, self._queue_add, cgroup_root)
        self._client = client
        self._layout = layout
        self._base_environment = base_environment
        self._hosts = HostsFiles(layout)
        self._events = EventRecorder(client, "kubelet", host=identity.name, workers=1)
        self._queue: WorkQueue[str] = WorkQueue(base_seconds=0.1, max_seconds=_LONGEST_RETRY_SECONDS)
        self._pods: dict[str, JsonObject] = {}
        self._active: dict[str, admission.Requests] = {}
        self._addresses: dict[str, str] = {}
        self._written: dict[str, tuple[str, JsonObject]] = {}
        """What was last written of each pod, and over which version: not again before the watch shows another."""
        self._ends: dict[str, float] = {}
        self._informer = Informer(
            client,
            PODS.untyped,
            field_selector=f"spec.nodeName={identity.name}",
            handler=Callbacks(self._appeared, self._changed, self._vanished),
        )

    async def run(self) -> None:
        """Adopt what runs, learn what should, then bring the one to the other, pod by pod."""
        try:
            await self._adopt()
            async with asyncio.TaskGroup() as tasks:
                tasks.create_task(self._informer.run())
                await self._informer.synced()
                self._readmit()
                for uid in self.runtime.runs:
                    self._queue.add(uid)
                for _ in range(_WORKERS):
                    tasks.create_task(self._work())
                tasks.create_task(self._events.run())
                tasks.create_task(self._keep_current())
        finally:
            await self.runtime.close()

    async def _adopt(self) -> None:
        """Take the data folder, and with it the pods of an earlier node process."""
        await self.runtime.start()
        if self.runtime.isolation_fault:
            log.warning("pods share this machine's files: %s; mount paths are rewritten", self.runtime.isolation_fault)
        if self.runtime.cgroups is None:
            log.info("this user may not make cgroups with a memory controller: resource limits are not enforced")
        for uid, run in self.runtime.runs.items():
            self._addresses[uid] = run.plan["address"]

    def pod(self, namespace: str, name: str) -> JsonObject | None:
        """A pod bound to this node, as last seen."""
        return self._informer.get(name, namespace)

    # Hearing of changes

    def _appeared(self, pod: JsonObject) -> None:
        self._pods[pod["metadata"]["uid"]] = pod
        self._queue.add(pod["metadata"]["uid"])

    def _changed(self, _old: JsonObject, pod: JsonObject) -> None:
        self._appeared(pod)

    def _vanished(self, pod: JsonObject) -> None:
        self._pods.pop(pod["metadata"]["uid"], None)
        self._queue.add(pod["metadata"]["uid"])

    def _queue_add(self, uid: str) -> None:
        self._queue.add(uid)

    async def _work(self) -> None:
        while True:
            uid = await self._queue.get()
            try:
                await self._sync(uid)
                self._queue.forget(uid)
            except PlanError as error:
                await self._explain_wait(uid, error)
                self._queue.add_rate_limited(uid)
            except (ApiError, OSError, TimeoutError) as error:
                log.warning("pod %s: %s; trying again", uid, error)
                self._queue.add_rate_limited(uid)
            except Exception:
                log.exception("pod %s could not be handled; trying again", uid)
                self._queue.add_rate_limited(uid)
            finally:
                self._queue.done(uid)

    async def _keep_current(self) -> None:
        """Every now and then, bring config maps, secrets and tokens in running pods' volumes up to date."""
        while True:
            await asyncio.sleep(_REFRESH_SECONDS)
            fetcher = Fetcher(self._client)
            for uid, run in list(self.runtime.runs.items()):
                pod = self._pods.get(uid)
                if pod is None or run.report["finished"] or not pod["spec"].get("volumes"):
                    continue
                try:
                    found = await fetcher.fetch(pod, sources.references(pod))
                    await self.runtime.refresh(uid, volumes.contents(pod, self._facts(pod), found))
                except (PlanError, ApiError, OSError, TimeoutError) as error:
                    log.warning("pod %s: its volumes stay as they were: %s", uid, error)

    # One pod

    async def _sync(self, uid: str) -> None:
        """Bring one pod a step nearer to what the API says."""
        pod, run = self._pods.get(uid), self.runtime.runs.get(uid)
        if pod is None:
            await self._clear(uid, run)
        elif run is not None:
            await self._follow(pod, run)
        elif (pod.get("status") or {}).get("phase") in TERMINAL:
            self._release(uid)
            if "deletionTimestamp" in pod["metadata"]:
                await self._delete(pod)
        elif "deletionTimestamp" in pod["metadata"]:
            await self._delete(pod)
        elif simulation.is_simulated(pod["metadata"].get("annotations") or {}):
            await self._simulate(pod)
        else:
            await self._begin(pod)

    async def _clear(self, uid: str, run: Run | None) -> None:
        """The pod is gone from the API: end what still runs and remove its traces."""
        if run is not None and not run.report["finished"]:
            self.runtime.stop(uid, ORPHAN_GRACE_SECONDS, "Deleted")
            if run.needs_supervisor:
                await self._replace_supervisor(uid, run)
            return
        if run is not None:
            self._hosts.remove(run.plan["namespace"], uid)
        await self.runtime.remove(uid)
        self._release(uid)
        self._addresses.pop(uid, None)
        self._written.pop(uid, None)
        self._ends.pop(uid, None)

    async def _follow(self, pod: JsonObject, run: Run) -> None:
        """The pod has processes, or had: pass on deletion, then show its state."""
        uid, metadata = pod["metadata"]["uid"], pod["metadata"]
        is_over = run.report["finished"]
        is_terminal = (pod.get("status") or {}).get("phase") in TERMINAL
        if not is_over and ("deletionTimestamp" in metadata or is_terminal):
            grace = metadata.get("deletionGracePeriodSeconds", run.plan["grace_seconds"])
            self.runtime.stop(uid, float(grace), "Deleted")
        if run.needs_supervisor:
            await self._replace_supervisor(uid, run)
        if is_over:
            self._release(uid)
        if not is_terminal:
            place = Place(self.identity.address, run.plan["address"], timestamp(run.plan["started_at"]))
            await self._write(pod, status.pod_status(pod, run.plan, run.report, place, time.time()))
        if is_over and "deletionTimestamp" in metadata:
            await self._delete(pod)

    async def _replace_supervisor(self, uid: str, run: Run) -> None:
        """A supervisor that keeps dying is replaced ever more slowly."""
        if run.losses > 1:
            await asyncio.sleep(min(0.1 * 2.0 ** min(run.losses, 10), _LONGEST_RETRY_SECONDS))
        await self.runtime.supervise(uid)

    async def _begin(self, pod: JsonObject) -> None:
        """Admit, plan and launch a pod that has not started."""
        uid, now = pod["metadata"]["uid"], time.time()
        if status.has_run(pod) and pod["spec"].get("restartPolicy") != "Always":
            raise PlanError("NodeLostPod", LOST_MESSAGE, is_final=True)
        others = [requests for other, requests in self._active.items() if other != uid]
        refusal = admission.admit(pod, others, self.identity.allocatable)
        if refusal is not None:
            place = Place(self.identity.address, "", timestamp(now))
            await self._write(pod, status.failed_status(pod, place, refusal.reason, refusal.message, now))
            return
        self._active[uid] = admission.requests_of(pod)
        facts = self._facts(pod)
        plan.check_commands(pod)
        found = await Fetcher(self._client).fetch(pod, sources.references(pod))
        isolate = not self.runtime.isolation_fault
        machine = plan.Machine(self._layout, self._base_environment, isolate, self.runtime.folders_of(pod))
        made = plan.make_plan(pod, facts, found, machine, now)
        everyone = (*(pod["spec"].get("initContainers") or []), *pod["spec"]["containers"])
        limits = {container["name"]: limits_of(container) for container in everyone}
        try:
            self._hosts.add(facts)
            await self.runtime.launch(pod, made, volumes.contents(pod, facts, found), limits)
        except OSError as error:
            raise PlanError("CreateContainerError", f"this node cannot start the pod: {error}") from error

    def _facts(self, pod: JsonObject) -> PodFacts:
        uid = pod["metadata"]["uid"]
        address = self._addresses.get(uid)
        if address is None:
            address = self._addresses[uid] = loopback_address(uid, set(self._addresses.values()))
        if pod["spec"].get("hostNetwork"):
            address = self.identity.address
        name, host = self.identity.name, self.identity.address
        return PodFacts(pod["metadata"], pod["spec"], name, host, address, self.identity.allocatable)

    async def _simulate(self, pod: JsonObject) -> None:
        """A pod that asks to be pretended. Its timer follows from the API object, to the second, after a restart."""
        uid, now = pod["metadata"]["uid"], time.time()
        self._active[uid] = admission.requests_of(pod)
        shown = pod.get("status") or {}
        script = simulation.script_of(pod["metadata"].get("annotations") or {})
        containers = [(c["name"], c.get("image") or "") for c in pod["spec"]["containers"]]
        if shown.get("phase") != "Running":
            address = self._facts(pod).pod_ip
            started = timestamp(now)
            self._ends[uid] = steady_seconds() + (script.seconds or 0.0)
            await self._write(pod, simulation.running_status(containers, self.identity.address, address, started))
            return
        if script.seconds is None:
            return
        if uid not in self._ends:  # an earlier process has begun it
            left = simulation.seconds_left(script.seconds, shown["startTime"], now)
            self._ends[uid] = steady_seconds() + left
        left = self._ends[uid] - steady_seconds()
        if left > 0:
            self._queue.add_after(uid, left)
            return
        finished = simulation.finished_status(containers, script.exit_code, shown["startTime"], timestamp(now))
        await self._write(pod, finished)

    # Telling the API

    async def _explain_wait(self, uid: str, error: PlanError) -> None:
        pod = self._pods.get(uid)
        if pod is None:
            return
        now = time.time()
        place = Place(self.identity.address, "", (pod.get("status") or {}).get("startTime") or timestamp(now))
        make = status.failed_status if error.is_final else status.waiting_status
        try:
            await self._write(pod, make(pod, place, error.reason, error.message, now))
        except (ApiError, OSError, TimeoutError) as failure:
            log.warning("pod %s: cannot say why it waits: %s", uid, failure)

    async def _write(self, pod: JsonObject, wanted: JsonObject) -> None:
        """Patch the pod's status when `wanted` says something new."""
        uid, stored = pod["metadata"]["uid"], pod.get("status") or {}
        this = pod["metadata"]["resourceVersion"], wanted
        if self._written.get(uid) == this:
            return
        changes = {key: value for key, value in wanted.items() if stored.get(key) != value}
        changes |= {key: None for key in ("reason", "message") if key in stored and key not in wanted}
        if changes:
            body = {"metadata": {"uid": uid}, "status": changes}
            name, namespace = pod["metadata"]["name"], pod["metadata"]["namespace"]
            try:
                await self._client.patch(PODS.untyped, name, body, namespace, subresource="status")
            except (NotFound, Conflict):
                return  # the pod was deleted or replaced: the watch tells what is next
            for reason, message in news.warnings(stored, wanted):
                self._events.record(PODS, pod, WARNING, reason, message)
        self._written[uid] = this

    async def _delete(self, pod: JsonObject) -> None:
        """The last step of a graceful deletion: the pod's object may go."""
        metadata = pod["metadata"]
        try:
            await self._client.delete(
                PODS, metadata["name"], metadata["namespace"], grace_seconds=0, uid=metadata["uid"]
            )
        except (NotFound, Conflict):
            return

    def _release(self, uid: str) -> None:
        self._active.pop(uid, None)

    def _readmit(self) -> None:
        """After a restart: pods that run here count as admitted, and their peers find them by name."""
        for uid, pod in self._pods.items():
            run = self.runtime.runs.get(uid)
            if (pod.get("status") or {}).get("phase") in TERMINAL or (run is not None and run.report["finished"]):
                continue
            if run is not None:
                self._hosts.add(self._facts(pod))
            if run is not None or status.has_run(pod):
                self._active[uid] = admission.requests_of(pod)
