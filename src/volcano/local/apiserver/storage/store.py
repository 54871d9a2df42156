"""The state of the cluster: every object as JSON bytes, one revision counter, a log of what changed.

Memory is the authority for reads; `journal.py` makes changes durable; `watch.py` is told what became visible.
A change is visible (to reads, lists and watches) only once it is durable; writers see the newest state at once.
"""

from __future__ import annotations

import asyncio
import time
from typing import TYPE_CHECKING

import msgspec

from volcano.api.meta import JsonObject
from volcano.local.apiserver.storage.entries import LAST, Collection, Entry, Event, encoded, overlaid
from volcano.local.apiserver.storage.journal import Journal, MemoryJournal, Row, StorageError

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator

HISTORY_SECONDS = 300.0
HISTORY_EVENTS = 50_000


class Compacted(Exception):
    """The asked revision is older than the history that is kept (410 Gone)."""

    def __init__(self, asked: int, oldest: int) -> None:
        super().__init__(f"too old resource version: {asked} ({oldest})")
        self.asked = asked
        self.oldest = oldest


class Stale(Exception):
    """The object is not in the state the writer expected; `found` is what is there now."""

    def __init__(self, found: Entry | None) -> None:
        super().__init__("the object has been modified")
        self.found = found


class Batch:
    """Changes that are committed together, and who waits for that."""

    __slots__ = ("events", "rows", "waiters")

    def __init__(self) -> None:
        self.rows: dict[int, Row] = {}
        self.events: list[tuple[Collection, Event]] = []
        self.waiters: list[asyncio.Future[None]] = []


