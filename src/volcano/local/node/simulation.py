"""Runs that are only pretended: how long they last and how they end, as the pod's annotations ask. Pure.

Neighbours: `simulated` (whole simulated nodes) and `agent` (single pods on a process node) keep the timers.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Protocol

from volcano.api import duration, keys
from volcano.api.meta import JsonObject
from volcano.local.times import seconds_since_epoch


@dataclass(frozen=True)
class Script:
    """How a simulated pod behaves: it runs for `seconds` (None: until deleted) and exits with `exit_code`."""

    seconds: float | None
    exit_code: int


class Annotations(Protocol):
    """Whatever tells an annotation by its name."""

    def get(self, name: str, /) -> str | None: ...


def is_simulated(annotations: Annotations) -> bool:
    return annotations.get(keys.SIMULATE) == "true"


def script_of(annotations: Annotations) -> Script:
    """The script that the annotations tell. What cannot be read counts as absent: the pod runs until deleted."""
    return Script(
        _seconds(annotations.get(keys.SIMULATE_DURATION)), _exit_code(annotations.get(keys.SIMULATE_EXIT_CODE))
    )


def _seconds(text: str | None) -> float | None:
    if not text:
        return None
    try:
        return max(0.0, duration.parse_seconds(text))
    except ValueError:
        return None


def _exit_code(text: str | None) -> int:
    return int(text) if text and text.isdigit() and int(text) < 256 else 0


def seconds_left(seconds: float, started: str, now: float) -> float:
    """Of a run of `seconds` whose object says when it began; where that is yet to come, somebody has set the clock."""
    return min(seconds, seconds_since_epoch(started) + seconds - now)


def running_status(containers: Sequence[tuple[str, str]], host_ip: str, pod_ip: str, started: str) -> JsonObject:
    """What a pod that only pretends to run shows; `containers` are names and images."""
    return {
        "phase": "Running",
        "hostIP": host_ip,
        "podIP": pod_ip,
        "podIPs": [{"ip": pod_ip}],
        "startTime": started,
        "conditions": [_condition(kind, "True", started) for kind in _CONDITIONS],
        "containerStatuses": [
            _container(name, image, {"running": {"startedAt": started}}, ready=True) for name, image in containers
        ],
    }


def not_run(node: str) -> JsonObject:
    """What the status says beside of a pod whose command is not run, and which nothing but its deletion ends."""
    message = (
        f"node {node} is simulated: the command is not run, and the pod only pretends to until it is deleted; "
        f"annotation {keys.SIMULATE_DURATION} says for how long"
    )
    return {"reason": "Simulated", "message": message}


def finished_status(containers: Sequence[tuple[str, str]], exit_code: int, started: str, finished: str) -> JsonObject:
    """What changes in the status when the pretended run ends."""
    reason = "Completed" if exit_code == 0 else "Error"
    end = {"exitCode": exit_code, "reason": reason, "startedAt": started, "finishedAt": finished}
    good = exit_code == 0
    conditions = [_condition(kind, "True", started) for kind in ("PodScheduled", "Initialized")]
    conditions += [
        {**_condition(kind, "False", finished), "reason": "PodCompleted" if good else "PodFailed"}
        for kind in ("ContainersReady", "Ready")
    ]
    return {
        "phase": "Succeeded" if good else "Failed",
        "conditions": conditions,
        "containerStatuses": [_container(name, image, {"terminated": end}, ready=False) for name, image in containers],
    }


_CONDITIONS = ("PodScheduled", "Initialized", "ContainersReady", "Ready")


def _condition(kind: str, truth: str, since: str) -> JsonObject:
    return {"type": kind, "status": truth, "lastTransitionTime": since}


def _container(name: str, image: str, state: JsonObject, *, ready: bool) -> JsonObject:
    return {
        "name": name,
        "image": image,
        "imageID": "",
        "ready": ready,
        "started": ready,
        "restartCount": 0,
        "state": state,
        "lastState": {},
    }
