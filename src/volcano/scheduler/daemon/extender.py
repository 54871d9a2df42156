"""Asks extender services by HTTP. The engine's thread waits for the answer, so the event loop never does.

One connection per service is kept open; the plugin (plugins/extender/) decides what is asked.
"""

from __future__ import annotations

import http.client
from typing import Final
from urllib.parse import urlsplit

from volcano.scheduler.plugins.extender.port import ExtenderError

LARGEST_ANSWER_BYTES: Final = 10 * 1024 * 1024
HEADERS: Final = {"Content-Type": "application/json"}
HTTP_OK: Final = 200


class HttpExtender:
    """Used by one thread."""

    def __init__(self) -> None:
        self._connections: dict[tuple[str, str], http.client.HTTPConnection] = {}

    def post(self, url: str, body: bytes, timeout_seconds: float) -> bytes:
        parts = urlsplit(url)
        if parts.scheme not in ("http", "https") or not parts.hostname:
            raise ExtenderError(f"extender.urlPrefix: {url!r} is no URL like http://service:8080/path")
        service = (parts.scheme, parts.netloc)
        kept = service in self._connections
        try:
            return self._exchange(service, url, body, timeout_seconds)
        except (http.client.HTTPException, OSError) as problem:
            self._drop(service)
            if not kept or isinstance(problem, TimeoutError):
                raise ExtenderError(f"{url}: {problem or type(problem).__name__}") from problem
        try:  # the service had closed the connection in the meantime
            return self._exchange(service, url, body, timeout_seconds)
        except (http.client.HTTPException, OSError) as problem:
            self._drop(service)
            raise ExtenderError(f"{url}: {problem or type(problem).__name__}") from problem

    def close(self) -> None:
        for service in list(self._connections):
            self._drop(service)

    def _exchange(self, service: tuple[str, str], url: str, body: bytes, timeout_seconds: float) -> bytes:
        connection = self._connections.get(service)
        if connection is None:
            kind = http.client.HTTPSConnection if service[0] == "https" else http.client.HTTPConnection
            connection = self._connections[service] = kind(service[1], timeout=timeout_seconds)
        connection.timeout = timeout_seconds
        if connection.sock is not None:
            connection.sock.settimeout(timeout_seconds)
        connection.request("POST", urlsplit(url).path or "/", body, HEADERS)
        response = connection.getresponse()
        content = response.read(LARGEST_ANSWER_BYTES + 1)
        if len(content) > LARGEST_ANSWER_BYTES:
            self._drop(service)
            raise ExtenderError(f"{url}: the answer is larger than {LARGEST_ANSWER_BYTES} bytes")
        if response.status != HTTP_OK:
            raise ExtenderError(f"{url} answered {response.status}: {content[:200].decode(errors='replace')}")
        return content

    def _drop(self, service: tuple[str, str]) -> None:
        connection = self._connections.pop(service, None)
        if connection is not None:
            connection.close()
