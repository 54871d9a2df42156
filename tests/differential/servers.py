"""The two servers of a comparison: Kubernetes' own in child processes, and local mode's in this process."""

from __future__ import annotations

from contextlib import asynccontextmanager, contextmanager
from typing import TYPE_CHECKING

from tests.differential.session import Session
from tests.kube_cluster import control_plane
from tests.kube_cluster.programs import Programs
from volcano.kube.config import load
from volcano.kube.transport import HttpTransport, InProcessTransport
from volcano.local.apiserver.app import ApiServer

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Awaitable, Callable, Iterator, Sequence
    from pathlib import Path

    from tests.differential.session import Record
    from volcano.kube.transport import Transport


@contextmanager
def kubernetes(root: Path) -> Iterator[Path]:
    """etcd and kube-apiserver, with nobody else who writes; yields the administrator's kubeconfig."""
    with Programs(root) as programs:
        yield control_plane.start(root, programs, controllers=False).kubeconfig


@asynccontextmanager
async def real(kubeconfig: Path) -> AsyncIterator[Transport]:
    transport = HttpTransport(load(str(kubeconfig)))
    try:
        yield transport
    finally:
        await transport.close()


@asynccontextmanager
async def ours() -> AsyncIterator[Transport]:
    server = ApiServer.open(":memory:")
    try:
        yield InProcessTransport(server.handle)
    finally:
        await server.close()


async def played(
    transport: Transport, namespace: str, sequence: Callable[[Session], Awaitable[None]]
) -> Sequence[Record]:
    """What `transport` answered in the conversation `sequence`."""
    session = Session(transport, namespace)
    await session.begin()
    await sequence(session)
    return session.records
