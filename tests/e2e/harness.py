"""Runs vcctl as a person does, on a local cluster with a home of its own."""

from __future__ import annotations

import asyncio
import json
import os
import signal
import subprocess
import sys
import sysconfig
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TypeVar
from urllib.parse import quote

import yaml

from volcano.api import keys
from volcano.api.resource import Resource
from volcano.api.resources import JOBS, NAMESPACES, NODES, PODS
from volcano.kube import config
from volcano.kube.client import Client
from volcano.kube.errors import AlreadyExists, ApiError
from volcano.kube.transport import HttpTransport
from volcano.local.layout import Layout
from volcano.local.probe import Unreachable, get_json

Document = dict[str, Any]
T = TypeVar("T")

SECONDS = 120.0


@dataclass(frozen=True)
class Result:
    """What a command printed, and its exit status."""

    status: int
    out: str
    err: str

    @property
    def json(self) -> Any:
        return json.loads(self.out)

    @property
    def yaml(self) -> Any:
        return yaml.safe_load(self.out)


class Cluster:
    """A local cluster below `home`, not started yet."""

    def __init__(self, home: Path) -> None:
        self.home = home
        self.layout = Layout(home / "local")
        self.kubeconfig = self.layout.kubeconfig

    # As a person

    def __call__(self, *words: str, fails: bool = False, seconds: float = SECONDS) -> Result:
        """Run `vcctl words`; whether it succeeds must be as expected."""
        done = subprocess.run(
            [Path(sysconfig.get_path("scripts"), "vcctl"), *words],
            env=self.environment,
            cwd=self.home,
            capture_output=True,
            text=True,
            timeout=seconds,
            check=False,
        )
        told = f"vcctl {' '.join(words)}: exit status {done.returncode}\n{done.stdout}{done.stderr}"
        assert (done.returncode != 0) == fails, told
        assert "Traceback" not in done.stderr, told
        return Result(done.returncode, done.stdout, done.stderr)

    def on_terminal(self, *words: str) -> str:
        """What `vcctl words` draws on a terminal, escape sequences and all."""
        controller, terminal = os.openpty()
        shown = b""
        with subprocess.Popen(
            [Path(sysconfig.get_path("scripts"), "vcctl"), *words],
            env={**self.environment, "TERM": "xterm"},
            stdin=terminal,
            stdout=terminal,
            stderr=terminal,
        ) as process:
            os.close(terminal)
            with suppress(OSError):  # the end of a terminal whose last user has gone
                while piece := os.read(controller, 65536):
                    shown += piece
        os.close(controller)
        assert process.returncode == 0, shown.decode()
        return shown.decode()

    @property
    def environment(self) -> dict[str, str]:
        inherited = {key: value for key, value in os.environ.items() if key != "KUBECONFIG"}
        return {**inherited, "VOLCANO_HOME": str(self.home), "HOME": str(self.home)}

    def write(self, name: str, *documents: Document | str) -> str:
        """A manifest file in the home; its path."""
        texts = [document if isinstance(document, str) else yaml.safe_dump(document) for document in documents]
        path = self.home / name
        path.write_text("---\n".join(texts))
        return str(path)

    # As a program

    def read(self, resource: Resource[Any], name: str, namespace: str = "default") -> Document:
        """The object as it is now. Raises Unreachable when it, or the server, is not there."""
        path = resource.path(namespace if resource.namespaced else None, name)
        found: Document = get_json(self.layout.data / "api.sock", path)
        return found

    def list(self, resource: Resource[Any], namespace: str | None = "default", selector: str = "") -> list[Document]:
        path = resource.path(namespace if resource.namespaced else None)
        query = f"?labelSelector={quote(selector)}" if selector else ""
        items: list[Document] = get_json(self.layout.data / "api.sock", path + query)["items"]
        return items

    def pods(self, job: str, namespace: str = "default") -> Sequence[Document]:
        """The pods of a job, by name."""
        found = self.list(PODS, namespace, f"{keys.JOB_NAME}={job}")
        return sorted(found, key=lambda pod: str(pod["metadata"]["name"]))

    def phase(self, job: str, namespace: str = "default") -> str:
        state: str = self.read(JOBS, job, namespace).get("status", {}).get("state", {}).get("phase", "")
        return state

    def talk(self, work: Callable[[Client], Any]) -> Any:
        """What `work(client)` comes to, with the administrator's credentials."""

        async def run() -> Any:
            client = Client(HttpTransport(config.load(str(self.kubeconfig))), user_agent="e2e")
            try:
                return await work(client)
            finally:
                await client.close()

        return asyncio.run(run())

    def create(self, resource: Resource[Any], document: Document, namespace: str = "default") -> Document:
        scope = namespace if resource.namespaced else None
        created: Document = self.talk(lambda client: client.create(resource.untyped, document, scope, strict=True))
        return created

    def ensure_namespace(self, name: str) -> None:
        with suppress(AlreadyExists):
            self.create(NAMESPACES, {"metadata": {"name": name}})

    # Its processes

    def pid(self, daemon: str) -> int:
        return int((self.layout.run / f"{daemon}.pid").read_text())

    def kill(self, daemon: str) -> None:
        """kill -9, as a crash would."""
        with suppress(ProcessLookupError):
            os.kill(self.pid(daemon), signal.SIGKILL)

    def log(self, daemon: str) -> str:
        return (self.layout.logs / f"{daemon}.log").read_text()

    @contextmanager
    def another_node(self, name: str, *flags: str) -> Iterator[None]:
        """One more node that runs pods, as a daemon of its own; removed from the cluster at the end."""
        command = [sys.executable, "-m", "volcano.local.node", "--kubeconfig", str(self.kubeconfig)]
        command += ["--name", name, "--data-dir", str(self.home / name), *flags]
        with (self.home / f"{name}.log").open("w") as log, subprocess.Popen(command, stdout=log, stderr=log) as node:
            try:
                yield
            finally:
                node.terminate()
                node.wait(timeout=60)
                self.talk(lambda client: client.delete(NODES, name))


