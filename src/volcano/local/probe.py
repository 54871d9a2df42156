"""One small synchronous request over the API server's unix socket, for processes that must not hold an event loop."""

from __future__ import annotations

import json
import socket
from http.client import HTTPConnection, HTTPException
from pathlib import Path
from typing import Any

from volcano.http.unix import short_path


class Unreachable(Exception):
    """The server does not answer, or not with success, yet."""


class _UnixConnection(HTTPConnection):
    def __init__(self, path: Path, timeout_seconds: float) -> None:
        super().__init__("localhost", timeout=timeout_seconds)
        self._path = path

    def connect(self) -> None:
        self.sock = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
        self.sock.settimeout(self.timeout)
        with short_path(str(self._path)) as address:
            self.sock.connect(address)


def get_json(unix_socket: Path, path: str, timeout_seconds: float = 5.0) -> Any:
    """The JSON answer to GET `path`, or None for an answer in plain text. Raises Unreachable."""
    connection = _UnixConnection(unix_socket, timeout_seconds)
    try:
        connection.request("GET", path)
        answer = connection.getresponse()
        body = answer.read()
    except (OSError, HTTPException) as error:
        raise Unreachable(f"{unix_socket}: {error}") from error
    finally:
        connection.close()
    if answer.status != 200:
        raise Unreachable(f"{path}: status {answer.status}")
    if not (answer.getheader("Content-Type") or "").startswith("application/json"):
        return None
    return json.loads(body)
