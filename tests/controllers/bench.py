"""Controllers beside an API server in one process; the test plays scheduler and nodes."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass, field
from typing import Any

import msgspec

from tests.waiting import SECONDS, until
from volcano.api import keys, resources
from volcano.api.batch import Job
from volcano.controllers import manager
from volcano.controllers.flags import Flags
from volcano.controllers.runtime import Runtime
from volcano.http.message import Request, Response
from volcano.http.metrics import Registry
from volcano.kube.client import Client
from volcano.kube.errors import NotFound
from volcano.kube.transport import InProcessTransport
from volcano.local.apiserver.app import ApiServer
from volcano.local.apiserver.storage.store import Store

NAMESPACE = "default"
SLEEPER = {"containers": [{"name": "c", "image": "busybox", "command": ["sleep", "5"]}]}


@dataclass
class Wire:
    """Between the controllers and the API server: writes are noted, and can be cut off."""

    api: ApiServer
    writes: list[tuple[str, str]] = field(default_factory=list)
    cut_after: int | None = None
    """number of writes after which nothing gets through any more"""
    loses_answer: bool = False
    """the last write is carried out, but its answer is lost"""
    cut: asyncio.Event = field(default_factory=asyncio.Event)
    forbidden: str = ""
    """a kind that the controllers have no right to"""

    async def handle(self, request: Request) -> Response:
        if self.cut.is_set():
            raise ConnectionResetError("cut off")
        if self.forbidden and f"/{self.forbidden}" in request.path:
            message = f'{self.forbidden} is forbidden: User "controllers" cannot touch resource "{self.forbidden}"'
            answer = {"kind": "Status", "status": "Failure", "reason": "Forbidden", "message": message, "code": 403}
            return Response(403, {"content-type": "application/json"}, msgspec.json.encode(answer))
        if request.method == "GET" or "/events" in request.path:
            return await self.api.handle(request)
        if self.cut_after is not None and len(self.writes) >= self.cut_after:
            self.cut.set()
            if self.loses_answer:
                await self.api.handle(request)
            raise ConnectionResetError("cut off")
        self.writes.append((request.method, request.path))
        return await self.api.handle(request)

    def repair(self) -> None:
        self.cut, self.cut_after = asyncio.Event(), None


@dataclass
class Bench:
    client: Client
    """the users', the scheduler's and the nodes'"""
    wire: Wire
    flags: Flags
    metrics: Registry = field(default_factory=Registry)
    runtime: Runtime | None = None
    running: asyncio.Task[None] | None = None

    def start(self) -> None:
        self.metrics = Registry()
        client = Client(InProcessTransport(self.wire.handle), user_agent="vc-controller-manager")
        self.runtime = manager.build(client, self.flags, self.metrics)
        self.running = asyncio.create_task(self.runtime.run())

    async def stop(self) -> None:
        """As abruptly as a process that is killed."""
        assert self.running is not None
        self.running.cancel()
        with suppress(asyncio.CancelledError):
            await self.running

    # What users do

    async def submit(
        self, name: str = "train", *, replicas: int = 2, annotations: dict[str, str] | None = None, **spec: Any
    ) -> Job:
        task = {"name": "worker", "replicas": replicas, "template": {"spec": SLEEPER}}
        wanted = {"minAvailable": replicas, "queue": "default", "schedulerName": "volcano", "tasks": [task], **spec}
        document = {
            "apiVersion": "batch.volcano.sh/v1alpha1",
            "kind": "Job",
            "metadata": {"name": name, "namespace": NAMESPACE, "annotations": annotations or {}},
            "spec": wanted,
        }
        await self.client.create(resources.JOBS.untyped, document)
        return await self.job(name)

    async def command(self, action: str, name: str = "train") -> None:
        job = await self.job(name)
        target = {"apiVersion": "batch.volcano.sh/v1alpha1", "kind": "Job", "name": name, "uid": job.metadata.uid}
        document = {"metadata": {"generateName": "order-", "namespace": NAMESPACE}, "action": action, "target": target}
        await self.client.create(resources.COMMANDS.untyped, document)

    # What scheduler and nodes do

    async def admit(self, name: str = "train") -> None:
        """The scheduler lets the job's podgroup in."""
        job = await self.job(name)
        group = f"{name}-{job.metadata.uid}"
        await until(lambda: self.exists(resources.PODGROUPS, group))
        await self.client.patch(resources.PODGROUPS, group, {"status": {"phase": "Inqueue"}}, NAMESPACE)

    async def set_phase(self, pod: str, phase: str, exit_code: int | None = None) -> None:
        status: dict[str, Any] = {"phase": phase}
        if exit_code is not None:
            ended = {"state": {"terminated": {"exitCode": exit_code}}}
            status["containerStatuses"] = [
                {"name": "c", "image": "", "imageID": "", "ready": False, "restartCount": 0, **ended}
            ]
        await self.client.patch(resources.PODS, pod, {"status": status}, NAMESPACE, subresource="status")

    async def set_phases(self, phase: str, name: str = "train") -> None:
        for pod in await self.pods(name):
            await self.set_phase(pod, phase)

    async def started(self, name: str = "train", **spec: Any) -> Job:
        """A job whose pods all run."""
        job = await self.submit(name, **spec)
        await self.admit(name)
        wanted = sum(task.replicas for task in job.spec.tasks)
        await until(lambda: self.has_pods(wanted, name))
        await self.set_phases("Running", name)
        await self.reaches("Running", name)
        return await self.job(name)

    # What can be seen

    async def job(self, name: str = "train") -> Job:
        return await self.client.get(resources.JOBS, name, NAMESPACE)

    async def pods(self, name: str = "train") -> dict[str, str]:
        """uid of each pod, by name."""
        selector = f"{keys.JOB_NAME}={name}"
        listing = await self.client.list(resources.PODS, NAMESPACE, label_selector=selector)
        return {pod.metadata.name: pod.metadata.uid for pod in listing.items}

    async def has_pods(self, count: int, name: str = "train") -> bool:
        return len(await self.pods(name)) == count

    async def exists(self, resource: Any, name: str) -> bool:
        try:
            await self.client.get(resource, name, NAMESPACE if resource.namespaced else None)
        except NotFound:
            return False
        return True

    async def quiet(self, seconds: float = 0.5) -> None:
        """Wait until nothing was written for so long, and forget what was written before."""

        async def silent() -> bool:
            before = len(self.wire.writes)
            await asyncio.sleep(seconds)
            return len(self.wire.writes) == before

        await until(silent)
        self.wire.writes.clear()

    async def reaches(self, phase: str, name: str = "train", seconds: float = SECONDS) -> Job:
        async def there() -> bool:
            return (await self.job(name)).status.state.phase == phase

        try:
            await until(there, seconds)
        except AssertionError:
            raise AssertionError(f"{name} is {(await self.job(name)).status} and not {phase}") from None
        return await self.job(name)


@asynccontextmanager
async def bench(*, running: bool = True, **flags: Any) -> AsyncIterator[Bench]:
    api = ApiServer(Store.open(":memory:"))
    await api.start()
    client = Client(InProcessTransport(api.handle))
    for name, parent in (("root", ""), ("default", "root")):
        queue = {"metadata": {"name": name}, "spec": {"weight": 1, **({"parent": parent} if parent else {})}}
        await client.create(resources.QUEUES.untyped, queue)
    found = Bench(client, Wire(api), Flags(leader_elect=False, **flags))
    if running:
        found.start()
    try:
        yield found
    finally:
        if found.running is not None:
            await found.stop()
        api.stop_watches()
        await api.close()
