"""Typical causes of waiting: each is told with its stage, its numbers, who is in the way, and what would change it.

Every cause is explained twice: from manifests by `vcctl explain -f`, and on a running cluster with its scheduler.
"""

from __future__ import annotations

import asyncio
import json
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest

from tests.scheduler.daemon.bench import bench
from tests.waiting import until
from volcano.api.resources import CONFIGMAPS, EVENTS, PODGROUPS, QUEUES, by_kind
from volcano.cli.main import run
from volcano.jobs.explain import explain, live_cycle
from volcano.kube.client import Client
from volcano.kube.errors import AlreadyExists

Document = dict[str, Any]

PREDICATES = """
actions: "enqueue, allocate, preempt"
tiers:
- plugins: [{name: priority}, {name: gang}, {name: conformance}]
- plugins: [{name: predicates}, {name: proportion}, {name: network-topology-aware}]
- plugins: [{name: deviceshare, arguments: {deviceshare.VGPUEnable: true}}]
"""
CAPACITY = PREDICATES.replace("proportion", "capacity")
OVERCOMMIT = PREDICATES.replace("{name: predicates}", "{name: predicates}, {name: overcommit}, {name: resourcequota}")


@dataclass(frozen=True)
class Cause:
    """A world in which podgroup `train` waits, and what must be said about it."""

    codes: tuple[str, ...]
    """Of the reason and its causes, from the outside in."""
    stage: str
    remedy: str
    objects: tuple[Document, ...] = ()
    pods: int = 1
    group: Document = field(default_factory=dict)
    pod: Document = field(default_factory=dict)
    requests: Document = field(default_factory=lambda: {"cpu": "1"})
    node: Document = field(default_factory=dict)
    conf: str = PREDICATES
    need: float | None = None
    have: float | None = None
    blocker: str = ""
    vanishing: str = ""
    """A queue that is there when the podgroup is created, and is deleted afterwards."""
    nodes: str = ""
    """A part of what nodes say."""


def named(kind: str, api: str, name: str, **more: Any) -> Document:
    namespaced = kind in ("Pod", "PodGroup", "PersistentVolumeClaim", "ResourceQuota")
    metadata = {"name": name, **({"namespace": "default"} if namespaced else {})}
    return {"kind": kind, "apiVersion": api, "metadata": metadata, **more}


def queue(name: str, state: str = "Open", **spec: Any) -> Document:
    return named("Queue", "scheduling.volcano.sh/v1beta1", name, spec={"weight": 1, **spec}, status={"state": state})


def running(name: str, cpu: str, priority: int) -> tuple[Document, ...]:
    group = named(
        "PodGroup",
        "scheduling.volcano.sh/v1beta1",
        name,
        spec={"minMember": 1, "queue": "default", "priorityClassName": "important"},
        status={"phase": "Running"},
    )
    held = pod(name, f"{name}-0", {"cpu": cpu}, {"nodeName": "n1", "priorityClassName": "important"}, "Running")
    classes = named("PriorityClass", "scheduling.k8s.io/v1", "important", value=priority)
    return (classes, group, held)


def pod(group: str, name: str, requests: Document, spec: Document, phase: str = "Pending") -> Document:
    document = named("Pod", "v1", name, status={"phase": phase})
    document["metadata"] |= {"annotations": {"scheduling.k8s.io/group-name": group}}
    extended = {key: amount for key, amount in requests.items() if key not in ("cpu", "memory")}
    container = {"name": "main", "image": "busybox", "resources": {"requests": requests, "limits": extended}}
    document["spec"] = {"schedulerName": "volcano", "containers": [container], **spec}
    return document


def documents(cause: Cause) -> list[Document]:
    allocatable = {"cpu": "4", "memory": "8Gi", "pods": "10"}
    node = named("Node", "v1", "n1", status={"allocatable": allocatable, "capacity": allocatable})
    node["metadata"] |= {"labels": {"kubernetes.io/hostname": "n1"}, **cause.node.get("metadata", {})}
    node["spec"] = cause.node.get("spec", {})
    given = {(one["kind"], one["metadata"]["name"]) for one in cause.objects}
    spec = {"minMember": cause.pods, "queue": "default", **cause.group}
    group = named("PodGroup", "scheduling.volcano.sh/v1beta1", "train", spec=spec, status={"phase": "Pending"})
    pods = [pod("train", f"train-{i}", cause.requests, cause.pod) for i in range(cause.pods)]
    plain = [queue("root"), *([] if ("Queue", "default") in given else [queue("default")])]
    return [node, *plain, *cause.objects, group, *pods]


