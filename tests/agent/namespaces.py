"""A node and pods in network namespaces of their own, where this machine lets us make them."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import uuid
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field

import pytest

from volcano.agent.shaper import ShapingError, run_command

NODE_ADDRESS = "10.99.0.1"
RECEIVE = """
import socket, sys, threading
def drain(connection):
    while connection.recv(1 << 16):
        pass
with socket.create_server((sys.argv[1], 7001)) as server:
    print("ready", flush=True)
    while True:
        threading.Thread(target=drain, args=(server.accept()[0],), daemon=True).start()
"""
SEND = """
import socket, sys, time
until, sent = time.monotonic() + float(sys.argv[2]), 0
with socket.create_connection((sys.argv[3], 7001), source_address=(sys.argv[1], 0)) as connection:
    connection.setsockopt(socket.SOL_SOCKET, socket.SO_SNDBUF, 1 << 16)
    while time.monotonic() < until:
        sent += connection.send(bytes(1 << 15))
print(sent)
"""


@dataclass
class Node:
    """Its namespace, and that of all its pods, which differ by address."""

    name: str
    pods: str
    _running: list[subprocess.Popen[str]] = field(default_factory=list)

    def run(self, command: Sequence[str], text: str = "") -> str:
        """As `shaper.run_command`, on this node."""
        return run_command(["ip", "netns", "exec", self.name, *command], text)

    def receive(self) -> None:
        command = ["ip", "netns", "exec", self.name, sys.executable, "-c", RECEIVE, NODE_ADDRESS]
        process = subprocess.Popen(command, stdout=subprocess.PIPE, text=True)
        self._running.append(process)
        assert process.stdout is not None
        assert process.stdout.readline() == "ready\n"

    def send(self, address: str, seconds: float) -> subprocess.Popen[str]:
        command = ["ip", "netns", "exec", self.pods, sys.executable, "-c", SEND, address, str(seconds), NODE_ADDRESS]
        process = subprocess.Popen(command, stdout=subprocess.PIPE, text=True)
        self._running.append(process)
        return process

    def close(self) -> None:
        for process in self._running:
            process.kill()
            process.wait()
            if process.stdout is not None:
                process.stdout.close()
        for name in (self.name, self.pods):
            run_command(["ip", "netns", "delete", name])


@contextmanager
def node(*addresses: str, bridge: bool = False) -> Iterator[Node]:
    """A node that reaches these pods by the device `v0`, or by a bridge before it; skips where there can be none."""
    if os.geteuid() or not shutil.which("tc") or not shutil.which("ip"):
        pytest.skip("network namespaces need root, ip and tc")
    mark = uuid.uuid4().hex[:6]
    made = Node(f"volcano-node-{mark}", f"volcano-pods-{mark}")
    try:
        for name in (made.name, made.pods):
            run_command(["ip", "netns", "add", name])
    except ShapingError as problem:
        pytest.skip(f"no network namespaces can be made here: {problem}")
    try:
        made.run(["ip", "link", "add", "v0", "type", "veth", "peer", "name", "e0", "netns", made.pods])
        if bridge:
            made.run(["ip", "link", "add", "cni0", "type", "bridge"])
            made.run(["ip", "link", "set", "v0", "master", "cni0"])
        for device in ("v0", "cni0") if bridge else ("v0",):
            made.run(["ip", "link", "set", device, "up"])
        made.run(["ip", "address", "add", f"{NODE_ADDRESS}/24", "dev", "cni0" if bridge else "v0"])
        for address in addresses:
            run_command(["ip", "-n", made.pods, "address", "add", f"{address}/24", "dev", "e0"])
        run_command(["ip", "-n", made.pods, "link", "set", "e0", "up"])
        yield made
    finally:
        made.close()
