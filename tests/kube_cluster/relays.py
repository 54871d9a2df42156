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


class Service:
    """Chooses among the replicas that are ready, one after the other; it looks now and then, and so learns late."""

    def __init__(self, replicas: Mapping[Place, str], look_seconds: float = 0.4) -> None:
        """`replicas` says where each is, and where its health."""
        self._replicas = replicas
        self._look_seconds = look_seconds
        self.ready: list[Place] = []
        self._turns = itertools.count()
        self._over = threading.Event()

    @contextmanager
    def looking(self) -> Iterator[None]:
        thread = threading.Thread(target=self._look)
        thread.start()
        try:
            yield
        finally:
            self._over.set()
            thread.join()

    def choose(self) -> Place | None:
        ready = self.ready
        return ready[next(self._turns) % len(ready)] if ready else None

    def _look(self) -> None:
        while not self._over.wait(self._look_seconds):
            known = self._replicas.items()
            self.ready = [place for place, health in known if volcano.answers(f"http://{health}/readyz")]


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
