"""What a request costs: CPU microseconds in the server and in the client, plain and over TLS, and per delivered event.

    python -m benchmarks.http_cost [--requests 32000] [--events 1000] [--watchers 50]

Server and client run in separate processes, so that each side's CPU time is its own. The floor is a bare asyncio
protocol that answers fixed bytes without parsing. Prints JSON.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import multiprocessing
import resource
import ssl
import tempfile
import time
from collections.abc import AsyncIterator, Callable
from pathlib import Path
from typing import Any, cast

import msgspec
import uvloop

from volcano.http.client import Endpoint, HttpClient
from volcano.http.message import Request, Response
from volcano.http.server import serve
from volcano.http.tls import client_context, server_context

BODY = b'{"metadata":{"name":"a","namespace":"b"},"count":1}'
CANNED = b"HTTP/1.1 200 OK\r\ncontent-length: %d\r\n\r\n%b" % (len(BODY), BODY)
CONCURRENCY = 16


async def post(request: Request) -> Response:
    return Response(200, {"content-type": "application/json"}, msgspec.json.encode(msgspec.json.decode(request.body)))


class Floor(asyncio.Protocol):
    """Answers whatever arrives with the same bytes."""

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self.transport = cast(asyncio.Transport, transport)

    def data_received(self, data: bytes) -> None:
        self.transport.write(CANNED)


class Fan:
    """Streams `events` events of 4 kB to each watcher as soon as `watchers` of them are connected."""

    def __init__(self, watchers: int, events: int) -> None:
        self.event = b'{"type":"ADDED","object":{"x":"' + b"x" * 4000 + b'"}}\n'
        self.watchers = watchers
        self.events = events
        self.connected = 0
        self.start = asyncio.Event()

    async def __call__(self, request: Request) -> Response:
        self.connected += 1
        if self.connected == self.watchers:
            self.start.set()
        return Response(200, {}, self.stream())

    async def stream(self) -> AsyncIterator[bytes]:
        await self.start.wait()
        for number in range(self.events):
            yield self.event
            if number % 5 == 4:
                await asyncio.sleep(0)


def cpu() -> float:
    usage = resource.getrusage(resource.RUSAGE_SELF)
    return usage.ru_utime + usage.ru_stime


def server_process(make: Callable[[], Any], tls: tuple[str, str] | None, pipe: Any) -> None:
    async def main() -> None:
        context = server_context(Path(tls[0]), Path(tls[1])) if tls else None
        handler = make()
        if handler is None:
            server = await asyncio.get_running_loop().create_server(Floor, "127.0.0.1", 0, ssl=context)
            pipe.send(server.sockets[0].getsockname()[1])
        else:
            pipe.send((await serve(handler, ssl=context)).port)
        loop = asyncio.get_running_loop()
        while True:
            await loop.run_in_executor(None, pipe.recv)
            pipe.send(cpu())

    uvloop.run(main())


async def requests(port: int, tls: ssl.SSLContext | None, count: int) -> None:
    client = HttpClient(Endpoint("127.0.0.1", port, tls, "localhost"))

    async def work() -> None:
        for _ in range(count // CONCURRENCY):
            await client.request("POST", "/api/v1/namespaces/b/things", body=BODY)

    await asyncio.gather(*[work() for _ in range(CONCURRENCY)])
    await client.close()


async def watches(port: int, tls: ssl.SSLContext | None, watchers: int, events: int) -> None:
    client = HttpClient(Endpoint("127.0.0.1", port, tls, "localhost"))

    async def work() -> None:
        seen = 0
        async with client.stream("GET", "/watch") as response:
            async for chunk in response:
                seen += chunk.count(b"\n")
        assert seen == events, (seen, events)

    await asyncio.gather(*[work() for _ in range(watchers)])
    await client.close()


def measure(make: Callable[[], Any], drive: Callable[..., Any], units: int, tls: Path | None) -> dict[str, float]:
    """CPU microseconds per unit on both sides."""
    ours, theirs = multiprocessing.Pipe()
    files = (str(tls / "cert.pem"), str(tls / "key.pem")) if tls else None
    process = multiprocessing.get_context("fork").Process(target=server_process, args=(make, files, theirs))
    process.start()
    port = ours.recv()
    context = client_context(authority=tls / "cert.pem") if tls else None

    async def main() -> dict[str, float]:
        await drive(port, context)
        ours.send(None)
        server_before, client_before, wall = ours.recv(), cpu(), time.perf_counter()
        await drive(port, context)
        client_after, seconds = cpu(), time.perf_counter() - wall
        ours.send(None)
        server_after = ours.recv()
        return {
            "server_us": round((server_after - server_before) / units * 1e6, 1),
            "client_us": round((client_after - client_before) / units * 1e6, 1),
            "per_second": round(units / seconds),
        }

    try:
        return cast(dict[str, float], uvloop.run(main()))
    finally:
        process.terminate()
        process.join()


def certificate(folder: Path) -> None:
    """A self-signed certificate for localhost."""
    import datetime

    from cryptography import x509
    from cryptography.hazmat.primitives import hashes, serialization
    from cryptography.hazmat.primitives.asymmetric import ec

    key = ec.generate_private_key(ec.SECP256R1())
    name = x509.Name([x509.NameAttribute(x509.NameOID.COMMON_NAME, "localhost")])
    now = datetime.datetime.now(datetime.UTC)
    built = (
        x509.CertificateBuilder(name, name, key.public_key(), x509.random_serial_number())
        .not_valid_before(now)
        .not_valid_after(now + datetime.timedelta(days=1))
        .add_extension(x509.SubjectAlternativeName([x509.DNSName("localhost")]), critical=False)
        .add_extension(x509.BasicConstraints(ca=True, path_length=None), critical=True)
        .sign(key, hashes.SHA256())
    )
    (folder / "cert.pem").write_bytes(built.public_bytes(serialization.Encoding.PEM))
    pem = key.private_bytes(serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8, serialization.NoEncryption())
    (folder / "key.pem").write_bytes(pem)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--requests", type=int, default=32_000)
    parser.add_argument("--events", type=int, default=1_000)
    parser.add_argument("--watchers", type=int, default=50)
    options = parser.parse_args()
    count, events, watchers = options.requests, options.events, options.watchers
    with tempfile.TemporaryDirectory() as folder:
        tls = Path(folder)
        certificate(tls)

        def post_load(port: int, context: ssl.SSLContext | None) -> Any:
            return requests(port, context, count)

        def watch_load(port: int, context: ssl.SSLContext | None) -> Any:
            return watches(port, context, watchers, events)

        def fan() -> Fan:
            return Fan(watchers, events)

        print(
            json.dumps(
                {
                    "floor_request": measure(lambda: None, post_load, count, None),
                    "request": measure(lambda: post, post_load, count, None),
                    "floor_request_tls": measure(lambda: None, post_load, count, tls),
                    "request_tls": measure(lambda: post, post_load, count, tls),
                    "event_delivery": measure(fan, watch_load, events * watchers, None),
                    "event_delivery_tls": measure(fan, watch_load, events * watchers, tls),
                },
                indent=2,
            )
        )


if __name__ == "__main__":
    main()
