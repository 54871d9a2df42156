"""A port is a pod's only where a process of the pod listens on it: real sockets, of a child process and of our own."""

from __future__ import annotations

import asyncio
import os
import socket
import subprocess
import sys
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path

import pytest

from volcano.local.node.listeners import answering
from volcano.local.node.ports import Inflow, PortTalk

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="read from Linux's /proc")

OWN = "127.83.7.9"
LISTENS = """
import socket, sys, time
server = socket.create_server((sys.argv[1], 0), family=socket.AF_INET6 if ":" in sys.argv[1] else socket.AF_INET)
print(server.getsockname()[1], flush=True)
sys.stdin.read()
"""
LISTENS_IN_A_CHILD = f"import subprocess, sys; subprocess.run([sys.executable, '-c', {LISTENS!r}, sys.argv[1]])"


@contextmanager
def program(address: str, text: str = LISTENS) -> Iterator[tuple[int, int]]:
    """The process of a program that listens, and its port."""
    command = [sys.executable, "-c", text, address]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        yield process.pid, int(process.stdout.readline())


@contextmanager
def foreign(address: str) -> Iterator[int]:
    """The port of a server that no pod has started."""
    family = socket.AF_INET6 if ":" in address else socket.AF_INET
    with socket.create_server((address, 0), family=family, dualstack_ipv6=family == socket.AF_INET6) as server:
        yield server.getsockname()[1]


class Closed(asyncio.Transport):
    """A caller who sends nothing."""

    def is_closing(self) -> bool:
        return True


@pytest.mark.parametrize("text", [LISTENS, LISTENS_IN_A_CHILD], ids=["itself", "its-child"])
@pytest.mark.parametrize(
    ("address", "reached"),
    [("127.0.0.1", ["127.0.0.1"]), (OWN, [OWN]), ("0.0.0.0", [OWN, "127.0.0.1"])],
    ids=["loopback", "own", "everywhere"],
)
def test_a_listener_of_the_pod_is_reached(address: str, reached: list[str], text: str) -> None:
    with program(address, text) as (pid, port):
        assert answering([OWN, "127.0.0.1"], port, [pid]) == reached


def test_what_was_executed_in_a_container_is_the_pods(tmp_path: Path) -> None:
    """A child of the node: it has in common with the container, and not with the pod's supervisor, the files."""
    parents = {10: ("mnt:[1]", 1), 11: ("mnt:[2]", 10), 20: ("mnt:[2]", 5), 30: ("mnt:[3]", 5), 5: ("mnt:[1]", 1)}
    for pid, (view, parent) in parents.items():
        for folder in ("ns", "fd"):
            (tmp_path / str(pid) / folder).mkdir(parents=True)
        (tmp_path / str(pid) / "stat").write_text(f"{pid} (a program) S {parent} 0")
        (tmp_path / str(pid) / "ns/mnt").symlink_to(view)
        (tmp_path / str(pid) / "fd/3").symlink_to(f"socket:[{pid}00]")
    (tmp_path / "net").mkdir()
    lines = [f" 0: 0100007F:{pid:04X} 00000000:0000 0A 0:0 0:0 0 0 0 {pid}00 1" for pid in parents]
    (tmp_path / "net/tcp").write_text("\n".join(["head", *lines]))
    assert [pid for pid in parents if answering(["127.0.0.1"], pid, [10], tmp_path)] == [10, 11, 20]


@pytest.mark.parametrize("address", ["127.0.0.1", "0.0.0.0", "::"], ids=["loopback", "everywhere", "both-families"])
def test_a_foreign_listener_is_not(address: str) -> None:
    """Neither on loopback nor on the pod's own address, which a server that listens everywhere answers, too."""
    with ExitStack() as stack:
        pid, _ = stack.enter_context(program("127.0.0.1"))
        try:
            port = stack.enter_context(foreign(address))
        except OSError:
            pytest.skip("no IPv6 here")
        assert answering([OWN, "127.0.0.1"], port, [pid]) == []
        assert answering([OWN, "127.0.0.1"], port, [os.getpid()]) != []


def test_the_pods_own_address_goes_before_a_foreign_server_that_listens_everywhere() -> None:
    with program(OWN) as (pid, port), socket.socket() as server:
        server.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        server.bind(("127.0.0.1", port))
        server.listen()
        assert answering([OWN, "127.0.0.1"], port, [pid]) == [OWN]


def test_nothing_is_the_pods_where_it_has_no_process() -> None:
    with foreign("127.0.0.1") as port:
        assert answering(["127.0.0.1"], port, []) == []


def test_addresses_of_ipv6() -> None:
    with ExitStack() as stack:
        try:
            pid, port = stack.enter_context(program("::1"))
        except ValueError:
            pytest.skip("no IPv6 here")
        assert answering(["::1"], port, [pid]) == ["::1"]
        assert answering(["::1"], port, []) == []


def test_without_proc_nothing_can_be_told(tmp_path: Path) -> None:
    assert answering(["127.0.0.1"], 80, [], tmp_path) == ["127.0.0.1"]


def test_a_talk_with_a_foreign_listener_does_not_begin() -> None:
    said: list[bytes] = []

    async def say(content: bytes) -> None:
        said.append(content)

    with foreign("127.0.0.1") as port:
        talk = PortTalk(lambda port: answering([OWN, "127.0.0.1"], port, []), port, Inflow(Closed()), say)
        assert asyncio.run(talk.run()).startswith(f"nothing listens on port {port} of the pod")
    assert not said
