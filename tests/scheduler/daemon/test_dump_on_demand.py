"""The scheduler's input on demand: by SIGUSR1 or over HTTP, in a file that nobody else can read."""

from __future__ import annotations

import asyncio
import json
import os
import signal
import urllib.error
import urllib.request
from pathlib import Path

import pytest

from tests.scheduler.daemon.bench import bench
from tests.waiting import until
from volcano.cli.main import run
from volcano.scheduler.daemon import main as program
from volcano.scheduler.daemon.flags import Flags
from volcano.testing.builders import gang


def test_a_signal_writes_what_vcctl_repeats(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    async def scenario() -> Path:
        async with bench(cpu=2, cache_dump_dir=str(tmp_path)) as b:
            await b.submit(gang("train", pods=3, cpu=1))
            await until(lambda: bool(b.scheduler.cluster.scheduled))
            program._dump_on_signal(b.scheduler)
            os.kill(os.getpid(), signal.SIGUSR1)
            written = await until(lambda: b.scheduler._last_dump[1])
            asyncio.get_running_loop().remove_signal_handler(signal.SIGUSR1)
            assert written is not None
            return written

    written = asyncio.run(scenario())

    assert written.stat().st_mode & 0o777 == 0o600
    assert run(["schedule", "-f", str(written)]) == 0
    assert "default/train" in capsys.readouterr().out


def test_a_request_is_answered_with_the_file_or_with_what_is_the_matter(tmp_path: Path) -> None:
    gone = tmp_path / "gone"

    async def scenario() -> list[tuple[int, str]]:
        flags = Flags(listen_address="127.0.0.1:0", enable_healthz=False)
        async with bench(cache_dump_dir=str(gone)) as b:
            (server,) = await program.listen(b.scheduler, flags)
            url = f"http://127.0.0.1:{server.port}/debug/dump"
            answers = [await asyncio.to_thread(_get, url)]
            gone.mkdir()
            answers.append(await asyncio.to_thread(_get, url))
            await server.close(grace_seconds=0.1)
            return answers

    (refused, why), (written, name) = asyncio.run(scenario())

    assert refused == 500
    assert "No such file or directory" in why
    assert "--cache-dump-dir" in why
    assert written == 200
    assert Path(name).stat().st_mode & 0o777 == 0o600
    assert "items" in json.loads(Path(name).read_text())


def _get(url: str) -> tuple[int, str]:
    try:
        with urllib.request.urlopen(url, timeout=60) as answer:
            return answer.status, answer.read().decode().strip()
    except urllib.error.HTTPError as refused:
        return refused.code, refused.read().decode().strip()
