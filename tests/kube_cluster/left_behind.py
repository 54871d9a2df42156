"""What the Go Volcano leaves on an API server: objects in flight, in the shapes that its daemons write.

No field of ours is in them: no version on podgroups, no mark on jobs, conditions and counters as it writes them.
"""

from __future__ import annotations

import uuid
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from volcano.api import resources
from volcano.api.resources import Resource

if TYPE_CHECKING:
    from volcano.kube.client import Client

JsonObject = dict[str, Any]

NAMESPACE = "default"
NODE = "n1"
QUEUE = "team"
MOMENT = "2026-03-01T08:00:00Z"
LATER = "2026-03-01T08:00:07Z"
IN_GANG = "tasks in gang are ready to be scheduled"
GANG_WAITS = (
    "2/2 tasks in gang unschedulable: pod group is not ready, 2 Pending, 2 minAvailable; Pending: 2 Undetermined"
)
CONTAINER = {"name": "c", "image": "busybox", "resources": {"requests": {"cpu": "100m"}}}
BATCH, SCHEDULING = "batch.volcano.sh/v1alpha1", "scheduling.volcano.sh/v1beta1"
PLUGINS: dict[str, list[str]] = {"env": [], "ssh": [], "svc": []}


def owned_by(document: JsonObject) -> list[JsonObject]:
    meta = document["metadata"]
    reference = {"apiVersion": document["apiVersion"], "kind": document["kind"], "name": meta["name"]}
    return [{**reference, "uid": meta["uid"], "controller": True, "blockOwnerDeletion": True}]


@dataclass(frozen=True)
class GoJob:
    """A vcjob of one task, `worker`, and where its life stands."""

    name: str
    phase: str = "Running"
    replicas: int = 2
    pods: tuple[str, ...] = ("Running", "Running")
    """the phase of each pod; "Waits" for one that no node was found for, "Goes" for one that is being deleted"""
    group: str = "Running"
    """the phase of its podgroup; "" where there is none"""
    group_name: str = ""
    """the name of its podgroup where it is not the usual one: earlier versions named it as the job"""
    version: int = 0
    retries: int = 0
    history: tuple[str, ...] = ("Pending", "Running")
    counts: dict[str, int] = field(default_factory=lambda: {"running": 2})
    plugins: dict[str, list[str]] = field(default_factory=dict)
    claim: str = ""
    policies: tuple[JsonObject, ...] = ()
    queue: str = QUEUE
    owner: tuple[JsonObject, ...] = ()
    labels: dict[str, str] = field(default_factory=dict)

    def document(self) -> JsonObject:
        """As stored after admission."""
        template: JsonObject = {
            "metadata": {"creationTimestamp": None},
            "spec": {"containers": [CONTAINER], "restartPolicy": "Never"},
        }
        task = {"name": "worker", "replicas": self.replicas, "minAvailable": self.replicas, "maxRetry": 3}
        spec: JsonObject = {
            "schedulerName": "volcano",
            "queue": self.queue,
            "minAvailable": self.replicas,
            "maxRetry": 3,
            "tasks": [{**task, "template": template}],
        }
        if self.plugins:
            spec["plugins"] = self.plugins
        if self.policies:
            spec["policies"] = list(self.policies)
        if self.claim:
            claim = {"accessModes": ["ReadWriteOnce"], "resources": {"requests": {"storage": "1Gi"}}}
            spec["volumes"] = [{"mountPath": "/data", "volumeClaim": claim}]
        meta = {
            "name": self.name,
            "namespace": NAMESPACE,
            "labels": self.labels,
            "annotations": dict(self.labels),
            "ownerReferences": list(self.owner),
        }
        return {"apiVersion": BATCH, "kind": "Job", "metadata": meta, "spec": spec}

    def status(self) -> JsonObject:
        controlled = {f"plugin-{name}": name for name in self.plugins}
        if self.claim:
            controlled[f"volume-pvc-{self.claim}"] = self.claim
        status: JsonObject = {
            "state": {"phase": self.phase, "lastTransitionTime": LATER},
            "minAvailable": self.replicas,
            **self.counts,
            "conditions": [{"status": phase, "lastTransitionTime": MOMENT} for phase in self.history],
        }
        by_phase = {phase.capitalize(): count for phase, count in self.counts.items() if phase != "terminating"}
        if by_phase:
            status["taskStatusCount"] = {"worker": {"phase": by_phase}}
        if controlled:
            status["controlledResources"] = controlled
        if self.version:
            status |= {"version": self.version, "runningDuration": "4m7.2s"}
        if self.retries:
            status["retryCount"] = self.retries
        return status


