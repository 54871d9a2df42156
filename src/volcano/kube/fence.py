"""Writes only while leading: whoever was paused and wakes up must not carry on as if nothing had happened.

A transport between a daemon's client and the network; `leader` knows whether the lease is still ours.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from contextlib import AbstractAsyncContextManager

from volcano.http.message import Response
from volcano.kube.client import Client
from volcano.kube.leader import LeaderElector
from volcano.kube.transport import Stream, Transport


class NotLeading(ConnectionError):
    """The lease has run out, or another copy holds it: nothing was sent."""


def fenced(client: Client, elector: LeaderElector | None) -> Client:
    """A client that reads at any time and writes while `elector` leads; `client` itself where there is no election."""
    return client if elector is None else client.over(Fence(client.transport, elector))


class Fence:
    def __init__(self, transport: Transport, elector: LeaderElector) -> None:
        self._transport = transport
        self._elector = elector

    async def request(
        self,
        method: str,
        path: str,
        *,
        query: Sequence[tuple[str, str]] = (),
        headers: Mapping[str, str] | None = None,
        body: bytes | None = None,
        timeout: float | None = None,  # noqa: ASYNC109 - passed on
    ) -> Response:
        if method != "GET" and not self._elector.is_leader:
            raise NotLeading(f"{self._elector.identity} does not lead: {method} {path} is not sent")
        return await self._transport.request(method, path, query=query, headers=headers, body=body, timeout=timeout)

    def stream(
        self,
        method: str,
        path: str,
        *,
        query: Sequence[tuple[str, str]] = (),
        headers: Mapping[str, str] | None = None,
    ) -> AbstractAsyncContextManager[Stream]:
        return self._transport.stream(method, path, query=query, headers=headers)

    async def close(self) -> None:
        await self._transport.close()
