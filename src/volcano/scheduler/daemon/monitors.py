"""Monitors that know how busy nodes are: Prometheus, the custom metrics API, Elasticsearch. One question each way.

usage.py asks one of them again and again, as the configuration's `metrics` section says.
"""

from __future__ import annotations

import base64
import datetime
import time
from collections.abc import Mapping
from typing import Any, Final, Protocol
from urllib.parse import quote, urlsplit

import msgspec

from volcano.api import quantity
from volcano.http.client import Endpoint, HttpClient
from volcano.http.message import Response
from volcano.http.tls import client_context
from volcano.kube.client import Client
from volcano.scheduler.cluster.usage import Measured

TIMEOUT_SECONDS: Final = 60.0
IDLE: Final = 'avg by (instance) (rate(node_cpu_seconds_total{mode="idle"}[5m]))'
CPU_QUERY: Final = f"avg_over_time(clamp_min(100 - 100 * {IDLE}, 0)[10m:30s])"
MEMORY_QUERY: Final = "100 * avg_over_time((1 - node_memory_MemAvailable_bytes / node_memory_MemTotal_bytes)[10m:30s])"
CUSTOM_METRICS: Final = "/apis/custom.metrics.k8s.io/v1beta1/nodes/*/"
MANY_HOSTS: Final = 10_000


class MonitorError(RuntimeError):
    """The monitor cannot be asked, or its answer not be understood; the message says why."""


class Monitor(Protocol):
    async def measure(self) -> Mapping[str, Measured]:
        """The load of every node that the monitor knows, by node name."""

    async def close(self) -> None: ...


def monitor(settings: Mapping[str, str], client: Client) -> Monitor | None:
    """The one that the settings name; None if they name none."""
    kind = settings.get("type", "")
    match kind:
        case "":
            return None
        case "prometheus":
            return Prometheus(_http(settings))
        case "prometheus_adaptor":
            return CustomMetrics(client)
        case "elasticsearch":
            return Elasticsearch(_http(settings, _basic(settings)), settings)
    raise MonitorError(f"metrics: there is no type {kind!r}: prometheus, prometheus_adaptor or elasticsearch is wanted")


class Prometheus:
    """Two queries for all nodes; the label `instance` is the node's name, with or without a port."""

    def __init__(self, http: HttpClient) -> None:
        self._http = http

    async def measure(self) -> Mapping[str, Measured]:
        now = time.time()
        cpu, memory = await self._ask(CPU_QUERY), await self._ask(MEMORY_QUERY)
        return {name: Measured(cpu.get(name, 0.0), memory.get(name, 0.0), now) for name in {**cpu, **memory}}

    async def close(self) -> None:
        await self._http.close()

    async def _ask(self, query: str) -> dict[str, float]:
        answer = await _json(self._http, "GET", f"/api/v1/query?query={quote(query)}")
        found: dict[str, float] = {}
        for row in answer["data"]["result"]:
            name = row["metric"].get("instance", "").partition(":")[0]
            found.setdefault(name, float(row["value"][1]))
        return found


class CustomMetrics:
    """The custom metrics API of the cluster itself."""

    def __init__(self, client: Client) -> None:
        self._client = client

    async def measure(self) -> Mapping[str, Measured]:
        cpu, memory = await self._ask("node_cpu_usage_avg"), await self._ask("node_memory_usage_avg")
        found = {}
        for name in {**cpu, **memory}:
            cpu_share, at = cpu.get(name, (0.0, 0.0))
            memory_share, later = memory.get(name, (0.0, 0.0))
            found[name] = Measured(cpu_share * 100, memory_share * 100, max(at, later))
        return found

    async def close(self) -> None:
        """The client belongs to somebody else."""

    async def _ask(self, metric: str) -> dict[str, tuple[float, float]]:
        response = await self._client.raw("GET", CUSTOM_METRICS + metric)
        items = msgspec.json.decode(_body(response))["items"]
        return {
            item["describedObject"]["name"]: (
                quantity.milli(item["value"]) / 1000,
                datetime.datetime.fromisoformat(item["timestamp"]).timestamp(),
            )
            for item in items
        }


class Elasticsearch:
    """Averages of metricbeat's figures over ten minutes, per host."""

    def __init__(self, http: HttpClient, settings: Mapping[str, str]) -> None:
        self._http = http
        self._index = settings.get("elasticsearch.index") or "metricbeat-*"
        self._host = settings.get("elasticsearch.hostnameFieldName") or "host.hostname"

    async def measure(self) -> Mapping[str, Measured]:
        now = time.time()
        body = {
            "size": 0,
            "query": {"range": {"@timestamp": {"gte": "now-10m"}}},
            "aggs": {
                "hosts": {
                    "terms": {"field": self._host, "size": MANY_HOSTS},
                    "aggs": {
                        "cpu": {"avg": {"field": "host.cpu.usage"}},
                        "mem": {"avg": {"field": "system.memory.actual.used.pct"}},
                    },
                }
            },
        }
        answer = await _json(self._http, "POST", f"/{quote(self._index)}/_search", msgspec.json.encode(body))
        return {
            bucket["key"]: Measured(_percent(bucket["cpu"]), _percent(bucket["mem"]), now)
            for bucket in answer["aggregations"]["hosts"]["buckets"]
        }

    async def close(self) -> None:
        await self._http.close()


def _percent(average: Mapping[str, Any]) -> float:
    return 100 * float(average.get("value") or 0.0)


async def _json(http: HttpClient, method: str, target: str, body: bytes | None = None) -> Any:
    headers = {"content-type": "application/json"} if body else None
    response = await http.request(method, target, headers=headers, body=body, timeout=TIMEOUT_SECONDS)
    content = _body(response)
    if response.status != 200:
        raise MonitorError(f"{http.endpoint} answered {response.status}: {content[:200].decode(errors='replace')}")
    return msgspec.json.decode(content)


def _body(response: Response) -> bytes:
    return response.body if isinstance(response.body, bytes) else b""


def _http(settings: Mapping[str, str], headers: tuple[tuple[str, str], ...] = ()) -> HttpClient:
    address = settings.get("address", "")
    parts = urlsplit(address if "//" in address else f"http://{address}")
    if not parts.hostname:
        raise MonitorError(f"metrics: address {address!r} is not a URL like http://prometheus:9090")
    insecure = settings.get("tls.insecureSkipVerify") == "true"
    context = client_context(verify=not insecure) if parts.scheme == "https" else None
    port = parts.port or (443 if context else 80)
    return HttpClient(Endpoint(parts.hostname, port, ssl=context), headers=headers, max_connections=2)


def _basic(settings: Mapping[str, str]) -> tuple[tuple[str, str], ...]:
    user, password = settings.get("elasticsearch.username", ""), settings.get("elasticsearch.password", "")
    if not user:
        return ()
    token = base64.b64encode(f"{user}:{password}".encode()).decode()
    return (("authorization", f"Basic {token}"),)
