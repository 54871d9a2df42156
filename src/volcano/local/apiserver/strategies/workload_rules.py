"""What makes kinds with a pod template impossible, and what of them may not change. workloads.py has their defaults."""

from __future__ import annotations

from typing import TYPE_CHECKING

import msgspec

from volcano.api.meta import JsonObject
from volcano.local.apiserver.status import cause, required, unsupported
from volcano.local.apiserver.strategies.pod_rules import spec_causes
from volcano.local.apiserver.verbs.selection import selector_matches

if TYPE_CHECKING:
    from volcano.local.apiserver.faults import Cause

_COUNTS = ("replicas", "minReadySeconds", "revisionHistoryLimit")
_JOB_COUNTS = ("parallelism", "completions", "backoffLimit", "ttlSecondsAfterFinished")
_FIXED_IN_JOBS = ("completionMode", "selector", "template")


def workload_causes(spec: JsonObject) -> list[Cause]:
    """Everything wrong with a Deployment or another kind whose pods run until they are deleted."""
    template = spec.get("template") or {}
    causes = _label_causes(spec, template) + _template_causes(template)
    policy = (template.get("spec") or {}).get("restartPolicy", "Always")
    if policy in ("OnFailure", "Never"):
        causes.append(unsupported("spec.template.spec.restartPolicy", policy, ("Always",)))
    return causes + _count_causes(spec, _COUNTS)


def deployment_causes(spec: JsonObject) -> list[Cause]:
    strategy = spec.get("strategy") or {}
    if strategy.get("type") in ("Recreate", "RollingUpdate"):
        return workload_causes(spec)
    shown = {"Type": strategy.get("type"), "RollingUpdate": strategy.get("rollingUpdate")}
    text = f'Unsupported value: {_shown(shown)}: supported values: "Recreate", "RollingUpdate"'
    return [*workload_causes(spec), cause("spec.strategy", text, "FieldValueNotSupported")]


def job_causes(spec: JsonObject) -> list[Cause]:
    """Everything wrong with a batch/v1 Job."""
    causes = _count_causes(spec, _JOB_COUNTS)
    template = spec.get("template") or {}
    if (template.get("spec") or {}).get("restartPolicy") == "Always":
        causes.append(required("spec.template.spec.restartPolicy", 'valid values: "OnFailure", "Never"'))
    return causes + _template_causes(template)


def changed_selector(new: JsonObject, old: JsonObject) -> list[Cause]:
    """The selector of a workload stays as it was."""
    if new.get("selector") == old.get("selector"):
        return []
    return [_immutable("selector", new)]


def changed_job(new: JsonObject, old: JsonObject) -> list[Cause]:
    """A job's template stays once it has begun; its size only changes where every index has a pod of its own."""
    causes = []
    if new.get("completions") != old.get("completions"):
        if new.get("completionMode") != "Indexed":
            causes.append(_immutable("completions", new))
        elif new.get("completions") != new.get("parallelism"):
            text = (
                f"Invalid value: {_shown(new.get('completions'))}: can only be modified in tandem with spec.parallelism"
            )
            causes.append(cause("spec.completions", text))
    fixed = [name for name in _FIXED_IN_JOBS if name != "template" or not old.get("suspend")]
    return causes + [_immutable(name, new) for name in fixed if new.get(name) != old.get(name)]


def _immutable(name: str, spec: JsonObject) -> Cause:
    return cause(f"spec.{name}", f"Invalid value: {_shown(spec.get(name))}: field is immutable")


def _label_causes(spec: JsonObject, template: JsonObject) -> list[Cause]:
    selector, labels = spec.get("selector"), (template.get("metadata") or {}).get("labels")
    if selector is None:
        return [required("spec.selector")]
    if selector_matches(selector, labels or {}):
        return []
    text = f"Invalid value: {_shown(labels)}: `selector` does not match template `labels`"
    return [cause("spec.template.metadata.labels", text)]


def _template_causes(template: JsonObject) -> list[Cause]:
    return spec_causes(
        template.get("spec") or {"restartPolicy": "Always", "dnsPolicy": "Default"}, "spec.template.spec"
    )


def _count_causes(spec: JsonObject, names: tuple[str, ...]) -> list[Cause]:
    return [
        cause(f"spec.{name}", f"Invalid value: {spec[name]}: must be greater than or equal to 0")
        for name in names
        if (spec.get(name) or 0) < 0
    ]


def _shown(value: object) -> str:
    return msgspec.json.encode(value).decode()
