"""Many nodes in one process that only pretend to run pods: one watch, few writes, timers in one heap.

Neighbours: `simulation` says how a pretended run goes; `registration` makes the Node objects.
"""

from __future__ import annotations

import asyncio
import heapq
import logging
import time
from collections import deque
from collections.abc import Collection, Iterable
from contextlib import suppress

import msgspec

from volcano.api import keys
from volcano.api.meta import JsonObject, Model
from volcano.api.resources import LEASES, NODES, PODS
from volcano.kube.client import Client
from volcano.kube.errors import ApiError, Conflict, Forbidden, NotFound
from volcano.kube.informer import Callbacks, Informer
from volcano.local.node import simulation
from volcano.local.node.registration import LEASE_NAMESPACE, NodeDescription, register, renew_lease
from volcano.local.node.spec import NodeSpec
from volcano.local.steady import steady_seconds
from volcano.local.times import timestamp

log = logging.getLogger(__name__)

HOST_ADDRESS = "10.0.0.1"
LEASE_SECONDS = 3600
RENEW_SECONDS = 600.0
_REGISTRATIONS = 32
_WRITERS = 32
_RETRY_SECONDS = 1.0


class Marks(Model, kw_only=True):
    """The annotations that matter here; the others are not kept."""

    duration: str | None = msgspec.field(default=None, name=keys.SIMULATE_DURATION)
    exit_code: str | None = msgspec.field(default=None, name=keys.SIMULATE_EXIT_CODE)
    initial_events_end: str | None = msgspec.field(default=None, name=keys.INITIAL_EVENTS_END)

    def get(self, name: str) -> str | None:
        known = {keys.SIMULATE_DURATION: self.duration, keys.SIMULATE_EXIT_CODE: self.exit_code}
        return known.get(name, self.initial_events_end if name == keys.INITIAL_EVENTS_END else None)


class MetaView(Model, kw_only=True):
    name: str = ""
    namespace: str = ""
    uid: str = ""
    resource_version: str = ""
    deletion_timestamp: str | None = None
    annotations: Marks = msgspec.field(default_factory=Marks)

    @property
    def key(self) -> str:
        return f"{self.namespace}/{self.name}"


class ContainerView(Model, kw_only=True):
    name: str = ""
    image: str = ""
    command: list[str] = msgspec.field(default_factory=list)


class SpecView(Model, kw_only=True):
    node_name: str = ""
    containers: list[ContainerView] = msgspec.field(default_factory=list)


class StatusView(Model, kw_only=True):
    phase: str = ""
    start_time: str | None = None


class PodView(Model, kw_only=True):
    """As much of a pod as pretending needs: ten thousand of them must be cheap."""

    metadata: MetaView = msgspec.field(default_factory=MetaView)
    spec: SpecView = msgspec.field(default_factory=SpecView)
    status: StatusView = msgspec.field(default_factory=StatusView)


POD_VIEWS = PODS.as_type(PodView)


