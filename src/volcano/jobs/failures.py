"""Why pods of a job failed or do not get on, a line each: at the end of waiting for it, or when looking at it."""

from __future__ import annotations

from typing import TYPE_CHECKING

from volcano.api import keys, phases
from volcano.jobs.phases import phase_of
from volcano.jobs.watching import Key, key_of

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    from volcano.api.meta import JsonObject
    from volcano.kube.client import Client

SHOWN = 10
_ON_THE_WAY = frozenset({"ContainerCreating", "PodInitializing"})


async def failed_pods(client: Client, namespace: str, job: str) -> list[JsonObject]:
    """The pods of `job` that have failed; none where the caller may not read pods: they only explain the job."""
    return await _pods(client, namespace, job, "status.phase=Failed")


async def causes(client: Client, jobs: Sequence[JsonObject], namespace: str | None) -> dict[Key, str]:
    """In a word, what became of a failed pod of each job whose own reason does not say why its pods failed."""
    failed = {key_of(job) for job in jobs if _failed_by_pods(job)}
    found: dict[Key, str] = {}
    for pod in await _pods(client, namespace, "", "status.phase=Failed") if failed else ():
        metadata = pod["metadata"]
        job = metadata.get("namespace", ""), (metadata.get("annotations") or {}).get(keys.JOB_NAME, "")
        if job in failed:
            found.setdefault(job, cause(pod.get("status") or {}))
    return found


def cause(status: JsonObject) -> str:
    """`OOMKilled`, `DeadlineExceeded`, `exit 3`: why a pod failed, for a column of a table."""
    if status.get("reason"):
        return str(status["reason"])
    ends = ((container.get("state") or {}).get("terminated") or {} for container in _containers(status))
    end = next((end for end in ends if end.get("exitCode")), {})
    reason = end.get("reason") or "Error"
    return f"exit {end.get('exitCode', '?')}" if reason == "Error" else str(reason)


def _failed_by_pods(job: JsonObject) -> bool:
    state = (job.get("status") or {}).get("state") or {}
    return bool(phase_of(job) == phases.FAILED and state.get("reason", "") in ("", phases.RETRIES_USED_UP))


async def stuck_pods(client: Client, namespace: str, job: str) -> list[JsonObject]:
    """The pods of `job` with a container that is not on its way: one that crashes again and again, for example."""
    unfinished = await _pods(client, namespace, job, "status.phase!=Failed,status.phase!=Succeeded")
    return [pod for pod in unfinished if any(_waiting(pod.get("status", {})))]


async def _pods(client: Client, namespace: str | None, job: str, fields: str) -> list[JsonObject]:
    """Of one job, or with "" of all."""
    from volcano.api.resources import PODS
    from volcano.kube.errors import Forbidden, NotFound

    try:
        pods = await client.list(PODS.untyped, namespace, f"{keys.JOB_NAME}={job}" if job else keys.JOB_NAME, fields)
    except (Forbidden, NotFound):
        return []
    return list(pods.items)


def failure_lines(pods: Sequence[JsonObject]) -> list[str]:
    """A heading and a line per failed pod, the first ten by name; nothing when none failed."""
    return _lines("Failed pods:", pods, _reasons)


def failure_text(pod: JsonObject) -> str:
    """Why one pod failed, in a sentence."""
    return f"pod {pod['metadata']['name']}: {'; '.join(_reasons(pod.get('status') or {})) or 'failed'}"


def stuck_lines(pods: Sequence[JsonObject]) -> list[str]:
    """The same for pods that do not get on."""
    return _lines("Pods that do not get on:", pods, _waiting)


def _lines(heading: str, pods: Sequence[JsonObject], reasons: Callable[[JsonObject], Iterator[str]]) -> list[str]:
    if not pods:
        return []
    by_name = sorted(pods, key=lambda pod: str(pod["metadata"]["name"]))
    lines = [f"  {pod['metadata']['name']}:\t{'; '.join(reasons(pod.get('status', {})))}" for pod in by_name[:SHOWN]]
    more = len(pods) - SHOWN
    return [heading, *lines, *([f"  and {more} more"] if more > 0 else [])]


def _reasons(status: JsonObject) -> Iterator[str]:
    """The pod's own reason, or else those of its containers."""
    if status.get("reason"):
        yield f"{status['reason']}: {status.get('message', '')}".rstrip(": ")
        return
    for container in _containers(status):
        yield from _end(container, container.get("state") or {})


def _waiting(status: JsonObject) -> Iterator[str]:
    """What containers wait for that are not on their way, and how their last run ended."""
    for container in _containers(status):
        waiting = (container.get("state") or {}).get("waiting") or {}
        if waiting.get("reason", "") in _ON_THE_WAY or not waiting:
            continue
        yield f"container '{container['name']}' waits: {waiting['reason']}: {waiting.get('message', '')}".rstrip(": ")
        yield from _end(container, container.get("lastState") or {})


def _containers(status: JsonObject) -> Iterator[JsonObject]:
    for kind in ("initContainerStatuses", "containerStatuses"):
        yield from status.get(kind) or ()


def _end(container: JsonObject, state: JsonObject) -> Iterator[str]:
    end = state.get("terminated") or {}
    if end.get("exitCode"):
        message = f": {end['message']}" if end.get("message") else ""
        reason = end.get("reason") or "Error"
        yield f"container '{container['name']}' ended with exit status {end['exitCode']} ({reason}){message}"
