"""A pod template as a whole: its metadata and the settings of the pod, in Kubernetes' order.

Containers, resources, volumes and placement have files of their own beside this one.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Final

from volcano.webhooks.rules import names
from volcano.webhooks.rules.documents import mapping, mappings, number, text
from volcano.webhooks.rules.fields import choice, forbidden, invalid, required
from volcano.webhooks.rules.template import containers, placement, resources, volumes

if TYPE_CHECKING:
    from volcano.api.meta import JsonObject
    from volcano.webhooks.rules.model import Cause

RESTART_POLICIES: Final = ("Always", "Never", "OnFailure")
DNS_POLICIES: Final = ("ClusterFirst", "ClusterFirstWithHostNet", "Default", "None")
INT32_MAX: Final = 2**31 - 1


def errors(template: JsonObject, path: str, *, pod_level_resources: bool) -> Iterator[Cause]:
    """Everything wrong with `template`; field paths start with `path`."""
    metadata = mapping(template, "metadata")
    yield from labels(mapping(metadata, "labels"), f"{path}.labels")
    for key in mapping(metadata, "annotations"):
        for error in names.qualified_name(key.lower()):
            yield invalid(f"{path}.annotations", key, error)
    spec = mapping(template, "spec")
    yield from _spec(spec, f"{path}.spec", pod_level_resources=pod_level_resources)
    if spec.get("ephemeralContainers"):
        yield forbidden(f"{path}.spec.ephemeralContainers", "ephemeral containers not allowed in pod template")


def _spec(spec: JsonObject, path: str, *, pod_level_resources: bool) -> Iterator[Cause]:
    yield from volumes.errors(mappings(spec, "volumes"), f"{path}.volumes")
    yield from containers.errors(spec, path)
    if pod_level_resources:
        yield from resources.pod_errors(spec, f"{path}.resources")
    yield from choice(spec, "restartPolicy", RESTART_POLICIES, path)
    yield from choice(spec, "dnsPolicy", DNS_POLICIES, path)
    yield from labels(mapping(spec, "nodeSelector"), f"{path}.nodeSelector")
    yield from placement.affinity_errors(mapping(spec, "affinity"), f"{path}.affinity")
    yield from placement.gate_errors(mappings(spec, "schedulingGates"), f"{path}.schedulingGates")
    yield from placement.spread_errors(mappings(spec, "topologySpreadConstraints"), f"{path}.topologySpreadConstraints")
    yield from _names(spec, path)
    deadline = number(spec, "activeDeadlineSeconds")
    if deadline is not None and not 1 <= deadline <= INT32_MAX:
        yield invalid(f"{path}.activeDeadlineSeconds", deadline, f"must be between 1 and {INT32_MAX}, inclusive")
    grace = number(spec, "terminationGracePeriodSeconds")
    if grace is not None and grace < 0:
        yield invalid(f"{path}.terminationGracePeriodSeconds", grace, "must be greater than or equal to 0")
    yield from placement.toleration_errors(mappings(spec, "tolerations"), f"{path}.tolerations")


def labels(given: JsonObject, path: str) -> Iterator[Cause]:
    for key, value in given.items():
        for error in names.qualified_name(key):
            yield invalid(path, key, error)
        for error in names.label_value(str(value)):
            yield invalid(path, value, error)


def _names(spec: JsonObject, path: str) -> Iterator[Cause]:
    """Fields that must be names of objects or of hosts."""
    for field, check in (
        ("serviceAccountName", names.subdomain),
        ("nodeName", names.subdomain),
        ("hostname", names.dns_label),
        ("subdomain", names.dns_label),
        ("priorityClassName", names.subdomain),
        ("runtimeClassName", names.subdomain),
    ):
        if name := text(spec, field):
            for error in check(name):
                yield invalid(f"{path}.{field}", name, error)
    for index, secret in enumerate(mappings(spec, "imagePullSecrets")):
        if not text(secret, "name"):
            yield required(f"{path}.imagePullSecrets[{index}].name")
