"""Writes only while leading: whoever was paused and wakes up must not carry on as if nothing had happened.

A transport between a daemon's client and the network; `leader` knows whether the lease is still ours.
"""

from __future__ import annotations

from volcano.kube.client import Client
from volcano.kube.leader import LeaderElector
from volcano.kube.transport import Transport, Watched


class NotLeading(ConnectionError):
    """The lease has run out, or another copy holds it: nothing was sent."""


def fenced(client: Client, elector: LeaderElector | None) -> Client:
    """A client that reads at any time and writes while `elector` leads; `client` itself where there is no election."""
    return client if elector is None else client.over(Fence(client.transport, elector))


class Fence(Watched):
    def __init__(self, transport: Transport, elector: LeaderElector) -> None:
        super().__init__(transport)
        self._elector = elector

    def before(self, method: str, path: str) -> None:
        if method != "GET" and not self._elector.is_leader:
            raise NotLeading(f"{self._elector.identity} does not lead: {method} {path} is not sent")
