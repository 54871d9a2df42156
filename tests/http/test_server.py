"""The server on the wire: keep-alive, order, limits, timeouts, closing."""

from __future__ import annotations

import asyncio
import zlib
from pathlib import Path

import msgspec
import pytest

from tests.http.conftest import Run, echo, exchange
from volcano.http.client import ConnectFailed, Endpoint, HttpClient
from volcano.http.message import Request, Response
from volcano.http.reading import Limits
from volcano.http.server import ListenError, serve

GET = b"GET / HTTP/1.1\r\nhost: x\r\n\r\n"


def test_a_client_gets_its_request_echoed_over_one_connection(run: Run) -> None:
    async def main() -> None:
        async with await serve(echo) as server:
            client = HttpClient(Endpoint(port=server.port))
            for _ in range(3):
                response = await client.request("POST", "/a%20b?x=1&y=a%2Bb&z", body=b"hello")
                seen = msgspec.json.decode(response.content)
                assert (seen["method"], seen["path"], seen["body"]) == ("POST", "/a b", "hello")
                assert seen["query"] == [["x", "1"], ["y", "a+b"], ["z", ""]]
            assert len(server.connections) == 1
            await client.close()

    run(main())


def test_pipelined_requests_are_answered_in_order(run: Run) -> None:
    async def slow_first(request: Request) -> Response:
        if request.path == "/0":
            await asyncio.sleep(0.05)
        return Response(200, {}, request.path.encode())

    async def main() -> None:
        async with await serve(slow_first) as server:
            raw = b"".join(b"GET /%d HTTP/1.1\r\nhost: x\r\n\r\n" % number for number in range(100))
            answer = await exchange(server.port, raw)
            bodies = [part.rpartition(b"\r\n\r\n")[2] for part in answer.split(b"HTTP/1.1 200 OK")[1:]]
            assert bodies == [b"/%d" % number for number in range(100)]

    run(main())


def test_oversized_heads_and_bodies_are_refused(run: Run) -> None:
    async def main() -> None:
        limits = Limits(head_bytes=1000, body_bytes=1000)
        async with await serve(echo, limits=limits) as server:
            long_head = b"GET / HTTP/1.1\r\nhost: x\r\nx-long: " + b"a" * 2000 + b"\r\n\r\n"
            assert (await exchange(server.port, long_head)).startswith(b"HTTP/1.1 431 ")
            endless = [b"GET / HTTP/1.1\r\nhost: x\r\nx-long: ", *[b"a" * 300] * 5]
            assert (await exchange(server.port, *endless, pause=0.01)).startswith(b"HTTP/1.1 431 ")
            declared = b"POST / HTTP/1.1\r\nhost: x\r\ncontent-length: 1001\r\n\r\n"
            assert (await exchange(server.port, declared)).startswith(b"HTTP/1.1 413 ")
            chunked = (
                b"POST / HTTP/1.1\r\nhost: x\r\ntransfer-encoding: chunked\r\n\r\n"
                + (b"200\r\n" + b"a" * 512 + b"\r\n") * 2
            )
            assert (await exchange(server.port, chunked)).startswith(b"HTTP/1.1 413 ")

    run(main())


