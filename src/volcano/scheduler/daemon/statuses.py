"""Statuses and events: written after the decision, only when they changed, the latest state of each object only."""

from __future__ import annotations

import asyncio
import datetime
import logging
import time
from collections.abc import Callable, Set
from contextlib import suppress
from typing import Any, Final

from volcano.api.core import Pod
from volcano.api.keys import POD_GROUP_PREFIX
from volcano.api.meta import JsonObject, ObjectReference
from volcano.api.resources import NODE_SHARDS, PODGROUPS, PODS, QUEUES
from volcano.api.scheduling import SCHEDULED, PodGroup, Queue
from volcano.api.shard import NodeShard
from volcano.kube.bucket import Bucket
from volcano.kube.client import Client, PatchKind
from volcano.kube.errors import ApiError, Conflict, Invalid, NotFound
from volcano.kube.events import WARNING, EventRecorder
from volcano.kube.workqueue import WorkQueue
from volcano.scheduler.cluster.jobs import INQUEUE, RUNNING
from volcano.scheduler.cluster.shards import ShardUse
from volcano.scheduler.daemon.ingest import Feed
from volcano.scheduler.daemon.view import PodGroupInView
from volcano.scheduler.framework.decisions import ClusterEvent, Decisions, PodGroupDecision, PodVerdict

log = logging.getLogger(__name__)

WORKERS: Final = 8
ATTEMPTS: Final = 8
COUNTERS: Final = frozenset({"running", "succeeded", "failed", "allocated"})
SETTLING: Final = COUNTERS | {"phase", "conditions"}
"""What changes again when the pods of a group that has been placed run."""
PATIENCE_SECONDS: Final = 1.0
"""How late numbers of PodGroups and queues may be, and what will change again in a moment."""
RUSH_SECONDS: Final = 5.0
"""The same while very many change."""
BURST: Final = 100
REFILL_SECONDS: Final = 0.05
"""More patient writes than this are a rush."""

