"""How a batch/v1 Job goes on: pods to create and delete, and its status. Pure.

Neighbours: `batchjobs` performs the step. Ordinary jobs and Indexed ones; finished pods are counted while they exist.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from itertools import islice

from volcano.api import keys
from volcano.api.meta import JsonObject
from volcano.local.builtin.views import PodView
from volcano.local.times import seconds_since_epoch, timestamp

DEFAULT_BACKOFF_LIMIT = 6
_FIRST_DELAY_SECONDS = 10.0
_LONGEST_DELAY_SECONDS = 360.0
_LEGACY_LABELS = {"job-name": keys.BATCH_JOB_NAME, "controller-uid": keys.BATCH_CONTROLLER_UID}


@dataclass
class JobStep:
    """What to do now. `create` lists completion indexes (None for a pod without one)."""

    status: JsonObject
    create: list[int | None] = field(default_factory=list)
    delete: list[PodView] = field(default_factory=list)
    again_seconds: float | None = None


def step(job: JsonObject, pods: Sequence[PodView], now: float, *, may_act: bool) -> JobStep:
    """The job's next step. With `may_act` false (earlier acts are not visible yet) only its status moves."""
    spec = job["spec"]
    tally = _Tally(job, pods)
    if finished_condition(job) is not None:
        return JobStep(_status(job, tally, now), delete=tally.active if may_act else [])
    end = _end(job, tally, now)
    if end is not None:
        return JobStep(_status(job, tally, now, end), delete=tally.active if may_act else [])
    if spec.get("suspend"):
        return JobStep(_status(job, tally, now, ("Suspended", "JobSuspended", "Job suspended")), delete=tally.active)
    result = JobStep(_status(job, tally, now))
    if may_act:
        _adjust(job, tally, now, result)
    _watch_deadline(job, now, result)
    return result


class _Tally:
    """The job's pods by what became of them."""

    def __init__(self, job: JsonObject, pods: Sequence[PodView]) -> None:
        self.indexed = job["spec"].get("completionMode") == "Indexed"
        self.active = [pod for pod in pods if pod.is_active]
        self.ready = sum(pod.ready_since is not None for pod in self.active)
        self.terminating = sum(pod.metadata.deletion_timestamp is not None and not pod.is_finished for pod in pods)
        succeeded = [pod for pod in pods if pod.status.phase == "Succeeded"]
        self.done_indexes = {index_of(pod) for pod in succeeded} - {None}
        counted = len(self.done_indexes) if self.indexed else len(succeeded)
        stored = job.get("status") or {}
        self.failures = [pod for pod in pods if pod.status.phase == "Failed"]
        self.succeeded = max(counted, stored.get("succeeded") or 0)
        self.failed = max(len(self.failures), stored.get("failed") or 0)


def index_of(pod: PodView) -> int | None:
    """The completion index in an Indexed pod's name (`job-INDEX-suffix`)."""
    parts = pod.metadata.name.rsplit("-", 2)
    return int(parts[1]) if len(parts) == 3 and parts[1].isdigit() else None


def completions(job: JsonObject) -> int | None:
    """How many pods must succeed; None when one success with all others ended will do (a work queue)."""
    number = job["spec"].get("completions")
    return None if number is None else int(number)


def parallelism(job: JsonObject) -> int:
    number = job["spec"].get("parallelism")
    return 1 if number is None else int(number)


def _end(job: JsonObject, tally: _Tally, now: float) -> tuple[str, str, str] | None:
    """The final condition the job has earned."""
    spec, limit = job["spec"], job["spec"].get("backoffLimit")
    if tally.failed > (DEFAULT_BACKOFF_LIMIT if limit is None else limit):
        return "Failed", "BackoffLimitExceeded", "Job has reached the specified backoff limit"
    deadline = _deadline(job)
    if deadline is not None and now >= deadline:
        return "Failed", "DeadlineExceeded", "Job was active longer than specified deadline"
    wanted = completions(job)
    if wanted is None and (spec.get("parallelism") is None or (tally.succeeded and not tally.active)):
        wanted = 1
    if wanted is not None and tally.succeeded >= wanted:
        return "Complete", "CompletionsReached", "Reached expected number of succeeded pods"
    return None


def _deadline(job: JsonObject) -> float | None:
    seconds, start = job["spec"].get("activeDeadlineSeconds"), (job.get("status") or {}).get("startTime")
    return None if seconds is None or not start else seconds_since_epoch(start) + seconds


def _watch_deadline(job: JsonObject, now: float, result: JobStep) -> None:
    deadline = _deadline(job)
    if deadline is not None:
        wait = max(0.0, deadline - now) + 0.1
        result.again_seconds = wait if result.again_seconds is None else min(wait, result.again_seconds)


def _adjust(job: JsonObject, tally: _Tally, now: float, result: JobStep) -> None:
    """Bring the number of active pods to what parallelism and the remaining completions ask."""
    total = completions(job)
    wanted = parallelism(job)
    if total is not None:
        wanted = min(wanted, total - tally.succeeded)
    elif tally.succeeded:
        wanted = len(tally.active)  # a work queue whose first worker has ended starts no more
    if len(tally.active) > wanted:
        result.delete = sorted(tally.active, key=lambda pod: pod.ready_since is not None)[: len(tally.active) - wanted]
        return
    missing = wanted - len(tally.active) - tally.terminating
    if missing <= 0:
        return
    delay = _backoff_left(tally, now)
    if delay > 0:
        result.again_seconds = delay
        return
    if not tally.indexed:
        result.create = [None] * missing
        return
    taken = tally.done_indexes | {index_of(pod) for pod in tally.active}
    free = (index for index in range(total or 0) if index not in taken)
    result.create = list(islice(free, missing))


