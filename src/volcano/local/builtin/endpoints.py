"""Where a service leads: its Endpoints and EndpointSlices, made from the pods that it selects. Pure.

Neighbours: `services` follows services and pods, and writes what is decided here.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Sequence
from typing import TypeAlias

from msgspec import field

from volcano.api.meta import JsonObject, Model
from volcano.local.builtin.views import ConditionView, Meta

SERVICE_NAME = "kubernetes.io/service-name"
MANAGED_BY = "endpointslice.kubernetes.io/managed-by"
MANAGER = "endpointslice-controller.k8s.io"
HEADLESS = "service.kubernetes.io/headless"
MOST_IN_SLICE = 100
Ports: TypeAlias = tuple[tuple[str, int, str], ...]
"""Name, number and protocol of each port that a service offers on some pods."""


class PortView(Model, kw_only=True):
    name: str = ""
    container_port: int = 0
    protocol: str = "TCP"


class ContainerView(Model, kw_only=True):
    ports: list[PortView] = field(default_factory=list)


class BackendMeta(Meta, kw_only=True):
    labels: dict[str, str] = field(default_factory=dict)


class BackendSpec(Model, kw_only=True):
    node_name: str = ""
    hostname: str = ""
    subdomain: str = ""
    containers: list[ContainerView] = field(default_factory=list)


class BackendStatus(Model, kw_only=True):
    phase: str = ""
    pod_ip: str = field(default="", name="podIP")
    conditions: list[ConditionView] = field(default_factory=list)


class Backend(Model, kw_only=True):
    """A pod, as far as services care."""

    metadata: BackendMeta = field(default_factory=BackendMeta)
    spec: BackendSpec = field(default_factory=BackendSpec)
    status: BackendStatus = field(default_factory=BackendStatus)

    @property
    def is_reachable(self) -> bool:
        return bool(self.status.pod_ip) and self.status.phase not in ("Succeeded", "Failed")

    @property
    def is_ready(self) -> bool:
        going = self.metadata.deletion_timestamp is not None
        return not going and any(item.type == "Ready" and item.status == "True" for item in self.status.conditions)


def selects(service: JsonObject, labels: dict[str, str]) -> bool:
    """Whether the service has a selector, and it picks a pod with these labels."""
    selector: dict[str, str] = service["spec"].get("selector") or {}
    return bool(selector) and all(labels.get(key) == value for key, value in selector.items())


def endpoints(service: JsonObject, pods: Iterable[Backend]) -> JsonObject:
    """The Endpoints object of `service`."""
    subsets = []
    for ports, backends in _by_ports(service, pods).items():
        ready = [_address(service, pod) for pod in backends if _is_published(service, pod)]
        others = [
            _address(service, pod)
            for pod in backends
            if not _is_published(service, pod) and pod.metadata.deletion_timestamp is None
        ]
        offered = [_port(*port) for port in ports]
        subset = {"addresses": ready, "notReadyAddresses": others, "ports": offered}
        if ready or others:
            subsets.append({key: value for key, value in subset.items() if value})
    meta = service["metadata"]
    found: JsonObject = {
        "apiVersion": "v1",
        "kind": "Endpoints",
        "metadata": {"name": meta["name"], "namespace": meta["namespace"], "labels": _labels(service)},
    }
    return found | ({"subsets": subsets} if subsets else {})


def slices(service: JsonObject, pods: Iterable[Backend]) -> list[JsonObject]:
    """The EndpointSlices of `service`: one for each set of ports, and no more than a hundred pods in each."""
    found: list[JsonObject] = []
    for ports, backends in _by_ports(service, pods).items():
        for start in range(0, len(backends), MOST_IN_SLICE):
            part = backends[start : start + MOST_IN_SLICE]
            found.append(_slice(service, len(found), ports, part))
    return found or [_slice(service, 0, (), ())]


def _slice(service: JsonObject, number: int, ports: Ports, pods: Sequence[Backend]) -> JsonObject:
    meta = service["metadata"]
    suffix = hashlib.blake2b(f"{meta['uid']}/{number}".encode(), digest_size=3).hexdigest()
    owner = {"apiVersion": "v1", "kind": "Service", "name": meta["name"], "uid": meta["uid"]}
    return {
        "apiVersion": "discovery.k8s.io/v1",
        "kind": "EndpointSlice",
        "metadata": {
            "name": f"{meta['name']}-{suffix}",
            "namespace": meta["namespace"],
            "labels": {**_labels(service), SERVICE_NAME: meta["name"], MANAGED_BY: MANAGER},
            "ownerReferences": [{**owner, "controller": True, "blockOwnerDeletion": True}],
        },
        "addressType": "IPv4",
        "endpoints": [_endpoint(service, pod) for pod in pods],
        "ports": [_port(*port) for port in ports],
    }


def _by_ports(service: JsonObject, pods: Iterable[Backend]) -> dict[Ports, list[Backend]]:
    """The reachable pods by the numbers that the service's ports have on them: names mean what each pod says."""
    groups: dict[Ports, list[Backend]] = {}
    for pod in sorted(pods, key=lambda pod: pod.metadata.name):
        if pod.is_reachable:
            groups.setdefault(_resolved(service, pod), []).append(pod)
    return groups


def _resolved(service: JsonObject, pod: Backend) -> Ports:
    found = []
    for port in service["spec"].get("ports") or ():
        number = _number(port.get("targetPort") or port["port"], port.get("protocol") or "TCP", pod)
        if number is not None:
            found.append((port.get("name") or "", number, port.get("protocol") or "TCP"))
    return tuple(found)


def _number(target: int | str, protocol: str, pod: Backend) -> int | None:
    if isinstance(target, int) or target.isdigit():
        return int(target)
    for container in pod.spec.containers:
        for port in container.ports:
            if (port.name, port.protocol) == (target, protocol):
                return port.container_port
    return None


def _is_published(service: JsonObject, pod: Backend) -> bool:
    return pod.is_ready or bool(service["spec"].get("publishNotReadyAddresses"))


def _address(service: JsonObject, pod: Backend) -> JsonObject:
    return {"ip": pod.status.pod_ip, **_who(service, pod)}


def _endpoint(service: JsonObject, pod: Backend) -> JsonObject:
    going = pod.metadata.deletion_timestamp is not None
    serving = any(item.type == "Ready" and item.status == "True" for item in pod.status.conditions)
    published = bool(service["spec"].get("publishNotReadyAddresses"))
    conditions = {"ready": published or (serving and not going), "serving": serving, "terminating": going}
    return {"addresses": [pod.status.pod_ip], "conditions": conditions, **_who(service, pod)}


def _who(service: JsonObject, pod: Backend) -> JsonObject:
    meta = pod.metadata
    found: JsonObject = {"targetRef": {"kind": "Pod", "namespace": meta.namespace, "name": meta.name, "uid": meta.uid}}
    if pod.spec.node_name:
        found["nodeName"] = pod.spec.node_name
    if pod.spec.hostname and pod.spec.subdomain == service["metadata"]["name"]:
        found["hostname"] = pod.spec.hostname
    return found


def _port(name: str, number: int, protocol: str) -> JsonObject:
    return {**({"name": name} if name else {}), "port": number, "protocol": protocol}


def _labels(service: JsonObject) -> dict[str, str]:
    headless = {HEADLESS: ""} if service["spec"].get("clusterIP") == "None" else {}
    return {**(service["metadata"].get("labels") or {}), **headless}
