"""HTTPS to webhook servers: by URL, or by service through its endpoints. Connections are kept."""

from __future__ import annotations

import base64
from ssl import SSLError
from typing import TYPE_CHECKING
from urllib.parse import urlsplit

import msgspec

from volcano.api.meta import JsonObject

if TYPE_CHECKING:
    from collections.abc import Iterator

    from volcano.http.client import HttpClient
    from volcano.local.apiserver.storage.store import Store

DEFAULT_SECONDS = 10
_HEADERS = {"content-type": "application/json", "accept": "application/json"}


class WebhookFailed(Exception):
    """The webhook gave no usable answer; the message says why."""


class WebhookClient:
    """Posts reviews and reads responses."""

    def __init__(self, store: Store) -> None:
        self._store = store
        self._clients: dict[tuple[str, int, str, str], HttpClient] = {}

    async def post(self, webhook: JsonObject, body: bytes, identity: str) -> JsonObject:
        """The `response` of the review that the server of `webhook` sends back."""
        from volcano.http.client import HttpError

        config = webhook.get("clientConfig") or {}
        host, port, name, path = self._address(config)
        seconds = float(webhook.get("timeoutSeconds") or DEFAULT_SECONDS)
        target = f"{path}?timeout={seconds:.0f}s"
        address = f"https://{name}:{port}{target}"
        try:
            client = self._client(host, port, name, config.get("caBundle") or "")
            answer = await client.request("POST", target, headers=_HEADERS, body=body, timeout=seconds)
        except (HttpError, OSError, SSLError, ValueError) as error:
            raise WebhookFailed(f'failed to call webhook: Post "{address}": {error}') from error
        if answer.status != 200:
            text = answer.content[:200].decode(errors="replace")
            raise WebhookFailed(f"failed to call webhook: the server answered {answer.status}: {text}")
        return _response(answer.content, identity)

    def _client(self, host: str, port: int, name: str, authority: str) -> HttpClient:
        from volcano.http.client import Endpoint, HttpClient
        from volcano.http.tls import client_context

        key = (host, port, name, authority)
        client = self._clients.get(key)
        if client is None:
            context = client_context(authority=base64.b64decode(authority) if authority else None)
            client = self._clients[key] = HttpClient(Endpoint(host, port, context, server_name=name))
        return client

    def _address(self, config: JsonObject) -> tuple[str, int, str, str]:
        """Host and port to connect to, the name that the certificate must have, and the path."""
        if config.get("url"):
            parts = urlsplit(config["url"])
            host = parts.hostname or ""
            return host, parts.port or 443, host, parts.path or "/"
        service = config.get("service") or {}
        namespace, name, port = service.get("namespace", ""), service.get("name", ""), service.get("port") or 443
        host, port = self._endpoint(namespace, name, port)
        return host, port, f"{name}.{namespace}.svc", service.get("path") or "/"

    def _endpoint(self, namespace: str, name: str, port: int) -> tuple[str, int]:
        """A ready address behind a service: from its Endpoints, else from its EndpointSlices."""
        service = self._store.get("services", f"{namespace}/{name}")
        if service is None:
            raise WebhookFailed(f'failed to call webhook: service "{name}" not found in namespace "{namespace}"')
        ports = (service.document().get("spec") or {}).get("ports") or []
        wanted = next((item.get("name", "") for item in ports if item.get("port") == port), "")
        for addresses, offered in self._subsets(namespace, name):
            for item in offered:
                if addresses and (not wanted or item.get("name", "") == wanted):
                    return addresses[0], int(item["port"])
        raise WebhookFailed(f'failed to call webhook: no endpoints available for service "{name}"')

    def _subsets(self, namespace: str, name: str) -> Iterator[tuple[list[str], list[JsonObject]]]:
        entry = self._store.get("endpoints", f"{namespace}/{name}")
        for subset in (entry.document().get("subsets") or ()) if entry else ():
            yield [item["ip"] for item in subset.get("addresses") or ()], subset.get("ports") or []
        for entry in self._store.scan("endpointslices.discovery.k8s.io", f"{namespace}/"):
            if (entry.labels or {}).get("kubernetes.io/service-name") != name:
                continue
            part = entry.document()
            ready = [item for item in part.get("endpoints") or () if (item.get("conditions") or {}).get("ready", True)]
            yield [address for item in ready for address in item["addresses"]], part.get("ports") or []


def _response(body: bytes, identity: str) -> JsonObject:
    try:
        review = msgspec.json.decode(body)
        response: JsonObject = review["response"]
        if response["uid"] != identity:
            raise WebhookFailed(f"the response is for review {response['uid']!r}, expected {identity!r}")
    except (msgspec.DecodeError, KeyError, TypeError) as error:
        raise WebhookFailed(f"the answer is no AdmissionReview with a response: {error!r}") from None
    return response
