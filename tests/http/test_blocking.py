"""The client without an event loop: the same answers as from the one with, and coroutines that never suspend."""

from __future__ import annotations

import socket
import threading
from collections.abc import Callable, Coroutine, Iterator
from contextlib import closing, contextmanager
from pathlib import Path
from typing import Any, TypeVar

import pytest

from volcano.http.blocking import BlockingClient
from volcano.http.endpoint import Endpoint
from volcano.http.errors import ConnectFailed, ConnectionClosed, ProtocolError, RequestTimeout

T = TypeVar("T")
Answer = Callable[[socket.socket, bytes], None]


def now(work: Coroutine[Any, Any, T]) -> T:
    """The result of a coroutine that does not suspend."""
    with pytest.raises(StopIteration) as ended:
        work.send(None)
    result: T = ended.value.value
    return result


@contextmanager
def answering(*connections: list[bytes]) -> Iterator[tuple[Endpoint, list[bytes]]]:
    """A server that takes these connections one after the other, and on each gives these answers, then closes it."""
    heard: list[bytes] = []
    with closing(socket.create_server(("127.0.0.1", 0))) as listener:

        def serve() -> None:
            for answers in connections:
                taken, _ = listener.accept()
                with taken:
                    for answer in answers:
                        heard.append(request_on(taken))
                        taken.sendall(answer)

        thread = threading.Thread(target=serve, daemon=True)
        thread.start()
        yield Endpoint(port=listener.getsockname()[1]), heard
        thread.join(60)


def request_on(taken: socket.socket) -> bytes:
    """A request without a body, or with one that ends in a full stop."""
    data = b""
    while not data.endswith((b"\r\n\r\n", b".")):
        data += taken.recv(4096)
    return data


PLAIN = b"HTTP/1.1 200 OK\r\ncontent-length: 2\r\n\r\nhi"
CHUNKED = b"HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n3\r\nabc\r\n4\r\ndefg\r\n0\r\n\r\n"


def test_requests_share_a_connection_and_carry_their_headers_and_bodies() -> None:
    with answering([PLAIN, CHUNKED]) as (endpoint, heard):
        client = BlockingClient(endpoint, headers=[("authorization", "Bearer t")])
        assert now(client.request("GET", "/a")).content == b"hi"
        assert now(client.request("POST", "/b", headers={"x": "y"}, body=b"whole.")).content == b"abcdefg"
        now(client.close())

    assert heard[0].startswith(b"GET /a HTTP/1.1\r\nhost: 127.0.0.1:")
    assert b"authorization: Bearer t\r\n" in heard[0]
    assert heard[1].endswith(b"x: y\r\ncontent-length: 6\r\n\r\nwhole.")


def test_what_may_be_repeated_is_sent_again_when_the_kept_connection_was_closed() -> None:
    with answering([PLAIN], [PLAIN]) as (endpoint, heard):
        client = BlockingClient(endpoint)
        assert now(client.request("GET", "/a")).content == b"hi"
        assert now(client.request("GET", "/b")).content == b"hi"
        now(client.close())

    assert [request.split()[1] for request in heard] == [b"/a", b"/b"]


def test_what_may_have_been_done_is_not_sent_again() -> None:
    with answering([PLAIN, b""]) as (endpoint, heard):
        client = BlockingClient(endpoint)
        now(client.request("GET", "/a"))
        with pytest.raises(ConnectionClosed):
            client.request("POST", "/b", body=b"x.").send(None)

    assert len(heard) == 2


def test_a_connection_that_the_server_closed_meanwhile_is_not_used_for_what_cannot_be_repeated(tmp_path: Path) -> None:
    path = tmp_path / "server"  # the end of a unix socket is seen as soon as it is closed
    ended = threading.Event()

    def serve(listener: socket.socket) -> None:
        for _ in range(2):
            taken, _ = listener.accept()
            with taken:
                request_on(taken)
                taken.sendall(PLAIN)
            ended.set()

    with closing(socket.socket(socket.AF_UNIX)) as listener:
        listener.bind(str(path))
        listener.listen()
        thread = threading.Thread(target=serve, args=[listener], daemon=True)
        thread.start()
        client = BlockingClient(Endpoint(unix_path=str(path)))
        now(client.request("GET", "/a"))
        assert ended.wait(60)
        assert now(client.request("POST", "/b", body=b"x.")).content == b"hi"
        thread.join(60)


def test_a_stream_has_a_connection_of_its_own() -> None:
    async def both(client: BlockingClient) -> tuple[list[bytes], bytes]:
        async with client.stream("GET", "/log") as stream:
            chunks = [chunk async for chunk in stream]
        return chunks, (await client.request("GET", "/a")).content

    with answering([CHUNKED, PLAIN]) as (endpoint, _):
        chunks, body = now(both(BlockingClient(endpoint)))

    assert b"".join(chunks) == b"abcdefg"
    assert body == b"hi"


@pytest.mark.parametrize(
    ("answer", "content"),
    [
        (b"HTTP/1.1 100 Continue\r\n\r\n" + PLAIN, b"hi"),
        (b"HTTP/1.1 200 OK\r\n\r\nuntil the end", b"until the end"),
        (b"HTTP/1.1 204 No Content\r\n\r\n", b""),
    ],
)
def test_answers_of_every_shape_are_read(answer: bytes, content: bytes) -> None:
    with answering([answer]) as (endpoint, _):
        assert now(BlockingClient(endpoint).request("GET", "/")).content == content


@pytest.mark.parametrize(
    ("answer", "error"),
    [
        (b"HTTP/1.1 200 OK\r\ncontent-length: 9\r\n\r\nhalf", ConnectionClosed),
        (b"", ConnectionClosed),
        (b"SSH-2.0-OpenSSH\r\n", ProtocolError),
    ],
)
def test_answers_that_are_none_are_told(answer: bytes, error: type[Exception]) -> None:
    with answering([answer]) as (endpoint, _), pytest.raises(error):
        BlockingClient(endpoint).request("GET", "/").send(None)


def test_a_silent_server_and_a_missing_one_are_told() -> None:
    with closing(socket.create_server(("127.0.0.1", 0))) as listener:
        endpoint = Endpoint(port=listener.getsockname()[1])
        with pytest.raises(RequestTimeout):
            BlockingClient(endpoint).request("GET", "/", timeout=0.05).send(None)
    with pytest.raises(ConnectFailed, match=r"cannot connect to http://127\.0\.0\.1:\d+: .*refused"):
        BlockingClient(endpoint).request("GET", "/").send(None)
