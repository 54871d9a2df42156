"""How to reach a cluster: the resolved connection settings.

`kubeconfig` fills them from files, environment or the pod's service account; `transport` connects with them.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field
from ssl import SSLContext

TokenSource = Callable[[], Awaitable[str | None]]
"""Gives the bearer token to send now; called before every request, so it caches and renews by itself."""


@dataclass(slots=True)
class ClusterConfig:
    """A server and how to authenticate to it. `server` is an http(s) URL or `unix:///path/to/socket`."""

    server: str
    ssl: SSLContext | None = None
    server_name: str | None = None
    token: TokenSource | None = None
    headers: dict[str, str] = field(default_factory=dict)
    namespace: str = "default"
    proxy_url: str | None = None
    source: str = ""
