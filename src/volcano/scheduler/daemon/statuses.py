"""Statuses and events: written after the decision, only when they changed, the latest state of each object only."""

from __future__ import annotations

import asyncio
import datetime
import logging
import time
from collections.abc import Callable, Iterable, Set
from contextlib import suppress
from itertools import islice
from typing import Any, Final

import msgspec

from volcano.api.core import Pod
from volcano.api.meta import JsonObject, ObjectReference
from volcano.api.resources import NODE_SHARDS, PODGROUPS, PODS, QUEUES
from volcano.api.scheduling import PodGroup, Queue
from volcano.api.shard import NodeShard
from volcano.kube.client import Client, PatchKind
from volcano.kube.errors import ApiError, Conflict, Invalid, NotFound
from volcano.kube.events import WARNING, EventRecorder
from volcano.kube.workqueue import WorkQueue
from volcano.scheduler.cluster.shards import ShardUse
from volcano.scheduler.daemon.ingest import Feed
from volcano.scheduler.daemon.lateness import LOOK_SECONDS, TURN_SECONDS, StatusRush, lateness
from volcano.scheduler.daemon.view import PodGroupInView
from volcano.scheduler.framework.decisions import ClusterEvent, Decisions, PodGroupDecision, PodVerdict

log = logging.getLogger(__name__)

WORKERS: Final = 8
ATTEMPTS: Final = 8
"""After so many it is told that there is trouble."""
PLAIN_FIELDS: Final = ("phase", "running", "succeeded", "failed")
NOTE_SECONDS: Final = 5.0

MAKER: Final = ("vc-controller-manager", "Update")
UNACCOUNTED: Final[JsonObject] = {"managedFields": [{}]}
"""Of an object without managers the API server keeps no account: every write of it costs two fifths less, and what is
sent to all who watch it is half as long. It begins anew with the first who applies (server-side) to the object."""

UNREAD_PODGROUPS: Final = PODGROUPS.as_type(msgspec.Raw)
"""Nobody looks at the answers: what was written comes as an event."""

Key = tuple[str, str]
"""Plural name and key of an object."""


