"""Local mode's API server as a process of its own, without the rest of local mode."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING

from tests.kube_cluster.control_plane import Address
from tests.kube_cluster.programs import Programs, free_ports
from volcano.local.apiserver.certificates import Pki

if TYPE_CHECKING:
    from pathlib import Path


def start(root: Path, programs: Programs) -> Address:
    """Start it with everything it writes under `root`; return when it is ready."""
    [port] = free_ports(1)
    data = root / "data"
    address = Address(f"https://127.0.0.1:{port}", Pki(data / "pki"), root / "kubeconfig")
    command = [sys.executable, "-m", "volcano.local.apiserver", "--data-dir", str(data), "--port", str(port)]
    programs.start("apiserver", [*command, "--kubeconfig", str(address.kubeconfig)])
    programs.await_ready("apiserver", lambda: address.kubeconfig.exists() and address.get("/readyz"))
    return address