CAUSES = {
    "the queue is full": Cause(
        ("QueueQuotaExceeded",),
        "enqueue",
        "wait for jobs of queue default",
        (queue("default", capability={"cpu": "1"}),),
        group={"minResources": {"cpu": "2"}},
        conf=CAPACITY,
        need=2000,
        have=1000,
        blocker="default",
    ),
    "the queue takes no more pods": Cause(
        ("NotEnoughResources", "QueueQuotaExceeded"),
        "gang",
        "wait for jobs of queue default",
        (queue("default", capability={"cpu": "1"}),),
        pods=2,
        conf=CAPACITY,
        need=2,
        have=1,
    ),
    "the queue is closed": Cause(
        ("QueueNotOpen",),
        "queue",
        "open queue ml",
        (queue("ml", "Closed"),),
        group={"queue": "ml", "minResources": {"cpu": "1"}},
        conf=CAPACITY,
        blocker="ml",
    ),
    "the queue does not exist": Cause(
        ("QueueNotFound",),
        "queue",
        "create queue nowhere",
        group={"queue": "nowhere"},
        blocker="nowhere",
        vanishing="nowhere",
    ),
    "the gang is too big": Cause(
        ("NotEnoughResources", "NoNodeFits", "LargerThanCluster"),
        "gang",
        "ask for less, or add nodes",
        pods=5,
        conf=PREDICATES.replace("{name: proportion}, ", ""),
        need=5,
        have=4,
        nodes="Insufficient cpu",
    ),
    "the gang has too few pods": Cause(
        ("NotEnoughTasks",), "gang", "lower minMember", group={"minMember": 3}, need=3, have=1
    ),
    "no node has the label": Cause(
        ("NotEnoughResources", "NoNodeFits"),
        "gang",
        "label nodes",
        pod={"nodeSelector": {"disk": "ssd"}},
        nodes="node affinity/selector",
    ),
    "a taint is not tolerated": Cause(
        ("NotEnoughResources", "NoNodeFits"),
        "gang",
        "tolerate the taint",
        node={"spec": {"taints": [{"key": "dedicated", "value": "infra", "effect": "NoSchedule"}]}},
        nodes="taint",
    ),
    "the node is cordoned": Cause(
        ("NotEnoughResources", "NoNodeFits"),
        "gang",
        "uncordon",
        node={"spec": {"unschedulable": True}},
        nodes="unschedulable",
    ),
    "the volume claim does not exist": Cause(
        ("NotEnoughResources", "VolumeNotReady"),
        "gang",
        "create the missing claim",
        pod={"volumes": [{"name": "data", "persistentVolumeClaim": {"claimName": "data"}}]},
    ),
    "no device is left": Cause(
        ("NotEnoughResources", "NoNodeFits", "LargerThanAnyNode"),
        "gang",
        "ask for no volcano.sh/vgpu-number, or add nodes that have it",
        requests={"cpu": "1", "volcano.sh/vgpu-number": "1"},
        conf=PREDICATES.replace("{name: proportion}, ", ""),
        nodes="",
    ),
    "no hypernode is large enough": Cause(
        ("NoDomainFits",),
        "topology",
        "",
        (
            named(
                "HyperNode",
                "topology.volcano.sh/v1alpha1",
                "rack",
                spec={"tier": 1, "members": [{"type": "Node", "selector": {"exactMatch": {"name": "other"}}}]},
            ),
        ),
        group={"networkTopology": {"mode": "hard", "highestTierAllowed": 1}},
    ),
    "the topology's tier is unknown": Cause(
        ("TierUnknown",),
        "topology",
        "name a tier",
        group={"networkTopology": {"mode": "hard", "highestTierName": "pod"}},
        blocker="pod",
    ),
    "all that runs is more important": Cause(
        ("NotEnoughResources", "NoNodeFits", "PriorityTooLow"),
        "gang",
        "higher priorityClassName",
        running("serving", "4", 1000),
        conf=PREDICATES.replace("{name: proportion}, ", ""),
        nodes="Insufficient cpu",
    ),
    "the namespace's quota is used up": Cause(
        ("ResourceQuotaExceeded",),
        "enqueue",
        "raise ResourceQuota default/compute",
        (
            named(
                "ResourceQuota",
                "v1",
                "compute",
                spec={"hard": {"cpu": "1"}},
                status={"hard": {"cpu": "1"}, "used": {"cpu": "1"}},
            ),
        ),
        group={"minResources": {"cpu": "1"}},
        conf=OVERCOMMIT,
        blocker="default/compute",
    ),
    "the cluster is promised away": Cause(
        ("ClusterOverused",),
        "enqueue",
        "overcommit-factor",
        group={"minResources": {"cpu": "40"}},
        conf=OVERCOMMIT.replace(", {name: proportion}", ""),
    ),
}


