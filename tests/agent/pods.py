"""Pods as the agent's tests need them."""

from __future__ import annotations

from typing import Any

import msgspec

from volcano.api import keys
from volcano.api.core.pods import Pod


def pod(name: str = "batch", qos: str = "BE", *, cpu: str = "500", memory: str = "1Gi", **more: Any) -> Pod:
    amounts = {"kubernetes.io/batch-cpu": cpu, "kubernetes.io/batch-memory": memory}
    return from_containers([{"name": "c", "resources": {"requests": amounts, "limits": amounts}}], name, qos, **more)


def from_containers(
    containers: list[dict[str, Any]], name: str = "batch", qos: str = "BE", annotations: dict[str, str] | None = None
) -> Pod:
    document = {
        "metadata": {
            "name": name,
            "namespace": "default",
            "uid": f"uid-{name}",
            "annotations": {keys.QOS_LEVEL: qos, **(annotations or {})},
        },
        "spec": {"containers": containers},
        "status": {
            "phase": "Running",
            "qosClass": "BestEffort",
            "conditions": [{"type": "Ready", "status": "True"}],
            "containerStatuses": [
                {"name": one["name"], "containerID": f"containerd://{one['name']}0123"} for one in containers
            ],
        },
    }
    return msgspec.convert(document, Pod)
