"""One peer: `peer.py RANK COUNT HOST`. Rank 0 listens on HOST, the others send it their rank."""

from __future__ import annotations

import socket
import sys
import time

PORT = 29500


def collect(host: str, count: int) -> int:
    """Listen for all others; the sum of what they send."""
    total = 0
    with socket.create_server((host, PORT)) as server:
        for _ in range(count - 1):
            connection, _ = server.accept()
            with connection:
                total += int(connection.makefile().read())
    return total


def send(host: str, rank: int) -> None:
    """Tell rank 0 our rank, as soon as it listens."""
    while True:
        try:
            with socket.create_connection((host, PORT)) as connection:
                connection.sendall(str(rank).encode())
                return
        except (ConnectionError, socket.gaierror):
            time.sleep(0.1)


rank, count, host = int(sys.argv[1]), int(sys.argv[2]), sys.argv[3]
if rank == 0:
    print(f"the sum of all ranks is {collect(socket.gethostname(), count)}")
else:
    send(host, rank)