class StatusWriter:
    """What an object's status should be is replaced by later decisions until it is written."""

    def __init__(
        self,
        client: Client,
        feed: Feed,
        recorder: EventRecorder,
        *,
        now: Callable[[], datetime.datetime] = lambda: datetime.datetime.now(datetime.UTC),
    ) -> None:
        self._client = client
        self._feed = feed
        self._recorder = recorder
        self._now = now
        self._queue: WorkQueue[Key] = WorkQueue(base_seconds=0.1, max_seconds=30.0)
        self._wanted: dict[Key, Any] = {}
        self._written: dict[Key, tuple[str, Any]] = {}
        """Per object, what was wanted and written over which version: not again before the object changes."""
        self._said: dict[tuple[str, str, str], str] = {}
        """The last message per object and reason: events are only told when they say something new."""
        self._held: dict[Key, float] = {}
        """What waits a moment for later news, and until when."""
        self._put_off: dict[Key, float] = {}
        """What waits for the end of a rush, and until when at most."""
        self._any_put_off = asyncio.Event()
        self._rush = StatusRush(time.monotonic())
        self._session = ""

    def accept(self, decisions: Decisions) -> None:
        """Queue what differs from what the API server shows; numbers alone can wait a little."""
        self._session = decisions.session
        for key, wanted in decisions.podgroups.items():
            self._want(("podgroups", key), wanted)
        for verdict in decisions.pods:
            self._want(("pods", f"{verdict.namespace}/{verdict.name}"), verdict)
        for name, allocated in decisions.queues.items():
            self._want(("queues", name), allocated)
        if decisions.shard is not None and decisions.shard.is_known:
            self._want(("nodeshards", decisions.shard.name), decisions.shard)
        for event in decisions.events:
            self._tell(event)

    async def note_promises(self, verdicts: Iterable[PodVerdict]) -> None:
        """Write now which nodes are kept for whom, and do not wait for a server that does not answer."""
        promised = [verdict for verdict in verdicts if verdict.nominated_node]
        keys = [("pods", f"{verdict.namespace}/{verdict.name}") for verdict in promised]
        self._wanted.update(zip(keys, promised, strict=True))
        allowed = asyncio.Semaphore(WORKERS)

        async def write(key: Key) -> None:
            async with allowed:
                await self._try(key)

        with suppress(TimeoutError):
            async with asyncio.timeout(NOTE_SECONDS), asyncio.TaskGroup() as group:
                for key in keys:
                    group.create_task(write(key))

    def pod_failed(self, verdict: PodVerdict) -> None:
        """A verdict from outside a cycle: a bind that was refused."""
        self._want(("pods", f"{verdict.namespace}/{verdict.name}"), verdict)

    async def run(self) -> None:
        """Write until cancelled."""
        async with asyncio.TaskGroup() as group:
            for _ in range(WORKERS):
                group.create_task(self._queue.work(self._try))
            group.create_task(self._let_go())

    async def flush(self) -> None:
        await self._queue.idle()

    def forget(self, plural: str, key: str) -> None:
        """The object has gone."""
        self._written.pop((plural, key), None)
        self._wanted.pop((plural, key), None)
        self._let_in((plural, key))
        for said in [said for said in self._said if said[1] == key] if plural == "podgroups" else ():
            del self._said[said]

    # What to write

    def _want(self, key: Key, wanted: Any) -> None:
        live = self._feed.store(key[0]).get(key[1])
        if live is None:
            return
        self._wanted[key] = wanted
        news = self._news(key[0], live, wanted)
        if not news or self._written.get(key) == (live.metadata.resource_version, wanted):
            return
        soon, late = lateness(live, wanted, news)
        now = time.monotonic()
        waits = key in self._held or key in self._put_off
        in_a_rush = late > 0 and (self._rush.lasts(now) if waits else self._rush.begins_or_lasts(now))
        if not in_a_rush and not soon:
            self._let_in(key)
            self._queue.add(key)
        elif not waits and in_a_rush:
            self._put_off[key] = now + late
            self._any_put_off.set()
        elif not waits:
            self._held[key] = now + soon
            self._queue.add_after(key, soon)

    def _is_held(self, key: Key) -> bool:
        """Whether this is not the time yet."""
        now = time.monotonic()
        left = self._held.get(key, now) - now
        if left > 0:
            self._queue.add_after(key, left)
        return left > 0 or key in self._put_off

    def _let_in(self, key: Key) -> None:
        """It waits no longer."""
        self._held.pop(key, None)
        self._put_off.pop(key, None)

    async def _let_go(self) -> None:
        """When a rush is over, what it has held back is written, a few at a time; or when it is due."""
        while True:
            await self._any_put_off.wait()
            now, waiting = time.monotonic(), self._put_off
            turns = islice(waiting, self._rush.turns(now, len(waiting)))
            for key in {*turns, *(key for key, due in waiting.items() if due <= now)}:
                del waiting[key]
                self._queue.add(key)
            if not waiting:
                self._any_put_off.clear()
            await asyncio.sleep(LOOK_SECONDS if self._rush.lasts(now) else TURN_SECONDS)

    def _news(self, plural: str, live: Any, wanted: Any) -> Set[str]:
        """The fields of the status that are not as they should be."""
        if plural == "podgroups":  # asked in every cycle for every job that moves
            group: PodGroupDecision = wanted
            return group.news(live.status)
        status: JsonObject = self._patch(plural, live, wanted).get("status", {})
        return status.keys()

    def _patch(self, plural: str, live: Any, wanted: Any) -> JsonObject:
        match plural:
            case "podgroups":
                return self._pod_group_patch(live, wanted)
            case "pods":
                return self._pod_patch(live, wanted)
            case "nodeshards":
                return self._shard_patch(live, wanted)
            case _:
                return self._queue_patch(live, wanted)

    def _pod_group_patch(self, live: PodGroup, wanted: PodGroupDecision) -> JsonObject:
        news = wanted.news(live.status)
        status: JsonObject = {field: getattr(wanted, field) for field in PLAIN_FIELDS if field in news}
        if "conditions" in news:
            now = _stamp(self._now())
            changed = {condition.type: condition for condition in wanted.untold(live.status)}
            status["conditions"] = [
                *(_as_document(old) for old in live.status.conditions if old.type not in changed),
                *(
                    {
                        "type": condition.type,
                        "status": condition.status,
                        "reason": condition.reason,
                        "message": condition.message,
                        "transitionID": self._session,
                        "lastTransitionTime": now,
                    }
                    for condition in changed.values()
                ),
            ]
        return {"status": status} if status else {}

    def _shard_patch(self, live: NodeShard, wanted: ShardUse) -> JsonObject:
        status: JsonObject = {
            field: sorted(names)
            for field, names, old in (
                ("nodesInUse", wanted.in_use, live.status.nodes_in_use),
                ("nodesToAdd", wanted.to_add, live.status.nodes_to_add),
                ("nodesToRemove", wanted.to_remove, live.status.nodes_to_remove),
            )
            if names != frozenset(old)
        }
        return {"status": {**status, "lastUpdateTime": _stamp(self._now())}} if status else {}

    def _pod_patch(self, live: Pod, wanted: PodVerdict) -> JsonObject:
        if live.metadata.uid and wanted.uid != live.metadata.uid:
            return {}
        if live.spec.node_name:
            return {}
        status: JsonObject = {}
        old = next((condition for condition in live.status.conditions if condition.type == "PodScheduled"), None)
        if old is None or (old.status, old.reason, old.message) != ("False", wanted.reason, wanted.message):
            condition = {"type": "PodScheduled", "status": "False", "reason": wanted.reason, "message": wanted.message}
            since = old.last_transition_time if old is not None and old.status == "False" else None
            condition["lastTransitionTime"] = _stamp(since or self._now())
            status["conditions"] = [condition]
        if wanted.nominated_node and wanted.nominated_node != live.status.nominated_node_name:
            status["nominatedNodeName"] = wanted.nominated_node
        return {"status": status} if status else {}

    def _queue_patch(self, live: Queue, wanted: dict[str, str]) -> JsonObject:
        if {name: str(value) for name, value in live.status.allocated.items()} == wanted:
            return {}
        gone = {name: None for name in live.status.allocated if name not in wanted}
        return {"status": {"allocated": {**gone, **wanted}}}

    # Writing

    async def _try(self, key: Key) -> None:
        if self._is_held(key):
            return
        try:
            await self._write(key)
        except (NotFound, Invalid) as problem:
            log.debug("%s %s: the status is not wanted any more: %s", *key, problem)
            self._queue.forget(key)
        except (ApiError, OSError, TimeoutError) as problem:
            # Of conflicts, too: of too many writers at once, or with a later object of this name until we see it.
            self._queue.add_rate_limited(key)
            if self._queue.failures(key) == ATTEMPTS:  # go on: nobody decides again about a job at rest
                log.warning("%s %s: the status could not be written yet: %s", *key, problem)
        else:
            self._queue.forget(key)

    async def _write(self, key: Key) -> None:
        plural, name = key
        live = self._feed.store(plural).get(name)
        wanted = self._wanted.pop(key, None)
        self._let_in(key)
        if live is None or wanted is None:
            return
        patch = self._patch(plural, live, wanted)
        if not patch:
            return
        try:
            await self._send(plural, name, live, patch)
        except BaseException:
            self._wanted.setdefault(key, wanted)
            raise
        self._written[key] = (live.metadata.resource_version, wanted)
        if plural == "pods" and "conditions" in patch["status"]:
            self._recorder.record(PODS, live, WARNING, "FailedScheduling", wanted.message)

    async def _send(self, plural: str, key: str, live: Any, patch: JsonObject) -> None:
        namespace, _, name = key.rpartition("/")
        match plural:
            case "podgroups":
                await self._write_pod_group(live, patch)
            case "pods":
                await self._client.patch(
                    PODS, name, _for(live, patch), namespace, kind=PatchKind.STRATEGIC, subresource="status"
                )
            case "nodeshards":
                await self._client.patch(NODE_SHARDS, name, patch, subresource="status")
            case _:
                await self._client.patch(QUEUES, name, patch, subresource="status")

    async def _write_pod_group(self, live: PodGroup, patch: JsonObject) -> None:
        meta = live.metadata
        if _is_ours_alone(live):
            whole = {"metadata": {**UNACCOUNTED, "uid": meta.uid, "resourceVersion": meta.resource_version}, **patch}
            with suppress(Conflict):  # somebody else writes it, too
                await self._client.patch(UNREAD_PODGROUPS, meta.name, whole, meta.namespace)
                return
        await self._client.patch(UNREAD_PODGROUPS, meta.name, _for(live, patch), meta.namespace)

    def _tell(self, event: ClusterEvent) -> None:
        said = (event.kind, event.key, event.reason)
        if self._said.get(said) == event.message:
            return
        self._said[said] = event.message
        live = self._feed.store("podgroups").get(event.key)
        if live is not None:
            about = ObjectReference(
                kind="PodGroup",
                api_version=PODGROUPS.api_version,
                namespace=live.metadata.namespace,
                name=live.metadata.name,
                uid=live.metadata.uid,
            )
            self._recorder.record_on(about, event.type, event.reason, event.message)


def _is_ours_alone(live: PodGroup) -> bool:
    """Whether the controllers have made it, and nobody has written it since."""
    if not isinstance(live, PodGroupInView):
        return False
    writers = live.metadata.managed_fields
    return bool(writers) and all((writer.manager, writer.operation) == MAKER for writer in writers)


def _for(live: Any, patch: JsonObject) -> JsonObject:
    """The patch, for this very object and no later one of the same name."""
    return {"metadata": {"uid": live.metadata.uid}, **patch} if live.metadata.uid else patch


def _as_document(condition: Any) -> JsonObject:
    document = {
        "type": condition.type,
        "status": condition.status,
        "reason": condition.reason,
        "message": condition.message,
        "transitionID": condition.transition_id,
    }
    if condition.last_transition_time is not None:
        document["lastTransitionTime"] = _stamp(condition.last_transition_time)
    return document


def _stamp(moment: datetime.datetime) -> str:
    return moment.astimezone(datetime.UTC).strftime("%Y-%m-%dT%H:%M:%SZ")
