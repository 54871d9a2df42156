"""A real cluster for tests and notebooks, inside the process that asks for it.

    with local_cluster(cpus=4) as cluster:
        cluster.run(cluster.client.create(JOBS.untyped, manifest, "default"))

`fixtures.py` offers the same to pytest; `volcano.local.inprocess` does the work.
"""

from __future__ import annotations

import asyncio
import tempfile
import threading
from collections.abc import AsyncIterator, Coroutine, Iterator
from concurrent.futures import Future
from contextlib import asynccontextmanager, contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TypeVar

from volcano.http.lifetime import loop_factory
from volcano.kube.client import Client
from volcano.local.cluster import LocalError, Options, claimed
from volcano.local.inprocess import in_process
from volcano.local.layout import Layout
from volcano.local.node.shutdown import stop_pods

__all__ = ["LocalCluster", "LocalError", "Options", "async_local_cluster", "local_cluster"]

T = TypeVar("T")


@dataclass(frozen=True)
class LocalCluster:
    """A cluster that is up: an API client for the event loop it runs in, and what other programs need to reach it."""

    client: Client
    root: Path
    loop: asyncio.AbstractEventLoop

    @property
    def kubeconfig(self) -> Path:
        """For kubectl and other programs: `KUBECONFIG=…`."""
        return Layout(self.root).kubeconfig

    def run(self, work: Coroutine[Any, Any, T], timeout_seconds: float | None = 60.0) -> T:
        """The result of `work`, awaited in the cluster's event loop, from any other thread."""
        return asyncio.run_coroutine_threadsafe(work, self.loop).result(timeout_seconds)


@contextmanager
def local_cluster(root: Path | None = None, **size: Any) -> Iterator[LocalCluster]:
    """A cluster in a thread of its own, for synchronous code. `size`: fields of `Options`, such as `cpus=4`.

    Without a `root` it lives in a temporary folder and leaves nothing behind; with one, its objects are kept there.
    """
    started: Future[tuple[LocalCluster, asyncio.Event]] = Future()
    thread = threading.Thread(target=_serve, args=(started, root, size), name="volcano-cluster")
    thread.start()
    try:
        cluster, stop = started.result()
        try:
            yield cluster
        finally:
            cluster.loop.call_soon_threadsafe(stop.set)
    finally:
        thread.join()


@asynccontextmanager
async def async_local_cluster(root: Path | None = None, **size: Any) -> AsyncIterator[LocalCluster]:
    """The same in the running event loop: `await cluster.client.list(…)`."""
    with _folder(root) as layout, claimed(layout):
        try:
            async with in_process(layout, Options(**size)) as running:
                yield LocalCluster(running.client, layout.root, asyncio.get_running_loop())
        finally:
            await asyncio.to_thread(stop_pods, layout.node)


def _serve(started: Future[tuple[LocalCluster, asyncio.Event]], root: Path | None, size: dict[str, Any]) -> None:
    """The thread: an event loop with the cluster in it, until it is told to stop."""

    async def serve() -> None:
        stop = asyncio.Event()
        async with async_local_cluster(root, **size) as cluster:
            started.set_result((cluster, stop))
            await stop.wait()

    try:
        with asyncio.Runner(loop_factory=loop_factory()) as runner:
            runner.run(serve())
    except BaseException as error:
        if started.done():
            raise
        started.set_exception(error)  # raised in the thread that asked


@contextmanager
def _folder(root: Path | None) -> Iterator[Layout]:
    if root is not None:
        yield Layout(root)
        return
    with tempfile.TemporaryDirectory(prefix="volcano-") as folder:
        yield Layout(Path(folder))
