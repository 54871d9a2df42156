"""Clients that mean harm, or are broken: they are refused or closed in bounded memory, and others notice nothing."""

from __future__ import annotations

import asyncio
import json
import resource
import socket
import time
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager, contextmanager
from pathlib import Path

import pytest

from tests.local.apiserver.api import CONFIGMAPS, configmap
from tests.waiting import until
from volcano.api.resources import CONFIGMAPS as CONFIG_MAPS
from volcano.http.client import Endpoint, HttpClient
from volcano.http.tls import client_context
from volcano.kube import config
from volcano.kube.client import Client
from volcano.kube.transport import HttpTransport
from volcano.local.apiserver import main
from volcano.local.apiserver.app import ApiServer
from volcano.local.apiserver.verbs import watch

KIBIBYTE = 1024
ROUND_SECONDS = 20.0
"""How long an ordinary request may take beside any of these, on a machine that is busy with other things too."""


class Running:
    """A server with TLS and a socket, as local mode starts it."""

    def __init__(self, api: ApiServer, data: Path) -> None:
        self.api = api
        self.socket = str(data / "api.sock")
        self.port = int((data / "port").read_text())
        self.client = Client(HttpTransport(config.load(str(data / "kubeconfig"))))

    async def raw(self, data: bytes, *, seconds: float = 60.0) -> bytes:
        """What the server says to these bytes until it closes."""
        reader, writer = await asyncio.open_unix_connection(self.socket)
        writer.write(data)
        try:
            return await asyncio.wait_for(reader.read(), seconds)
        finally:
            writer.close()

    async def answers(self) -> None:
        """Others are served as ever."""
        started = time.monotonic()
        await self.client.create(CONFIG_MAPS.untyped, {"metadata": {"generateName": "other-"}}, "default")
        assert time.monotonic() - started < ROUND_SECONDS


@asynccontextmanager
async def running(data: Path) -> AsyncIterator[Running]:
    options = main.parse_arguments(["--data-dir", str(data), "--kubeconfig", str(data / "kubeconfig")])
    async with main.serving(options) as api:
        server = Running(api, data)
        try:
            yield server
        finally:
            await server.client.close()


def listeners(api: ApiServer) -> int:
    return sum(isinstance(item, watch.WatchStream) for item in api.store.collection("configmaps").listeners)


async def test_a_watcher_that_stops_reading_is_let_go_and_others_see_everything(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(watch, "BUFFER_BYTES", 512 * KIBIBYTE)
    async with running(tmp_path) as server:
        deaf = socket.socket(socket.AF_UNIX)
        deaf.setblocking(False)
        deaf.connect(server.socket)
        deaf.sendall(f"GET {CONFIGMAPS}?watch=1 HTTP/1.1\r\nhost: x\r\n\r\n".encode())
        names = [f"large-{number:02}" for number in range(40)]
        seen: list[str] = []

        async def attentive() -> None:
            async for event in server.client.watch(CONFIG_MAPS.untyped, "default"):
                if event.object["metadata"]["name"].startswith("large"):
                    seen.append(event.object["metadata"]["name"])
                if len(seen) == len(names):
                    return

        reader = asyncio.create_task(attentive())
        await until(lambda: listeners(server.api) == 2)
        for name in names:
            await server.client.create(CONFIG_MAPS.untyped, configmap(name, text="x" * 64 * KIBIBYTE), "default")
        await asyncio.wait_for(reader, 60)

        assert seen == names
        await until(lambda: listeners(server.api) == 0)
        await server.answers()
        deaf.close()


async def test_of_too_many_connections_the_silent_ones_go(tmp_path: Path) -> None:
    with descriptors(256):  # the server keeps half of them for connections
        async with running(tmp_path) as server:
            await server.answers()
            silent = [await asyncio.open_unix_connection(server.socket) for _ in range(60)]
            secure = client_context(verify=False)
            silent += [await asyncio.open_connection("127.0.0.1", server.port, ssl=secure) for _ in range(10)]
            await server.answers()
            for _, writer in silent:
                writer.transport.abort()


async def test_a_body_that_is_too_large_is_told_in_a_status_before_it_is_read(tmp_path: Path) -> None:
    async with running(tmp_path) as server:
        head = f"POST {CONFIGMAPS} HTTP/1.1\r\nhost: x\r\ncontent-type: application/json\r\n"
        declared = await server.raw(f"{head}content-length: {main.BODY_BYTES + 1}\r\n\r\n{{".encode())
        chunk = b"10000\r\n" + b"x" * 0x10000 + b"\r\n"
        chunked = await server.raw(f"{head}transfer-encoding: chunked\r\n\r\n".encode() + chunk * 50)

        for answer in (declared, chunked):
            assert answer.startswith(b"HTTP/1.1 413 ")
            told = json.loads(answer.partition(b"\r\n\r\n")[2])
            assert (told["kind"], told["reason"], told["code"]) == ("Status", "RequestEntityTooLarge", 413)
        await server.answers()


@pytest.mark.parametrize("header", ["x-{number}: y\r\n", "x: {number}\r\n", "cookie: {number}\r\n"])
async def test_floods_of_headers_are_refused(tmp_path: Path, header: str) -> None:
    async with running(tmp_path) as server:
        flood = "".join(header.format(number=number) for number in range(20_000))
        answer = await server.raw(f"GET {CONFIGMAPS} HTTP/1.1\r\nhost: x\r\n{flood}\r\n".encode())

        assert answer.startswith(b"HTTP/1.1 431 ")
        await server.answers()


@pytest.mark.parametrize("host", ["evil.example", "127.0.0.1.evil.example", "localhost@evil.example", "[::1", ""])
async def test_who_was_lured_here_by_another_name_is_sent_away(tmp_path: Path, host: str) -> None:
    async with running(tmp_path) as server:
        http = HttpClient(Endpoint("127.0.0.1", server.port, client_context(verify=False)))
        try:
            named = {"origin": "https://evil.example"}
            honest = await http.request("GET", "/version", headers=named)
            lured = await server_answer(server.port, f"GET /version HTTP/1.1\r\nhost: {host}\r\n\r\n")
            absolute = await server_answer(
                server.port, f"GET https://{host or 'x'}/version HTTP/1.1\r\nhost: localhost\r\n\r\n"
            )
        finally:
            await http.close()

        assert honest.status == 200
        assert not any(name.startswith("access-control") for name in honest.headers)
        for answer in (lured, absolute):
            assert answer.startswith(("HTTP/1.1 403 ", "HTTP/1.1 400 "))


async def test_a_form_of_a_web_page_writes_nothing(tmp_path: Path) -> None:
    async with running(tmp_path) as server:
        body = '{"metadata":{"name":"forged"}}'
        for kind in ("text/plain", "application/x-www-form-urlencoded", "multipart/form-data; boundary=x", ""):
            lines = f"POST {CONFIGMAPS} HTTP/1.1\r\nhost: localhost\r\nconnection: close\r\n"
            lines += (f"content-type: {kind}\r\n" if kind else "") + f"content-length: {len(body)}\r\n\r\n{body}"
            assert (await server.raw(lines.encode())).startswith(b"HTTP/1.1 415 ")


async def server_answer(port: int, data: str) -> str:
    reader, writer = await asyncio.open_connection("127.0.0.1", port, ssl=client_context(verify=False))
    writer.write(data.encode())
    answer = await asyncio.wait_for(reader.read(2000), 60)
    writer.transport.abort()
    return answer.decode()


@contextmanager
def descriptors(count: int) -> Iterator[None]:
    """Let this process open few files."""
    before = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (count, before[1]))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_NOFILE, before)
