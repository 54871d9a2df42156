"""Documents and worlds for the tests of admission."""

from __future__ import annotations

from typing import Any

from volcano.api.meta import ObjectMeta
from volcano.api.scheduling import Guarantee, Queue, QueueSpec, QueueStatus
from volcano.webhooks.rules import AdmissionRequest
from volcano.webhooks.rules.worlds import ListedWorld

Document = dict[str, Any]


def task(name: str = "worker", replicas: Any = 1, **fields: Any) -> Document:
    pod = {"containers": [{"name": "main", "image": "busybox"}]}
    return {"name": name, "replicas": replicas, "template": {"spec": pod}, **fields}


def job(*tasks: Document, name: str = "train", namespace: str = "default", **spec: Any) -> Document:
    return {
        "apiVersion": "batch.volcano.sh/v1alpha1",
        "kind": "Job",
        "metadata": {"name": name, "namespace": namespace},
        "spec": {"queue": "default", "minAvailable": 1, "tasks": list(tasks or [task()]), **spec},
    }


def pod(scheduler: str = "volcano", namespace: str = "default", **annotations: str) -> Document:
    metadata = {"name": "p", "namespace": namespace, "annotations": annotations}
    return {"apiVersion": "v1", "kind": "Pod", "metadata": metadata, "spec": {"schedulerName": scheduler}}


def queue_document(name: str, **spec: Any) -> Document:
    return {
        "apiVersion": "scheduling.volcano.sh/v1beta1",
        "kind": "Queue",
        "metadata": {"name": name},
        "spec": {"weight": 1, **spec},
    }


def queue(name: str, parent: str = "root", *, state: str = "Open", pods: int = 0, **spec: Any) -> Queue:
    if "guarantee" in spec:
        spec["guarantee"] = Guarantee(resource=spec["guarantee"])
    status = QueueStatus(state=state, allocated={"pods": str(pods)} if pods else {})
    return Queue(metadata=ObjectMeta(name=name), spec=QueueSpec(parent=parent, weight=1, **spec), status=status)


def world(*queues: Queue, **namespaces: dict[str, str]) -> ListedWorld:
    return ListedWorld([queue("root", parent=""), queue("default"), *queues], namespaces)


def request(
    document: Document | None, operation: str = "CREATE", *, old: Document | None = None, name: str = ""
) -> AdmissionRequest:
    shown = document or old or {"apiVersion": "scheduling.volcano.sh/v1beta1", "kind": "Queue"}
    group = shown["apiVersion"].rpartition("/")[0]
    metadata = shown.get("metadata", {})
    return AdmissionRequest(
        uid="u-1",
        operation=operation,
        group=group,
        resource=shown["kind"].lower() + "s",
        name=name or metadata.get("name", ""),
        namespace=metadata.get("namespace", ""),
        object=document,
        old_object=old,
    )
