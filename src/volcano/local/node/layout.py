"""Where a node keeps things on disk. Pure: paths only.

Neighbours: `plan` names these paths in plans; `runtime` and `files` create what is there.
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from volcano.local.node.supervisor import documents
from volcano.local.node.volumes import Claim


@dataclass(frozen=True)
class Layout:
    """The data folder of one node."""

    root: Path

    @property
    def pods(self) -> Path:
        return self.root / "pods"

    @property
    def events(self) -> Path:
        """The named pipe on which supervisors say that a report changed."""
        return self.root / documents.EVENTS_PIPE

    @property
    def lock(self) -> Path:
        """Held by the one node process that uses this folder."""
        return self.root / "node.lock"

    @property
    def supervisor_log(self) -> Path:
        return self.root / "supervisors.log"

    def hosts(self, namespace: str) -> Path:
        return self.root / "hosts" / _part(namespace)

    def claim(self, claim: Claim) -> Path:
        if claim.volume.path:
            return Path(claim.volume.path)
        return self.root / "claims" / _part(claim.namespace) / _part(claim.volume.name)

    def pod(self, uid: str) -> PodLayout:
        return PodLayout(self.pods / _part(uid))


@dataclass(frozen=True)
class PodLayout:
    """The folder of one pod."""

    root: Path

    @property
    def plan(self) -> Path:
        return self.root / documents.PLAN_FILE

    @property
    def report(self) -> Path:
        return self.root / documents.REPORT_FILE

    @property
    def stop(self) -> Path:
        return self.root / documents.STOP_FILE

    @property
    def lock(self) -> Path:
        return self.root / documents.LOCK_FILE

    @property
    def logs(self) -> Path:
        return self.root / documents.LOG_FOLDER

    @property
    def view(self) -> Path:
        """An empty folder in which a container's view of files is put together."""
        return self.root / "view"

    def volume(self, name: str) -> Path:
        return self.root / "volumes" / _part(name)

    def input(self, container: str) -> Path:
        """The named pipe that a container with `stdin: true` reads."""
        return self.root / documents.INPUT_FOLDER / _part(container)

    def terminal(self, container: str) -> Path:
        """The link to the device that a container with `tty: true` has for its terminal."""
        return self.root / documents.INPUT_FOLDER / f"{_part(container)}{documents.TERMINAL_SUFFIX}"

    def work(self, container: str) -> Path:
        """The working folder of a container that asks for none."""
        return self.root / "work" / _part(container)


def _part(name: str) -> str:
    """`name` as one part of a path: a name that would lead elsewhere is refused."""
    if not name or name in (".", "..") or "/" in name or "\0" in name:
        raise ValueError(f"{name!r} cannot name a folder of the node")
    return name