class Distant(Cluster):
    """Somebody else's cluster, which a kubeconfig leads to."""

    def __init__(self, home: Path, kubeconfig: Path) -> None:
        super().__init__(home)
        self.kubeconfig = kubeconfig

    @property
    def environment(self) -> dict[str, str]:
        return {**super().environment, "KUBECONFIG": str(self.kubeconfig)}

    def read(self, resource: Resource[Any], name: str, namespace: str = "default") -> Document:
        scope = namespace if resource.namespaced else None
        try:
            found: Document = self.talk(lambda client: client.get(resource.untyped, name, scope))
        except ApiError as error:
            raise Unreachable(str(error)) from error
        return found

    def list(self, resource: Resource[Any], namespace: str | None = "default", selector: str = "") -> list[Document]:
        scope = namespace if resource.namespaced else None
        found = self.talk(lambda client: client.list(resource.untyped, scope, label_selector=selector or None))
        items: list[Document] = found.items
        return items


@contextmanager
def running(home: Path, *flags: str) -> Iterator[Cluster]:
    """A cluster that is up, and gone afterwards."""
    cluster = Cluster(home)
    cluster("local", "up", "--detach", *flags)
    try:
        yield cluster
    finally:
        cluster("local", "down")


def vcjob(name: str, *command: str, replicas: int = 1, cpu: str = "100m", **spec: Any) -> Document:
    """A Job of equal pods that run `command` (none: the image's own)."""
    container: Document = {"name": "main", "image": "busybox", "resources": {"requests": {"cpu": cpu}}}
    if command:
        container["command"] = list(command)
    template = {"spec": {"restartPolicy": "Never", "containers": [container]}}
    task = {"name": "work", "replicas": replicas, "template": template}
    return {
        "apiVersion": "batch.volcano.sh/v1alpha1",
        "kind": "Job",
        "metadata": {"name": name},
        "spec": {"minAvailable": replicas, "schedulerName": "volcano", "tasks": [task], **spec},
    }