class Store:
    """Multi-version state in memory over a durable journal. All methods belong to one event loop."""

    def __init__(self, journal: Journal, clock: Callable[[], float] = time.monotonic) -> None:
        self._journal = journal
        self._clock = clock
        self._collections: dict[str, Collection] = {}
        self._free_rows: list[int] = []
        self._next_row = 1
        self._gathering = Batch()
        self._committing: Batch | None = None
        self._flush_scheduled = False
        self._compaction: asyncio.TimerHandle | None = None
        self.revision = 1  # the newest change, durable or not
        self.durable = 1  # what reads and watches may see
        self.trouble: StorageError | None = None  # why the last commit failed, until one succeeds
        self._recover(journal.load())

    @classmethod
    def open(cls, path: str) -> Store:
        """The store kept in the SQLite file `path`, or a forgetful one for ":memory:"."""
        if path == ":memory:":
            return cls(MemoryJournal())
        from volcano.local.apiserver.storage.journal import SqliteJournal

        return cls(SqliteJournal(path))

    def collection(self, name: str) -> Collection:
        found = self._collections.get(name)
        if found is None:
            found = self._collections[name] = Collection(name, self._start)
        return found

    def collections(self) -> Iterable[Collection]:
        return self._collections.values()

    # Reading: only what is durable

    def get(self, name: str, key: str) -> Entry | None:
        """The object as readers may see it."""
        collection = self.collection(name)
        entry: Entry | None = collection.entries.get(key)
        if self.revision == self.durable:
            return entry
        for event in reversed(collection.log):
            if event.revision <= self.durable:
                break
            if event.entry.key == key:
                entry = event.previous
        return entry

    def latest(self, name: str, key: str) -> Entry | None:
        """The object as writers must see it: changes on their way to the disk included."""
        entry: Entry | None = self.collection(name).entries.get(key)
        return entry

    def scan(self, name: str, prefix: str = "", after: str = "", revision: int | None = None) -> Iterator[Entry]:
        """The entries at `revision` (default: now) in key order; raises Compacted if that is forgotten."""
        collection = self.collection(name)
        wanted = self.durable if revision is None else revision
        if wanted < collection.floor:
            raise Compacted(wanted, collection.floor)
        undone: dict[str, Entry | None] = {}
        for event in reversed(collection.log):
            if event.revision <= wanted:
                break
            undone[event.entry.key] = event.previous
        if not undone:
            return map(collection.entries.__getitem__, collection.keys(prefix, after))
        return overlaid(collection, undone, prefix, after)

    def remaining(self, name: str, prefix: str, after: str, revision: int) -> int:
        """How many objects of `scan(name, prefix, after, revision)` there are."""
        collection = self.collection(name)
        if collection.log and collection.log[-1].revision > revision:
            return sum(1 for _ in self.scan(name, prefix, after, revision))
        end = collection.entries.bisect_left(prefix + LAST) if prefix else len(collection.entries)
        return int(end - collection.entries.bisect_right(after))

    def since(self, name: str, revision: int) -> list[Event]:
        """The visible events after `revision`, oldest first; raises Compacted if some are forgotten."""
        collection = self.collection(name)
        if revision < collection.floor:
            raise Compacted(revision, collection.floor)
        events: list[Event] = []
        for event in reversed(collection.log):
            if event.revision <= revision:
                break
            if event.revision <= self.durable:
                events.append(event)
        events.reverse()
        return events

    # Writing

    def put(self, name: str, key: str, document: JsonObject, expected: int | None = None) -> Entry:
        """Store `document` (its resourceVersion is set here). `expected`: the revision it replaces, 0 for none."""
        collection = self.collection(name)
        previous: Entry | None = collection.entries.get(key)
        if expected is not None and expected != (previous.revision if previous else 0):
            raise Stale(previous)
        revision = self.revision + 1
        metadata = document["metadata"]
        metadata["resourceVersion"] = str(revision)
        body = encoded(document)
        row = previous.row if previous else self._take_row()
        entry = Entry(row, key, revision, body, metadata.get("uid", ""), metadata.get("labels") or None)
        collection.entries[key] = entry
        self._record(collection, Event("MODIFIED" if previous else "ADDED", entry, previous, self._clock()), body)
        return entry

    def delete(self, name: str, key: str, document: JsonObject | None = None, expected: int | None = None) -> Entry:
        """Remove the object; its last state (`document`, or as it was) is kept at the deletion's revision."""
        collection = self.collection(name)
        previous: Entry | None = collection.entries.get(key)
        if previous is None or (expected is not None and expected != previous.revision):
            raise Stale(previous)
        revision = self.revision + 1
        final = previous.document() if document is None else document
        final["metadata"]["resourceVersion"] = str(revision)
        entry = Entry(previous.row, key, revision, encoded(final), previous.uid, previous.labels)
        del collection.entries[key]
        self._free_rows.append(previous.row)
        self._record(collection, Event("DELETED", entry, previous, self._clock()), None)
        return entry

    async def settled(self, revision: int | None = None) -> None:
        """Wait until the change at `revision` (default: all so far) is durable; raises StorageError if it failed."""
        wanted = self.revision if revision is None else revision
        if wanted <= self.durable:
            return
        batch = self._committing
        if batch is None or batch.events[-1][1].revision < wanted:
            batch = self._gathering
        waiter: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        batch.waiters.append(waiter)
        await waiter

    async def close(self) -> None:
        """Finish what is on its way and release the file."""
        if self.revision != self.durable:
            await self.settled()
        if self._compaction is not None:
            self._compaction.cancel()
        self._journal.close()

    def _take_row(self) -> int:
        if self._free_rows:
            return self._free_rows.pop()
        self._next_row += 1
        return self._next_row - 1

    def _record(self, collection: Collection, event: Event, body: bytes | None) -> None:
        self.revision = event.revision
        collection.changes += 1
        collection.log.append(event)
        batch = self._gathering
        row = event.entry.row
        batch.rows[row] = (row, collection.name, event.entry.key, event.revision, body)
        batch.events.append((collection, event))
        if self._committing is None and not self._flush_scheduled:
            self._flush_scheduled = True
            asyncio.get_running_loop().call_soon(self._flush)

    def _flush(self) -> None:
        self._flush_scheduled = False
        batch = self._gathering
        if self._committing is not None or not batch.events:
            return
        self._committing, self._gathering = batch, Batch()
        loop = asyncio.get_running_loop()

        def report(error: StorageError | None) -> None:
            loop.call_soon_threadsafe(self._finished, error)

        self._journal.commit(list(batch.rows.values()), self.revision, report)

    def _finished(self, error: StorageError | None) -> None:
        batch = self._committing
        if batch is None:
            return
        self._committing = None
        self.trouble = error
        if error is not None:
            self._roll_back(batch, error)
            return
        self.durable = batch.events[-1][1].revision
        self._flush()  # the disk works on the next batch while this one is told around
        _publish(batch.events)
        for waiter in batch.waiters:
            if not waiter.done():
                waiter.set_result(None)
        self._forget({collection for collection, _ in batch.events})
        if self._compaction is None:
            loop = asyncio.get_running_loop()
            self._compaction = loop.call_later(HISTORY_SECONDS + 1.0, self._compact)

    def _roll_back(self, failed: Batch, error: StorageError) -> None:
        """Nothing after `durable` happened: undo it newest first, and tell every writer why."""
        gathered, self._gathering = self._gathering, Batch()
        for collection, event in reversed(failed.events + gathered.events):
            collection.log.pop()
            collection.changes += 1
            key = event.entry.key
            if event.previous is None:
                del collection.entries[key]
                self._free_rows.append(event.entry.row)
            else:
                if event.kind == "DELETED":
                    self._free_rows.remove(event.previous.row)
                collection.entries[key] = event.previous
        self.revision = self.durable
        for waiter in failed.waiters + gathered.waiters:
            if not waiter.done():
                waiter.set_exception(error)

    def _forget(self, collections: Iterable[Collection]) -> None:
        horizon = self._clock() - HISTORY_SECONDS
        for collection in collections:
            log = collection.log
            while log and log[0].revision <= self.durable and (log[0].time < horizon or len(log) > HISTORY_EVENTS):
                collection.floor = log.popleft().revision

    def _compact(self) -> None:
        """Drop old history of collections that have become quiet (a busy one does it by itself)."""
        self._compaction = None
        self._forget(self._collections.values())
        if any(collection.log for collection in self._collections.values()):
            self._compaction = asyncio.get_running_loop().call_later(HISTORY_SECONDS / 2, self._compact)

    def _recover(self, rows: Iterable[Row]) -> None:
        taken: set[int] = set()
        loaded: dict[str, dict[str, Entry]] = {}
        for row, name, key, revision, body in rows:
            self.revision = max(self.revision, revision)
            if body is None:
                continue
            taken.add(row)
            head = _decode_head(body).metadata
            loaded.setdefault(name, {})[key] = Entry(row, key, revision, body, head.uid, head.labels or None)
        self.durable = self._start = self.revision
        self._next_row = max(taken, default=0) + 1
        self._free_rows = [row for row in range(1, self._next_row) if row not in taken]
        for name, entries in loaded.items():
            self.collection(name).entries.update(entries)


class _HeadMetadata(msgspec.Struct):
    uid: str = ""
    labels: dict[str, str] | None = None


class _Head(msgspec.Struct):
    metadata: _HeadMetadata


_decode_head = msgspec.json.Decoder(_Head).decode


def _publish(events: list[tuple[Collection, Event]]) -> None:
    grouped: dict[Collection, list[Event]] = {}
    for collection, event in events:
        grouped.setdefault(collection, []).append(event)
    for collection, happened in grouped.items():
        for listener in tuple(collection.listeners):
            listener.offer(happened)
        for event in happened:
            event.lines = None
