"""The load of nodes as monitors tell it, asked over HTTP."""

from __future__ import annotations

import asyncio
import base64
from typing import Any, cast

import msgspec
import pytest

from tests.waiting import until
from volcano.http.message import Request, Response
from volcano.http.server import serve
from volcano.kube.client import Client
from volcano.scheduler.cluster.cluster import Cluster
from volcano.scheduler.cluster.ingest import Ingest
from volcano.scheduler.cluster.usage import NodeUsage
from volcano.scheduler.daemon.ingest import Feed
from volcano.scheduler.daemon.monitors import MonitorError, monitor
from volcano.scheduler.daemon.usage import UsagePoller


class FakeClient:
    async def raw(self, method: str, path: str) -> Response:
        value = "250m" if "cpu" in path else "1"
        item = {"describedObject": {"name": "n1"}, "value": value, "timestamp": "2026-01-01T00:00:00Z"}
        return Response(200, {}, msgspec.json.encode({"items": [item]}))


NOBODY = cast("Client", FakeClient())


def answering(document: Any, status: int = 200) -> Any:
    requests: list[Request] = []

    async def handler(request: Request) -> Response:
        requests.append(request)
        return Response(status, {"content-type": "application/json"}, msgspec.json.encode(document))

    return handler, requests


def vector(**values: float) -> dict[str, Any]:
    rows = [{"metric": {"instance": name}, "value": [0, str(value)]} for name, value in values.items()]
    return {"status": "success", "data": {"resultType": "vector", "result": rows}}


def test_prometheus_is_asked_once_for_all_nodes() -> None:
    async def scenario() -> None:
        handler, requests = answering({"data": {"result": [*vector(n1=12.5)["data"]["result"]]}})
        server = await serve(handler)
        asked = monitor({"type": "prometheus", "address": f"http://127.0.0.1:{server.port}"}, NOBODY)
        assert asked is not None

        measured = await asked.measure()

        assert (measured["n1"].cpu_percent, measured["n1"].memory_percent) == (12.5, 12.5)
        queries = [request.param("query") for request in requests]
        assert len(queries) == 2
        assert "node_cpu_seconds_total" in (queries[0] or "")
        await asked.close()
        await server.close(0)

    asyncio.run(scenario())


def test_elasticsearch_is_asked_with_its_credentials() -> None:
    async def scenario() -> None:
        bucket = {"key": "n1", "cpu": {"value": 0.4}, "mem": {"value": None}}
        handler, requests = answering({"aggregations": {"hosts": {"buckets": [bucket]}}})
        server = await serve(handler)
        settings = {
            "type": "elasticsearch",
            "address": f"http://127.0.0.1:{server.port}",
            "elasticsearch.username": "me",
            "elasticsearch.password": "secret",
        }
        asked = monitor(settings, NOBODY)
        assert asked is not None

        measured = await asked.measure()

        assert (measured["n1"].cpu_percent, measured["n1"].memory_percent) == (40.0, 0.0)
        assert requests[0].path == "/metricbeat-*/_search"
        assert requests[0].headers["authorization"] == f"Basic {base64.b64encode(b'me:secret').decode()}"
        await asked.close()
        await server.close(0)

    asyncio.run(scenario())


def test_the_custom_metrics_api_gives_shares() -> None:
    async def scenario() -> None:
        asked = monitor({"type": "prometheus_adaptor"}, NOBODY)
        assert asked is not None

        measured = await asked.measure()

        assert (measured["n1"].cpu_percent, measured["n1"].memory_percent) == (25.0, 100.0)

    asyncio.run(scenario())


@pytest.mark.parametrize(
    ("settings", "text"),
    [({"type": "nagios"}, "no type 'nagios'"), ({"type": "prometheus", "address": ""}, "address ''")],
)
def test_bad_settings_are_named(settings: dict[str, str], text: str) -> None:
    with pytest.raises(MonitorError, match=text):
        monitor(settings, NOBODY)


def test_what_is_measured_reaches_the_engine_and_a_broken_monitor_is_only_logged(
    caplog: pytest.LogCaptureFixture,
) -> None:
    async def scenario() -> None:
        handler, _ = answering(vector(n1=70.0))
        broken, _ = answering("no", status=500)
        server, bad_server = await serve(handler), await serve(broken)
        cluster = Cluster()
        feed = Feed(NOBODY, Ingest(cluster))
        settings = {"type": "prometheus", "address": f"http://127.0.0.1:{bad_server.port}", "interval": "1s"}
        poller = asyncio.create_task(UsagePoller(NOBODY, feed, lambda: dict(settings)).run())
        await until(lambda: "the load of nodes is not known" in caplog.text)
        settings["address"] = f"http://127.0.0.1:{server.port}"

        async with asyncio.timeout(60):
            await feed.changed.wait()
        feed.apply()

        assert cluster.index(NodeUsage).by_node["n1"].cpu_percent == 70.0
        poller.cancel()
        await server.close(0)
        await bad_server.close(0)

    asyncio.run(scenario())
