"""A scheduler in a network namespace of its own, so that it can be cut off from the API server."""

from __future__ import annotations

import socket
import subprocess
import sys
import threading
from contextlib import contextmanager, suppress
from typing import TYPE_CHECKING

import yaml

from tests.kube_cluster import chart, control_plane, crashing

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from tests.kube_cluster.control_plane import Address
    from tests.kube_cluster.programs import Programs


class Island:
    """A network namespace whose only way to the API server is a cable that can be cut; packets vanish then."""

    name = "volcano-island"
    outside, inside = "10.231.77.1", "10.231.77.2"

    def __init__(self, root: Path, programs: Programs, address: Address) -> None:
        self._root = root
        self._programs = programs
        self._address = address

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
            with relay(self.outside, int(self._address.server.rpartition(":")[2])) as port:
                self._start(f"https://{self.outside}:{port}")
                yield self
                self._programs.stop("vc-scheduler-island")
        finally:
            ip("netns", "delete", self.name)

    def cut(self) -> None:
        ip("link", "set", "vc-out", "down")

    def mend(self) -> None:
        ip("link", "set", "vc-out", "up")

    def log(self) -> str:
        return self._programs.log("vc-scheduler-island")

    def _start(self, server: str) -> None:
        """A scheduler on the island, with the rights of the others."""
        config = yaml.safe_load(chart.kubeconfig_of(self._address, "volcano-scheduler").read_text())
        config["clusters"][0]["cluster"] |= {"server": server, "tls-server-name": control_plane.HOST}
        kubeconfig = self._root / "island.kubeconfig"
        kubeconfig.write_text(yaml.safe_dump(config))
        conf = f"--scheduler-conf={self._root / 'scheduler.yaml'}"
        command = [sys.executable, "-m", "volcano.scheduler.daemon.main", f"--kubeconfig={kubeconfig}", conf]
        flags = "--listen-address=127.0.0.1:0", "--healthz-address=127.0.0.1:0", *crashing.LEASE
        self._programs.start("vc-scheduler-island", ["ip", "netns", "exec", self.name, *command, *flags])


def ip(*arguments: str) -> None:
    subprocess.run(["ip", *arguments], check=True, capture_output=True, timeout=120)


@contextmanager
def relay(host: str, port: int) -> Iterator[int]:
    """Passes on what comes to a port of `host` to that port of loopback, where the API server listens."""
    listening = socket.create_server((host, 0))
    threading.Thread(target=accept, args=(listening, port), daemon=True).start()
    try:
        yield listening.getsockname()[1]
    finally:
        listening.close()


def accept(listening: socket.socket, port: int) -> None:
    with suppress(OSError):
        while True:
            one, _ = listening.accept()
            other = socket.create_connection(("127.0.0.1", port))
            for source, target in ((one, other), (other, one)):
                threading.Thread(target=pump, args=(source, target), daemon=True).start()


def pump(source: socket.socket, target: socket.socket) -> None:
    with suppress(OSError):
        while data := source.recv(65536):
            target.sendall(data)
        target.shutdown(socket.SHUT_WR)
