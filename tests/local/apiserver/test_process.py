"""The server as a process: start-up errors in one line, TLS, and nothing acknowledged is ever lost."""

from __future__ import annotations

import asyncio
import contextlib
import json
import os
import random
import signal
import socket
import sqlite3
import stat
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from volcano.http.client import ConnectFailed, HttpError
from volcano.kube import config
from volcano.kube.transport import HttpTransport

CONFIGMAPS = "/api/v1/namespaces/default/configmaps"
JSON = {"content-type": "application/json"}


@contextlib.contextmanager
def running(data: Path, *options: str) -> Iterator[subprocess.Popen[str]]:
    path = data / "kubeconfig"
    path.unlink(missing_ok=True)
    command = [sys.executable, "-m", "volcano.local.apiserver", "--data-dir", str(data), "--kubeconfig", str(path)]
    process = subprocess.Popen([*command, *options], stderr=subprocess.PIPE, text=True)
    try:
        deadline = time.monotonic() + 120
        while not path.exists() and process.poll() is None and time.monotonic() < deadline:
            time.sleep(0.01)
        yield process
    finally:
        process.terminate()
        process.wait(60)
        assert process.stderr is not None
        process.stderr.close()


def failure(data: Path, *options: str) -> str:
    """The last line of a server that cannot start."""
    with running(data, *options) as process:
        assert process.stderr is not None
        lines = process.stderr.read().strip().splitlines()
        assert process.wait(60) == 1, lines
        return lines[-1]


def test_it_serves_over_tls_and_a_private_socket(tmp_path: Path) -> None:
    async def talk() -> None:
        transport = HttpTransport(config.load(str(tmp_path / "kubeconfig")))
        created = await transport.request("POST", CONFIGMAPS, headers=JSON, body=b'{"metadata":{"name":"a"}}')
        async with transport.stream("GET", CONFIGMAPS, query=[("watch", "1")]) as stream:
            event = json.loads(await anext(aiter(stream)))
        await transport.close()
        assert (created.status, event["type"]) == (201, "ADDED")

    with running(tmp_path) as process:
        asyncio.run(talk())
        modes = [stat.S_IMODE((tmp_path / name).stat().st_mode) for name in ("kubeconfig", "api.sock", "state.db")]
        assert modes == [0o600, 0o600, 0o600]
        assert process.poll() is None
        port = int((tmp_path / "port").read_text())
    with running(tmp_path):
        assert int((tmp_path / "port").read_text()) == port


def test_a_port_in_use_is_said(tmp_path: Path) -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
        line = failure(tmp_path, "--port", str(port))

    assert line.startswith(f"port {port} on 127.0.0.1 is in use by another program")


def test_a_database_in_use_is_said(tmp_path: Path) -> None:
    with running(tmp_path):
        line = failure_beside(tmp_path)

    assert line.startswith(f"database {tmp_path / 'state.db'} is locked: another API server uses it")


def failure_beside(data: Path) -> str:
    command = [sys.executable, "-m", "volcano.local.apiserver", "--data-dir", str(data)]
    done = subprocess.run(command, capture_output=True, text=True, timeout=120, check=False)
    assert done.returncode == 1
    return done.stderr.strip().splitlines()[-1]


@pytest.mark.parametrize("damage", ["header", "pages"])
def test_a_damaged_database_is_said_and_left_alone(tmp_path: Path, damage: str) -> None:
    with running(tmp_path):
        pass
    path = tmp_path / "state.db"
    content = bytearray(path.read_bytes())
    if damage == "header":
        content[:16] = b"not a database!!"
    else:
        content[8192:] = b"\xff" * (len(content) - 8192)
    path.write_bytes(content)

    assert failure(tmp_path).startswith(f"database {path} is damaged")
    assert path.read_bytes() == content


def test_a_file_that_is_not_ours_is_said(tmp_path: Path) -> None:
    with contextlib.closing(sqlite3.connect(tmp_path / "state.db")) as database:
        database.execute("PRAGMA user_version = 99")
        database.commit()

    assert "has format 99, this version reads format 1" in failure(tmp_path)


def test_kill_at_any_moment_loses_no_acknowledged_write(tmp_path: Path) -> None:
    acknowledged: set[str] = set()
    deleted: set[str] = set()
    highest = 0
    rng = random.Random(7)

    async def write(run: int, process: subprocess.Popen[str]) -> None:
        nonlocal highest
        transport = HttpTransport(config.load(str(tmp_path / "kubeconfig")))
        found = json.loads((await transport.request("GET", CONFIGMAPS)).content)
        names = {item["metadata"]["name"] for item in found["items"]}
        assert acknowledged <= names
        assert not deleted & names
        assert int(found["metadata"]["resourceVersion"]) >= highest

        loop = asyncio.get_running_loop()
        answers, last = 0, rng.randint(20, 80)

        async def writer(number: int) -> None:
            nonlocal highest, answers
            for step in range(10_000):
                name = f"m-{run}-{number}-{step}"
                body = json.dumps({"metadata": {"name": name}, "data": {"x": "y" * 500}}).encode()
                answer = await transport.request("POST", CONFIGMAPS, headers=JSON, body=body)
                highest = max(highest, int(json.loads(answer.content)["metadata"]["resourceVersion"]))
                acknowledged.add(name)
                answers += 1
                if answers == last:
                    loop.call_later(rng.uniform(0.0, 0.02), os.kill, process.pid, signal.SIGKILL)
                if step % 3 == 0:
                    acknowledged.discard(name)
                    await transport.request("DELETE", f"{CONFIGMAPS}/{name}")
                    deleted.add(name)

        await asyncio.gather(*(writer(number) for number in range(8)), return_exceptions=True)
        with contextlib.suppress(HttpError, ConnectFailed, OSError):
            await transport.close()

    for run in range(5):
        with running(tmp_path) as process:
            asyncio.run(write(run, process))
    assert len(acknowledged) > 10
