"""A pod's status as the API shows it, from its supervisor's report: phase, conditions, container states. Pure.

Neighbours: `supervisor.documents` says what a report holds; `agent` writes the status when it has changed.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from volcano.api.meta import JsonObject
from volcano.local.node.supervisor.documents import (
    ContainerPlan,
    ContainerReport,
    Exit,
    PodPlan,
    PodReport,
)
from volcano.local.node.supervisor.lifecycle import has_begun
from volcano.local.times import timestamp

_IMMEDIATE_SECONDS = 0.5
DEADLINE_MESSAGE = "Pod was active on the node longer than the specified deadline"


@dataclass(frozen=True)
class Place:
    """Where the pod runs, and since when it is known there."""

    host_ip: str
    pod_ip: str
    start_time: str


def pod_status(pod: JsonObject, plan: PodPlan, report: PodReport, place: Place, now: float) -> JsonObject:
    """The complete status of a pod that has a supervisor."""
    phase = phase_of(plan, report)
    status: JsonObject = {
        "phase": phase,
        "hostIP": place.host_ip,
        "hostIPs": [{"ip": place.host_ip}],
        "podIP": place.pod_ip,
        "podIPs": [{"ip": place.pod_ip}],
        "startTime": place.start_time,
        "conditions": _conditions(pod, plan, report, phase, now),
        "containerStatuses": _container_statuses(pod, "containers", plan["containers"], report),
    }
    if plan["init"]:
        status["initContainerStatuses"] = _container_statuses(pod, "initContainers", plan["init"], report)
    if report["stopping"] == "DeadlineExceeded":
        status |= {"reason": "DeadlineExceeded", "message": DEADLINE_MESSAGE}
    return status


def failed_status(pod: JsonObject, place: Place, reason: str, message: str, now: float) -> JsonObject:
    """The status of a pod that this node refuses to run."""
    return {
        "phase": "Failed",
        "reason": reason,
        "message": message,
        "hostIP": place.host_ip,
        "startTime": place.start_time,
        "conditions": _merge_conditions(pod, {"Initialized": "True", "Ready": "False"}, "PodFailed", now),
        "containerStatuses": [
            _unstarted(container, reason, message, is_over=True) for container in pod["spec"]["containers"]
        ],
    }


def waiting_status(pod: JsonObject, place: Place, reason: str, message: str, now: float) -> JsonObject:
    """The status of a pod that cannot start yet."""
    status: JsonObject = {
        "phase": "Pending",
        "hostIP": place.host_ip,
        "startTime": place.start_time,
        "conditions": _merge_conditions(
            pod, {"Initialized": "True", "Ready": "False", "ContainersReady": "False"}, "ContainersNotReady", now
        ),
    }
    for kind, key in (("containers", "containerStatuses"), ("initContainers", "initContainerStatuses")):
        if pod["spec"].get(kind):
            status[key] = [_unstarted(c, reason, message, is_over=False) for c in pod["spec"][kind]]
    return status


def phase_of(plan: PodPlan, report: PodReport) -> str:
    """Pending, Running, Succeeded or Failed, by a kubelet's rules."""
    states = report["containers"]
    if report["finished"]:
        parts = [*(c for c in plan["init"] if not c["sidecar"]), *plan["containers"]]
        exits = [states[c["name"]]["exit"] for c in parts]
        good = all(exit_ is not None and exit_["code"] == 0 for exit_ in exits)
        return "Succeeded" if good and report["stopping"] != "DeadlineExceeded" else "Failed"
    if any(states[c["name"]]["state"] == "waiting" for c in plan["containers"]):
        return "Pending"
    return "Running"


def _conditions(pod: JsonObject, plan: PodPlan, report: PodReport, phase: str, now: float) -> list[JsonObject]:
    if phase in ("Succeeded", "Failed"):
        reason = "PodCompleted" if phase == "Succeeded" else "PodFailed"
        wanted = {
            "PodReadyToStartContainers": "False",
            "Initialized": "True",
            "Ready": "False",
            "ContainersReady": "False",
        }
        return _merge_conditions(pod, wanted, reason, now)
    ready = all(report["containers"][c["name"]]["is_ready"] for c in plan["containers"])
    initialized = has_begun(plan, report) or all(
        _is_initialized(c, report["containers"][c["name"]]) for c in plan["init"]
    )
    wanted = {
        "PodReadyToStartContainers": "True",
        "Initialized": _truth(initialized),
        "Ready": _truth(ready),
        "ContainersReady": _truth(ready),
    }
    return _merge_conditions(pod, wanted, "ContainersNotReady", now)


