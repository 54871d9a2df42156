"""The client side against the product's own API server, in process and over TLS."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, suppress
from pathlib import Path

import pytest

from tests.http.test_tls import Authority
from tests.kube.test_informer import Recorder
from tests.waiting import SECONDS, until
from volcano.api.core import ConfigMap, Event, Pod
from volcano.api.meta import ObjectMeta
from volcano.api.resources import CONFIGMAPS, EVENTS, PODS, QUEUES
from volcano.http.server import serve
from volcano.http.tls import client_context, server_context
from volcano.kube.client import Client
from volcano.kube.config import ClusterConfig
from volcano.kube.errors import AlreadyExists, Conflict, Invalid, NotFound
from volcano.kube.events import NORMAL, EventRecorder
from volcano.kube.informer import Informer
from volcano.kube.leader import LeaderElector
from volcano.kube.transport import HttpTransport, InProcessTransport
from volcano.local.apiserver.app import ApiServer
from volcano.local.apiserver.storage.store import Store


@asynccontextmanager
async def api_server() -> AsyncIterator[ApiServer]:
    api = ApiServer(Store.open(":memory:"))
    await api.start()
    try:
        yield api
    finally:
        api.stop_watches()
        await api.close()


@asynccontextmanager
async def connected(over: str) -> AsyncIterator[Client]:
    """A client of a fresh API server: in the same process, or over TLS with a client certificate."""
    async with api_server() as api:
        if over == "process":
            yield Client(InProcessTransport(api.handle))
            return
        authority = Authority()
        context = server_context(*authority.issue("localhost"), client_authority=authority.pem)
        async with await serve(api.handle, ssl=context) as server:
            certificate, key = authority.issue("admin", "system:masters")
            config = ClusterConfig(
                f"https://localhost:{server.port}",
                client_context(authority=authority.pem, certificate=certificate, key=key),
            )
            client = Client(HttpTransport(config))
            yield client
            await client.close()


OVER = pytest.mark.parametrize("over", ["process", "tls"])


def config_map(name: str, **data: str) -> ConfigMap:
    return ConfigMap(metadata=ObjectMeta(name=name, namespace="default"), data=data)


@OVER
def test_objects_live_and_refusals_are_told_apart(over: str) -> None:
    async def main() -> None:
        async with connected(over) as client:
            created = await client.create(CONFIGMAPS, config_map("a", x="1"))
            with pytest.raises(AlreadyExists):
                await client.create(CONFIGMAPS, config_map("a"))
            changed = await client.patch(CONFIGMAPS, "a", {"data": {"y": "2"}}, "default")
            assert changed.data == {"x": "1", "y": "2"}
            with pytest.raises(Conflict):
                await client.update(CONFIGMAPS, created)
            with pytest.raises(Conflict):
                await client.delete(CONFIGMAPS, "a", "default", uid="another")
            applied = await client.apply(CONFIGMAPS.untyped, {"metadata": {"name": "b"}, "data": {"z": "3"}}, "default")
            assert applied["data"] == {"z": "3"}
            await client.delete(CONFIGMAPS, "a", "default", uid=created.metadata.uid)
            with pytest.raises(NotFound, match='configmaps "a" not found'):
                await client.get(CONFIGMAPS, "a", "default")
            with pytest.raises(Invalid) as caught:
                await client.create(QUEUES.untyped, {"metadata": {"name": "q"}, "spec": {"weight": "heavy"}})
            assert caught.value.causes[0].field == "spec.weight"

    asyncio.run(main())


@OVER
def test_an_informer_follows_the_real_server(over: str) -> None:
    async def main() -> None:
        async with connected(over) as client:
            for number in range(5):
                await client.create(CONFIGMAPS, config_map(f"before-{number}"))
            recorder = Recorder()
            informer = Informer(client, CONFIGMAPS, namespace="default", handler=recorder)
            task = asyncio.create_task(informer.run())
            await asyncio.wait_for(informer.synced(), SECONDS)
            before = len(informer.store)
            assert before >= 5
            await client.create(CONFIGMAPS, config_map("during"))
            await client.patch(CONFIGMAPS, "during", {"data": {"a": "b"}}, "default")
            await client.delete(CONFIGMAPS, "during", "default")
            await until(lambda: "-during" in recorder.seen)
            assert recorder.seen[before:] == ["+during", "~during", "-during"]
            task.cancel()

    asyncio.run(main())


def test_lists_page_through_one_snapshot() -> None:
    async def main() -> None:
        async with connected("process") as client:
            for number in range(25):
                await client.create(CONFIGMAPS, config_map(f"c{number:02}"))
            listing = await client.list(CONFIGMAPS, "default", limit=10)
            names = [each.metadata.name for each in listing.items if each.metadata.name.startswith("c")]
            assert names == [f"c{number:02}" for number in range(25)]
            chosen = await client.list(CONFIGMAPS, "default", field_selector="metadata.name=c07")
            assert [each.metadata.name for each in chosen.items] == ["c07"]

    asyncio.run(main())


def test_leaders_change_and_events_are_counted() -> None:
    async def main() -> None:
        async with connected("process") as client:
            electors = [
                LeaderElector(client, name="x", namespace="volcano-system", identity=identity, retry_seconds=0.05)
                for identity in ("a", "b")
            ]
            tasks = [asyncio.create_task(elector.run(asyncio.Event().wait)) for elector in electors]
            await until(lambda: any(elector.is_leader for elector in electors))
            first = next(index for index, elector in enumerate(electors) if elector.is_leader)
            tasks[first].cancel()
            await until(lambda: electors[1 - first].is_leader)
            tasks[1 - first].cancel()
            for task in tasks:
                with suppress(asyncio.CancelledError):
                    await task

            recorder = EventRecorder(client, "test")
            running = asyncio.create_task(recorder.run())
            pod = Pod(metadata=ObjectMeta(name="p", namespace="default", uid="u"))
            for _ in range(3):
                recorder.record(PODS, pod, NORMAL, "Seen", "it is there")
                await recorder.flush()
            events: list[Event] = (await client.list(EVENTS, "default")).items
            assert [(event.reason, event.count) for event in events if event.reason == "Seen"] == [("Seen", 3)]
            running.cancel()

    asyncio.run(main())


def test_a_server_that_restarts_is_followed_again(tmp_path: Path) -> None:
    async def main() -> None:
        store = Store.open(str(tmp_path / "state.db"))
        api = ApiServer(store)
        await api.start()
        server = await serve(api.handle, unix_path=str(tmp_path / "api.sock"))
        client = Client(HttpTransport(ClusterConfig(f"unix://{tmp_path}/api.sock")))
        recorder = Recorder()
        informer = Informer(client, CONFIGMAPS, namespace="default", handler=recorder)
        task = asyncio.create_task(informer.run())
        await client.create(CONFIGMAPS, config_map("a"))
        await until(lambda: "+a" in recorder.seen)
        api.stop_watches()
        await server.close(1)
        await api.close()
        api = ApiServer(Store.open(str(tmp_path / "state.db")))
        await api.start()
        server = await serve(api.handle, unix_path=str(tmp_path / "api.sock"))
        await client.create(CONFIGMAPS, config_map("b"))
        await until(lambda: "+b" in recorder.seen)
        assert [seen for seen in recorder.seen if seen in ("+a", "+b")] == ["+a", "+b"]
        task.cancel()
        api.stop_watches()
        await server.close(1)
        await client.close()
        await api.close()

    asyncio.run(main())
