"""Where our controllers answer differently on purpose: corrections of recorded statuses, and rules over records.

A correction turns the recorded answer into the one we stand for, and the test asserts that one. A deviation is a
record we do not follow at all; the test reports it as an expected failure with the reason.
"""

from __future__ import annotations

import copy
from collections import Counter
from collections.abc import Callable
from datetime import datetime
from typing import Final, NamedTuple

from tests.corpus.controller_records import Document, names_written, pods_in
from tests.corpus.loader import Record
from volcano.api import duration

AT_REST = {"Completed", "Failed", "Terminated", "Aborted"}
COUNTERS = {
    "pending": "Pending",
    "running": "Running",
    "succeeded": "Succeeded",
    "failed": "Failed",
    "unknown": "Unknown",
}


class Deviation(NamedTuple):
    reason: str
    covers: Callable[[Record], bool]


def corrected_status(record: Record, before: Document, info: Document, expected: Document) -> Document:
    """The recorded status with what upstream gets wrong put right, rule by rule."""
    status = copy.deepcopy(expected)
    _count_every_pod(record, info, status)
    _keep_transition_time(before, status)
    _keep_version_at_rest(record, before, status)
    if record["output"].get("delegate") == "SyncJob":
        status["minAvailable"] = info["job"]["spec"].get("minAvailable", 0)  # also while the podgroup waits
        _measure_at_the_end(before, info, status)
    _know_the_start_before_measuring(info, status)
    _say_that_retries_are_used_up(before, info, status)
    return status


def _count_every_pod(record: Record, info: Document, status: Document) -> None:
    """Pods that a kill spares are counted, and pods just created are pending (a fake server gives them no phase)."""
    deleted = names_written(record, "delete", "pods")
    counts: dict[str, Counter[str]] = {}
    terminating = 0
    for task, pod in pods_in(info):
        meta = pod["metadata"]
        if meta.get("deletionTimestamp") or meta["name"] in deleted:
            terminating += 1
        else:
            counts.setdefault(task, Counter())[(pod.get("status") or {}).get("phase") or "Pending"] += 1
    for write in record["output"].get("writes") or []:
        if (write["verb"], write["resource"]) == ("create", "pods"):
            task = write["object"]["metadata"]["annotations"]["volcano.sh/task-spec"]
            counts.setdefault(task, Counter())["Pending"] += 1
    for counter, phase in COUNTERS.items():
        status[counter] = sum(count[phase] for count in counts.values())
    status["terminating"] = terminating
    status["taskStatusCount"] = {task: {"phase": dict(count)} for task, count in counts.items()}


def _keep_transition_time(before: Document, status: Document) -> None:
    """A transition is a new phase; new counts are none."""
    old, new = before.get("state") or {}, status.get("state") or {}
    if old.get("phase") == new.get("phase"):
        status["state"] = old
        status["conditions"] = before.get("conditions") or []


def _keep_version_at_rest(record: Record, before: Document, status: Document) -> None:
    """A job that is over has no policies left to protect from stale events: its version stands."""
    if (before.get("state") or {}).get("phase") in AT_REST and (status.get("state") or {}).get("phase") in AT_REST:
        status["version"] = before.get("version", 0)


def _measure_at_the_end(before: Document, info: Document, status: Document) -> None:
    """The running duration is known when the job ends, not one event later."""
    state, created = status.get("state") or {}, info["job"]["metadata"].get("creationTimestamp")
    if created and state.get("phase") in AT_REST and state.get("phase") != (before.get("state") or {}).get("phase"):
        ran = datetime.fromisoformat(state["lastTransitionTime"]) - datetime.fromisoformat(created)
        status["runningDuration"] = duration.format(ran)


def _know_the_start_before_measuring(info: Document, status: Document) -> None:
    """No running duration for a job whose beginning or last transition is unknown."""
    created = info["job"]["metadata"].get("creationTimestamp")
    if not created or not (status.get("state") or {}).get("lastTransitionTime"):
        status.pop("runningDuration", None)


def _say_that_retries_are_used_up(before: Document, info: Document, status: Document) -> None:
    """A job that was to restart, and has failed instead, says why."""
    if (before.get("state") or {}).get("phase") == "Restarting" and status["state"]["phase"] == "Failed":
        used = f"{status.get('retryCount', 0)} of {info['job']['spec'].get('maxRetry', 0)}"
        status["state"] |= {"reason": "RetriesUsedUp", "message": f"retries are used up ({used})"}


def _starts_pods_of_a_failed_job(record: Record) -> bool:
    phase = ((record["output"].get("status") or {}).get("state") or {}).get("phase")
    return phase in {"Failed", "Completed"} and bool(names_written(record, "create", "pods"))


def _runs_with_fresh_pods(record: Record) -> bool:
    """The fake server gives new pods no phase, so upstream's job stays Running; a real server's pods are Pending."""
    return record["input"].get("state") == "runningState" and bool(names_written(record, "create", "pods"))


STATE: Final = (
    Deviation("a job that has just failed starts no pods", _starts_pods_of_a_failed_job),
    Deviation("pods that were just created are pending, and so is their job", _runs_with_fresh_pods),
)


def _overlooks_a_start(record: Record) -> bool:
    """Starts were missed, it says, but there is no latest one."""
    results = record["output"].get("results") or []
    return record["function"] == "mostRecentScheduleTime" and results[1:2] == [None] and results[2] > 0


CRONJOB: Final = (
    Deviation("starts at uneven intervals are found: upstream infers them from the first two", _overlooks_a_start),
)


def deviation_of(rules: tuple[Deviation, ...], record: Record) -> Deviation | None:
    return next((deviation for deviation in rules if deviation.covers(record)), None)