def _backoff_left(tally: _Tally, now: float) -> float:
    """Seconds until the next pod may be created after failures: 10 s, doubling. A clock set back makes them no more."""
    if not tally.failures:
        return 0.0
    ended = max(_ended_at(pod) for pod in tally.failures)
    delay = min(_FIRST_DELAY_SECONDS * 2.0 ** min(len(tally.failures) - 1, 10), _LONGEST_DELAY_SECONDS)
    return min(ended + delay - now, delay)


def _ended_at(pod: PodView) -> float:
    changes = [c.last_transition_time or "" for c in pod.status.conditions if c.type == "Ready"]
    return seconds_since_epoch(max(changes, default="") or pod.metadata.creation_timestamp or "")


def _status(job: JsonObject, tally: _Tally, now: float, condition: tuple[str, str, str] | None = None) -> JsonObject:
    stored = job.get("status") or {}
    suspended = bool(job["spec"].get("suspend"))
    over = condition is not None and condition[0] in ("Complete", "Failed")
    status: JsonObject = {
        "active": 0 if over else len(tally.active),
        "ready": 0 if over else tally.ready,
        "succeeded": tally.succeeded,
        "failed": tally.failed,
        "terminating": tally.terminating,
        "startTime": None if suspended else stored.get("startTime") or timestamp(now),
        "conditions": _conditions(stored.get("conditions") or [], condition, timestamp(now)),
    }
    if tally.indexed:
        status["completedIndexes"] = ranges({index for index in tally.done_indexes if index is not None})
    if condition is not None and condition[0] == "Complete":
        status["completionTime"] = timestamp(now)
    return status


def _conditions(stored: Sequence[JsonObject], condition: tuple[str, str, str] | None, now: str) -> list[JsonObject]:
    result = [dict(item) for item in stored]
    for item in result:
        if (
            item["type"] == "Suspended"
            and item["status"] == "True"
            and (condition is None or condition[0] != "Suspended")
        ):
            item |= {"status": "False", "reason": "JobResumed", "message": "Job resumed", "lastTransitionTime": now}
    if condition is None:
        return result
    kinds = {"Complete": ("SuccessCriteriaMet", "Complete"), "Failed": ("FailureTarget", "Failed")}
    for kind in kinds.get(condition[0], (condition[0],)):
        if any(item["type"] == kind and item["status"] == "True" for item in result):
            continue
        result = [item for item in result if item["type"] != kind]
        result.append(
            {
                "type": kind,
                "status": "True",
                "reason": condition[1],
                "message": condition[2],
                "lastProbeTime": now,
                "lastTransitionTime": now,
            }
        )
    return result


def finished_condition(job: JsonObject) -> JsonObject | None:
    """The condition by which the job is over."""
    for condition in (job.get("status") or {}).get("conditions") or []:
        if condition["type"] in ("Complete", "Failed") and condition["status"] == "True":
            found: JsonObject = condition
            return found
    return None


def expires_in(job: JsonObject, now: float) -> float | None:
    """Seconds until a finished job is to be deleted; None when it is to stay."""
    seconds, end = job["spec"].get("ttlSecondsAfterFinished"), finished_condition(job)
    return None if seconds is None or end is None else seconds_since_epoch(end["lastTransitionTime"]) + seconds - now


def decorate(pod: JsonObject, job: JsonObject, index: int | None) -> JsonObject:
    """The job's labels on a pod made for it, and what an Indexed pod knows of its index."""
    metadata, labels = job["metadata"], pod["metadata"]["labels"]
    labels |= {keys.BATCH_JOB_NAME: metadata["name"], keys.BATCH_CONTROLLER_UID: metadata["uid"]}
    labels |= {old: labels[new] for old, new in _LEGACY_LABELS.items()}
    if index is None:
        return pod
    labels[keys.BATCH_JOB_COMPLETION_INDEX] = str(index)
    pod["metadata"]["annotations"][keys.BATCH_JOB_COMPLETION_INDEX] = str(index)
    pod["metadata"]["generateName"] = f"{metadata['name']}-{index}-"
    pod["spec"].setdefault("hostname", f"{metadata['name']}-{index}")
    for container in (*(pod["spec"].get("initContainers") or []), *pod["spec"]["containers"]):
        container.setdefault("env", []).append({"name": "JOB_COMPLETION_INDEX", "value": str(index)})
    return pod


def ranges(indexes: set[int]) -> str:
    """Indexes in Kubernetes' short form: "0-3,7"."""
    parts: list[list[int]] = []
    for index in sorted(indexes):
        if parts and index == parts[-1][1] + 1:
            parts[-1][1] = index
        else:
            parts.append([index, index])
    return ",".join(str(first) if first == last else f"{first}-{last}" for first, last in parts)
