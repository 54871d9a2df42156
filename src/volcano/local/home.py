"""Which cluster is meant: the one that is named, the environment's, or the local one of this machine.

For vcctl and the SDK. Only looks; `cluster.py` starts.
"""

from __future__ import annotations

import os
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from volcano.kube.config import ClusterConfig


def find_cluster(kubeconfig: str = "", *, context: str = "", master: str = "") -> ClusterConfig:
    """How to reach the cluster that is meant; `master` replaces the server's address."""
    from volcano.kube import config

    return config.load(kubeconfig or local_kubeconfig(), context or None, master or None)


def local_kubeconfig() -> str | None:
    """The kubeconfig of this machine's local mode, where nothing else says which cluster is meant."""
    if os.environ.get("KUBECONFIG") or (Path.home() / ".kube" / "config").exists():
        return None
    path = local_root() / "kubeconfig"
    return str(path) if path.exists() else None


def local_root() -> Path:
    """The folder of this machine's local mode: $VOLCANO_HOME/local, by default ~/.volcano/local."""
    home = os.environ.get("VOLCANO_HOME")
    return (Path(home) if home else Path.home() / ".volcano") / "local"