@pytest.mark.parametrize(
    ("raw", "status"),
    [
        (b"nonsense\r\n\r\n", 400),
        (b"GET / HTTP/1.1\r\n\r\n", 400),
        (b"GET / HTTP/1.1\r\nhost: x\r\nhost: y\r\n\r\n", 400),
        (b"GET / HTTP/1.1\r\nhost: a b\r\n\r\n", 400),
        (b"GET / HTTP/1.1\r\nhost: x/y\r\n\r\n", 400),
        (b"GET / HTTP/1.1\r\nhost: x\xff\r\n\r\n", 400),
        (b"GET / HTTP/1.1\r\nhost: x\r\na: b\0c\r\n\r\n", 400),
        (b"GET / HTTP/1.1\r\nhost: x\r\na: b\r\n folded\r\n\r\n", 400),
        (b"GET / HTTP/1.1\r\nhost: x\r\ncontent-length : 0\r\n\r\n", 400),
        (b"GET /%zz HTTP/1.1\r\nhost: x\r\n\r\n", 400),
        (b"GET /\xff HTTP/1.1\r\nhost: x\r\n\r\n", 400),
        (b"GET / HTTP/1.1\r\nhost: x\r\nbad header: 1\r\n\r\n", 400),
        (b"POST / HTTP/1.1\r\nhost: x\r\ntransfer-encoding: chunked\r\n\r\nxyz\r\n", 400),
        (b"POST / HTTP/1.1\r\nhost: x\r\ntransfer-encoding: chunked\r\n\r\nffffffffffffffffff\r\n", 400),
        (b"POST / HTTP/1.1\r\nhost: x\r\ntransfer-encoding: chunked\r\ncontent-length: 3\r\n\r\nabc", 400),
        (b"POST / HTTP/1.1\r\nhost: x\r\ntransfer-encoding: gzip, chunked\r\n\r\n0\r\n\r\n", 501),
        (b"POST / HTTP/1.1\r\nhost: x\r\ntransfer-encoding: xchunked\r\n\r\n0\r\n\r\n", 501),
        (b"POST / HTTP/1.1\r\nhost: x\r\ncontent-length: 1\r\ncontent-length: 2\r\n\r\nab", 400),
        (b"POST / HTTP/1.1\r\nhost: x\r\ncontent-length: 1, 1\r\n\r\na", 400),
        (b"POST / HTTP/1.1\r\nhost: x\r\ncontent-length: +1\r\n\r\na", 400),
        (b"POST / HTTP/1.1\r\nhost: x\r\ncontent-length: -1\r\n\r\n", 400),
        (b"GET / HTTP/9.9\r\nhost: x\r\n\r\n", 505),
        (b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n", 400),
    ],
)
def test_malformed_requests_are_refused_after_the_good_ones_are_answered(run: Run, raw: bytes, status: int) -> None:
    """Also what one server reads as one request and another as two."""

    async def main() -> None:
        async with await serve(echo) as server:
            answer = await exchange(server.port, GET + raw + GET)
            first, second = answer.split(b"HTTP/1.1 ")[1:]
            assert (first[:3], second[:3]) == (b"200", b"%d" % status)
            assert b"connection: close" in second

    run(main())


def test_a_whole_url_names_its_host(run: Run) -> None:
    async def host(request: Request) -> Response:
        return Response(200, {}, f"{request.headers['host']} {request.path} {request.param('a')}".encode())

    async def main() -> None:
        async with await serve(host) as server:
            answer = await exchange(server.port, b"GET http://other:80/p?a=1 HTTP/1.1\r\nhost: x\r\n\r\n")
            assert answer.endswith(b"other:80 /p 1")

    run(main())


def test_of_too_many_connections_the_idlest_makes_room(run: Run) -> None:
    release = asyncio.Event()

    async def handler(request: Request) -> Response:
        if request.path == "/slow":
            await release.wait()
        return Response(200, {}, b"done")

    async def main() -> None:
        async with await serve(handler, limits=Limits(connections=3)) as server:
            busy, busy_out = await asyncio.open_connection("127.0.0.1", server.port)
            busy_out.write(b"GET /slow HTTP/1.1\r\nhost: x\r\nconnection: close\r\n\r\n")
            silent = [await asyncio.open_connection("127.0.0.1", server.port) for _ in range(10)]
            client = HttpClient(Endpoint(port=server.port))
            assert (await client.request("GET", "/")).content == b"done"
            assert len(server.connections) == 3
            release.set()
            assert (await busy.read()).endswith(b"done")
            for _, writer in silent:
                writer.close()
            busy_out.close()
            await client.close()

    run(main())


def test_expect_continue_is_granted_or_refused_before_the_body(run: Run) -> None:
    async def main() -> None:
        async with await serve(echo, limits=Limits(body_bytes=100)) as server:
            reader, writer = await asyncio.open_connection("127.0.0.1", server.port)
            head = b"POST / HTTP/1.1\r\nhost: x\r\nexpect: 100-continue\r\ncontent-length: %d\r\n\r\n"
            writer.write(head % 2)
            assert await reader.readuntil(b"\r\n\r\n") == b"HTTP/1.1 100 Continue\r\n\r\n"
            writer.write(b"ok")
            assert (await reader.readuntil(b"\r\n\r\n")).startswith(b"HTTP/1.1 200 ")
            writer.close()
            assert (await exchange(server.port, head % 1000)).startswith(b"HTTP/1.1 413 ")

    run(main())


def test_head_has_the_length_and_no_body(run: Run) -> None:
    async def main() -> None:
        async with await serve(echo) as server:
            answer = await exchange(server.port, b"HEAD / HTTP/1.1\r\nhost: x\r\n\r\n")
            assert b"content-length: " in answer
            assert answer.endswith(b"\r\n\r\n")
            client = HttpClient(Endpoint(port=server.port))
            assert (await client.request("HEAD", "/")).content == b""
            await client.close()

    run(main())


def test_old_clients_are_answered_and_closed(run: Run) -> None:
    async def main() -> None:
        async with await serve(echo) as server:
            answer = await exchange(server.port, b"GET / HTTP/1.0\r\n\r\n", half_close=False)
            assert answer.startswith(b"HTTP/1.1 200 ")
            assert b"connection: close" in answer

    run(main())


def test_large_answers_are_compressed_when_asked(run: Run) -> None:
    body = b"x" * 200_000

    async def large(request: Request) -> Response:
        return Response(200, {}, body)

    async def main() -> None:
        async with await serve(large) as server:
            client = HttpClient(Endpoint(port=server.port))
            response = await client.request("GET", "/", headers={"accept-encoding": "gzip"})
            assert response.content == body
            answer = await exchange(server.port, b"GET / HTTP/1.1\r\nhost: x\r\naccept-encoding: gzip\r\n\r\n")
            head, _, compressed = answer.partition(b"\r\n\r\n")
            assert b"content-encoding: gzip" in head
            assert zlib.decompress(compressed, wbits=31) == body
            assert (await exchange(server.port, GET)).endswith(body)
            await client.close()

    run(main())


def test_a_failing_handler_is_an_internal_error_and_no_end(run: Run) -> None:
    async def fails(request: Request) -> Response:
        raise ZeroDivisionError

    async def main() -> None:
        async with await serve(fails) as server:
            answer = await exchange(server.port, GET * 2)
            assert answer.count(b"HTTP/1.1 500 ") == 2

    run(main())


def test_line_breaks_in_header_values_cannot_forge_headers(run: Run) -> None:
    async def careless(request: Request) -> Response:
        return Response(200, {"warning": "a\r\nset-cookie: b"}, b"")

    async def main() -> None:
        async with await serve(careless) as server:
            assert b"\r\nset-cookie" not in await exchange(server.port, GET)

    run(main())


def test_dawdling_and_idle_connections_are_closed(run: Run) -> None:
    async def main() -> None:
        limits = Limits(head_seconds=1.0, body_seconds=1.0, idle_seconds=1.0)
        async with await serve(echo, limits=limits) as server:
            incomplete = (b"", b"GET / HTTP/1.1\r\nhost:", b"POST / HTTP/1.1\r\nhost: x\r\ncontent-length: 9\r\n\r\n")
            *none, complete = await asyncio.gather(
                *[exchange(server.port, raw, half_close=False) for raw in (*incomplete, GET)]
            )
            assert none == [b"", b"", b""]
            assert complete.startswith(b"HTTP/1.1 200 ")

    run(main())


def test_a_connection_that_was_opened_in_reserve_may_be_idle_like_any_other(run: Run) -> None:
    async def main() -> None:
        limits = Limits(head_seconds=0.1, idle_seconds=60.0)
        async with await serve(echo, limits=limits) as server:
            reader, writer = await asyncio.open_connection("127.0.0.1", server.port)
            await asyncio.sleep(1.5)  # it is looked at once a second
            writer.write(GET)
            answer = await asyncio.wait_for(reader.readline(), 60)
            writer.close()
            assert answer.startswith(b"HTTP/1.1 200 ")

    run(main())


def test_closing_finishes_what_is_asked_and_drops_the_idle(run: Run) -> None:
    started = asyncio.Event()

    async def slow(request: Request) -> Response:
        started.set()
        await asyncio.sleep(0.1)
        return Response(200, {}, b"done")

    async def main() -> None:
        server = await serve(slow)
        client = HttpClient(Endpoint(port=server.port))
        _, idle = await asyncio.open_connection("127.0.0.1", server.port)
        asking = asyncio.create_task(client.request("GET", "/"))
        await started.wait()
        await server.close(5)
        response = await asking
        assert (response.content, response.headers["connection"]) == (b"done", "close")
        assert not server.connections
        idle.close()
        with pytest.raises(ConnectFailed):
            await client.request("GET", "/")

    run(main())


@pytest.mark.parametrize("folder", ["short", "long" * 40])
def test_a_unix_socket_is_private(run: Run, tmp_path: Path, folder: str) -> None:
    path = tmp_path / folder / "api.sock"
    path.parent.mkdir()

    async def whoami(request: Request) -> Response:
        return Response(200, {}, str(request.peer.unix).encode())

    async def main() -> None:
        async with await serve(whoami, unix_path=str(path)):
            assert path.stat().st_mode & 0o777 == 0o600
            client = HttpClient(Endpoint(unix_path=str(path)))
            assert (await client.request("GET", "/")).content == b"True"
            await client.close()
        assert not path.exists()

    run(main())


def test_a_port_in_use_is_told_plainly(run: Run) -> None:
    async def main() -> None:
        async with await serve(echo) as server:
            with pytest.raises(ListenError, match=rf"cannot listen on 127\.0\.0\.1:{server.port}: another process"):
                await serve(echo, port=server.port)

    run(main())


def test_an_upgrade_hands_the_connection_over(run: Run) -> None:
    class Shout(asyncio.Protocol):
        def __init__(self, transport: asyncio.Transport, first: bytes) -> None:
            self.transport = transport
            if first:
                self.data_received(first)

        def data_received(self, data: bytes) -> None:
            self.transport.write(data.upper())

    async def handler(request: Request) -> Response:
        if request.headers.get("upgrade") == "shout":
            return Response(101, {"upgrade": "shout", "connection": "Upgrade"}, upgrade=Shout)
        return Response(200, {}, b"no")

    async def main() -> None:
        async with await serve(handler) as server:
            reader, writer = await asyncio.open_connection("127.0.0.1", server.port)
            writer.write(b"GET / HTTP/1.1\r\nhost: x\r\nconnection: upgrade\r\nupgrade: shout\r\n\r\nearly ")
            assert (await reader.readuntil(b"\r\n\r\n")).startswith(b"HTTP/1.1 101 ")
            writer.write(b"late")
            assert await reader.readexactly(10) == b"EARLY LATE"
            writer.close()
            ignored = b"GET / HTTP/1.1\r\nhost: x\r\nconnection: upgrade\r\nupgrade: h2c\r\n\r\n"
            answer = await exchange(server.port, ignored, half_close=False)
            assert answer.startswith(b"HTTP/1.1 200 ")
            assert answer.endswith(b"no")

    run(main())
