"""The two API servers without anybody else: whoever a test needs beside them, it starts."""

from __future__ import annotations

import asyncio
from dataclasses import dataclass
from typing import TYPE_CHECKING

from tests.kube_cluster import control_plane, local_server, volcano
from tests.kube_cluster.programs import Programs

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from tests.kube_cluster.control_plane import Address


@dataclass(frozen=True)
class Server:
    """An API server that knows Volcano's kinds."""

    root: Path
    programs: Programs
    address: Address


def local(root: Path) -> Iterator[Server]:
    with Programs(root) as programs:
        yield Server(root, programs, local_server.start(root, programs))


def kube(root: Path, options: tuple[str, ...] = ()) -> Iterator[Server]:
    with Programs(root) as programs:
        address = control_plane.start(root, programs, controllers=False, options=options)
        asyncio.run(volcano.install(address.kubeconfig))
        yield Server(root, programs, address)