MAKER: Final = ("vc-controller-manager", "Update")
UNACCOUNTED: Final[JsonObject] = {"managedFields": [{}]}
"""Of an object without managers the API server keeps no account: every write of it costs two fifths less, and what is
sent to all who watch it is half as long. It begins anew with the first who applies (server-side) to the object."""

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
        self._written: dict[Key, tuple[str, JsonObject]] = {}
        """Per object, what was written over which version: not to be written again before the object changes."""
        self._said: dict[tuple[str, str, str], str] = {}
        """The last message per object and reason: events are only told when they say something new."""
        self._patient: set[Key] = set()
        """What waits for later news."""
        self._allowance = Bucket(BURST, time.monotonic())
        self._session = ""

    def accept(self, decisions: Decisions) -> None:
        """Queue what differs from what the API server shows; numbers alone can wait a little."""
        self._session = decisions.session
        for key, wanted in decisions.podgroups.items():
            self._want(("podgroups", key), wanted, self._pod_group_patch)
        for verdict in decisions.pods:
            self._want(("pods", f"{verdict.namespace}/{verdict.name}"), verdict, self._pod_patch)
        for name, allocated in decisions.queues.items():
            self._want(("queues", name), allocated, self._queue_patch)
        if decisions.shard is not None and decisions.shard.is_known:
            self._want(("nodeshards", decisions.shard.name), decisions.shard, self._shard_patch)
        for event in decisions.events:
            self._tell(event)

    def pod_failed(self, verdict: PodVerdict) -> None:
        """A verdict from outside a cycle: a bind that was refused."""
        self._want(("pods", f"{verdict.namespace}/{verdict.name}"), verdict, self._pod_patch)

    async def run(self) -> None:
        """Write until cancelled."""
        async with asyncio.TaskGroup() as group:
            for _ in range(WORKERS):
                group.create_task(self._queue.work(self._try))

    async def flush(self) -> None:
        await self._queue.idle()

    def forget(self, plural: str, key: str) -> None:
        """The object has gone."""
        self._written.pop((plural, key), None)
        self._wanted.pop((plural, key), None)
        self._patient.discard((plural, key))
        for said in [said for said in self._said if said[1] == key] if plural == "podgroups" else ():
            del self._said[said]

    # What to write

    def _want(self, key: Key, wanted: Any, patch_of: Callable[[Any, Any], JsonObject]) -> None:
        live = self._feed.store(key[0]).get(key[1])
        if live is None:
            return
        self._wanted[key] = wanted
        patch = patch_of(live, wanted)
        if not patch or self._written.get(key) == (live.metadata.resource_version, _timeless(patch)):
            return
        if not _can_wait(live, wanted, patch):
            self._queue.add(key)
        elif key not in self._patient:
            self._patient.add(key)
            calm = self._allowance.take(time.monotonic(), BURST, REFILL_SECONDS)
            self._queue.add_after(key, PATIENCE_SECONDS if calm else RUSH_SECONDS)

    def _pod_group_patch(self, live: PodGroup, wanted: PodGroupDecision) -> JsonObject:
        status: JsonObject = {
            field: value
            for field, value in (
                ("phase", wanted.phase),
                ("running", wanted.running),
                ("succeeded", wanted.succeeded),
                ("failed", wanted.failed),
            )
            if getattr(live.status, field) != value
        }
        newest = live.status.conditions[-len(wanted.conditions) :] if wanted.conditions else []
        changed = {
            condition.type: condition
            for condition in wanted.conditions
            if not any(
                (old.type, old.status, old.reason, old.message)
                == (condition.type, condition.status, condition.reason, condition.message)
                for old in newest
            )
        }
        if changed:
            now = _stamp(self._now())
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
        try:
            await self._write(key)
        except (NotFound, Conflict, Invalid) as problem:
            log.debug("%s %s: the status is not wanted any more: %s", *key, problem)
            self._queue.forget(key)
        except (ApiError, OSError, TimeoutError) as problem:
            if self._queue.failures(key) < ATTEMPTS:
                self._queue.add_rate_limited(key)
            else:
                log.warning("%s %s: the status was not written: %s", *key, problem)
                self._queue.forget(key)
        else:
            self._queue.forget(key)

    async def _write(self, key: Key) -> None:
        plural, name = key
        live = self._feed.store(plural).get(name)
        wanted = self._wanted.pop(key, None)
        self._patient.discard(key)
        if live is None or wanted is None:
            return
        namespace, _, short = name.rpartition("/")
        try:
            match plural:
                case "podgroups":
                    patch = self._pod_group_patch(live, wanted)
                    if patch:
                        await self._write_pod_group(live, patch)
                case "pods":
                    patch = self._pod_patch(live, wanted)
                    if patch:
                        await self._client.patch(
                            PODS, short, _for(live, patch), namespace, kind=PatchKind.STRATEGIC, subresource="status"
                        )
                        if "conditions" in patch["status"]:
                            self._recorder.record(PODS, live, WARNING, "FailedScheduling", wanted.message)
                case "nodeshards":
                    patch = self._shard_patch(live, wanted)
                    if patch:
                        await self._client.patch(NODE_SHARDS, short, patch, subresource="status")
                case _:
                    patch = self._queue_patch(live, wanted)
                    if patch:
                        await self._client.patch(QUEUES, short, patch, subresource="status")
        except BaseException:
            self._wanted.setdefault(key, wanted)
            raise
        if patch:
            self._written[key] = (live.metadata.resource_version, _timeless(patch))

    async def _write_pod_group(self, live: PodGroup, patch: JsonObject) -> None:
        meta = live.metadata
        if _is_ours_alone(live):
            whole = {"metadata": {**UNACCOUNTED, "uid": meta.uid, "resourceVersion": meta.resource_version}, **patch}
            with suppress(Conflict):  # somebody else writes it, too
                await self._client.patch(PODGROUPS, meta.name, whole, meta.namespace)
                return
        await self._client.patch(PODGROUPS, meta.name, _for(live, patch), meta.namespace)

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


def _can_wait(live: Any, wanted: Any, patch: JsonObject) -> bool:
    """Numbers can, and so can news of a group of which there is more in a moment: that it was let in and placed."""
    fields: Set[str] = patch["status"].keys()
    if not isinstance(wanted, PodGroupDecision) or fields <= COUNTERS:
        return fields <= COUNTERS
    if not wanted.is_settling:  # of a group that was made for pods nobody waits to hear that they may be made
        return fields == {"phase"} and wanted.phase == INQUEUE and live.metadata.name.startswith(POD_GROUP_PREFIX)
    return (
        fields <= SETTLING
        and wanted.phase in (INQUEUE, RUNNING)
        and all(condition.type == SCHEDULED for condition in wanted.conditions)
    )


def _is_ours_alone(live: PodGroup) -> bool:
    """Whether the controllers have made it, and nobody has written it since."""
    if not isinstance(live, PodGroupInView):
        return False
    writers = live.metadata.managed_fields
    return bool(writers) and all((writer.manager, writer.operation) == MAKER for writer in writers)


def _for(live: Any, patch: JsonObject) -> JsonObject:
    """The patch, for this very object and no later one of the same name."""
    return {"metadata": {"uid": live.metadata.uid}, **patch} if live.metadata.uid else patch


def _timeless(patch: JsonObject) -> JsonObject:
    """The patch without what differs from cycle to cycle."""
    conditions = patch["status"].get("conditions")
    if conditions is None:
        return patch
    kept = [
        {field: value for field, value in condition.items() if field not in ("lastTransitionTime", "transitionID")}
        for condition in conditions
    ]
    return {"status": {**patch["status"], "conditions": kept}}


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
