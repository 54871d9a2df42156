"""The informer: a faithful copy through lists, watches, broken connections and expired versions."""

from __future__ import annotations

import asyncio
import random
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, suppress
from typing import Any

import msgspec
import pytest
from hypothesis import given, settings, strategies as st

from tests.kube.memory_api import MemoryApi
from tests.waiting import until
from volcano.api.core import Pod
from volcano.api.resources import PODS
from volcano.http.message import Request, Response
from volcano.kube.client import Client
from volcano.kube.informer import ABSENT_SECONDS, Callbacks, Informer
from volcano.kube.transport import InProcessTransport


class Recorder(Callbacks[Any]):
    """Remembers the callbacks as lines."""

    def __init__(self) -> None:
        self.seen: list[str] = []
        super().__init__(
            add=lambda pod: self.seen.append(f"+{pod.metadata.name}"),
            update=lambda old, new: self.seen.append(f"~{new.metadata.name}"),
            delete=lambda pod: self.seen.append(f"-{pod.metadata.name}"),
        )


@asynccontextmanager
async def following(api: MemoryApi, recorder: Recorder | None = None) -> AsyncIterator[Informer[Pod]]:
    informer = Informer(
        Client(InProcessTransport(api.handle)),
        PODS,
        handler=recorder,
        indexers={"node": lambda pod: [pod.spec.node_name] if pod.spec.node_name else []},
    )
    task = asyncio.create_task(informer.run())
    try:
        await asyncio.wait_for(informer.synced(), 60)
        yield informer
    finally:
        task.cancel()
        with suppress(asyncio.CancelledError):
            await task


@pytest.mark.parametrize("watch_list", [True, False], ids=["watch-list", "list-and-watch"])
def test_the_store_follows_the_server(watch_list: bool) -> None:
    async def main() -> None:
        api = MemoryApi(watch_list=watch_list)
        api.put("a")
        recorder = Recorder()
        async with following(api, recorder) as informer:
            api.put("b", spec={"nodeName": "n1"})
            api.put("a", spec={"nodeName": "n1"})
            api.delete("a")
            await until(lambda: "-a" in recorder.seen)
            assert recorder.seen == ["+a", "+b", "~a", "-a"]
            assert list(informer.store) == ["default/b"]
            assert [pod.metadata.name for pod in informer.by_index("node", "n1")] == ["b"]

    asyncio.run(main())


def test_a_broken_watch_resumes_without_repeating() -> None:
    async def main() -> None:
        api = MemoryApi()
        api.put("a")
        recorder = Recorder()
        async with following(api, recorder) as informer:
            api.disconnect()
            api.put("b")
            await until(lambda: "+b" in recorder.seen)
            assert recorder.seen == ["+a", "+b"]
            assert informer.relists == 1

    asyncio.run(main())


def test_a_kind_that_may_be_absent_is_asked_for_again_much_later_and_in_silence(
    caplog: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch
) -> None:
    asked: list[str] = []
    pauses: list[float] = []
    api = MemoryApi()
    api.put("a")

    async def handle(request: Request) -> Response:
        asked.append(request.path)
        return await api.handle(request) if len(asked) > 2 else Response(404, {}, b"404 page not found")

    async def main() -> None:
        really = asyncio.sleep

        async def sleep(seconds: float) -> None:
            pauses.append(seconds)
            await really(0)

        monkeypatch.setattr(asyncio, "sleep", sleep)
        informer = Informer(Client(InProcessTransport(handle)), PODS, watch_list=False, may_be_absent=True)
        task = asyncio.create_task(informer.run())
        try:
            await asyncio.wait_for(informer.synced(), 60)
        finally:
            task.cancel()
        assert list(informer.store) == ["default/a"]

    asyncio.run(main())
    assert [seconds >= ABSENT_SECONDS / 2 for seconds in pauses[:2]] == [True, True]
    assert not caplog.messages


