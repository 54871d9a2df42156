"""The extender's requests over real connections: kept, renewed, and refused with a reason."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

import pytest

from volcano.scheduler.daemon.extender import HttpExtender
from volcano.scheduler.plugins.extender.port import ExtenderError


class Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    hang = threading.Event()

    def do_POST(self) -> None:
        body = self.rfile.read(int(self.headers["Content-Length"]))
        if self.path == "/hang":
            self.hang.wait(60)
        self.send_response(500 if self.path == "/broken" else 200)
        self.send_header("Content-Length", str(len(body)))
        if self.path == "/once":
            self.close_connection = True  # without saying so
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, format: str, *args: object) -> None:  # noqa: A002 - its name there
        """Silent."""


@pytest.fixture
def url() -> Iterator[str]:
    Handler.hang = threading.Event()
    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    thread = threading.Thread(target=server.serve_forever, daemon=True)
    thread.start()
    yield f"http://127.0.0.1:{server.server_port}"
    Handler.hang.set()
    server.shutdown()
    server.server_close()


def test_answers_come_back_over_a_kept_connection(url: str) -> None:
    extender = HttpExtender()

    assert [extender.post(f"{url}/echo", body, 60.0) for body in (b"1", b"2")] == [b"1", b"2"]
    extender.close()


def test_a_connection_that_was_closed_is_renewed(url: str) -> None:
    extender = HttpExtender()

    assert [extender.post(f"{url}/once", body, 60.0) for body in (b"1", b"2")] == [b"1", b"2"]
    extender.close()


@pytest.mark.parametrize(("path", "said"), [("/broken", "answered 500: 1"), ("/hang", "timed out")])
def test_failures_are_named(url: str, path: str, said: str) -> None:
    extender = HttpExtender()

    with pytest.raises(ExtenderError, match=said):
        extender.post(url + path, b"1", 0.3)
    extender.close()


def test_a_wrong_address_is_named() -> None:
    with pytest.raises(ExtenderError, match=r"extender\.urlPrefix"):
        HttpExtender().post("service/verb", b"", 1.0)
