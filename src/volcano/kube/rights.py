"""What a daemon may not do: noticed where its requests are refused, so that somebody hears of it and grants the right.

A transport between a daemon's client and the network, like `fence`. Informers know by themselves what they may not see.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Final

from volcano.http.message import Response
from volcano.kube.client import Client
from volcano.kube.errors import Forbidden, error_from
from volcano.kube.transport import Transport, Watched

FORGOTTEN_SECONDS: Final = 120.0
"""What was not tried again for so long is not wanted any more. Refused binds and statuses come back sooner."""


class Rights:
    """The writes that were refused for want of a right, each kind until one passes."""

    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        self._clock = clock
        self._denied: dict[tuple[str, ...], tuple[str, float]] = {}

    def noting(self, client: Client) -> Client:
        """The same client; whatever it writes is looked at."""
        return client.over(_Noting(client.transport, self))

    def problem(self) -> str | None:
        """The right that is missing, in the server's words."""
        since = self._clock() - FORGOTTEN_SECONDS
        denials = [denial for denial, at in self._denied.values() if at > since]
        return f"lacks a right: {denials[0]}" if denials else None

    def note(self, method: str, path: str, response: Response) -> None:
        """`response` is what a write has come to."""
        if response.status < 300:
            if self._denied:
                self._denied.pop((method, *_kind(path)), None)
        elif response.status == Forbidden.status:
            error = error_from(response.status, response.content)
            if isinstance(error, Forbidden) and error.lacks_right:
                self._denied[(method, *_kind(path))] = str(error), self._clock()


def _kind(path: str) -> tuple[str, ...]:
    """Of a path of the API: group, version, collection and subresource, without namespace and name."""
    parts = path.strip("/").split("/")
    head = 2 if parts[0] == "api" else 3
    rest = parts[head:]
    if len(rest) > 2 and rest[0] == "namespaces":
        rest = rest[2:]
    return (*parts[:head], *rest[:1], *rest[2:])


class _Noting(Watched):
    def __init__(self, transport: Transport, rights: Rights) -> None:
        super().__init__(transport)
        self._rights = rights

    def after(self, method: str, path: str, response: Response) -> None:
        if method != "GET":
            self._rights.note(method, path, response)
