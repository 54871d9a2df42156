"""Why pods of a job failed, in one line each: shown below `job view` and at the end of `job run --watch`."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Any

from volcano.api import keys

if TYPE_CHECKING:
    from volcano.kube.client import Client

Document = dict[str, Any]

SHOWN = 10


async def failed_pods(client: Client, namespace: str, job: str) -> list[Document]:
    """The pods of `job` that have failed; none where the caller may not read pods: they only explain the job."""
    from volcano.api.resources import PODS
    from volcano.kube.errors import Forbidden, NotFound

    try:
        pods = await client.list(PODS.untyped, namespace, f"{keys.JOB_NAME}={job}", "status.phase=Failed")
    except (Forbidden, NotFound):
        return []
    return list(pods.items)


def failure_lines(pods: Sequence[Document]) -> list[str]:
    """A heading and a line per failed pod, the first ten by name; nothing when none failed."""
    if not pods:
        return []
    by_name = sorted(pods, key=lambda pod: str(pod["metadata"]["name"]))
    lines = [f"  {pod['metadata']['name']}:\t{'; '.join(_reasons(pod.get('status', {})))}" for pod in by_name[:SHOWN]]
    more = len(pods) - SHOWN
    return ["Failed pods:", *lines, *([f"  and {more} more"] if more > 0 else [])]


def _reasons(status: Document) -> Iterator[str]:
    """The pod's own reason, or else those of its containers."""
    if status.get("reason"):
        yield f"{status['reason']}: {status.get('message', '')}".rstrip(": ")
        return
    for kind in ("initContainerStatuses", "containerStatuses"):
        for container in status.get(kind) or ():
            end = (container.get("state") or {}).get("terminated") or {}
            if end.get("exitCode"):
                message = f": {end['message']}" if end.get("message") else ""
                reason = end.get("reason") or "Error"
                yield f"container '{container['name']}' ended with exit status {end['exitCode']} ({reason}){message}"
