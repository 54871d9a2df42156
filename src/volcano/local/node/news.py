"""What a change of a pod's status is worth telling its user as an event: only what went wrong. Pure.

Neighbours: `agent` compares the stored status with the one it writes, and records the result.
"""

from __future__ import annotations

from volcano.api.meta import JsonObject

_STATUS_LISTS = ("initContainerStatuses", "containerStatuses")


def warnings(before: JsonObject, after: JsonObject) -> list[tuple[str, str]]:
    """Reason and message of each new trouble in `after`, compared with the status `before`."""
    told = []
    if after.get("reason") and after.get("reason") != before.get("reason"):
        told.append((str(after["reason"]), str(after.get("message") or "")))
    for key in _STATUS_LISTS:
        known = {status["name"]: status for status in before.get(key) or []}
        for status in after.get(key) or []:
            trouble = _trouble(status)
            if trouble is not None and trouble != _trouble(known.get(status["name"]) or {}):
                told.append(trouble)
    return told


def _trouble(status: JsonObject) -> tuple[str, str] | None:
    state = status.get("state") or {}
    waiting, terminated = state.get("waiting") or {}, state.get("terminated") or {}
    if waiting.get("reason") == "CrashLoopBackOff":
        return "BackOff", str(waiting["message"])
    if waiting.get("message"):
        return "Failed", f"Error: {waiting['message']}"
    if terminated.get("reason") in ("StartError", "SupervisorLost", "OOMKilled"):
        return str(terminated["reason"]), str(terminated.get("message") or f"container {status['name']} was killed")
    return None