def check(cause: Cause, found: Document) -> None:
    reason = found["reason"]
    chain = [reason]
    while chain[-1].get("cause"):
        chain.append(chain[-1]["cause"])
    assert tuple(one["code"] for one in chain) == cause.codes, reason
    assert reason["stage"] == cause.stage
    assert cause.remedy in reason["remedy"]
    if cause.need is not None:
        assert (reason["need"], reason["have"]) == (cause.need, cause.have)
    if cause.blocker:
        assert reason["blocker"] == cause.blocker
    assert any(cause.nodes in text for one in chain for text in one.get("nodes", {"": 0}))
    assert reason["message"]


@pytest.mark.parametrize("name", CAUSES)
def test_from_manifests(name: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    world, conf = tmp_path / "world.json", tmp_path / "conf.yaml"
    items = {"apiVersion": "v1", "kind": "List", "items": documents(CAUSES[name])}
    world.write_text(json.dumps(items))
    conf.write_text(CAUSES[name].conf)

    assert run(["explain", "podgroup", "train", "-f", str(world), "--scheduler-conf", str(conf), "-o", "json"]) == 0

    check(CAUSES[name], json.loads(capsys.readouterr().out))


async def put(client: Client, document: Document) -> None:
    """Create an object with its status, as controllers would have left it."""
    resource = by_kind(document["apiVersion"], document["kind"])
    assert resource is not None
    metadata = document["metadata"]
    name, namespace = metadata["name"], metadata.get("namespace")
    try:
        await client.create(resource.untyped, document, namespace)
    except AlreadyExists:
        await client.patch(resource.untyped, name, {"spec": document.get("spec", {})}, namespace)
    if "status" in document and any(part.name == "status" for part in resource.subresources):
        await client.patch(resource.untyped, name, {"status": document["status"]}, namespace, subresource="status")


@pytest.mark.parametrize("name", CAUSES)
def test_on_a_running_cluster(name: str, tmp_path: Path) -> None:
    """The scheduler says it on the podgroup, and `vcctl explain` finds the record."""
    cause = CAUSES[name]
    conf = tmp_path / "volcano-scheduler.conf"
    conf.write_text(cause.conf)

    async def scenario() -> Document:
        async with bench(nodes=0, scheduler_conf=str(conf)) as b:
            await put(b.client, named("Namespace", "v1", "volcano-system"))
            config = named("ConfigMap", "v1", "volcano-scheduler-configmap", data={conf.name: cause.conf})
            config["metadata"]["namespace"] = "volcano-system"
            await b.client.create(CONFIGMAPS.untyped, config, "volcano-system")
            b.scheduler.leading = False  # nothing is decided before the world is complete
            objects = documents(cause)
            queues = [document for document in objects if document["kind"] == "Queue"]
            for name in {*(one["metadata"]["name"] for one in queues), cause.vanishing} - {""}:
                await put(b.client, queue(name))
            for document in (*(one for one in objects if one not in queues), *queues):
                await put(b.client, document)
            if cause.vanishing:
                await b.client.delete(QUEUES, cause.vanishing)
            b.scheduler.leading = True
            await until(lambda: _is_told(b.client))
            return explain(await live_cycle(b.client), "podgroup", "train", "default")

    check(cause, asyncio.run(scenario()))


async def _is_told(client: Client) -> bool:
    """On the podgroup itself, or in an event about it."""
    return bool((await client.get(PODGROUPS, "train", "default")).status.conditions) or any(
        event.involved_object.name == "train" for event in (await client.list(EVENTS, "default")).items
    )
