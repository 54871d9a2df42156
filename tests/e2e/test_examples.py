"""Manifests that Volcano's users know, found through VOLCANO_SHARED: each is admitted or refused as its name says.

Jobs run to their end as processes where their commands are ordinary; where they need an image they are simulated.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path
from typing import Any

import pytest

from tests.e2e.harness import Cluster, Document, running
from tests.waiting import eventually
from volcano.api import keys
from volcano.api.resource import Resource
from volcano.api.resources import (
    ALL_KUBERNETES,
    ALL_VOLCANO,
    CRON_JOBS,
    JOB_FLOWS,
    JOB_TEMPLATES,
    JOBS,
    NODES,
    PODS,
    PRIORITY_CLASSES,
    QUEUES,
)
from volcano.kube.errors import AlreadyExists, BadRequest
from volcano.kube.manifests import load

pytestmark = pytest.mark.xdist_group("examples")

NEEDS_NODE = "192.168.23.24"
"""One manifest selects this node by its name."""
REFUSED = "webhook-deny"
ORDINARY = {"job-1.yaml": ("10m", "0.1")}
"""Those whose commands every machine has, with a long rest and the shorter one that it becomes here."""


def folder() -> Path | None:
    shared = os.environ.get("VOLCANO_SHARED")
    return Path(shared, "examples") if shared else None


def examples(pattern: str = "*.yaml") -> list[str]:
    found = folder()
    return sorted(file.name for file in found.glob(pattern)) if found else []


def parameters(names: list[str]) -> list[Any]:
    if names:
        return list(names)
    return [pytest.param("", id="none", marks=pytest.mark.skip(reason="VOLCANO_SHARED does not name the examples"))]


def documents_of(name: str) -> list[Document]:
    documents = load((folder() or Path()).joinpath(name).read_text(), name)
    for document in documents:
        if document["apiVersion"] == "scheduling.k8s.io/v1beta1":
            document["apiVersion"] = PRIORITY_CLASSES.api_version  # Kubernetes does not serve v1beta1 since 1.22
    return documents


def resource_of(document: Document) -> Resource[Any]:
    return next(
        resource
        for resource in (*ALL_KUBERNETES, *ALL_VOLCANO)
        if (resource.api_version, resource.kind) == (document["apiVersion"], document["kind"])
    ).untyped


def templates(document: Document) -> Iterator[Document]:
    """The pod templates of a Job, of what makes Jobs, or of a workload."""
    spec = document["spec"].get("jobTemplate", document)["spec"]
    yield from (task["template"] for task in spec["tasks"]) if "tasks" in spec else (spec["template"],)


def as_processes(document: Document, long: str = "", short: str = "") -> None:
    """Keep the pods from nodes that only simulate, and shorten how long they rest."""
    for template in templates(document):
        template["spec"]["nodeSelector"] = {keys.HOSTNAME: "local"}
        for container in template["spec"]["containers"]:
            container["command"] = [word.replace(long, short) if long else word for word in container["command"]]


@pytest.fixture(scope="module")
def cluster(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Cluster]:
    """A process node, simulated nodes with room and a GPU, and the queues that the examples name."""
    home = tmp_path_factory.mktemp("examples")
    size = ("--cpus", "2", "--nodes", "4", "--node-cpus", "16")
    with running(home, *size) as cluster, cluster.another_node(NEEDS_NODE, "--cpus", "8"):
        gpu = {"nvidia.com/gpu": "2"}
        patch = {"status": {"capacity": gpu, "allocatable": gpu}}
        for name in ("deployment-queue.yaml", "hierarchical-jobs-queues.yaml"):
            for document in documents_of(name) if examples() else ():
                cluster.create(resource_of(document), document)
        eventually("the nodes", lambda: len(cluster.list(NODES)) == 6)
        eventually("open queues", lambda: all(queue["status"]["state"] == "Open" for queue in cluster.list(QUEUES)))
        cluster.talk(lambda client: client.patch(NODES.untyped, "sim-000", patch, subresource="status"))
        yield cluster


@pytest.mark.parametrize("name", parameters(examples()))
def test_a_manifest_is_admitted_or_refused_as_its_name_says(cluster: Cluster, name: str) -> None:
    for document in documents_of(name):
        if REFUSED in name:
            with pytest.raises(BadRequest, match="denied the request"):
                admitted(cluster, document, dry_run=True)
        else:
            with suppress(AlreadyExists):  # the queues: admitted when the cluster was made
                admitted(cluster, document, dry_run=True)


@pytest.mark.parametrize(
    "name",
    parameters([name for name in examples() if name in ORDINARY]),
)
def test_an_ordinary_command_runs_to_its_end(cluster: Cluster, name: str) -> None:
    for document in documents_of(name):
        as_processes(document, *ORDINARY[name])
        cluster.create(JOBS, document)
        job = document["metadata"]["name"]
        eventually("the job to complete", lambda job=job: cluster.phase(job) == "Completed")
        assert {pod["status"]["phase"] for pod in cluster.pods(job)} == {"Succeeded"}
        cluster("job", "delete", job)
        eventually("its pods to go", lambda job=job: not cluster.pods(job))


@pytest.mark.parametrize("name", parameters(examples("jobflow-jobflow.yaml")))
def test_a_flow_of_ordinary_commands_runs_to_its_end(cluster: Cluster, name: str) -> None:
    for document in documents_of("jobflow-jobtemplate.yaml"):
        as_processes(document, "sleep 10s", "sleep 0.1")
        cluster.create(JOB_TEMPLATES, document)
    [flow] = documents_of(name)
    cluster.create(JOB_FLOWS, flow)

    def state() -> str:
        phase: str = (
            cluster.read(JOB_FLOWS, flow["metadata"]["name"]).get("status", {}).get("state", {}).get("phase", "")
        )
        return phase

    eventually("the flow to succeed", lambda: state() == "Succeed")
    cluster.talk(lambda client: client.delete(JOB_FLOWS, flow["metadata"]["name"], "default"))
    eventually("its jobs to go", lambda: not cluster.list(JOBS))


@pytest.mark.parametrize("name", parameters(examples("cronjob-cronjob.yaml")))
def test_a_job_starts_by_the_clock_and_runs_to_its_end(cluster: Cluster, name: str) -> None:
    [document] = documents_of(name)
    as_processes(document)
    document["spec"]["schedule"] = "@every 1s"
    cluster.create(CRON_JOBS, document)
    cron = document["metadata"]["name"]

    def completed() -> bool:
        phases = [job.get("status", {}).get("state", {}).get("phase") for job in cluster.list(JOBS)]
        return "Completed" in phases

    eventually("a job to complete", completed)
    cluster.talk(lambda client: client.delete(CRON_JOBS, cron, "default"))
    eventually("its jobs to go", lambda: not cluster.list(JOBS))


def jobs_and_workloads() -> list[str]:
    """The manifests with pods of the kinds that run here, ordinary and refused ones left out."""
    return [
        name
        for name in examples()
        if name not in ORDINARY
        and REFUSED not in name
        and any(document["kind"] in ("Job", "ReplicaSet", "Deployment") for document in documents_of(name))
    ]


@pytest.mark.parametrize("name", parameters(jobs_and_workloads()))
def test_a_job_whose_image_is_simulated_reaches_running(cluster: Cluster, name: str) -> None:
    documents = documents_of(name)
    for document in documents:
        for template in templates(document):
            annotations = template.setdefault("metadata", {}).setdefault("annotations", {})
            annotations[keys.SIMULATE] = "true"
    made = [(resource_of(document), admitted(cluster, document)) for document in documents]
    for resource, document in made:
        job, namespace = document["metadata"]["name"], document["metadata"]["namespace"]
        if resource.kind == "Job":
            eventually(f"{job} to run", lambda n=job, s=namespace: cluster.phase(n, s) == "Running")
        else:
            wanted = document["spec"]["replicas"]
            eventually(
                f"{job} to be ready",
                lambda r=resource, n=job, s=namespace, w=wanted: (
                    cluster.read(r, n, s).get("status", {}).get("readyReplicas") == w
                ),
            )
    for resource, document in made:
        job, namespace = document["metadata"]["name"], document["metadata"]["namespace"]
        cluster.talk(lambda client, r=resource, n=job, s=namespace: client.delete(r, n, s))
    eventually("all pods to go", lambda: not cluster.list(PODS, None))


def admitted(cluster: Cluster, document: Document, *, dry_run: bool = False) -> Document:
    """The object as the cluster takes it, in the namespace that it names."""
    resource = resource_of(document)
    namespace = document["metadata"].get("namespace", "default") if resource.namespaced else None
    if namespace:
        cluster.ensure_namespace(namespace)
    created: Document = cluster.talk(lambda client: client.create(resource, document, namespace, dry_run=dry_run))
    return created


@pytest.mark.parametrize("name", parameters(examples("*.conf")))
def test_a_configuration_of_the_scheduler_is_understood(tmp_path: Path, name: str) -> None:
    world = str(Path(__file__).parents[2] / "examples" / "what-if.yaml")
    conf = str((folder() or Path()) / name)
    decided = Cluster(tmp_path)("schedule", "-f", world, "--scheduler-conf", conf, "--cycles", "2", "-o", "json").json
    assert sum(len(cycle["binds"]) for cycle in decided["cycles"]) == 3


@pytest.mark.parametrize("name", parameters([name for name in examples() if name == "job.yaml"]))
def test_an_image_is_nothing_that_a_process_node_can_run(cluster: Cluster, name: str) -> None:
    [document] = documents_of(name)
    document["spec"]["minAvailable"] = 1
    [task] = document["spec"]["tasks"]
    task["replicas"] = 1
    task["template"]["spec"]["nodeSelector"] = {keys.HOSTNAME: "local"}
    cluster.create(JOBS, document)
    job = document["metadata"]["name"]
    [pod] = eventually("the pod to fail", lambda: [p for p in cluster.pods(job) if p["status"]["phase"] == "Failed"])
    assert pod["status"]["reason"] == "NeedsContainerRuntime"
    assert "spec.containers[].command" in pod["status"]["message"]
    cluster("job", "delete", job)
    eventually("its pods to go", lambda: not cluster.pods(job))
