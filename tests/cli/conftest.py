"""A terminal whose commands meet an API server in the same process."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import pytest

from tests.cli.reaching import reach
from volcano.cli import main
from volcano.kube.client import Client
from volcano.kube.transport import InProcessTransport
from volcano.local.apiserver.app import ApiServer


class Terminal:
    """Runs vcctl in this process. Every command gets the same API server, as if over the network."""

    def __init__(self, database: Path, capsys: pytest.CaptureFixture[str]) -> None:
        self._database = database
        self._capsys = capsys
        self.out = ""
        self.err = ""

    def __call__(self, *words: str) -> int:
        self._capsys.readouterr()
        status = main.run(words)
        self.out, self.err = self._capsys.readouterr()
        return status

    @asynccontextmanager
    async def connected(self, master: str = "", kubeconfig: str = "") -> AsyncIterator[Client]:
        server = ApiServer.open(str(self._database))
        try:
            yield Client(InProcessTransport(server.handle), user_agent="vcctl")
        finally:
            await server.close()

    def stored(self, resource: Any, namespace: str | None = "default") -> list[dict[str, Any]]:
        async def read() -> list[dict[str, Any]]:
            async with self.connected() as client:
                return (await client.list(resource.untyped, namespace)).items

        return asyncio.run(read())


@pytest.fixture
def vcctl(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Terminal:
    terminal = Terminal(tmp_path / "api.db", capsys)
    reach(monkeypatch, terminal.connected)
    return terminal
