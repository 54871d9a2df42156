"""What stands between programs, as Services and networks do: it passes connections on, byte by byte."""

from __future__ import annotations

import itertools
import socket
import threading
from contextlib import contextmanager, suppress
from typing import TYPE_CHECKING

from tests.kube_cluster import volcano

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping

    Place = tuple[str, int]

CONNECT_SECONDS = 2.0


@contextmanager
def relay(here: Place, choose: Callable[[], Place | None]) -> Iterator[int]:
    """Passes on what comes to `here`, whose port it yields, to where `choose` says for each connection."""
    listening = socket.create_server(here)
    threading.Thread(target=accept, args=(listening, choose), daemon=True).start()
    try:
        yield listening.getsockname()[1]
    finally:
        with suppress(OSError):
            listening.shutdown(socket.SHUT_RDWR)  # wakes who accepts: the port is free then
        listening.close()


def in_turn(replicas: Mapping[Place, str]) -> Callable[[], Place | None]:
    """Chooses as a Service does: among the replicas that are ready now, one after the other; with their health."""
    turns = itertools.count()

    def choose() -> Place | None:
        first = next(turns)
        order = [list(replicas)[(first + each) % len(replicas)] for each in range(len(replicas))]
        return next((place for place in order if volcano.answers(f"http://{replicas[place]}/readyz")), None)

    return choose


def accept(listening: socket.socket, choose: Callable[[], Place | None]) -> None:
    with suppress(OSError):
        while True:
            one, _ = listening.accept()
            threading.Thread(target=connect, args=(one, choose), daemon=True).start()


def connect(one: socket.socket, choose: Callable[[], Place | None]) -> None:
    """Join a connection to one of its own; where nobody answers, it ends."""
    there = choose()
    try:
        if there is None:
            raise ConnectionError("nobody is ready")
        other = socket.create_connection(there, CONNECT_SECONDS)
    except OSError:
        one.close()
        return
    other.settimeout(None)
    for source, target in ((one, other), (other, one)):
        threading.Thread(target=pump, args=(source, target), daemon=True).start()


def pump(source: socket.socket, target: socket.socket) -> None:
    with suppress(OSError):
        while data := source.recv(65536):
            target.sendall(data)
        target.shutdown(socket.SHUT_WR)
