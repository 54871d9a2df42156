"""From what a client was told to a connection: an explicit cluster, the environment's, or this machine's own."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING

import msgspec

from volcano.kube.client import Client as ApiClient
from volcano.kube.config import ClusterConfig, ConfigError, load
from volcano.kube.patience import PatientTransport
from volcano.kube.transport import HttpTransport
from volcano.local.home import find_cluster, local_root
from volcano.sdk.errors import NoCluster
from volcano.sdk.planning import Place

if TYPE_CHECKING:
    from volcano.local.layout import Layout

PATIENCE_SECONDS = 15.0
LOCAL_BUILD = "+volcano"
"""How the version of local mode's API server ends."""


@dataclass(frozen=True)
class Connection:
    """A cluster that answers, and where its members run. `server` is its address."""

    api: ApiClient
    place: Place
    server: str = ""


async def connect(
    kubeconfig: str = "",
    context: str = "",
    *,
    local: bool = False,
    namespace: str = "",
    on_warning: Callable[[str], None] | None = None,
) -> Connection:
    """Reach the cluster that is meant; without any, the local one of this machine, which is started if it must be."""
    try:
        config = await asyncio.to_thread(_find, kubeconfig, context, local)
    except ConfigError as error:
        raise NoCluster(str(error)) from error
    transport = PatientTransport(HttpTransport(config), seconds=PATIENCE_SECONDS)
    api = ApiClient(transport, user_agent="volcano-sdk", on_warning=on_warning)
    version = msgspec.json.decode((await api.raw("GET", "/version")).content)
    is_local = str(version.get("gitVersion", "")).endswith(LOCAL_BUILD)
    return Connection(api, Place(is_local, namespace or config.namespace), config.server)


def _find(kubeconfig: str, context: str, local: bool) -> ClusterConfig:
    if local:
        return load(str(_ensured().kubeconfig))
    if not kubeconfig and not context and not _is_configured():
        _ensured()
    return find_cluster(kubeconfig, context=context)


def _is_configured() -> bool:
    """Whether the environment names a cluster that is not this machine's own."""
    try:
        load()
    except ConfigError as error:
        if "no cluster is configured" not in str(error):
            raise
        return False
    return True


def _ensured() -> Layout:
    from volcano.local.background import ensure
    from volcano.local.cluster import LocalError
    from volcano.local.layout import Layout

    layout = Layout(local_root().absolute())
    try:
        ensure(layout)
    except LocalError as error:
        raise NoCluster(f"no cluster is configured, and a local one cannot be started: {error}") from error
    return layout
