"""An API server in this process, spoken to directly and by node processes over a socket only this user can open."""

from __future__ import annotations

import asyncio
import contextlib
import os
import signal
import subprocess
import sys
import tempfile
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

from tests.waiting import SECONDS, until
from volcano.api.meta import JsonObject
from volcano.api.resources import PODS
from volcano.http.server import serve
from volcano.kube.client import Client
from volcano.kube.transport import InProcessTransport
from volcano.local.apiserver.app import ApiServer
from volcano.local.node.shutdown import stop_pods


class Cluster:
    def __init__(self, client: Client, root: Path, socket: str) -> None:
        self.client = client
        self.data_dir = root / "node"
        self._socket = socket
        self.node: subprocess.Popen[bytes] | None = None

    def start_node(self) -> None:
        command = [sys.executable, "-m", "volcano.local.node", "--master", f"unix://{self._socket}"]
        command += ["--name", "n1", "--cpus", "1000", "--data-dir", str(self.data_dir)]
        environment = {**os.environ, "HOME": str(self.data_dir), "KUBECONFIG": ""}
        log = (self.data_dir.parent / "node.log").open("ab")
        self.node = subprocess.Popen(command, env=environment, stdout=log, stderr=log)

    def kill_node(self) -> None:
        assert self.node is not None
        self.node.send_signal(signal.SIGKILL)
        self.node.wait()

    def stop_node(self) -> None:
        if self.node is not None and self.node.poll() is None:
            self.node.terminate()
            self.node.wait(60)

    async def create(self, name: str, *command: str, **spec: Any) -> JsonObject:
        containers = [{"name": "main", "image": "busybox", **({"command": list(command)} if command else {})}]
        annotations = spec.pop("annotations", {})
        pod = {
            "apiVersion": "v1",
            "kind": "Pod",
            "metadata": {"name": name, "namespace": "default", "annotations": annotations},
            "spec": {"nodeName": "n1", "restartPolicy": "Never", "containers": containers, **spec},
        }
        return await self.client.create(PODS.untyped, pod)

    async def pod(self, name: str) -> JsonObject:
        return await self.client.get(PODS.untyped, name, "default")

    async def pods(self) -> list[JsonObject]:
        return (await self.client.list(PODS.untyped, "default")).items

    async def phase(self, name: str, *wanted: str, seconds: float = SECONDS) -> JsonObject:
        """The pod, once it is in one of the wanted phases."""
        result: JsonObject = {}

        async def reached() -> bool:
            nonlocal result
            result = await self.pod(name)
            return result["status"]["phase"] in wanted

        await until(reached, seconds)
        return result


@asynccontextmanager
async def cluster() -> AsyncIterator[Cluster]:
    api = ApiServer.open(":memory:")
    with tempfile.TemporaryDirectory(prefix="vn-") as folder:
        socket = f"{folder}/api.sock"
        client = Client(InProcessTransport(api.handle))
        async with await serve(api.handle, unix_path=socket):
            result = Cluster(client, Path(folder), socket)
            try:
                yield result
            finally:
                result.stop_node()
                await asyncio.to_thread(stop_pods, result.data_dir)
                with contextlib.suppress(Exception):
                    await api.close()
