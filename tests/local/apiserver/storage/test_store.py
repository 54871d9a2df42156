"""The store against a model that keeps every version of everything, under random histories, pauses and failures."""

from __future__ import annotations

import asyncio
import json
import tempfile
from collections.abc import Callable, Iterable
from typing import Any

import pytest
from hypothesis import given, settings, strategies as st

from volcano.local.apiserver.storage.entries import Event
from volcano.local.apiserver.storage.journal import MemoryJournal, Row, SqliteJournal, StorageError, StorageFull
from volcano.local.apiserver.storage.store import HISTORY_SECONDS, Compacted, Stale, Store

KEYS = ("a/x", "a/y", "a-b/x", "b/x")
COLLECTIONS = ("pods", "nodes")


class ManualJournal:
    """A disk whose commits finish, or fail, when the test says so."""

    def __init__(self) -> None:
        self.waiting: list[Callable[[StorageError | None], None]] = []

    def load(self) -> Iterable[Row]:
        return ()

    def commit(self, rows: list[Row], revision: int, report: Callable[[StorageError | None], None]) -> None:
        self.waiting.append(report)

    def close(self) -> None:
        return None

    async def finish(self, error: StorageError | None = None) -> None:
        await asyncio.sleep(0)
        while self.waiting:
            self.waiting.pop(0)(error)
            await asyncio.sleep(0)
            await asyncio.sleep(0)
            if error:
                break


class Model:
    """Every state there ever was, by revision."""

    def __init__(self) -> None:
        self.states: dict[int, dict[tuple[str, str], int]] = {1: {}}
        self.revision = 1

    def change(self, collection: str, key: str, present: bool) -> None:
        state = dict(self.states[self.revision])
        self.revision += 1
        if present:
            state[collection, key] = self.revision
        else:
            del state[collection, key]
        self.states[self.revision] = state

    def undo_to(self, revision: int) -> None:
        for number in range(revision + 1, self.revision + 1):
            del self.states[number]
        self.revision = revision

    def listing(self, collection: str, revision: int, prefix: str = "") -> list[tuple[str, int]]:
        state = self.states[revision]
        return sorted((key, at) for (name, key), at in state.items() if name == collection and key.startswith(prefix))


class Recorder:
    def __init__(self) -> None:
        self.events: list[Event] = []

    def offer(self, events: list[Event]) -> None:
        self.events += events

    def end(self) -> None:
        return None


def document(key: str, **labels: str) -> dict[str, Any]:
    return {"metadata": {"name": key.rpartition("/")[2], "uid": key, "labels": labels}}


operations = st.lists(
    st.one_of(
        st.tuples(st.just("put"), st.sampled_from(COLLECTIONS), st.sampled_from(KEYS)),
        st.tuples(st.just("delete"), st.sampled_from(COLLECTIONS), st.sampled_from(KEYS)),
        st.tuples(st.just("commit"), st.just(""), st.just("")),
        st.tuples(st.just("fail"), st.just(""), st.just("")),
        st.tuples(st.just("tick"), st.just(""), st.just("")),
    ),
    max_size=40,
)


@settings(max_examples=200)
@given(operations)
def test_every_visible_revision_equals_the_model(steps: list[tuple[str, str, str]]) -> None:
    asyncio.run(follow(steps))


async def follow(steps: list[tuple[str, str, str]]) -> None:
    journal, model = ManualJournal(), Model()
    store = Store(journal)
    recorders = {name: Recorder() for name in COLLECTIONS}
    for name, recorder in recorders.items():
        store.collection(name).listeners.append(recorder)
    for kind, name, key in steps:
        if kind == "put":
            assert store.put(name, key, document(key)).revision == model.revision + 1
            model.change(name, key, present=True)
        elif kind == "delete":
            if store.latest(name, key) is None:
                with pytest.raises(Stale):
                    store.delete(name, key)
                continue
            store.delete(name, key)
            model.change(name, key, present=False)
        elif kind == "tick":
            await asyncio.sleep(0)
        elif kind == "commit":
            await journal.finish()
        else:
            await asyncio.sleep(0)
            if journal.waiting:
                await journal.finish(StorageFull("full"))
                model.undo_to(store.durable)
        check(store, model)
    await journal.finish()
    check(store, model)
    assert store.durable == store.revision == model.revision
    for name, recorder in recorders.items():
        assert replayed(recorder.events) == model.listing(name, model.revision)
        assert [event.revision for event in recorder.events] == sorted({event.revision for event in recorder.events})
        for start in range(1, model.revision + 1):
            base = dict(model.listing(name, start))
            assert replayed(store.since(name, start), base) == model.listing(name, model.revision)


def check(store: Store, model: Model) -> None:
    assert store.revision == model.revision
    for name in COLLECTIONS:
        for revision in range(1, store.durable + 1):
            found = [(entry.key, entry.revision) for entry in store.scan(name, revision=revision)]
            assert found == model.listing(name, revision)
        for prefix in ("a/", "b/"):
            found = [(entry.key, entry.revision) for entry in store.scan(name, prefix)]
            assert found == model.listing(name, store.durable, prefix)
        for key in KEYS:
            visible = store.get(name, key)
            assert (visible.revision if visible else None) == dict(model.listing(name, store.durable)).get(key)
            latest = store.latest(name, key)
            assert (latest.revision if latest else None) == dict(model.listing(name, model.revision)).get(key)


