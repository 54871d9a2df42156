"""The informer: a faithful copy through lists, watches, broken connections and expired versions."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager, suppress

import pytest

from tests.kube.memory_api import MemoryApi
from volcano.api.core import Pod
from volcano.api.resources import PODS
from volcano.kube.client import Client
from volcano.kube.informer import Callbacks, Informer
from volcano.kube.transport import InProcessTransport


class Recorder(Callbacks[Pod]):
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
        await asyncio.wait_for(informer.synced(), 5)
        yield informer
    finally:
        task.cancel()
        with suppress(asyncio.CancelledError):
            await task


async def until(condition: Callable[[], object], seconds: float = 5.0) -> None:
    async with asyncio.timeout(seconds):
        while not condition():  # noqa: ASYNC110
            await asyncio.sleep(0.005)


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
