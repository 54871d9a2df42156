"""Extended resources that drivers serve: devices of a class that names one count as that resource on their nodes.

Before a session the number of such devices becomes what the nodes offer, so that room, queues and scores see an
ordinary resource. A pod that asks for it where no device plugin offers it gets a claim of its own, made with its
binding (booking.py finds the devices).
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Any, Final

from volcano.api import quantity
from volcano.api.core import ResourceClaim
from volcano.api.core.dra import DeviceClaim, DeviceRequest, ExactRequest, ResourceClaimSpec
from volcano.api.meta import ObjectMeta, OwnerReference
from volcano.scheduler.framework.decisions import OwnClaim
from volcano.scheduler.plugins.kubernetes.claims.pods import CLASSES, SLICES
from volcano.scheduler.plugins.kubernetes.claims.selectors import SelectorError

if TYPE_CHECKING:
    from volcano.api.core import DeviceClass, Node, Pod
    from volcano.scheduler.cluster.cluster import Cluster
    from volcano.scheduler.cluster.nodes import Index
    from volcano.scheduler.plugins.kubernetes.claims.booking import Decided

IMPLICIT: Final = "deviceclass.resource.kubernetes.io/"
MARK: Final = "resource.kubernetes.io/extended-resource-claim"
LONGEST_POD_NAME: Final = 200
UID_CHARACTERS: Final = 8


class ExtendedResources:
    """One for a cluster."""

    def __init__(self, cluster: Cluster) -> None:
        self._cluster = cluster
        self._classes: dict[str, str] = {}
        """Of resources that a class names."""
        self._version: tuple[int, ...] = ()
        self._cursor = 0
        self._offers: dict[str, dict[str, int]] = {}
        """By node and resource, what was added to the node's offer."""

    def refresh(self, decided: Decided) -> None:
        """Make the nodes offer what drivers do. Cheap where little changed, and where no class is about this."""
        cluster = self._cluster
        if not cluster.objects[CLASSES] and not self._offers:
            return
        changes = cluster.nodes.object_changes
        version = (cluster.object_versions[CLASSES], cluster.object_versions[SLICES], len(cluster.dimensions))
        changed = changes.since(self._cursor) if version == self._version else None
        if changed is None:
            self._classes = _named_resources(cluster.objects[CLASSES].values())
            changed = cluster.nodes.active
        self._offer(decided, changed)
        self._version, self._cursor = version, changes.cursor  # what was put changed the nodes once more

    def class_of(self, resource: str) -> str | None:
        name = resource.removeprefix(IMPLICIT) if resource.startswith(IMPLICIT) else self._classes.get(resource)
        return name if name in self._cluster.objects[CLASSES] else None

    def concerns(self, pod: Pod) -> bool:
        """Whether drivers may have to serve it on some node."""
        if not self._cluster.objects[CLASSES]:
            return False
        return any(self.class_of(resource) for _, _, resource, _ in _asked(pod))

    def claim(self, pod: Pod, node: Node | None) -> OwnClaim | None:
        """What drivers have to serve on this node; None if its device plugins serve all."""
        reported = node.status.allocatable if node is not None else {}
        requests, mappings = [], []
        for name, container, resource, count in _asked(pod):
            device_class = self.class_of(resource)
            if device_class is None or _is_offered(reported, resource):
                continue
            requests.append(DeviceRequest(name=name, exactly=ExactRequest(device_class_name=device_class, count=count)))
            mappings.append({"containerName": container, "resourceName": resource, "requestName": name})
        return OwnClaim(_claim_for(pod, requests), tuple(mappings)) if requests else None

    def _offer(self, decided: Decided, rows: Index) -> None:
        cluster, nodes = self._cluster, self._cluster.nodes
        names = [*self._classes, *(IMPLICIT + name for name in cluster.objects[CLASSES])]
        wanted = [name for name in names if cluster.dimensions.find(name) is not None]
        for row in rows.tolist() if wanted or self._offers else ():
            node = nodes.objects[row]
            if node is None:
                continue
            found = {name: self._devices(decided, name, row) for name in wanted}
            found = {name: count for name, count in found.items() if count}
            found = {name: count for name, count in found.items() if not _is_offered(node.status.allocatable, name)}
            self._put(row, node, found)

    def _put(self, row: int, node: Node, found: dict[str, int]) -> None:
        """Nodes that changed were entered with what they report alone: compare with what is there."""
        cluster, nodes = self._cluster, self._cluster.nodes
        reported = cluster.dimensions.vector(node.status.allocatable)
        target = reported.copy()
        for name, count in found.items():
            target[cluster.dimensions.intern(name)] = cluster.dimensions.amount(name, count)
        if found:
            self._offers[node.metadata.name] = found
        else:
            self._offers.pop(node.metadata.name, None)
        change = target - nodes.reported[row]
        if change.any():
            nodes.put(node, nodes.allocatable[row] + change, target)

    def _devices(self, decided: Decided, resource: str, row: int) -> int:
        """How many devices of its class can be used on the node."""
        name = self.class_of(resource)
        pools, selectors = decided.market
        if name is None:
            return 0
        device_class: DeviceClass = self._cluster.objects[CLASSES][name]
        expressions = [selector.cel.expression for selector in device_class.spec.selectors if selector.cel is not None]
        try:
            return sum(
                all(selectors.matches(text, offered.id[0], offered.device) for text in expressions)
                for offered in pools.at(row)
            )
        except SelectorError:
            return 0


def _named_resources(classes: Any) -> dict[str, str]:
    """Where several classes name one resource, the newest counts, and of those the first by name."""
    named = [one for one in classes if one.spec.extended_resource_name]
    named.sort(key=lambda one: one.metadata.name, reverse=True)
    named.sort(key=lambda one: _created(one.metadata))
    return {one.spec.extended_resource_name: one.metadata.name for one in named}


def _created(metadata: ObjectMeta) -> float:
    return metadata.creation_timestamp.timestamp() if metadata.creation_timestamp else 0.0


def _asked(pod: Pod) -> Iterator[tuple[str, str, str, int]]:
    """Name of the request, container, resource and number."""
    for position, container in enumerate((*pod.spec.init_containers, *pod.spec.containers)):
        asked = sorted(container.resources.requests.items())
        for number, (resource, amount) in enumerate(asked):
            count = quantity.units(amount) if "/" in resource else 0
            if count > 0:
                yield f"container-{position}-request-{number}", container.name, resource, count


def _is_offered(reported: Any, resource: str) -> bool:
    return resource in reported and quantity.milli(reported[resource]) > 0


def _claim_for(pod: Pod, requests: list[DeviceRequest]) -> ResourceClaim:
    """Its name follows from the pod: whoever starts anew finds it."""
    meta = pod.metadata
    owner = OwnerReference(api_version="v1", kind="Pod", name=meta.name, uid=meta.uid, controller=True)
    name = f"{meta.name[:LONGEST_POD_NAME]}-extended-resources-{meta.uid.replace('-', '')[-UID_CHARACTERS:]}"
    return ResourceClaim(
        api_version="resource.k8s.io/v1",
        kind="ResourceClaim",
        metadata=ObjectMeta(
            name=name.lower().strip("."), namespace=meta.namespace, annotations={MARK: "true"}, owner_references=[owner]
        ),
        spec=ResourceClaimSpec(devices=DeviceClaim(requests=requests)),
    )