def replayed(events: list[Event], base: dict[str, int] | None = None) -> list[tuple[str, int]]:
    state = dict(base or {})
    for event in events:
        if event.kind == "DELETED":
            del state[event.entry.key]
        else:
            assert (event.kind == "ADDED") == (event.entry.key not in state)
            state[event.entry.key] = event.revision
    return sorted(state.items())


async def test_pages_continue_behind_the_last_key_at_their_own_revision() -> None:
    store = Store(MemoryJournal())
    for key in ("a/1", "a/2", "a/3", "b/1"):
        store.put("pods", key, document(key))
    await store.settled()
    revision = store.durable
    store.delete("pods", "a/3")
    store.put("pods", "a/4", document("a/4"))
    await store.settled()

    assert [entry.key for entry in store.scan("pods", "a/", "a/1", revision)] == ["a/2", "a/3"]
    assert [entry.key for entry in store.scan("pods", "a/", "a/1")] == ["a/2", "a/4"]


async def test_nothing_is_visible_before_it_is_durable() -> None:
    journal = ManualJournal()
    store = Store(journal)
    entry = store.put("pods", "a/x", document("a/x"))
    await asyncio.sleep(0)

    assert store.get("pods", "a/x") is None
    assert store.latest("pods", "a/x") is entry
    await journal.finish()
    assert store.get("pods", "a/x") is entry


async def test_a_failed_commit_undoes_everything_behind_it_and_tells_all_writers() -> None:
    journal = ManualJournal()
    store = Store(journal)
    store.put("pods", "a/x", document("a/x"))
    first = asyncio.create_task(store.settled())
    await asyncio.sleep(0)
    await asyncio.sleep(0)
    store.put("pods", "a/x", document("a/x", app="b"))
    second = asyncio.create_task(store.settled())
    await asyncio.sleep(0)
    await journal.finish(StorageFull("full"))

    for task in (first, second):
        with pytest.raises(StorageFull):
            await task
    assert (store.revision, store.latest("pods", "a/x")) == (1, None)
    store.put("pods", "a/x", document("a/x"), expected=0)
    await journal.finish()
    assert store.get("pods", "a/x") is not None


async def test_history_older_than_five_minutes_is_gone() -> None:
    now = [0.0]
    store = Store(MemoryJournal(), clock=lambda: now[0])
    store.put("pods", "a/x", document("a/x"))
    await store.settled()
    now[0] = HISTORY_SECONDS + 1
    store.put("pods", "a/y", document("a/y"))
    await store.settled()

    with pytest.raises(Compacted):
        store.since("pods", 1)
    assert [event.entry.key for event in store.since("pods", 2)] == ["a/y"]


async def test_what_was_acknowledged_is_there_after_a_restart(tmp_path: Any) -> None:
    path = str(tmp_path / "state.db")
    store = Store.open(path)
    for number in range(1000):
        store.put("pods", f"a/{number:04}", document(f"a/{number:04}", app="x"))
    await store.settled()
    store.delete("pods", "a/0500")
    store.put("nodes", "n1", document("n1"))
    await store.settled()
    await store.close()

    again = Store.open(path)
    assert again.durable == store.durable
    assert [entry.body for entry in again.scan("pods")] == [entry.body for entry in store.scan("pods")]
    entry = again.get("pods", "a/0001")
    assert entry is not None
    assert (entry.uid, entry.labels) == ("a/0001", {"app": "x"})
    again.put("pods", "a/new", document("a/new"))
    await again.settled()
    assert json.loads(again.latest("pods", "a/new").body)["metadata"]["resourceVersion"] == str(store.durable + 1)  # type: ignore[union-attr]
    await again.close()


def test_a_full_disk_fails_the_write_and_nothing_else(tmp_path: Any) -> None:
    path = str(tmp_path / "state.db")

    async def fill() -> None:
        journal = SqliteJournal(path)
        store = Store(journal)
        store.put("pods", "a/kept", document("a/kept"))
        await store.settled()
        pages = journal._database.execute("PRAGMA page_count").fetchone()[0]
        journal._database.execute(f"PRAGMA max_page_count = {pages + 2}")
        store.put("pods", "a/small", document("a/small"))
        await store.settled()
        store.put("pods", "a/large", document("a/large", filler="x" * 100_000))
        with pytest.raises(StorageFull, match="no space left"):
            await store.settled()
        assert [entry.key for entry in store.scan("pods")] == ["a/kept", "a/small"]
        assert store.trouble is not None
        journal._database.execute("PRAGMA max_page_count = 100000")
        store.put("pods", "a/later", document("a/later"))
        await store.settled()
        assert store.trouble is None
        await store.close()

    asyncio.run(fill())
    assert [entry.key for entry in Store.open(path).scan("pods")] == ["a/kept", "a/later", "a/small"]


@settings(max_examples=25)
@given(operations)
def test_a_reopened_store_is_what_was_committed(steps: list[tuple[str, str, str]]) -> None:
    with tempfile.TemporaryDirectory() as folder:
        path = f"{folder}/state.db"
        store = Store.open(path)

        async def write() -> None:
            for kind, name, key in steps:
                if kind == "put":
                    store.put(name, key, document(key))
                elif kind == "delete" and store.latest(name, key) is not None:
                    store.delete(name, key)
                elif kind == "commit":
                    await store.settled()
            await store.close()

        asyncio.run(write())
        again = Store.open(path)
        assert again.durable == store.durable
        for name in COLLECTIONS:
            assert [entry.body for entry in again.scan(name)] == [entry.body for entry in store.scan(name)]
        asyncio.run(again.close())