def podgroup(job: GoJob, made: JsonObject) -> JsonObject:
    usage = f"{job.replicas * 100}m"
    condition = {"status": "True", "transitionID": str(uuid.UUID(int=7)), "lastTransitionTime": MOMENT}
    told = {"type": "Unschedulable", "reason": "NotEnoughResources", "message": GANG_WAITS}
    if job.group == "Running":
        told = {"type": "Scheduled", "reason": IN_GANG}
    status: JsonObject = {"phase": job.group, "conditions": [{**condition, **told}]}
    for phase in ("Running", "Succeeded"):
        if count := job.pods.count(phase):
            status[phase.lower()] = count
    return {
        "apiVersion": SCHEDULING,
        "kind": "PodGroup",
        "metadata": {
            "name": group_name(job, made),
            "namespace": NAMESPACE,
            "ownerReferences": owned_by(made),
            "labels": job.labels,
            "annotations": dict(job.labels),
        },
        "spec": {
            "minMember": job.replicas,
            "minTaskMember": {"worker": job.replicas},
            "queue": job.queue,
            "minResources": {
                "count/pods": str(job.replicas),
                "cpu": usage,
                "pods": str(job.replicas),
                "requests.cpu": usage,
            },
        },
        "status": status,
    }


def group_name(job: GoJob, made: JsonObject) -> str:
    return job.group_name or f"{job.name}-{made['metadata']['uid']}"


def pod(job: GoJob, made: JsonObject, index: int, *, version: int | None = None) -> JsonObject:
    identity = {"volcano.sh/task-index": str(index), "volcano.sh/task-spec": "worker", "volcano.sh/job-name": job.name}
    queue = {"volcano.sh/queue-name": job.queue}
    annotations = {
        **identity,
        **queue,
        "scheduling.k8s.io/group-name": group_name(job, made),
        "volcano.sh/job-version": str(job.version if version is None else version),
        "volcano.sh/job-retry-count": str(job.retries),
        "volcano.sh/template-uid": f"{job.name}-worker",
    }
    spec: JsonObject = {"containers": [CONTAINER], "restartPolicy": "Never", "schedulerName": "volcano"}
    if job.pods[index] != "Waits":
        spec["nodeName"] = NODE
    if job.plugins:
        spec |= {"hostname": f"{job.name}-worker-{index}", "subdomain": job.name}
    if job.claim:
        spec["volumes"] = [{"name": f"{job.name}-4x0q2v8kz1pw", "persistentVolumeClaim": {"claimName": job.claim}}]
    meta = {
        "name": f"{job.name}-worker-{index}",
        "namespace": NAMESPACE,
        "labels": {**identity, **queue, "volcano.sh/job-namespace": NAMESPACE},
        "annotations": annotations,
        "ownerReferences": owned_by(made),
    }
    return {"apiVersion": "v1", "kind": "Pod", "metadata": meta, "spec": spec}


def pod_status(phase: str) -> JsonObject:
    if phase == "Waits":
        told = {"type": "PodScheduled", "status": "False", "reason": "Unschedulable", "message": GANG_WAITS}
        return {"phase": "Pending", "conditions": [{**told, "lastTransitionTime": MOMENT}]}
    scheduled = {"type": "PodScheduled", "status": "True", "lastTransitionTime": MOMENT}
    running = phase in {"Running", "Goes"}
    state = {"running": {"startedAt": MOMENT}} if running else {"terminated": {"exitCode": 0, "finishedAt": LATER}}
    container = {"name": "c", "image": "busybox", "imageID": "", "ready": running, "restartCount": 0, "state": state}
    return {
        "phase": "Running" if running else phase,
        "startTime": MOMENT,
        "conditions": [scheduled],
        "containerStatuses": [container],
    }


def attachments(job: GoJob, made: JsonObject) -> list[tuple[Resource[Any], JsonObject]]:
    """What the plugins svc and ssh keep beside a job."""
    if not job.plugins:
        return []
    names = [f"{job.name}-worker-{index}" for index in range(job.replicas)]
    hosts = [f"{name}.{job.name}" for name in names]
    ours = {"volcano.sh/job-name": job.name, "volcano.sh/job-namespace": NAMESPACE}
    config = "StrictHostKeyChecking no\nUserKnownHostsFile /dev/null\n" + "".join(
        f"Host {name}\n  HostName {name}.{job.name}\n  Port 22\n" for name in names
    )
    keys = {"id_rsa": "secret", "id_rsa.pub": "public", "authorized_keys": "public", "config": config}
    variables = {"VC_WORKER_HOSTS": ",".join(hosts), "VC_WORKER_NUM": str(len(hosts))}
    selected = {"matchLabels": ours}

    def named(name: str) -> JsonObject:
        return {"metadata": {"name": name, "namespace": NAMESPACE, "ownerReferences": owned_by(made)}}

    policy = {"podSelector": selected, "ingress": [{"from": [{"podSelector": selected}]}], "policyTypes": ["Ingress"]}
    return [
        (resources.CONFIGMAPS, {**named(f"{job.name}-svc"), "data": {"worker.host": "\n".join(hosts), **variables}}),
        (resources.SECRETS, {**named(f"{job.name}-ssh"), "stringData": keys}),
        (resources.SERVICES, {**named(job.name), "spec": {"clusterIP": "None", "selector": ours}}),
        (resources.NETWORK_POLICIES, {**named(job.name), "spec": policy}),
    ]