class SimulatedNodes:
    """`run` registers the nodes and pretends until cancelled. All state is in the API, so a restart loses nothing.

    `owner` is whom the nodes belong to: see `remove_unserved`.
    """

    def __init__(self, client: Client, specs: Iterable[NodeSpec], owner: str = "") -> None:
        self.specs = {spec.name: spec for spec in specs}
        self._labels = {keys.SIMULATED: "true", **({keys.SIMULATED_BY: owner} if owner else {})}
        self.registered = asyncio.Event()
        self._client = client
        self._due: list[tuple[float, str]] = []
        self._ends: dict[str, float] = {}
        """In steady seconds, like all that is due: who sets the clock makes no run longer or shorter."""
        self._timer: asyncio.TimerHandle | None = None
        self._work: deque[str] = deque()
        self._queued: set[str] = set()
        self._idle: deque[asyncio.Future[None]] = deque()
        self._next_address = 0
        self._informer = Informer(
            client,
            POD_VIEWS,
            field_selector="spec.nodeName!=",
            handler=Callbacks(self._seen, lambda _old, new: self._seen(new)),
        )

    async def run(self) -> None:
        """Register, then follow the pods of these nodes."""
        async with asyncio.TaskGroup() as tasks:
            tasks.create_task(self._keep_registered())
            tasks.create_task(self._informer.run())
            for _ in range(_WRITERS):
                tasks.create_task(self._write())

    # Nodes

    async def _keep_registered(self) -> None:
        waiting = deque(self.specs.values())
        while waiting:
            batch = [waiting.popleft() for _ in range(min(_REGISTRATIONS, len(waiting)))]
            faults = await asyncio.gather(*(self._register(spec) for spec in batch))
            failed = [spec for spec, fault in zip(batch, faults, strict=True) if fault is not None]
            if failed:
                log.warning(
                    "%d nodes cannot register: %s; trying again", len(failed) + len(waiting), next(filter(None, faults))
                )
                waiting.extendleft(failed)
                await asyncio.sleep(_RETRY_SECONDS)
        self.registered.set()
        pause = RENEW_SECONDS / max(len(self.specs), 1)
        while True:
            for name in list(self.specs):
                await asyncio.sleep(pause)
                try:
                    await renew_lease(self._client, name, LEASE_SECONDS)
                except (ApiError, OSError, TimeoutError) as error:
                    log.warning("node %s: heartbeat failed: %s", name, error)

    async def _register(self, spec: NodeSpec) -> Exception | None:
        description = NodeDescription(
            name=spec.name,
            capacity=spec.capacity,
            address=HOST_ADDRESS,
            labels={**self._labels, **spec.labels},
            taints=spec.taints,
            info={"kubeletVersion": "simulated", "operatingSystem": "linux", "architecture": "amd64"},
            ready_message="simulated node",
        )
        try:
            await register(self._client, description)
            await renew_lease(self._client, spec.name, LEASE_SECONDS)
        except (ApiError, OSError, TimeoutError) as error:
            return error
        return None

    # Pods

    def _seen(self, pod: PodView) -> None:
        if pod.spec.node_name in self.specs and (
            pod.metadata.deletion_timestamp is not None or pod.status.phase not in ("Succeeded", "Failed")
        ):
            self._add(pod.metadata.key)

    def _add(self, key: str) -> None:
        if key in self._queued:
            return
        self._queued.add(key)
        self._work.append(key)
        while self._idle:
            waiter = self._idle.popleft()
            if not waiter.done():
                waiter.set_result(None)
                return

    async def _write(self) -> None:
        """Take pods one by one and make the API show what became of them."""
        while True:
            while not self._work:
                waiter: asyncio.Future[None] = asyncio.get_running_loop().create_future()
                self._idle.append(waiter)
                await waiter
            key = self._work.popleft()
            self._queued.discard(key)
            pod = self._informer.store.get(key)
            if pod is None:
                continue
            try:
                await self._step(pod)
            except (NotFound, Conflict):
                continue  # deleted or replaced meanwhile: the watch tells what is next
            except (ApiError, OSError, TimeoutError) as error:
                log.warning("pod %s: %s; trying again", key, error)
                self._later(key, steady_seconds() + _RETRY_SECONDS)

    async def _step(self, pod: PodView) -> None:
        metadata = pod.metadata
        if metadata.deletion_timestamp is not None:
            self._ends.pop(metadata.uid, None)
            await self._client.delete(POD_VIEWS, metadata.name, metadata.namespace, grace_seconds=0, uid=metadata.uid)
            return
        now = time.time()
        script = simulation.script_of(metadata.annotations)
        if pod.status.phase == "Pending" or not pod.status.start_time:
            if script.seconds is not None:
                self._ends[metadata.uid] = steady_seconds() + script.seconds
            status = simulation.running_status(_containers(pod), HOST_ADDRESS, self._address(), timestamp(now))
            if script.seconds is None and any(container.command for container in pod.spec.containers):
                status |= simulation.not_run(pod.spec.node_name)
            await self._patch(pod, status)
            return
        if script.seconds is None or pod.status.phase != "Running":
            return
        started = pod.status.start_time
        end = self._ends.get(metadata.uid)
        if end is None:  # an earlier process has begun it
            end = self._ends[metadata.uid] = steady_seconds() + simulation.seconds_left(script.seconds, started, now)
        if end > steady_seconds():
            self._later(metadata.key, end)
            return
        await self._patch(pod, simulation.finished_status(_containers(pod), script.exit_code, started, timestamp(now)))
        self._ends.pop(metadata.uid, None)

    async def _patch(self, pod: PodView, status: JsonObject) -> None:
        body = {"metadata": {"uid": pod.metadata.uid}, "status": status}
        await self._client.patch(POD_VIEWS, pod.metadata.name, body, pod.metadata.namespace, subresource="status")

    def _address(self) -> str:
        self._next_address += 1
        number = self._next_address
        return f"10.{1 + number // 65536 % 254}.{number // 256 % 256}.{number % 256}"

    def _later(self, key: str, at: float) -> None:
        heapq.heappush(self._due, (at, key))
        if self._due[0] == (at, key):
            self._set_timer()

    def _set_timer(self) -> None:
        if self._timer is not None:
            self._timer.cancel()
        self._timer = asyncio.get_running_loop().call_later(max(0.0, self._due[0][0] - steady_seconds()), self._fire)

    def _fire(self) -> None:
        now = steady_seconds()
        while self._due and self._due[0][0] <= now:
            self._add(heapq.heappop(self._due)[1])
        self._timer = None
        if self._due:
            self._set_timer()


async def remove_unserved(client: Client, owner: str, served: Collection[str]) -> None:
    """Delete the nodes that an earlier run left of `owner` and this one does not serve: their pods would never end."""
    while True:
        try:
            for node in (await client.list(NODES.untyped, label_selector=f"{keys.SIMULATED_BY}={owner}")).items:
                if (name := node["metadata"]["name"]) not in served:
                    log.info("node %s: nobody simulates it any more: removing it", name)
                    for resource, namespace in ((LEASES, LEASE_NAMESPACE), (NODES, None)):
                        with suppress(NotFound):
                            await client.delete(resource, name, namespace)
        except Forbidden as error:
            log.warning("simulated nodes of earlier runs stay: %s", error)
        except (ApiError, OSError, TimeoutError) as error:
            log.warning("simulated nodes of earlier runs cannot be removed: %s; trying again", error)
            await asyncio.sleep(_RETRY_SECONDS)
            continue
        return


def _containers(pod: PodView) -> list[tuple[str, str]]:
    return [(container.name, container.image) for container in pod.spec.containers]
