"""Where local mode keeps things: one folder, readable by its owner alone."""

from __future__ import annotations

import shutil
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path


@dataclass(frozen=True)
class Layout:
    """The files and folders of a local cluster under `root`."""

    root: Path

    @property
    def data(self) -> Path:
        """The API server's database and certificates."""
        return self.root / "apiserver"

    @property
    def node(self) -> Path:
        """The node's pods: their folders, logs and records."""
        return self.root / "node"

    @property
    def logs(self) -> Path:
        return self.root / "log"

    @property
    def run(self) -> Path:
        """Process ids of what runs now."""
        return self.root / "run"

    @property
    def keep_pods(self) -> Path:
        """There while a cluster is stopped whose pods are to go on."""
        return self.run / "keep-pods"

    @property
    def kubeconfig(self) -> Path:
        return self.root / "kubeconfig"

    @property
    def scheduler_conf(self) -> Path:
        return self.root / "conf" / "volcano-scheduler.conf"

    def delete(self) -> bool:
        """Remove what a cluster has put here, and nothing that others have. False, and nothing, where none was."""
        if not self.run.exists():
            return False
        for file in (self.kubeconfig, self.scheduler_conf):
            file.unlink(missing_ok=True)
        for folder in (self.data, self.node, self.logs, self.run):
            if folder.exists():
                shutil.rmtree(folder)
        for folder in (self.scheduler_conf.parent, self.root):
            with suppress(OSError):  # not empty
                folder.rmdir()
        return True

    def create(self) -> None:
        """Make the folders, with mode 0700."""
        for folder in (self.root, self.data, self.node, self.logs, self.run, self.scheduler_conf.parent):
            folder.mkdir(mode=0o700, parents=True, exist_ok=True)
