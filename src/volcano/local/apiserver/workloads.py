"""Defaults of workload kinds and services, as far as clients and controllers rely on them."""

from __future__ import annotations

import ipaddress
import zlib
from typing import TYPE_CHECKING, Any

from volcano.local.apiserver.pod_defaults import default_pod_spec
from volcano.local.apiserver.strategies import Strategy

if TYPE_CHECKING:
    from collections.abc import Callable

    from volcano.local.apiserver.registry import ResourceInfo

JsonObject = dict[str, Any]

_SERVICE_NETWORK = ipaddress.ip_network("10.96.0.0/12")
_ROLLING = {"maxUnavailable": "25%", "maxSurge": "25%"}


class WorkloadStrategy(Strategy):
    """Kinds with a pod template."""

    def __init__(self, resource: ResourceInfo, defaults: Callable[[JsonObject], None]) -> None:
        super().__init__(resource)
        self._defaults = defaults

    def default(self, document: JsonObject) -> None:
        spec = document.setdefault("spec", {})
        self._defaults(spec)
        template = spec.get("template")
        if isinstance(template, dict) and template.get("spec"):
            default_pod_spec(template["spec"])

    def prepare_create(self, document: JsonObject) -> None:
        super().prepare_create(document)
        document["status"] = {}


class JobStrategy(WorkloadStrategy):
    """batch/v1 Jobs choose their pods by labels that the server makes up."""

    def prepare_create(self, document: JsonObject) -> None:
        super().prepare_create(document)
        spec, meta = document["spec"], document["metadata"]
        if spec.get("manualSelector") or not meta.get("uid"):
            return
        labels = spec.setdefault("template", {}).setdefault("metadata", {}).setdefault("labels", {})
        for prefix in ("batch.kubernetes.io/", ""):
            labels[f"{prefix}controller-uid"] = meta["uid"]
            labels[f"{prefix}job-name"] = meta["name"]
        spec["selector"] = {"matchLabels": {"batch.kubernetes.io/controller-uid": meta["uid"]}}


class ServiceStrategy(Strategy):
    """Services get an address that stays theirs; nothing routes to it."""

    def default(self, document: JsonObject) -> None:
        spec = document.setdefault("spec", {})
        spec.setdefault("type", "ClusterIP")
        spec.setdefault("sessionAffinity", "None")
        spec.setdefault("internalTrafficPolicy", "Cluster")
        for port in spec.get("ports") or ():
            port.setdefault("protocol", "TCP")
            port.setdefault("targetPort", port.get("port"))

    def prepare_create(self, document: JsonObject) -> None:
        super().prepare_create(document)
        spec, meta = document["spec"], document["metadata"]
        document["status"] = {"loadBalancer": {}}
        if spec["type"] == "ExternalName":
            return
        if not spec.get("clusterIP"):
            number = zlib.crc32(f"{meta.get('namespace')}/{meta['name']}".encode()) % (
                _SERVICE_NETWORK.num_addresses - 2
            )
            spec["clusterIP"] = str(_SERVICE_NETWORK[number + 1])
        spec.setdefault("clusterIPs", [spec["clusterIP"]])
        spec.setdefault("ipFamilies", ["IPv4"])
        spec.setdefault("ipFamilyPolicy", "SingleStack")

    def prepare_update(self, new: JsonObject, old: JsonObject) -> None:
        super().prepare_update(new, old)
        for field in ("clusterIP", "clusterIPs", "ipFamilies", "ipFamilyPolicy"):
            if field in old["spec"]:
                new["spec"].setdefault(field, old["spec"][field])


def _deployment(spec: JsonObject) -> None:
    spec.setdefault("replicas", 1)
    spec.setdefault("revisionHistoryLimit", 10)
    spec.setdefault("progressDeadlineSeconds", 600)
    strategy = spec.setdefault("strategy", {})
    if strategy.setdefault("type", "RollingUpdate") == "RollingUpdate":
        rolling = strategy.setdefault("rollingUpdate", {})
        for name, value in _ROLLING.items():
            rolling.setdefault(name, value)


def _replica_set(spec: JsonObject) -> None:
    spec.setdefault("replicas", 1)


def _stateful_set(spec: JsonObject) -> None:
    spec.setdefault("replicas", 1)
    spec.setdefault("revisionHistoryLimit", 10)
    spec.setdefault("podManagementPolicy", "OrderedReady")
    strategy = spec.setdefault("updateStrategy", {})
    if strategy.setdefault("type", "RollingUpdate") == "RollingUpdate":
        strategy.setdefault("rollingUpdate", {"partition": 0})


def _daemon_set(spec: JsonObject) -> None:
    spec.setdefault("revisionHistoryLimit", 10)
    strategy = spec.setdefault("updateStrategy", {})
    if strategy.setdefault("type", "RollingUpdate") == "RollingUpdate":
        strategy.setdefault("rollingUpdate", {"maxUnavailable": 1, "maxSurge": 0})


def _job(spec: JsonObject) -> None:
    if spec.get("completions") is None and spec.get("parallelism") is None:
        spec["completions"] = spec["parallelism"] = 1
    spec.setdefault("parallelism", 1)
    spec.setdefault("backoffLimit", 6)
    spec.setdefault("completionMode", "NonIndexed")
    spec.setdefault("suspend", False)
    spec.setdefault("manualSelector", False)
    spec.setdefault("podReplacementPolicy", "TerminatingOrFailed")


_DEFAULTS = {
    "deployments.apps": _deployment,
    "replicasets.apps": _replica_set,
    "statefulsets.apps": _stateful_set,
    "daemonsets.apps": _daemon_set,
    "replicationcontrollers": _replica_set,
}


def workload_strategy(resource: ResourceInfo) -> Strategy | None:
    """The strategy of `resource` if it is one of those here."""
    if resource.qualified == "services":
        return ServiceStrategy(resource)
    if resource.qualified == "jobs.batch":
        return JobStrategy(resource, _job)
    defaults = _DEFAULTS.get(resource.qualified)
    return None if defaults is None else WorkloadStrategy(resource, defaults)
