"""The scheduler as a daemon. `Scheduler.run` is the whole story: watch, ingest, decide, effect."""

from __future__ import annotations

import asyncio
import gc
import json
import logging
import os
import random
import time
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from pathlib import Path
from typing import Any, Final, TypeVar

from volcano.api.core import Node
from volcano.api.meta import ObjectReference
from volcano.api.resources import NODES
from volcano.http.lifetime import collector_at_rest, until_stopped
from volcano.kube.client import Client
from volcano.kube.clock import WallClock
from volcano.kube.complaints import LOADED, REJECTED, Complaints
from volcano.kube.events import NORMAL, WARNING, EventRecorder
from volcano.kube.fence import fenced
from volcano.kube.leader import elector_of
from volcano.kube.rights import Rights
from volcano.kube.rivals import Rivals
from volcano.kube.versions import ServerVersion
from volcano.scheduler import dump, engine
from volcano.scheduler.cluster.cluster import Cluster
from volcano.scheduler.cluster.credit import CreditRequests
from volcano.scheduler.cluster.ingest import ADDED, DELETED, Ingest
from volcano.scheduler.cluster.shards import NODE_SHARDS
from volcano.scheduler.daemon.binding import Outbox
from volcano.scheduler.daemon.credit import CreditWriter
from volcano.scheduler.daemon.extender import HttpExtender
from volcano.scheduler.daemon.flags import Flags
from volcano.scheduler.daemon.ingest import Feed
from volcano.scheduler.daemon.metrics import Metrics
from volcano.scheduler.daemon.pace import CyclePace
from volcano.scheduler.daemon.queues import RequiredQueues
from volcano.scheduler.daemon.reload import Configuration
from volcano.scheduler.daemon.statuses import StatusWriter
from volcano.scheduler.daemon.usage import UsagePoller
from volcano.scheduler.daemon.vanishing import Vanished
from volcano.scheduler.framework.decisions import Bind, Decisions, PodVerdict
from volcano.scheduler.framework.messages import SCHEDULER_ERROR
from volcano.scheduler.plugins.extender.port import ExtenderPort

log = logging.getLogger(__name__)
T = TypeVar("T")

FAREWELL_SECONDS: Final = 5.0
DUMP_PAUSE_SECONDS: Final = 5.0
"""Whoever asks again within this time gets the same file."""


async def run(client: Client, flags: Flags, stop: asyncio.Event, scheduler: Scheduler | None = None) -> None:
    """Schedule until `stop` is set."""
    await (scheduler or Scheduler(client, flags)).run(stop)