async def leave_job(client: Client, job: GoJob) -> JsonObject:
    """Write the job and all that belongs to it."""
    made = await client.create(resources.JOBS.untyped, job.document())
    if job.claim:  # a name of its own for the claim is written into the job afterwards
        [volume] = made["spec"]["volumes"]
        named = {"spec": {"volumes": [{**volume, "volumeClaimName": job.claim}]}}
        await client.patch(resources.JOBS.untyped, job.name, named, NAMESPACE)
        claim = volume["volumeClaim"]
        meta = {"name": job.claim, "namespace": NAMESPACE, "ownerReferences": owned_by(made)}
        await client.create(resources.PERSISTENT_VOLUME_CLAIMS.untyped, {"metadata": meta, "spec": claim})
    for resource, document in attachments(job, made):
        await client.create(resource.untyped, document)
    if job.group:
        await client.create(resources.PODGROUPS.untyped, podgroup(job, made))
    for index, phase in enumerate(job.pods):
        old = job.version - 1 if phase == "Goes" else None
        await leave_pod(client, pod(job, made, index, version=old), phase)
    body = {"status": job.status()}
    return await client.patch(resources.JOBS.untyped, job.name, body, NAMESPACE, subresource="status")


async def leave_command(client: Client, job: str, action: str) -> None:
    """As the Go vcctl gives it, and nobody has read it yet."""
    made = await client.get(resources.JOBS.untyped, job, NAMESPACE)
    [target] = owned_by({"apiVersion": BATCH, "kind": "Job", **made})
    meta = {"generateName": f"{job}-{action.lower()}-", "namespace": NAMESPACE, "ownerReferences": [target]}
    await client.create(resources.COMMANDS.untyped, {"metadata": meta, "action": action, "target": target})


async def leave_pod(client: Client, document: JsonObject, phase: str) -> None:
    name = document["metadata"]["name"]
    await client.create(resources.PODS.untyped, document)
    body = {"status": pod_status(phase)}
    await client.patch(resources.PODS.untyped, name, body, NAMESPACE, subresource="status")
    if phase == "Goes":
        marked = {"metadata": {"annotations": {"volcano.sh/controller-out-of-sync": "true"}}}
        await client.patch(resources.PODS.untyped, name, marked, NAMESPACE)
        await client.delete(resources.PODS, name, NAMESPACE)


async def leave_replica_set(client: Client) -> None:
    """One of another controller, whose pods share a podgroup that was made for them."""
    pods = {"containers": [CONTAINER], "schedulerName": "volcano"}
    template = {"metadata": {"labels": {"app": "web"}}, "spec": pods}
    spec = {"replicas": 2, "selector": {"matchLabels": {"app": "web"}}, "template": template}
    document = {"apiVersion": "apps/v1", "kind": "ReplicaSet", "metadata": {"name": "web", "namespace": NAMESPACE}}
    made = await client.create(resources.REPLICA_SETS.untyped, {**document, "spec": spec})
    owners = owned_by({**document, **made})
    name = f"podgroup-{made['metadata']['uid']}"
    usage = {"count/pods": "1", "cpu": "100m", "pods": "1", "requests.cpu": "100m"}
    group = {
        "metadata": {"name": name, "namespace": NAMESPACE, "ownerReferences": owners},
        "spec": {"minMember": 1, "minResources": usage, "queue": "default"},
        "status": {"phase": "Running", "running": 2},
    }
    await client.create(resources.PODGROUPS.untyped, group)
    for index in range(2):
        meta = {
            "name": f"web-{index}",
            "namespace": NAMESPACE,
            "labels": {"app": "web"},
            "annotations": {"scheduling.k8s.io/group-name": name},
            "ownerReferences": owners,
        }
        placed = {**pods, "nodeName": NODE}
        await leave_pod(client, {"apiVersion": "v1", "kind": "Pod", "metadata": meta, "spec": placed}, "Running")


async def leave_queue(client: Client, name: str, status: JsonObject, **spec: Any) -> None:
    await client.create(
        resources.QUEUES.untyped, {"metadata": {"name": name}, "spec": {"weight": 1, "reclaimable": True, **spec}}
    )
    await client.patch(resources.QUEUES.untyped, name, {"status": status}, subresource="status")


async def leave_node(client: Client) -> None:
    """A node that is ready, without anybody who would write its pods' statuses."""
    await client.create(resources.NODES.untyped, {"metadata": {"name": NODE}})
    room = {"cpu": "16", "memory": "16Gi", "pods": "110"}
    ready = {"type": "Ready", "status": "True", "reason": "KubeletReady", "message": "", "lastTransitionTime": MOMENT}
    status = {"capacity": room, "allocatable": room, "conditions": [ready]}
    await client.patch(resources.NODES.untyped, NODE, {"status": status}, subresource="status")
    await client.patch(resources.NODES.untyped, NODE, {"spec": {"taints": None}})
