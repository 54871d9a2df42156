"""Kinds with a pod template: what they default to. workload_rules.py judges them."""

from __future__ import annotations

from typing import TYPE_CHECKING

import msgspec

from volcano.api import keys
from volcano.api.meta import JsonObject
from volcano.local.apiserver.status import cause
from volcano.local.apiserver.strategies import workload_rules as rules
from volcano.local.apiserver.strategies.pod_defaults import default_pod_spec
from volcano.local.apiserver.strategies.services import ServiceStrategy
from volcano.local.apiserver.strategies.strategy import Strategy

if TYPE_CHECKING:
    from collections.abc import Callable

    from volcano.local.apiserver.catalog.registry import ResourceInfo
    from volcano.local.apiserver.faults import Cause

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

    def validate(self, document: JsonObject) -> list[Cause]:
        deploys = self.resource.kind == "Deployment"
        judge = rules.deployment_causes if deploys else rules.workload_causes
        return super().validate(document) + judge(document.get("spec") or {})

    def validate_update(self, new: JsonObject, old: JsonObject) -> list[Cause]:
        return self.validate(new) + rules.changed_selector(new.get("spec") or {}, old.get("spec") or {})


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
        wanted = (spec.get("selector") or {}).get("matchLabels") or {}
        spec["selector"] = {"matchLabels": {**wanted, keys.BATCH_CONTROLLER_UID: meta["uid"]}}
        if not meta.get("labels"):
            meta["labels"] = dict(labels)

    def validate(self, document: JsonObject) -> list[Cause]:
        spec = document.get("spec") or {}
        causes = Strategy.validate(self, document) + rules.job_causes(spec)
        chosen = (spec.get("selector") or {}).get("matchLabels") or {}
        if not spec.get("manualSelector") and set(chosen) - {keys.BATCH_CONTROLLER_UID, "controller-uid"}:
            shown = msgspec.json.encode(spec["selector"]).decode()
            causes.append(cause("spec.selector", f"Invalid value: {shown}: `selector` not auto-generated"))
        return causes

    def validate_update(self, new: JsonObject, old: JsonObject) -> list[Cause]:
        return self.validate(new) + rules.changed_job(new.get("spec") or {}, old.get("spec") or {})


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
