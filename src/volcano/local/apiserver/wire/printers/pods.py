"""Pods as kubectl lists them: readiness, the status word, restarts and where they run."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from volcano.api.age import human_duration
from volcano.local.apiserver.wire.printers.columns import NONE, age_of, instant_of, name_of, printer

if TYPE_CHECKING:
    from collections.abc import Iterable
    from datetime import datetime

    from volcano.api.meta import JsonObject


@dataclass(frozen=True, slots=True)
class PodSummary:
    """What the columns READY, STATUS and RESTARTS say."""

    ready: int
    total: int
    status: str
    restarts: int
    last_restart: datetime | None

    def restarts_text(self, now: datetime) -> str:
        if not self.restarts or self.last_restart is None:
            return str(self.restarts)
        return f"{self.restarts} ({human_duration((now - self.last_restart).total_seconds())} ago)"


def pod_cells(pod: JsonObject, now: datetime) -> list[Any]:
    summary = summarize(pod)
    return [
        name_of(pod),
        f"{summary.ready}/{summary.total}",
        summary.status,
        summary.restarts_text(now),
        age_of(pod, now),
        *_placement(pod),
    ]


def summarize(pod: JsonObject) -> PodSummary:
    """Fold the statuses of all containers into one line, most telling reason first."""
    spec, status = pod.get("spec") or {}, pod.get("status") or {}
    sidecars = {c.get("name") for c in spec.get("initContainers") or () if c.get("restartPolicy") == "Always"}
    inits: list[JsonObject] = status.get("initContainerStatuses") or []
    mains: list[JsonObject] = status.get("containerStatuses") or []
    running_sidecars = [s for s in inits if s.get("name") in sidecars]

    initializing, ready = _initialization(inits, sidecars, len(spec.get("initContainers") or ()))
    counted = inits
    reason = _base_reason(status)
    if initializing:
        reason = initializing
    if not initializing or _is_true(status, "Initialized"):
        counted = [*running_sidecars, *mains]
        reason, ready_mains = _main_reason(reason, mains, status)
        ready += ready_mains
    if pod.get("metadata", {}).get("deletionTimestamp"):
        reason = _deleting_reason(reason, status)
    return PodSummary(
        ready=ready,
        total=len(spec.get("containers") or ()) + len(sidecars),
        status=reason,
        restarts=sum(s.get("restartCount", 0) for s in counted),
        last_restart=_last_restart(counted),
    )


def _base_reason(status: JsonObject) -> str:
    reason = str(status.get("reason") or status.get("phase") or "")
    for condition in status.get("conditions") or ():
        if condition.get("type") == "PodScheduled" and condition.get("reason") == "SchedulingGated":
            return "SchedulingGated"
    return reason


def _initialization(inits: list[JsonObject], sidecars: set[Any], total: int) -> tuple[str, int]:
    """The first unfinished init container's word ("" if none), and the ready sidecars before it."""
    ready = 0
    for index, item in enumerate(inits):
        state = item.get("state") or {}
        terminated, waiting = state.get("terminated"), state.get("waiting") or {}
        if terminated is not None and terminated.get("exitCode", 0) == 0:
            continue
        if item.get("name") in sidecars and item.get("started"):
            ready += bool(item.get("ready"))
            continue
        if terminated is not None:
            return f"Init:{terminated.get('reason') or _exit_word(terminated)}", ready
        if waiting.get("reason") and waiting["reason"] != "PodInitializing":
            return f"Init:{waiting['reason']}", ready
        return f"Init:{index}/{total}", ready
    return "", ready


def _main_reason(reason: str, mains: list[JsonObject], status: JsonObject) -> tuple[str, int]:
    ready, running = 0, False
    for item in reversed(mains):
        state = item.get("state") or {}
        waiting, terminated = state.get("waiting") or {}, state.get("terminated")
        if waiting.get("reason"):
            reason = waiting["reason"]
        elif terminated is not None:
            reason = terminated.get("reason") or _exit_word(terminated)
        elif item.get("ready") and state.get("running") is not None:
            running = True
            ready += 1
    if reason == "Completed" and running:
        reason = "Running" if _is_true(status, "Ready") else "NotReady"
    return reason, ready


def _deleting_reason(reason: str, status: JsonObject) -> str:
    if status.get("reason") == "NodeLost":
        return "Unknown"
    return reason if status.get("phase") in ("Succeeded", "Failed") else "Terminating"


def _exit_word(terminated: JsonObject) -> str:
    if terminated.get("signal"):
        return f"Signal:{terminated['signal']}"
    return f"ExitCode:{terminated.get('exitCode', 0)}"


def _is_true(status: JsonObject, condition_type: str) -> bool:
    return any(c.get("type") == condition_type and c.get("status") == "True" for c in status.get("conditions") or ())


def _last_restart(statuses: Iterable[JsonObject]) -> datetime | None:
    ends = ((s.get("lastState") or {}).get("terminated") or {} for s in statuses)
    instants = [instant for end in ends if (instant := instant_of(end.get("finishedAt"))) is not None]
    return max(instants, default=None)


def _placement(pod: JsonObject) -> list[Any]:
    spec, status = pod.get("spec") or {}, pod.get("status") or {}
    addresses = status.get("podIPs") or [{"ip": status.get("podIP")}]
    gates = spec.get("readinessGates") or ()
    passed = sum(_is_true(status, gate.get("conditionType", "")) for gate in gates)
    return [
        addresses[0].get("ip") or NONE,
        spec.get("nodeName") or NONE,
        status.get("nominatedNodeName") or NONE,
        f"{passed}/{len(gates)}" if gates else NONE,
    ]


def completion(pod: JsonObject) -> list[JsonObject]:
    phase = (pod.get("status") or {}).get("phase", "")
    message = _ENDS.get(phase)
    return [{"type": "Completed", "status": "True", "reason": phase, "message": message}] if message else []


_ENDS = {"Succeeded": "The pod has completed successfully.", "Failed": "The pod failed."}

PODS = printer(
    pod_cells,
    "Ready,Status,Restarts,Age",
    "IP,Node,Nominated Node,Readiness Gates",
    conditions=completion,
)