def _merge_conditions(pod: JsonObject, wanted: Mapping[str, str], reason: str, now: float) -> list[JsonObject]:
    """The pod's conditions with the `wanted` ones set; a transition time changes only with its status."""
    stored = {c["type"]: c for c in (pod.get("status") or {}).get("conditions") or []}
    result = dict(stored)
    for kind, truth in wanted.items():
        before = stored.get(kind)
        same = before is not None and before["status"] == truth
        condition: JsonObject = {
            "type": kind,
            "status": truth,
            "lastTransitionTime": before["lastTransitionTime"] if same and before else timestamp(now),
        }
        if truth == "False" or (reason == "PodCompleted" and kind == "Initialized"):
            condition["reason"] = reason
        result[kind] = condition
    return list(result.values())


def _container_statuses(
    pod: JsonObject, kind: str, plans: Sequence[ContainerPlan], report: PodReport
) -> list[JsonObject]:
    images = {container["name"]: container.get("image") or "" for container in pod["spec"].get(kind) or []}
    return [
        _container_status(pod, plan, report["containers"][plan["name"]], images[plan["name"]], report) for plan in plans
    ]


def _container_status(
    pod: JsonObject, plan: ContainerPlan, report: ContainerReport, image: str, pod_report: PodReport
) -> JsonObject:
    identity = f"process://{pod['metadata']['uid']}/{plan['name']}"
    running = report["state"] == "running"
    is_init = any(c["name"] == plan["name"] for c in pod["spec"].get("initContainers") or [])
    done = is_init and report["exit"] is not None and report["exit"]["code"] == 0
    status: JsonObject = {
        "name": plan["name"],
        "image": image,
        "imageID": "",
        "ready": done or report["is_ready"],
        "started": report["is_started"],
        "restartCount": report["restarts"],
        "state": _state(plan, report, pod, identity, pod_report),
        "lastState": {},
    }
    if running or report["exit"] is not None:
        status["containerID"] = f"{identity}/{report['restarts']}"
    shown_as_last = report["exit"] if "waiting" in status["state"] else report["last"]
    if shown_as_last is not None:
        run = report["restarts"] if shown_as_last is report["exit"] else report["restarts"] - 1
        status["lastState"] = {"terminated": _terminated(shown_as_last, f"{identity}/{run}")}
    return status


def _state(
    plan: ContainerPlan, report: ContainerReport, pod: JsonObject, identity: str, pod_report: PodReport
) -> JsonObject:
    if report["state"] == "running":
        return {"running": {"startedAt": timestamp(report["started_at"])}}
    exit_ = report["exit"]
    if exit_ is None:
        return {"waiting": {"reason": "PodInitializing" if pod["spec"].get("initContainers") else "ContainerCreating"}}
    delay = (report["retry_at"] or 0.0) - exit_["finished_at"]
    if delay > _IMMEDIATE_SECONDS and not pod_report["stopping"]:
        name = f"{pod['metadata']['name']}_{pod['metadata']['namespace']}({pod['metadata']['uid']})"
        message = f"back-off {_minutes(delay)} restarting failed container={plan['name']} pod={name}"
        return {"waiting": {"reason": "CrashLoopBackOff", "message": message}}
    return {"terminated": _terminated(exit_, f"{identity}/{report['restarts']}")}


def _terminated(exit_: Exit, identity: str) -> JsonObject:
    shown: JsonObject = {
        "exitCode": exit_["code"],
        "reason": exit_["reason"],
        "startedAt": timestamp(exit_["started_at"]),
        "finishedAt": timestamp(exit_["finished_at"]),
        "containerID": identity,
    }
    if exit_["signal"]:
        shown["signal"] = exit_["signal"]
    if exit_["message"]:
        shown["message"] = exit_["message"]
    return shown


def _unstarted(container: JsonObject, reason: str, message: str, *, is_over: bool) -> JsonObject:
    state: JsonObject = {"waiting": {"reason": reason}}
    if message:
        state["waiting"]["message"] = message
    if is_over:
        state = {"terminated": {"exitCode": 128, "reason": reason, "message": message}}
    return {
        "name": container["name"],
        "image": container.get("image") or "",
        "imageID": "",
        "ready": False,
        "started": False,
        "restartCount": 0,
        "state": state,
        "lastState": {},
    }


def _is_initialized(plan: ContainerPlan, report: ContainerReport) -> bool:
    if plan["sidecar"]:
        return report["is_started"]
    return report["exit"] is not None and report["exit"]["code"] == 0


def _truth(value: bool) -> str:
    return "True" if value else "False"


def _minutes(seconds: float) -> str:
    minutes, rest = divmod(round(seconds), 60)
    return f"{minutes}m{rest}s" if minutes else f"{rest}s"


def has_run(pod: JsonObject) -> bool:
    """Whether the API shows that a container of the pod was started before."""
    status = pod.get("status") or {}
    shown = [*(status.get("containerStatuses") or []), *(status.get("initContainerStatuses") or [])]
    return any("waiting" not in (container.get("state") or {"waiting": {}}) for container in shown)
