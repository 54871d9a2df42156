"""metrics.k8s.io: what nodes and pods use, asked from the nodes when somebody wants to know.

The form is metrics-server's; `kubectl top` and autoscalers read it. Nodes that do not answer are left out.
"""

from __future__ import annotations

import asyncio
import logging
import time
from typing import TYPE_CHECKING

import msgspec

from volcano.api.meta import JsonObject
from volcano.local.apiserver import status
from volcano.local.apiserver.verbs.reads import respond
from volcano.local.apiserver.verbs.selectors import parse_label_selector

if TYPE_CHECKING:
    from collections.abc import Iterator

    from volcano.http.message import Response
    from volcano.local.apiserver.call import Call
    from volcano.local.apiserver.certificates import Pki
    from volcano.local.apiserver.storage.entries import Entry
    from volcano.local.apiserver.storage.store import Store


log = logging.getLogger("volcano.apiserver")

FRESH_SECONDS = 5.0
ANSWER_SECONDS = 3.0
_VERSION = "metrics.k8s.io/v1beta1"
_WINDOW = "10s"


class Usage:
    """GET nodes and pods of metrics.k8s.io. Summaries are kept for a few seconds, whoever asks."""

    def __init__(self, store: Store, pki: Pki | None) -> None:
        self._store = store
        self._pki = pki
        self._summaries: list[JsonObject] = []
        self._asked = float("-inf")
        self._lock = asyncio.Lock()

    async def answer(self, call: Call, verb: str) -> Response:
        if verb not in call.resource.verbs or call.subresource:
            raise status.method_not_allowed()
        summaries = await self._fresh()
        measured = self._nodes if call.resource.plural == "nodes" else self._pods
        items = [item for item in measured(summaries) if not call.namespace or _namespace(item) == call.namespace]
        if call.name:
            found = next((item for item in items if item["metadata"]["name"] == call.name), None)
            if found is None:
                raise status.not_found(call.resource, call.name)
            return respond(200, msgspec.json.encode(found))
        if selector := call.request.param("labelSelector"):
            matches = parse_label_selector(selector).matches
            items = [item for item in items if matches(item["metadata"].get("labels") or {})]
        listing = {"kind": call.resource.list_kind, "apiVersion": _VERSION, "metadata": {}, "items": items}
        return respond(200, msgspec.json.encode(listing))

    async def _fresh(self) -> list[JsonObject]:
        """What all nodes say, at most a few seconds old."""
        async with self._lock:
            if time.monotonic() - self._asked > FRESH_SECONDS:
                asked = [self._ask(*address) for address in self._addresses()]
                self._summaries = [answer for answer in await asyncio.gather(*asked) if answer is not None]
                self._asked = time.monotonic()
            return self._summaries

    def _addresses(self) -> Iterator[tuple[str, int]]:
        for entry in self._store.scan("nodes"):
            found = entry.document().get("status") or {}
            port = ((found.get("daemonEndpoints") or {}).get("kubeletEndpoint") or {}).get("Port")
            addresses = {item.get("type"): item.get("address") for item in found.get("addresses") or ()}
            if port and addresses.get("InternalIP"):
                yield addresses["InternalIP"], int(port)

    async def _ask(self, host: str, port: int) -> JsonObject | None:
        from volcano.http.client import Endpoint, HttpClient, HttpError
        from volcano.http.tls import client_context

        certificate = (self._pki.certificate("admin"), self._pki.key("admin")) if self._pki else (None, None)
        context = client_context(certificate=certificate[0], key=certificate[1], verify=False)
        client = HttpClient(Endpoint(host, port, context), connect_seconds=ANSWER_SECONDS)
        try:
            answer = await client.request("GET", "/stats/summary", timeout=ANSWER_SECONDS)
            summary: JsonObject | None = msgspec.json.decode(answer.content) if answer.status == 200 else None
            return summary
        except (HttpError, OSError, msgspec.DecodeError) as error:
            log.info("no usage from the node at %s:%s: %s", host, port, error)
            return None
        finally:
            await client.close()

    def _nodes(self, summaries: list[JsonObject]) -> Iterator[JsonObject]:
        for summary in summaries:
            node = summary["node"]
            entry = self._store.get("nodes", node["nodeName"])
            if entry is not None:
                yield _head("NodeMetrics", entry, node) | {"usage": _amounts(node)}

    def _pods(self, summaries: list[JsonObject]) -> Iterator[JsonObject]:
        for pod in (pod for summary in summaries for pod in summary["pods"]):
            reference = pod["podRef"]
            entry = self._store.get("pods", f"{reference['namespace']}/{reference['name']}")
            if entry is None or entry.uid != reference["uid"] or not pod["containers"]:
                continue
            containers = [{"name": item["name"], "usage": _amounts(item)} for item in pod["containers"]]
            yield _head("PodMetrics", entry, pod["containers"][0]) | {"containers": containers}


def _head(kind: str, entry: Entry, measured: JsonObject) -> JsonObject:
    namespace, _, name = entry.key.rpartition("/")
    meta: JsonObject = {"name": name, "creationTimestamp": measured["cpu"]["time"]}
    if namespace:
        meta["namespace"] = namespace
    if entry.labels:
        meta["labels"] = entry.labels
    return {
        "kind": kind,
        "apiVersion": _VERSION,
        "metadata": meta,
        "timestamp": measured["cpu"]["time"],
        "window": _WINDOW,
    }


def _namespace(item: JsonObject) -> str:
    return str(item["metadata"].get("namespace", ""))


def _amounts(measured: JsonObject) -> JsonObject:
    return {
        "cpu": f"{measured['cpu']['usageNanoCores']}n",
        "memory": f"{measured['memory']['workingSetBytes'] // 1024}Ki",
    }
