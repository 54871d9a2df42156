"""Daemons in a network namespace of their own, so that they can be cut off from the API server and it from them."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from contextlib import contextmanager
from typing import TYPE_CHECKING

import yaml

from tests.kube_cluster import chart, control_plane, volcano
from tests.kube_cluster.relays import relay

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from tests.kube_cluster.control_plane import Address
    from tests.kube_cluster.programs import Programs


def absence() -> str:
    """Why there can be no island on this machine; "" when there can."""
    possible = os.geteuid() == 0 and shutil.which("ip")
    return "" if possible else "network namespaces are for root, with the command ip"


class Island:
    """A network namespace whose only way to the API server is a cable that can be cut; packets vanish then."""

    name = "volcano-island"
    outside, inside = "10.231.77.1", "10.231.77.2"

    def __init__(self, root: Path, programs: Programs, address: Address) -> None:
        self._root = root
        self._programs = programs
        self._address = address
        self._server = ""
        self._started: list[str] = []

    @contextmanager
    def joined(self) -> Iterator[Island]:
        ip("netns", "add", self.name)
        try:
            ip("link", "add", "vc-out", "type", "veth", "peer", "name", "vc-in", "netns", self.name)
            ip("address", "add", f"{self.outside}/30", "dev", "vc-out")
            ip("link", "set", "vc-out", "up")
            for command in (("address", "add", f"{self.inside}/30", "dev", "vc-in"), ("link", "set", "vc-in", "up")):
                ip("-n", self.name, *command)
            ip("-n", self.name, "link", "set", "lo", "up")
            server = "127.0.0.1", int(self._address.server.rpartition(":")[2])
            with relay((self.outside, 0), lambda: server) as port:
                self._server = f"https://{self.outside}:{port}"
                try:
                    yield self
                finally:
                    for name in self._started:
                        self._programs.stop(name)
        finally:
            ip("netns", "delete", self.name)

    def cut(self) -> None:
        ip("link", "set", "vc-out", "down")

    def mend(self) -> None:
        ip("link", "set", "vc-out", "up")

    @contextmanager
    def reached_at(self, port: int) -> Iterator[None]:
        """Who listens at this port of the island is reached at the same port of our loopback."""
        with relay(("127.0.0.1", port), lambda: (self.inside, port)):
            yield

    def start(self, name: str, module: str, *flags: str) -> None:
        """A daemon on the island, with the rights of the others."""
        config = yaml.safe_load(chart.kubeconfig_of(self._address, volcano.ACCOUNTS[module]).read_text())
        config["clusters"][0]["cluster"] |= {"server": self._server, "tls-server-name": control_plane.HOST}
        kubeconfig = self._root / f"{name}.kubeconfig"
        kubeconfig.write_text(yaml.safe_dump(config))
        command = [sys.executable, "-m", module, f"--kubeconfig={kubeconfig}", "--healthz-address=127.0.0.1:0", *flags]
        self._programs.start(name, ["ip", "netns", "exec", self.name, *command])
        self._started.append(name)


def ip(*arguments: str) -> None:
    subprocess.run(["ip", *arguments], check=True, capture_output=True, timeout=120)
