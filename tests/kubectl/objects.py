"""The objects that tests create."""

from __future__ import annotations

from typing import Any


def pod(name: str, *command: str, node: str = "local", **spec: Any) -> dict[str, Any]:
    """A pod with one container, bound to the node."""
    container = {"name": "main", "image": "busybox", "command": list(command or ("sleep", "600"))}
    return {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": {"name": name, "labels": {"app": name}},
        "spec": {
            "nodeName": node,
            "restartPolicy": "Never",
            "terminationGracePeriodSeconds": 1,
            "containers": [container],
            **spec,
        },
    }


def config_map(name: str, **data: str) -> dict[str, Any]:
    return {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": name}, "data": data}


def deployment(name: str, replicas: int = 1, image: str = "busybox") -> dict[str, Any]:
    """A deployment whose pods go to the node without a scheduler."""
    template = pod("x")
    template["spec"]["restartPolicy"] = "Always"
    template["spec"]["containers"][0]["image"] = image
    labels = {"app": name}
    return {
        "apiVersion": "apps/v1",
        "kind": "Deployment",
        "metadata": {"name": name},
        "spec": {
            "replicas": replicas,
            "selector": {"matchLabels": labels},
            "template": {"metadata": {"labels": labels}, "spec": template["spec"]},
        },
    }


def vcjob(name: str, **spec: Any) -> dict[str, Any]:
    """A Volcano job of one task."""
    template = {"spec": {"containers": [{"name": "main", "image": "busybox", "command": ["sleep", "5"]}]}}
    tasks = [{"name": "work", "replicas": 1, "template": template}]
    return {
        "apiVersion": "batch.volcano.sh/v1alpha1",
        "kind": "Job",
        "metadata": {"name": name},
        "spec": {"minAvailable": 1, "queue": "default", "schedulerName": "volcano", "tasks": tasks, **spec},
    }
