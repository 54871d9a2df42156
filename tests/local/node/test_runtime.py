"""The process runtime's hold on its data folder: from its start to its end, however early that comes."""

from __future__ import annotations

import asyncio
import os
from pathlib import Path

import pytest

from volcano.kube.client import Client
from volcano.kube.transport import InProcessTransport
from volcano.local.apiserver.app import ApiServer
from volcano.local.node.agent import NodeAgent, NodeIdentity
from volcano.local.node.layout import Layout
from volcano.local.node.runtime import DataFolderInUse, ProcessRuntime
from volcano.local.node.supervisor import record

IDENTITY = NodeIdentity("n1", "127.0.0.1", {"cpu": "1", "memory": "1Gi", "pods": "10"})


def is_free(layout: Layout) -> bool:
    lock = record.claim(str(layout.lock))
    if lock is None:
        return False
    os.close(lock)
    return True


def children() -> list[str]:
    """This process's; none where the kernel does not tell."""
    told = Path(f"/proc/self/task/{os.getpid()}/children")
    return told.read_text().split() if told.exists() else []


@pytest.mark.parametrize("turns", [1, 2, 4, 8, 16])
def test_a_node_that_is_stopped_while_it_starts_leaves_its_folder_to_the_next(tmp_path: Path, turns: int) -> None:
    async def story() -> None:
        api = ApiServer.open(":memory:")
        layout, client = Layout(tmp_path), Client(InProcessTransport(api.handle))
        before = children()
        starting = asyncio.create_task(NodeAgent(client, IDENTITY, layout, {}).run())
        for _ in range(turns):
            await asyncio.sleep(0.002)
        assert not is_free(layout)

        starting.cancel()
        with pytest.raises(asyncio.CancelledError):
            await starting

        assert is_free(layout)
        assert children() == before
        await api.close()

    asyncio.run(story())


def test_a_folder_is_free_also_when_nobody_waits_for_the_end(tmp_path: Path) -> None:
    async def story() -> None:
        runtime = ProcessRuntime(Layout(tmp_path), lambda _: None)
        await runtime.start()
        closing = asyncio.create_task(runtime.close())
        await asyncio.sleep(0)
        closing.cancel()
        with pytest.raises(asyncio.CancelledError):
            await closing
        assert is_free(runtime.layout)
        await runtime.close()

    asyncio.run(story())


def test_who_finds_the_folder_taken_leaves_it_to_its_owner(tmp_path: Path) -> None:
    async def story() -> None:
        owner, other = (ProcessRuntime(Layout(tmp_path), lambda _: None) for _ in range(2))
        await owner.start()
        with pytest.raises(DataFolderInUse):
            await other.start()
        await other.close()
        assert not is_free(owner.layout)
        await owner.close()
        assert is_free(owner.layout)

    asyncio.run(story())
