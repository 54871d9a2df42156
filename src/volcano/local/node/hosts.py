"""The hosts files that pods of a namespace share, so that peers find each other by name.

Neighbours: `addresses` says what a line holds; `agent` adds and removes pods; containers see the file as /etc/hosts.
"""

from __future__ import annotations

from pathlib import Path

from volcano.local.node.addresses import hosts_line
from volcano.local.node.layout import Layout
from volcano.local.node.sources import PodFacts

_HOST_FILE = Path("/etc/hosts")


class HostsFiles:
    """Lines by namespace and pod. A file is changed in place: it is mounted into running containers."""

    def __init__(self, layout: Layout) -> None:
        self._layout = layout
        self._lines: dict[str, dict[str, str]] = {}

    def add(self, facts: PodFacts) -> None:
        lines = self._lines.setdefault(facts.namespace, {})
        line = hosts_line(facts.pod_ip, facts)
        if lines.get(facts.uid) == line:
            return
        known = facts.uid in lines or len(lines) == 0
        lines[facts.uid] = line
        if known:
            self._write(facts.namespace)
            return
        with self._layout.hosts(facts.namespace).open("a") as file:
            file.write(line)

    def remove(self, namespace: str, uid: str) -> None:
        lines = self._lines.get(namespace, {})
        if lines.pop(uid, None) is not None:
            self._write(namespace)

    def _write(self, namespace: str) -> None:
        path = self._layout.hosts(namespace)
        path.parent.mkdir(parents=True, exist_ok=True)
        base = _HOST_FILE.read_text() if _HOST_FILE.exists() else "127.0.0.1\tlocalhost\n"
        text = (base.rstrip("\n") + "\n" + "".join(self._lines[namespace].values())).encode()
        with path.open("r+b" if path.exists() else "wb") as file:
            file.write(text)
            file.truncate()
