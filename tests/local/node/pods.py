"""Small pods and plans for tests of the node."""

from __future__ import annotations

from typing import Any

from volcano.api.meta import JsonObject
from volcano.local.node.sources import PodFacts
from volcano.local.node.supervisor.documents import ContainerPlan, PodPlan

ENVIRONMENT = {"PATH": "/usr/local/bin:/usr/bin:/bin"}


def container(*command: str, name: str = "main", **more: Any) -> JsonObject:
    result: JsonObject = {"name": name, "image": "busybox", **more}
    if command:
        result["command"] = list(command)
    return result


def pod(*containers: JsonObject, name: str = "p", uid: str = "u1", **spec: Any) -> JsonObject:
    """A pod bound to node `n1`, as the API server stores it."""
    annotations = spec.pop("annotations", {})
    return {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": {
            "name": name,
            "namespace": "default",
            "uid": uid,
            "labels": {"app": "demo"},
            "annotations": annotations,
        },
        "spec": {
            "nodeName": "n1",
            "restartPolicy": "Never",
            "containers": list(containers) or [container("true")],
            **spec,
        },
        "status": {"phase": "Pending"},
    }


def facts(document: JsonObject) -> PodFacts:
    allocatable = {"cpu": "4", "memory": "8Gi", "pods": "10"}
    return PodFacts(document["metadata"], document["spec"], "n1", "127.0.0.1", "127.1.2.3", allocatable)


def container_plan(*command: str, name: str = "main", **more: Any) -> ContainerPlan:
    plan: ContainerPlan = {
        "name": name,
        "argv": list(command) or ["true"],
        "env": dict(ENVIRONMENT),
        "folder": "/",
        "restart": "Never",
        "sidecar": False,
        "mounts": [],
        "user": None,
        "group": None,
        "cgroups": [],
        "probes": {},
        "post_start": None,
        "pre_stop": None,
    }
    return {**plan, **more}  # type: ignore[typeddict-item]


def pod_plan(*containers: ContainerPlan, init: tuple[ContainerPlan, ...] = (), **more: Any) -> PodPlan:
    plan: PodPlan = {
        "namespace": "default",
        "name": "p",
        "uid": "u1",
        "hostname": "",
        "address": "127.1.2.3",
        "started_at": 1000.0,
        "isolate": False,
        "grace_seconds": 5.0,
        "deadline_at": None,
        "backoff_base_seconds": 10.0,
        "backoff_cap_seconds": 300.0,
        "init": list(init),
        "containers": list(containers) or [container_plan()],
    }
    return {**plan, **more}  # type: ignore[typeddict-item]
