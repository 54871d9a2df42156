"""What a job says of itself about why it does not run, where the scheduler cannot know: it has ended, is held back,

waits for another scheduler, or its pods could not be made. Pure; for `vcctl explain`.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from volcano.api import keys, phases
from volcano.controllers.job import after
from volcano.jobs import events as happened
from volcano.jobs.failures import failure_text

if TYPE_CHECKING:
    from collections.abc import Sequence

    from volcano.api.meta import JsonObject

_HELD = {
    after.WAITING: "wait for the other job, or take the dependency away (annotation volcano.sh/after)",
    after.NEVER: "waiting does not help: delete the job, and submit it without this dependency",
}
_NO_PODS = frozenset({"NotEnoughTasks", "NotEnoughPodsOfTask"})


def by_itself(job: JsonObject, pods: Sequence[JsonObject] = ()) -> JsonObject | None:
    """The reason record of a job that no scheduler looks at: it has ended, is suspended, or is held back.

    Of one that failed, the first of `pods` that is its own and failed says why.
    """
    state = (job.get("status") or {}).get("state") or {}
    phase, reason, message = state.get("phase", ""), state.get("reason", ""), state.get("message", "")
    if phase in phases.ENDED:
        why = "; ".join(filter(None, (message, _failure(job, pods) if phase == phases.FAILED else "")))
        text = f"it has ended ({phase}) and waits for nothing" + (f": {why}" if why else "")
        return _record(phase, text, "nothing: to run it again, submit it anew")
    if phase == phases.ABORTED:
        return _record(phase, "it is suspended", f"vcctl job resume {job['metadata']['name']}")
    if reason in after.REASONS:
        return _record(reason, message or reason, _HELD.get(reason, "do what the message says"), stage="dependency")
    return None


def of_missing_pods(
    job: JsonObject,
    told: JsonObject,
    pods: Sequence[JsonObject],
    events: Sequence[JsonObject],
    schedulers: Sequence[str],
) -> JsonObject:
    """`told` of a scheduler that sees too few pods of the job, with what the job's pods and events say about that."""
    if (told["reason"] or {}).get("code") not in _NO_PODS:
        return told
    foreign = {qualified(pod): scheduler_of(pod) for pod in pods if _is_member(pod, job) and _waits(pod)}
    foreign = {pod: name for pod, name in foreign.items() if name not in schedulers}
    if foreign:
        names = ", ".join(sorted(set(foreign.values())))
        text = f"{len(foreign)} of its pods exist and wait for scheduler {names}, which is not the one of Volcano"
        remedy = f"see that scheduler {names} runs, or submit the job with schedulerName {schedulers[0]}"
        states = {pod: {"status": f"waits for scheduler {name}", "node": ""} for pod, name in foreign.items()}
        return {**told, "reason": _record("OtherScheduler", text, remedy), "pods": {**told["pods"], **states}}
    name = job["metadata"]["name"]
    failed = [one for one in events if one.get("reason") == "FailedCreate" and happened.about(one, "Job", name)]
    if failed:
        message = happened.in_order(failed)[-1].get("message", "")
        return {**told, "reason": _record("FailedCreate", message, "correct what the message names")}
    return told


def scheduler_of(pod: JsonObject) -> str:
    return str((pod.get("spec") or {}).get("schedulerName") or "default-scheduler")


def qualified(document: JsonObject) -> str:
    """`namespace/name`, as the scheduler's result has it; of a manifest without a namespace that is default."""
    metadata = document["metadata"]
    return f"{metadata.get('namespace', 'default')}/{metadata['name']}"


def _record(code: str, message: str, remedy: str, *, stage: str = "job") -> JsonObject:
    return {"stage": stage, "code": code, "message": message, "remedy": remedy}


def _failure(job: JsonObject, pods: Sequence[JsonObject]) -> str:
    """Why the first of the job's failed pods failed, and how many more did."""
    failed = [pod for pod in pods if _is_member(pod, job) and (pod.get("status") or {}).get("phase") == "Failed"]
    if not failed:
        return ""
    first, *others = sorted(failed, key=lambda pod: str(pod["metadata"]["name"]))
    return failure_text(first) + (f" (and {len(others)} more failed)" if others else "")


def _is_member(pod: JsonObject, job: JsonObject) -> bool:
    ours, theirs = pod["metadata"], job["metadata"]
    labels = ours.get("labels") or {}
    return (ours.get("namespace"), labels.get(keys.JOB_NAME)) == (theirs.get("namespace"), theirs["name"])


def _waits(pod: JsonObject) -> bool:
    phase = (pod.get("status") or {}).get("phase", "Pending")
    return phase == "Pending" and not (pod.get("spec") or {}).get("nodeName")
