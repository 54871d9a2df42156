"""The jobs that benchmarks submit, and the podgroups and pods that the controllers make of them."""

from __future__ import annotations

import msgspec

from volcano.api import resources
from volcano.api.batch import Job
from volcano.api.meta import JsonObject
from volcano.controllers.job import podgroup, pods
from volcano.controllers.job.plugins import builtin_plugins
from volcano.kube.client import Client

NAMESPACE = "default"


def document(number: int, replicas: int) -> JsonObject:
    containers = [{"name": "main", "image": "busybox", "resources": {"requests": {"cpu": "100m"}}}]
    task = {"name": "worker", "replicas": replicas, "template": {"spec": {"containers": containers}}}
    return {
        "apiVersion": resources.JOBS.api_version,
        "kind": resources.JOBS.kind,
        "metadata": {"name": f"job-{number}", "namespace": NAMESPACE},
        "spec": {
            "minAvailable": replicas,
            "schedulerName": "volcano",
            "queue": "default",
            "plugins": {"env": []},
            "tasks": [task],
        },
    }


def outcome(number: int, replicas: int) -> tuple[JsonObject, list[msgspec.Raw]]:
    """The podgroup of a job, and its pods as bytes."""
    job = msgspec.convert(document(number, replicas), Job)
    job.metadata.uid = f"00000000-0000-4000-8000-{number:012}"
    mould = pods.mould(job, job.spec.tasks[0], builtin_plugins())
    return podgroup.build(job, {}), [msgspec.Raw(mould.body(index)) for index in range(replicas)]


async def make_queues(client: Client) -> None:
    for name in ("root", "default"):
        await client.create(resources.QUEUES.untyped, {"metadata": {"name": name}, "spec": {"weight": 1}})