class Scheduler:
    """One scheduler. The engine runs on a thread of its own; everything else on the event loop."""

    def __init__(
        self, client: Client, flags: Flags, *, seed: int | None = None, clock: WallClock | None = None
    ) -> None:
        self.flags = flags
        self.options = flags.options()
        self.metrics = Metrics()
        self.recorder = EventRecorder(client, flags.component)
        lease = ObjectReference(
            kind="Lease",
            api_version="coordination.k8s.io/v1",
            namespace=flags.lease_namespace,
            name=flags.leader_elect_resource_name,
        )
        self.complaints = Complaints(self.recorder, lease)
        """Also said on the scheduler's lease: whoever looks at the cluster need not look at the log."""
        self.configuration = Configuration(
            flags.scheduler_conf,
            plugins_dir=flags.plugins_dir,
            required=flags.disable_default_scheduler_config,
            on_reload=self._reloaded,
        )
        self.cluster = Cluster(flags.default_queue)
        self.cluster.index(ExtenderPort).post = HttpExtender().post
        ingest = Ingest(self.cluster, flags.scheduler_name, flags.node_selector)
        self.feed = Feed(client, ingest, priority_classes=flags.uses_priority_classes, observer=self._observe)
        self.elector = elector_of(client, flags)
        self.rights = Rights()
        self.writer = self.rights.noting(fenced(client, self.elector))
        self.statuses = StatusWriter(self.writer, self.feed, self.recorder)
        self.credits = CreditWriter(fenced(client, self.elector), self.feed, flags.scheduler_name)
        self.outbox = Outbox(
            self.writer,
            self.feed,
            self.recorder,
            self.metrics,
            on_bind_failed=self._bind_failed,
            component=flags.component,
        )
        self.usage = UsagePoller(client, self.feed, lambda: self.configuration.conf.metrics)
        self.leading = self.elector is None
        self._complaining: list[Callable[[], str | None]] = [self._waits_for, self.rights.problem]
        if self.elector is not None:
            self.also_tell(self.elector.problem)
        self.rivals = Rivals(client, flags.leader_elect_resource_name, flags.lease_namespace)
        self.also_tell(self.rivals.problem)
        self.server_version = ServerVersion(client, self.complaints)
        self.queues = RequiredQueues(client, flags.default_queue)
        self.vanished = Vanished()
        self._clock = clock or WallClock()
        self._rng = random.Random(seed)
        self._next_seed = self._rng.getrandbits(63)
        self._engine = ThreadPoolExecutor(1, thread_name_prefix="engine")
        self.is_deciding = False
        """The engine is at work on a cycle."""
        self._cycled = False
        self._pace = CyclePace(time.monotonic())
        self._last_dump: tuple[float, Path | None] = (0.0, None)
        self._warned: set[str] = set()

    async def run(self, stop: asyncio.Event) -> None:
        """Watch the cluster, take in what changes, decide, and carry the decisions out, until `stop` is set."""
        work = [
            asyncio.create_task(self._prepare_and_schedule(), name="schedule"),
            asyncio.create_task(self.outbox.run(), name="binds"),
            asyncio.create_task(self.statuses.run(), name="statuses"),
            asyncio.create_task(self.credits.run(), name="credits"),
            asyncio.create_task(self.recorder.run(), name="events"),
            asyncio.create_task(self.usage.run(), name="node load"),
            asyncio.create_task(self.complaints.follow(self._complaint), name="complaints"),
        ]
        if self.elector is not None:
            work.append(asyncio.create_task(self.elector.run(self._lead), name="lease"))
            work.append(asyncio.create_task(self.rivals.look(), name="rivals"))
        finished = asyncio.Event()
        farewell = asyncio.create_task(self._farewell(stop, finished), name="farewell")
        look = asyncio.create_task(self.server_version.look(), name="version")
        try:
            await until_stopped(finished, *work, farewell)
        finally:
            look.cancel()
            await self.feed.close()
            self._engine.shutdown(wait=True)

    def is_ready(self) -> str | None:
        """None once the cluster is known and, where this scheduler leads, a cycle has run."""
        if problem := self.queues.problem or self.feed.problem():
            return f"waiting for {problem}"
        if denial := self.rights.problem():
            return denial
        return "waiting for the first cycle" if self.leading and not self._cycled else None

    async def dump(self) -> Path:
        """Write what the next cycle will see to a file that only its owner can read; `vcctl schedule -f` repeats it."""
        at, last = self._last_dump
        if last is not None and time.monotonic() - at < DUMP_PAUSE_SECONDS:
            return last
        text = await self._in_engine(self._dumped)
        path = Path(self.flags.cache_dump_dir, f"volcano-scheduler-{int(time.time() * 1000)}.json")
        descriptor = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
        with os.fdopen(descriptor, "wb") as file:
            file.write(text)
        log.info("the scheduler's input was written to %s", path)
        self._last_dump = (time.monotonic(), path)
        return path

    def _dumped(self) -> bytes:
        self.feed.apply()
        record = dump.Record(self.configuration.text, self.flags.deciding, time.time(), self._next_seed)
        return json.dumps(dump.document(dump.of_cluster(self.cluster), record), default=str).encode()

    # The loop

    async def _prepare_and_schedule(self) -> None:
        await self.queues.ensure()
        with collector_at_rest():
            await self._first_view()
            await self._take_turn()
        while True:
            await self._next_change()
            await self._take_turn()

    async def _first_view(self) -> None:
        self._watch()
        try:
            async with asyncio.timeout(self.flags.resource_sync_timeout or None):
                await self.feed.synced()
        except TimeoutError:
            log.error("not all of the cluster is known, scheduling starts anyway: %s", self.feed.problem())

    async def _take_turn(self) -> None:
        if self.configuration.refresh():
            self._watch()
        if self.leading:
            await self._cycle()
        else:
            await self._in_engine(self.feed.apply)

    async def _cycle(self) -> None:
        began = time.monotonic()
        self.is_deciding = True
        try:
            loop = asyncio.get_running_loop()
            self.cluster.index(CreditRequests).by_queue = self.credits.requests()
            decisions = await self._in_engine(lambda: self._decide(loop))
        except Exception:
            log.exception("this cycle failed; everything it had not committed is undone")
            return
        finally:
            self.is_deciding = False
        self._cycled = True
        if decisions.evictions:  # who leads next knows for whom they went, even if this process is killed now
            await self.statuses.note_promises(decisions.pods)
        self.outbox.send(decisions.evictions)
        self.outbox.send(decisions.admissions.values())
        self.statuses.accept(decisions)
        self.credits.grant(decisions.credits)
        for warning in set(decisions.warnings) - self._warned:
            self._warned.add(warning)
            log.warning("%s", warning)
        self.metrics.cycled(decisions, time.monotonic() - began)
        # A session's parts know each other. Left to itself, the collector would meet those of 150 cycles in one.
        gc.collect(0)

    def _decide(self, loop: asyncio.AbstractEventLoop) -> Decisions:
        """On the engine's thread. Binds of a complete gang leave while the next one is being placed."""
        now, step = self._clock.read()
        if step:
            log.warning("the clock of this machine was set by %+.1f s", step)
            self.cluster.shift_times(step)
        began = time.thread_time()
        try:
            self.feed.apply()
            self.vanished.note_queues(job.queue_name for job in self.cluster.homeless.values())
            seed, self._next_seed = self._next_seed, self._rng.getrandbits(63)
            return engine.cycle(
                self.cluster,
                self.configuration.conf,
                self.options,
                now,
                random.Random(seed),
                registry=self.configuration.registry,
                on_commit=lambda binds: _hand_over(loop, self.outbox, binds),
                timer=time.perf_counter,
            )
        finally:
            self._pace.cost(time.thread_time() - began)

    async def _next_change(self) -> None:
        """Until something has changed and the burst it belongs to has arrived, or a period has passed."""
        with suppress(TimeoutError):
            async with asyncio.timeout(self.flags.schedule_period if self._cycled else 0.1):
                await self.feed.changed.wait()
                await asyncio.sleep(self._pace.pause_seconds(time.monotonic()))
        self.feed.changed.clear()

    # Parts

    def _watch(self) -> None:
        kinds = self.configuration.registry.plugins
        used = [option for option in self.configuration.conf.plugins if option.name in kinds]
        shards = [NODE_SHARDS] if self.options.shares_nodes else []
        wanted = [what for option in used for what in kinds[option.name].watched(option.arguments)]
        self.feed.start([*shards, *wanted])

    async def _lead(self) -> None:
        log.info("this scheduler leads")
        self.leading = True
        self.credits.take_over()
        self.feed.changed.set()
        try:
            await asyncio.Event().wait()
        finally:
            self.leading = False

    async def _farewell(self, stop: asyncio.Event, finished: asyncio.Event) -> None:
        """When told to stop: no new cycles, but what was decided is still carried out."""
        await stop.wait()
        self.leading = False
        with suppress(TimeoutError):
            async with asyncio.timeout(FAREWELL_SECONDS):
                await self.outbox.drain()
                await self.statuses.flush()
        await self.recorder.flush()
        finished.set()

    def _observe(self, event: str, plural: str, source: Any) -> None:
        """Measure what appears, and forget what goes."""
        if event == ADDED and plural == "pods" and not source.spec.node_name:
            self.metrics.watched(source)
        if event == ADDED and plural == "podgroups" and self._cycled:
            self.credits.arrived(source)
        if event == ADDED and plural == "nodes":
            self.vanished.note_node(source.metadata.name, None)
        if event != DELETED:
            return
        self.statuses.forget(plural, source.metadata.key)
        match plural:
            case "pods":
                self.outbox.forget(source.metadata.uid)
            case "podgroups":
                self.metrics.job_gone(source.metadata.namespace, source.metadata.name)
            case "queues":
                self.metrics.queue_gone(source.metadata.name)
            case "nodes":
                self._node_gone(source)

    def _node_gone(self, node: Node) -> None:
        """Its pods may run on: told, because nobody else may use their room should it come back."""
        name, pods = node.metadata.name, self.feed.store("pods").values()
        left = [pod for pod in pods if pod.spec.node_name == name and pod.status.phase not in ("Succeeded", "Failed")]
        if left:
            message = f"node {name} was deleted with {len(left)} pods on it: their room stays taken if it comes back"
            self.vanished.note_node(name, message)
            self.recorder.record(NODES, node, WARNING, "NodeDeleted", message)

    def _reloaded(self, outcome: str, message: str) -> None:
        self.metrics.reloads.labels(outcome).inc()
        if outcome == "rejected":
            self.complaints.tell(WARNING, REJECTED, f"it stays as it was: {message}")
        else:  # at the start, too: a predecessor may have complained
            self.complaints.tell(NORMAL, LOADED, message)

    def also_tell(self, problem: Callable[[], str | None]) -> None:
        """Complain of what `problem` says, too."""
        self._complaining.append(problem)

    def _complaint(self) -> str | None:
        return "; ".join(filter(None, (problem() for problem in self._complaining))) or None

    def _waits_for(self) -> str | None:
        waits = self.queues.problem or self.feed.complaint()
        return waits and f"waits for {waits}"

    def _bind_failed(self, bind: Bind, message: str) -> None:
        self.statuses.pod_failed(PodVerdict(bind.uid, bind.namespace, bind.name, SCHEDULER_ERROR, message))

    async def _in_engine(self, function: Callable[[], T]) -> T:
        return await asyncio.get_running_loop().run_in_executor(self._engine, function)


def _hand_over(loop: asyncio.AbstractEventLoop, outbox: Outbox, binds: Sequence[Bind]) -> None:
    loop.call_soon_threadsafe(outbox.send, list(binds))