@pytest.mark.parametrize("watch_list", [True, False], ids=["watch-list", "list-and-watch"])
def test_an_expired_version_leads_to_a_diff_not_to_a_replay(watch_list: bool) -> None:
    async def main() -> None:
        api = MemoryApi(watch_list=watch_list)
        for name in ("same", "changes", "goes", "reborn"):
            api.put(name)
        recorder = Recorder()
        async with following(api, recorder) as informer:
            recorder.seen.clear()
            api.put("changes")
            api.delete("goes")
            api.put("reborn", uid="another")
            api.put("new")
            api.compact()
            await until(lambda: "+new" in recorder.seen)
            assert sorted(recorder.seen) == sorted(["~changes", "-goes", "-reborn", "+reborn", "+new"])
            assert informer.relists == 2

    asyncio.run(main())


def test_an_object_that_becomes_unreadable_leaves_the_store() -> None:
    async def main() -> None:
        api = MemoryApi()
        api.put("a")
        recorder = Recorder()
        async with following(api, recorder) as informer:
            api.put("a", spec=5)
            api.put("b")
            await until(lambda: "+b" in recorder.seen)
            assert recorder.seen == ["+a", "-a", "+b"]
            api.put("a")
            await until(lambda: "default/a" in informer.store)

    asyncio.run(main())


def test_a_failing_handler_harms_nobody_else(caplog: pytest.LogCaptureFixture) -> None:
    async def main() -> None:
        api = MemoryApi()
        recorder = Recorder()
        async with following(api) as informer:
            informer.add_handler(Callbacks(add=lambda pod: 1 / 0))  # type: ignore[arg-type]
            informer.add_handler(recorder)
            api.put("a")
            await until(lambda: "+a" in recorder.seen)
        assert "a handler failed for Pod default/a" in caplog.text

    asyncio.run(main())


def test_a_late_handler_learns_what_is_known() -> None:
    async def main() -> None:
        api = MemoryApi()
        api.put("a")
        async with following(api) as informer:
            recorder = Recorder()
            informer.add_handler(recorder)
            assert recorder.seen == ["+a"]

    asyncio.run(main())


def test_a_server_that_only_streams_silence_is_listed() -> None:
    class Deaf(MemoryApi):
        async def handle(self, request: Request) -> Response:
            request.query = [pair for pair in request.query if pair[0] != "sendInitialEvents"]
            return await super().handle(request)

    async def main() -> None:
        api = Deaf()
        api.put("a")
        async with following(api) as informer:
            assert list(informer.store) == ["default/a"]

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("volcano.kube.informer.INITIAL_SILENCE_SECONDS", 0.05)
        asyncio.run(main())


def test_watches_that_end_at_once_do_not_become_a_storm() -> None:
    class Hasty(MemoryApi):
        async def _events(self, since: int, initial: bool) -> AsyncIterator[bytes]:
            if initial:
                async for event in super()._events(since, initial):
                    yield event
                    if b"BOOKMARK" in event:
                        return

    async def main() -> None:
        api = Hasty()
        async with following(api):
            await asyncio.sleep(0.3)
            assert len(api.requests) < 6

    asyncio.run(main())


class Even(random.Random):
    """No jitter."""

    def uniform(self, a: float, b: float) -> float:
        return b


def test_pauses_are_short_again_once_the_server_answers(monkeypatch: pytest.MonkeyPatch) -> None:
    """It is away, then does not know our rights yet, then has forgotten its history."""
    pauses: list[float] = []
    refusals = [(403, "Forbidden"), (403, "Forbidden"), (410, "Expired")]
    absences = 7

    async def main() -> None:
        api = MemoryApi()
        api.put("a")

        async def handle(request: Request) -> Response:
            nonlocal absences
            if absences:
                absences -= 1
                raise ConnectionRefusedError("away")
            if not refusals:
                return await api.handle(request)
            code, reason = refusals.pop(0)
            return Response(code, {}, msgspec.json.encode({"kind": "Status", "code": code, "reason": reason}))

        informer = Informer(Client(InProcessTransport(handle)), PODS, rng=Even())
        informer.resource_version = "1"
        pause = asyncio.sleep

        async def at_once(seconds: float) -> None:
            if asyncio.current_task() is running:  # threads of other tests may sleep, too
                pauses.append(seconds)
                seconds = 0
            await pause(seconds)

        monkeypatch.setattr("volcano.kube.informer.asyncio.sleep", at_once)
        running = asyncio.create_task(informer.run())
        await informer.synced()
        running.cancel()

    asyncio.run(main())
    assert pauses == [0.2, 0.4, 0.8, 1.6, 3.2, 5.0, 5.0, 0.2, 0.4, 0.8]


