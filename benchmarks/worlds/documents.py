"""Nodes and pods as JSON documents of the size and with the fields that a busy cluster's API server sends."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from itertools import islice
from typing import Any, Final

import msgspec

PAGE: Final = 500
"""Objects per page of a list."""
JOB_SIZE: Final = 100
NEW: Final = {"phase": "Pending", "qosClass": "Guaranteed"}
"""The status of a pod that was just created."""
SINCE: Final = "2026-01-01T00:00:00Z"


def node(number: int) -> dict[str, Any]:
    """About 4 kB: addresses, images, conditions as a kubelet writes them."""
    name = f"n{number}"
    offer = {"cpu": "32", "memory": "128Gi", "pods": "110", "ephemeral-storage": "100Gi"}
    conditions = [
        {
            "type": kind,
            "status": "True" if kind == "Ready" else "False",
            "lastHeartbeatTime": SINCE,
            "lastTransitionTime": SINCE,
            "reason": f"Kubelet{kind}",
            "message": f"kubelet reports {kind}",
        }
        for kind in ("Ready", "MemoryPressure", "DiskPressure", "PIDPressure")
    ]
    images = [{"names": [f"registry.example/library/image-{i}:1.{i}"], "sizeBytes": 50_000_000 + i} for i in range(20)]
    labels = {
        "kubernetes.io/hostname": name,
        "kubernetes.io/os": "linux",
        "topology.kubernetes.io/zone": f"z{number % 3}",
    }
    return {
        "metadata": _metadata(name, number, labels=labels),
        "spec": {"podCIDR": "10.0.0.0/24", "providerID": f"cloud://{name}"},
        "status": {
            "capacity": offer,
            "allocatable": offer,
            "conditions": conditions,
            "addresses": [{"type": "InternalIP", "address": "10.0.0.1"}, {"type": "Hostname", "address": name}],
            "nodeInfo": {"kubeletVersion": "v1.36.0", "osImage": "Linux", "architecture": "amd64"},
            "images": images,
        },
    }


def running_pod(number: int, nodes: int, size: int = JOB_SIZE) -> dict[str, Any]:
    """About 5 kB: a member of a job of `size`, running, with what admission, kubelet and job controller add to it."""
    job, name = f"job-{number // size}", f"job-{number // size}-worker-{number % size}"
    document = pending_pod(name, job, number)
    document["spec"]["nodeName"] = f"n{number % nodes}"
    document["status"] |= {
        "phase": "Running",
        "podIP": "10.1.0.1",
        "podIPs": [{"ip": "10.1.0.1"}],
        "hostIP": "10.0.0.1",
        "hostIPs": [{"ip": "10.0.0.1"}],
        "startTime": SINCE,
        "conditions": [
            {"type": kind, "status": "True", "lastProbeTime": None, "lastTransitionTime": SINCE}
            for kind in ("PodReadyToStartContainers", "Initialized", "Ready", "ContainersReady", "PodScheduled")
        ],
        "containerStatuses": [
            {
                "name": "main",
                "image": "registry.example/team/image:1.2.3",
                "imageID": f"registry.example/team/image@sha256:{number:064x}",
                "containerID": f"containerd://{number:064x}",
                "ready": True,
                "started": True,
                "restartCount": 0,
                "state": {"running": {"startedAt": SINCE}},
                "lastState": {},
            }
        ],
    }
    return document


def pending_pod(name: str, job: str, number: int) -> dict[str, Any]:
    """The same before it has a node."""
    container = {
        "name": "main",
        "image": "registry.example/team/image:1.2.3",
        "command": ["python", "-m", "train", "--epochs", "10"],
        "env": [{"name": f"VARIABLE_{i}", "value": "x" * 20} for i in range(10)]
        + [{"name": "VC_TASK_INDEX", "value": str(number % JOB_SIZE)}],
        "resources": {"requests": {"cpu": "1", "memory": "4Gi"}, "limits": {"cpu": "1", "memory": "4Gi"}},
        "volumeMounts": [
            {"name": f"kube-api-access-{number:05}", "mountPath": "/var/run/secrets", "readOnly": True},
            {"name": "data", "mountPath": "/data"},
        ],
        "terminationMessagePath": "/dev/termination-log",
        "terminationMessagePolicy": "File",
        "imagePullPolicy": "IfNotPresent",
    }
    token = {
        "defaultMode": 420,
        "sources": [
            {"serviceAccountToken": {"expirationSeconds": 3607, "path": "token"}},
            {"configMap": {"name": "kube-root-ca.crt", "items": [{"key": "ca.crt", "path": "ca.crt"}]}},
        ],
    }
    eviction = [
        {"key": f"node.kubernetes.io/{trouble}", "operator": "Exists", "effect": "NoExecute", "tolerationSeconds": 300}
        for trouble in ("not-ready", "unreachable")
    ]
    owner = {
        "apiVersion": "batch.volcano.sh/v1alpha1",
        "kind": "Job",
        "name": job,
        "uid": job,
        "controller": True,
        "blockOwnerDeletion": True,
    }
    labels = {"volcano.sh/job-name": job, "volcano.sh/job-namespace": "default", "volcano.sh/task-spec": "worker"}
    annotations = {
        "scheduling.k8s.io/group-name": job,
        "volcano.sh/job-name": job,
        "volcano.sh/task-spec": "worker",
        "volcano.sh/task-index": str(number % JOB_SIZE),
        "volcano.sh/template-uid": f"{job}-worker",
        "volcano.sh/job-version": "0",
        "volcano.sh/queue-name": "default",
    }
    metadata = _metadata(name, number, namespace="default", labels=labels, annotations=annotations)
    return {
        "metadata": metadata | {"ownerReferences": [owner]},
        "spec": {
            "schedulerName": "volcano",
            "hostname": name,
            "subdomain": job,
            "containers": [container],
            "volumes": [
                {"name": f"kube-api-access-{number:05}", "projected": token},
                {"name": "data", "emptyDir": {}},
            ],
            "tolerations": eviction,
            "priority": 0,
            "restartPolicy": "Never",
            "terminationGracePeriodSeconds": 30,
            "dnsPolicy": "ClusterFirst",
            "serviceAccountName": "default",
            "serviceAccount": "default",
            "securityContext": {},
            "enableServiceLinks": True,
            "preemptionPolicy": "PreemptLowerPriority",
        },
        "status": dict(NEW),
    }


def pod_group(job: str, number: int, *, phase: str = "Running", size: int = JOB_SIZE) -> dict[str, Any]:
    return {
        "metadata": _metadata(job, number, namespace="default"),
        "spec": {"minMember": size, "queue": "default", "minResources": {"cpu": str(size), "memory": f"{4 * size}Gi"}},
        "status": {"phase": phase, "running": size if phase == "Running" else 0},
    }


def queue(name: str) -> dict[str, Any]:
    return {"metadata": _metadata(name, 0), "spec": {"weight": 1}, "status": {"state": "Open"}}


def pages(documents: Iterable[dict[str, Any]]) -> Iterator[bytes]:
    """A list of any kind as an API server sends it."""
    rest = iter(documents)
    while page := list(islice(rest, PAGE)):
        yield msgspec.json.encode({"kind": "List", "apiVersion": "v1", "metadata": {}, "items": page})


def _metadata(name: str, number: int, **more: Any) -> dict[str, Any]:
    fields: dict[str, Any] = {f"f:field{i}": {"f:inner": {}} for i in range(20)}
    return {
        "name": name,
        "uid": f"{number:08}-{name}",
        "resourceVersion": str(number + 1),
        "creationTimestamp": SINCE,
        "managedFields": [{"manager": "kubelet", "operation": "Update", "time": SINCE, "fieldsV1": fields}],
        **more,
    }
