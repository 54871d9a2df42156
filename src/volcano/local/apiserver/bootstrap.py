"""What every cluster has from its first start: namespaces, system priority classes, the usual roles and bindings."""

from __future__ import annotations

from typing import TYPE_CHECKING

from volcano.api.meta import JsonObject
from volcano.api.resources import (
    CLUSTER_ROLE_BINDINGS,
    CLUSTER_ROLES,
    NAMESPACES,
    PRIORITY_CLASSES,
    ROLE_BINDINGS,
    ROLES,
)
from volcano.local.apiserver.access.rbac import seeds
from volcano.local.apiserver.strategies.small_kinds import SYSTEM_CLASSES

if TYPE_CHECKING:
    from volcano.local.apiserver.catalog.registry import Registry, ResourceInfo
    from volcano.local.apiserver.verbs.writes import Writes

_NAMESPACES = ("default", "kube-system", "kube-public", "kube-node-lease", "volcano-system")
_CLASS_TEXTS = {
    "system-cluster-critical": "run in the cluster, but can be moved to another node if necessary",
    "system-node-critical": "not be moved from their current node",
}
_ACCESS = {resource.kind: resource for resource in (ROLES, CLUSTER_ROLES, ROLE_BINDINGS, CLUSTER_ROLE_BINDINGS)}


def seed(writes: Writes, registry: Registry) -> None:
    """Store what is missing of the initial objects, and bring roles of an older version up to date."""
    for name in _NAMESPACES:
        _ensure(writes, registry.get(NAMESPACES), {"metadata": {"name": name}})
    for name, value in SYSTEM_CLASSES.items():
        _ensure(writes, registry.get(PRIORITY_CLASSES), _priority(name, value))
    for document in seeds.load():
        info = registry.get(_ACCESS[document["kind"]])
        if not _ensure(writes, info, document) and document.get("rules"):
            _complete(writes, info, document)


def _ensure(writes: Writes, resource: ResourceInfo, document: JsonObject) -> bool:
    """Store the object unless it is there; whether it was missing."""
    meta = document["metadata"]
    if writes.store.latest(resource.storage, resource.key(meta.get("namespace"), meta["name"])) is not None:
        return False
    writes.seed(resource, document)
    return True


def _complete(writes: Writes, resource: ResourceInfo, wanted: JsonObject) -> None:
    """Give a stored role the rules that it lacks, unless its owner has said to leave it alone."""
    meta = wanted["metadata"]
    entry = writes.store.latest(resource.storage, resource.key(meta.get("namespace"), meta["name"]))
    if entry is None:
        return
    stored = entry.document()
    if (stored["metadata"].get("annotations") or {}).get(seeds.AUTO_UPDATE, "true") != "true":
        return
    lacking = [rule for rule in wanted["rules"] if rule not in (stored.get("rules") or ())]
    if lacking:
        stored["rules"] = (stored.get("rules") or []) + lacking
        writes.store.put(resource.storage, entry.key, stored)


def _priority(name: str, value: int) -> JsonObject:
    text = f"Used for system critical pods that must {_CLASS_TEXTS[name]}."
    return {
        "metadata": {"name": name},
        "value": value,
        "description": text,
        "preemptionPolicy": "PreemptLowerPriority",
    }
