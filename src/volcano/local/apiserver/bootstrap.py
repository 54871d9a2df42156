"""What every cluster has from its first start: namespaces, system priority classes, the usual cluster roles."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from volcano.api.resources import CLUSTER_ROLES, NAMESPACES, PRIORITY_CLASSES

if TYPE_CHECKING:
    from volcano.local.apiserver.registry import Registry
    from volcano.local.apiserver.writes import Writes

JsonObject = dict[str, Any]

_READ = ["get", "list", "watch"]
_WRITE = [*_READ, "create", "delete", "deletecollection", "patch", "update"]
_VOLCANO = ["batch.volcano.sh", "bus.volcano.sh", "flow.volcano.sh", "scheduling.volcano.sh"]
_WORKLOADS = ["apps", "batch", "autoscaling", "networking.k8s.io", "policy", *_VOLCANO]
_CORE = ["configmaps", "endpoints", "events", "persistentvolumeclaims", "pods", "pods/log", "services"]


def initial_objects() -> tuple[tuple[Any, tuple[JsonObject, ...]], ...]:
    """The objects by resource."""
    classes = _priority("system-cluster-critical", 2_000_000_000), _priority("system-node-critical", 2_000_001_000)
    admin = _role("cluster-admin", _EVERYTHING, _ANY_PATH)
    return (
        (NAMESPACES, tuple(_named(name) for name in _NAMESPACES)),
        (PRIORITY_CLASSES, classes),
        (CLUSTER_ROLES, (admin, _role("edit", *_rules(_WRITE)), _role("view", *_rules(_READ)))),
    )


_NAMESPACES = ("default", "kube-system", "kube-public", "kube-node-lease", "volcano-system")
_EVERYTHING = {"apiGroups": ["*"], "resources": ["*"], "verbs": ["*"]}
_ANY_PATH = {"nonResourceURLs": ["*"], "verbs": ["*"]}


def seed(writes: Writes, registry: Registry) -> None:
    """Store what is missing of the initial objects."""
    for resource, documents in initial_objects():
        info = registry.get(resource)
        for document in documents:
            if writes.store.latest(info.storage, document["metadata"]["name"]) is None:
                writes.seed(info, document)


def _named(name: str) -> JsonObject:
    return {"metadata": {"name": name}}


def _priority(name: str, value: int) -> JsonObject:
    text = "Used for system critical pods that must not be moved from their node or cluster."
    return _named(name) | {"value": value, "description": text, "preemptionPolicy": "PreemptLowerPriority"}


def _role(name: str, *rules: JsonObject) -> JsonObject:
    return _named(name) | {"rules": list(rules)}


def _rules(verbs: list[str]) -> tuple[JsonObject, ...]:
    return (
        {"apiGroups": [""], "resources": _CORE, "verbs": verbs},
        {"apiGroups": _WORKLOADS, "resources": ["*"], "verbs": verbs},
    )