def test_a_watch_that_was_quiet_for_a_while_has_a_short_pause_after_it(monkeypatch: pytest.MonkeyPatch) -> None:
    """Nothing happens to some kinds for hours: their watches break with the server, again and again."""
    pauses: list[float] = []
    monkeypatch.setattr("volcano.kube.informer.FIRST_DELAY_SECONDS", 0.002)
    monkeypatch.setattr("volcano.kube.informer.SHORT_WATCH_SECONDS", 0.01)

    async def main() -> None:
        pause = asyncio.sleep

        async def handle(request: Request) -> Response:
            await pause(0.05)
            if len(pauses) > 4:
                await asyncio.Event().wait()
            raise ConnectionResetError("the server closed the connection")

        informer = Informer(Client(InProcessTransport(handle)), PODS, rng=Even())
        informer.resource_version = "1"

        async def note(seconds: float) -> None:
            if asyncio.current_task() is running:  # threads of other tests may sleep, too
                pauses.append(seconds)
            await pause(seconds)

        monkeypatch.setattr("volcano.kube.informer.asyncio.sleep", note)
        running = asyncio.create_task(informer.run())
        while len(pauses) < 5:
            await pause(0.01)
        running.cancel()

    asyncio.run(main())
    assert pauses[:5] == [0.002] * 5


class Mirror:
    """Builds its own copy from the callbacks alone, and notes those that do not fit together."""

    def __init__(self) -> None:
        self.copy: dict[str, str] = {}
        self.wrong: list[str] = []

    def on_add(self, obj: Pod) -> None:
        self._expect(obj.metadata.key not in self.copy, f"added twice: {obj.metadata.key}")
        self.copy[obj.metadata.key] = obj.metadata.resource_version

    def on_update(self, old: Pod, new: Pod) -> None:
        before = self.copy.get(old.metadata.key)
        self._expect(before == old.metadata.resource_version, f"updated from {before}")
        self._expect(before != new.metadata.resource_version, f"updated to the same {before}")
        self.copy[new.metadata.key] = new.metadata.resource_version

    def on_delete(self, obj: Pod) -> None:
        self._expect(self.copy.pop(obj.metadata.key, None) is not None, f"deleted twice: {obj.metadata.key}")

    def _expect(self, holds: bool, otherwise: str) -> None:
        if not holds:
            self.wrong.append(otherwise)


STEPS = st.one_of(
    st.tuples(st.sampled_from(["put", "delete", "spoil", "rebirth"]), st.sampled_from("abcd")),
    st.tuples(st.sampled_from(["cut", "compact", "wait"]), st.just("")),
)


@settings(max_examples=40)
@given(st.lists(STEPS, max_size=25), st.booleans(), st.integers(0, 2**16))
def test_whatever_happens_store_and_callbacks_end_up_equal_to_the_server(
    steps: list[tuple[str, str]], watch_list: bool, seed: int
) -> None:
    async def main() -> None:
        api = MemoryApi(watch_list=watch_list)
        mirror = Mirror()
        client = Client(InProcessTransport(api.handle))
        informer = Informer(client, PODS, handler=mirror, rng=random.Random(seed))
        task = asyncio.create_task(informer.run())
        for number, (step, name) in enumerate(steps):
            if step == "put":
                api.put(name)
            elif step == "delete" and f"default/{name}" in api.objects:
                api.delete(name)
            elif step == "spoil":
                api.put(name, spec=number)
            elif step == "rebirth":
                api.put(name, uid=f"uid-{number}")
            elif step == "cut":
                api.disconnect()
            elif step == "compact":
                api.compact()
            else:
                await asyncio.sleep(0.001)
        api.put("last")
        await until(lambda: "default/last" in informer.store)
        readable = {
            key: obj["metadata"]["resourceVersion"]
            for key, obj in api.objects.items()
            if not isinstance(obj.get("spec"), int)
        }
        assert {key: pod.metadata.resource_version for key, pod in informer.store.items()} == readable
        assert (mirror.copy, mirror.wrong) == (readable, [])
        task.cancel()

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("volcano.kube.informer.FIRST_DELAY_SECONDS", 0.001)
        patch.setattr("volcano.kube.informer.LONGEST_DELAY_SECONDS", 0.002)
        asyncio.run(main())
