"""Workloads: Deployments, ReplicaSets, StatefulSets, DaemonSets, batch Jobs and CronJobs."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from volcano.api.age import human_duration
from volcano.local.apiserver.wire.printers.columns import (
    NONE,
    UNSET,
    age_of,
    container_cells,
    instant_of,
    name_of,
    printer,
    selector_text,
    since,
)

if TYPE_CHECKING:
    from datetime import datetime

    from volcano.api.meta import JsonObject


def _deployment(item: JsonObject, now: datetime) -> list[Any]:
    spec, status = item.get("spec") or {}, item.get("status") or {}
    return [
        name_of(item),
        f"{status.get('readyReplicas', 0)}/{spec.get('replicas', 1)}",
        status.get("updatedReplicas", 0),
        status.get("availableReplicas", 0),
        age_of(item, now),
        *container_cells(item),
        selector_text(spec.get("selector")),
    ]


def _replica_set(item: JsonObject, now: datetime) -> list[Any]:
    spec, status = item.get("spec") or {}, item.get("status") or {}
    return [
        name_of(item),
        spec.get("replicas", 1),
        status.get("replicas", 0),
        status.get("readyReplicas", 0),
        age_of(item, now),
        *container_cells(item),
        selector_text(spec.get("selector")),
    ]


def _stateful_set(item: JsonObject, now: datetime) -> list[Any]:
    spec, status = item.get("spec") or {}, item.get("status") or {}
    ready = f"{status.get('readyReplicas', 0)}/{spec.get('replicas', 1)}"
    return [name_of(item), ready, age_of(item, now), *container_cells(item)]


def _daemon_set(item: JsonObject, now: datetime) -> list[Any]:
    spec, status = item.get("spec") or {}, item.get("status") or {}
    counts = ("desiredNumberScheduled", "currentNumberScheduled", "numberReady")
    more_counts = ("updatedNumberScheduled", "numberAvailable")
    template_spec = (spec.get("template") or {}).get("spec") or {}
    return [
        name_of(item),
        *(status.get(key, 0) for key in counts + more_counts),
        selector_text(template_spec.get("nodeSelector")),
        age_of(item, now),
        *container_cells(item),
        selector_text(spec.get("selector")),
    ]


def _job(item: JsonObject, now: datetime) -> list[Any]:
    spec, status = item.get("spec") or {}, item.get("status") or {}
    return [
        name_of(item),
        _job_status(item),
        _completions(spec, status),
        _job_duration(status, now),
        age_of(item, now),
        *container_cells(item),
        selector_text(spec.get("selector")),
    ]


def _job_status(item: JsonObject) -> str:
    status = item.get("status") or {}
    true = {c.get("type") for c in status.get("conditions") or () if c.get("status") == "True"}
    if "Complete" in true:
        return "Complete"
    if "Failed" in true:
        return "Failed"
    if item.get("metadata", {}).get("deletionTimestamp"):
        return "Terminating"
    for condition, word in (
        ("Suspended", "Suspended"),
        ("FailureTarget", "FailureTarget"),
        ("SuccessCriteriaMet", "SuccessCriteriaMet"),
    ):
        if condition in true:
            return word
    return "Running"


def _completions(spec: JsonObject, status: JsonObject) -> str:
    succeeded = status.get("succeeded", 0)
    if spec.get("completions") is not None:
        return f"{succeeded}/{spec['completions']}"
    parallelism = spec.get("parallelism") or 0
    return f"{succeeded}/1 of {parallelism}" if parallelism > 1 else f"{succeeded}/1"


def _job_duration(status: JsonObject, now: datetime) -> str:
    start = instant_of(status.get("startTime"))
    if start is None:
        return ""
    end = instant_of(status.get("completionTime"))
    if end is None:
        ends = (c.get("lastTransitionTime") for c in status.get("conditions") or () if _is_failure(c))
        end = instant_of(next(ends, None))
    return human_duration(((end or now) - start).total_seconds())


def _is_failure(condition: JsonObject) -> bool:
    return condition.get("type") == "Failed" and condition.get("status") == "True"


def _cron_job(item: JsonObject, now: datetime) -> list[Any]:
    spec, status = item.get("spec") or {}, item.get("status") or {}
    last = status.get("lastScheduleTime")
    return [
        name_of(item),
        spec.get("schedule", ""),
        spec.get("timeZone") or NONE,
        "True" if spec.get("suspend") else "False" if "suspend" in spec else UNSET,
        len(status.get("active") or ()),
        since(last, now) if last else NONE,
        age_of(item, now),
        *container_cells(spec.get("jobTemplate") or {}),
        selector_text(((spec.get("jobTemplate") or {}).get("spec") or {}).get("selector")),
    ]


def _controller_revision(item: JsonObject, now: datetime) -> list[Any]:
    owners = item.get("metadata", {}).get("ownerReferences") or ()
    owner = next((o for o in owners if o.get("controller")), None)
    text = NONE
    if owner is not None:
        group = str(owner.get("apiVersion", "")).rpartition("/")[0]
        kind = str(owner.get("kind", "")).lower()
        text = f"{kind}.{group}/{owner.get('name')}" if group else f"{kind}/{owner.get('name')}"
    return [name_of(item), text, item.get("revision", 0), age_of(item, now)]


_POD_TEMPLATE = "Containers,Images,Selector"

DEPLOYMENTS = printer(_deployment, "Ready,Up-to-date,Available,Age", _POD_TEMPLATE)
REPLICA_SETS = printer(
    _replica_set, "Desired,Current,Ready,Age", _POD_TEMPLATE, integers=["Desired", "Current", "Ready"]
)
STATEFUL_SETS = printer(_stateful_set, "Ready,Age", "Containers,Images")
DAEMON_SETS = printer(
    _daemon_set,
    "Desired,Current,Ready,Up-to-date,Available,Node Selector,Age",
    _POD_TEMPLATE,
    integers=["Desired", "Current", "Ready", "Up-to-date", "Available"],
)
JOBS = printer(_job, "Status,Completions,Duration,Age", _POD_TEMPLATE)
CRON_JOBS = printer(_cron_job, "Schedule,Timezone,Suspend,Active,Last Schedule,Age", _POD_TEMPLATE, integers=["Active"])
CONTROLLER_REVISIONS = printer(_controller_revision, "Controller,Revision,Age", integers=["Revision"])
