"""ray: one task becomes the head of a Ray cluster, another its workers; a Service names the head's ports."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from volcano.api import keys
from volcano.api.meta import JsonObject
from volcano.controllers.job.plan import Attachment, Reference
from volcano.controllers.job.plugins.flags import Flags
from volcano.controllers.job.plugins.hosts import host
from volcano.controllers.job.plugins.interface import JobPlugin, PluginError
from volcano.controllers.job.plugins.ports import expose
from volcano.controllers.job.policies import task_named
from volcano.controllers.owners import controller_reference

if TYPE_CHECKING:
    from volcano.api.batch import Job, TaskSpec
    from volcano.controllers.job.pods import Draft


class HeadMissing(PluginError):
    """A Ray job without its head task."""


class Ray(JobPlugin):
    name = "ray"

    def __init__(self, arguments: Sequence[str] = ()) -> None:
        super().__init__(arguments)
        flags = Flags(arguments)
        self.head = flags.get("head", "head")
        self.head_container = flags.get("headContainer", "head")
        self.worker = flags.get("worker", "worker")
        self.worker_container = flags.get("workerContainer", "worker")
        self.port = flags.get("port", 6379)
        self.dashboard_port = flags.get("dashboardPort", 8265)
        self.client_port = flags.get("clientPort", 10001)

    @property
    def _ports(self) -> dict[str, int]:
        return {"gcs": self.port, "dashboard": self.dashboard_port, "client-server": self.client_port}

    def attachments(self, job: Job) -> Sequence[Attachment]:
        self._head_of(job)
        selector = {
            keys.JOB_NAME: job.metadata.name,
            keys.JOB_NAMESPACE: job.metadata.namespace,
            keys.TASK_SPEC: self.head,
        }
        ports = [
            {"name": name, "protocol": "TCP", "port": port, "targetPort": name} for name, port in self._ports.items()
        ]
        meta = {
            "name": _service_name(job),
            "namespace": job.metadata.namespace,
            "ownerReferences": [controller_reference(job)],
        }
        spec: JsonObject = {"selector": selector, "ports": ports}
        return [Attachment({"apiVersion": "v1", "kind": "Service", "metadata": meta, "spec": spec})]

    def leftovers(self, job: Job) -> Sequence[Reference]:
        return [Reference("Service", _service_name(job))]

    def shape(self, draft: Draft) -> None:
        head = self._head_of(draft.job)
        if draft.task.name == self.head:
            self._shape_head(draft)
        elif draft.task.name == self.worker:
            address = f"{host(draft.job, head, 0)}:{self.port}"
            for container in _named(draft, self.worker_container):
                container["command"] = ["sh", "-c", f"ray start --block --address={address}"]

    def _shape_head(self, draft: Draft) -> None:
        command = (
            f"ray start --head --block --dashboard-host=0.0.0.0 --port={self.port} "
            f"--dashboard-port={self.dashboard_port} --ray-client-server-port={self.client_port}"
        )
        for container in _named(draft, self.head_container):
            container["command"] = ["sh", "-c", command]
            for name, port in self._ports.items():
                expose(container, name, port)

    def _head_of(self, job: Job) -> TaskSpec:
        head = task_named(job, self.head)
        if head is None:
            raise HeadMissing(f"job {job.metadata.name} doesn't have head task {self.head}")
        return head


def _named(draft: Draft, name: str) -> list[JsonObject]:
    return [container for container in draft.containers if container.get("name") == name]


def _service_name(job: Job) -> str:
    return f"{job.metadata.name}-head-svc"
