"""Containers of a pod template: names, image, ports, environment, mounts, policies.

Their resources are judged in `resources`.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Final

from volcano.webhooks.rules import names
from volcano.webhooks.rules.documents import mapping, mappings, number, text
from volcano.webhooks.rules.fields import choice, duplicate, invalid, not_found, required
from volcano.webhooks.rules.template import resources

if TYPE_CHECKING:
    from volcano.api.meta import JsonObject
    from volcano.webhooks.rules.model import Cause

PULL_POLICIES: Final = ("Always", "IfNotPresent", "Never")
TERMINATION_POLICIES: Final = ("FallbackToLogsOnError", "File")
PROTOCOLS: Final = ("SCTP", "TCP", "UDP")
PORT_RANGE: Final = "must be between 1 and 65535, inclusive"


def errors(spec: JsonObject, path: str) -> Iterator[Cause]:
    """All containers, ordinary ones first; a pod has at least one, and no name twice."""
    if not mappings(spec, "containers"):
        yield required(f"{path}.containers", hint="give the pod at least one container")
    volumes = {text(volume, "name") for volume in mappings(spec, "volumes")}
    host_network = spec.get("hostNetwork") is True
    seen: set[str] = set()
    for field in ("containers", "initContainers"):
        for index, container in enumerate(mappings(spec, field)):
            where = f"{path}.{field}[{index}]"
            yield from _container_errors(container, where, volumes, host_network=host_network)
            name = text(container, "name")
            if name in seen:
                yield duplicate(f"{where}.name", name)
            elif name:
                seen.add(name)


def _container_errors(container: JsonObject, path: str, volumes: set[str], *, host_network: bool) -> Iterator[Cause]:
    name, image = text(container, "name"), text(container, "image")
    if not name:
        yield required(f"{path}.name")
    else:
        for error in names.dns_label(name):
            yield invalid(f"{path}.name", name, error)
    if not image:
        yield required(f"{path}.image")
    elif image != image.strip():
        yield invalid(f"{path}.image", image, "must not have leading or trailing whitespace")
    yield from choice(container, "terminationMessagePolicy", TERMINATION_POLICIES, path)
    yield from _port_errors(container, f"{path}.ports", host_network=host_network)
    yield from _environment_errors(container, f"{path}.env")
    yield from _mount_errors(container, f"{path}.volumeMounts", volumes)
    yield from choice(container, "imagePullPolicy", PULL_POLICIES, path)
    yield from resources.container_errors(mapping(container, "resources"), f"{path}.resources")


def _port_errors(container: JsonObject, path: str, *, host_network: bool) -> Iterator[Cause]:
    seen: set[str] = set()
    for index, port in enumerate(mappings(container, "ports")):
        where = f"{path}[{index}]"
        name = text(port, "name")
        if name:
            bad = names.port_name(name)
            for error in bad:
                yield invalid(f"{where}.name", name, error)
            if not bad and name in seen:
                yield duplicate(f"{where}.name", name)
            seen.add(name)
        inside, outside = number(port, "containerPort") or 0, number(port, "hostPort") or 0
        if not inside:
            yield required(f"{where}.containerPort")
        elif not 1 <= inside <= 65535:
            yield invalid(f"{where}.containerPort", inside, PORT_RANGE)
        if outside and not 1 <= outside <= 65535:
            yield invalid(f"{where}.hostPort", outside, PORT_RANGE)
        if host_network and outside not in (0, inside):
            yield invalid(f"{where}.containerPort", inside, "must match `hostPort` when `hostNetwork` is true")
        yield from choice(port, "protocol", PROTOCOLS, where)


def _environment_errors(container: JsonObject, path: str) -> Iterator[Cause]:
    for index, variable in enumerate(mappings(container, "env")):
        where = f"{path}[{index}]"
        name = text(variable, "name")
        if not name:
            yield required(f"{where}.name")
        else:
            for error in names.env_name(name):
                yield invalid(f"{where}.name", name, error)
        source = mapping(variable, "valueFrom")
        if not source:
            continue
        if text(variable, "value"):
            yield invalid(f"{where}.valueFrom", "", "may not be specified when `value` is not empty")
        if len(source) > 1:
            yield invalid(f"{where}.valueFrom", "", "may not have more than one field specified at a time")


def _mount_errors(container: JsonObject, path: str, volumes: set[str]) -> Iterator[Cause]:
    seen: set[str] = set()
    for index, mount in enumerate(mappings(container, "volumeMounts")):
        where = f"{path}[{index}]"
        name, target = text(mount, "name"), text(mount, "mountPath")
        if not name:
            yield required(f"{where}.name")
        elif name not in volumes:
            yield not_found(f"{where}.name", name, "add a volume of this name to spec.volumes")
        if not target:
            yield required(f"{where}.mountPath")
        elif target in seen:
            yield invalid(f"{where}.mountPath", target, "must be unique")
        seen.add(target)
