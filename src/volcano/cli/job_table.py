"""The tables of jobs: upstream's bytes, with a reason where it is wanted, and a wide one that always has it."""

from __future__ import annotations

from typing import TYPE_CHECKING

from volcano.api import keys
from volcano.api.resources import PODGROUPS
from volcano.cli.objects import listed
from volcano.cli.text import columns, padded_row
from volcano.jobs.failures import causes
from volcano.jobs.podgroups import Refusal, why_of
from volcano.jobs.watching import key_of

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from volcano.api.meta import JsonObject
    from volcano.kube.client import Client

    Why = Callable[[JsonObject], Refusal]

_COLUMNS = (
    ("Creation", 15), ("Phase", 12), ("JobType", 12), ("Replicas", 12), ("Min", 6), ("Pending", 10),
    ("Running", 10), ("Succeeded", 12), ("Failed", 10), ("Unknown", 12), ("RetryCount", 10),
)  # fmt: skip


def table(
    jobs: Sequence[JsonObject], *, all_namespaces: bool, reason: Callable[[JsonObject], str] | None = None
) -> str:
    """Padded as upstream pads it; `reason` fills a last column."""
    namespaces = [document["metadata"].get("namespace", "") for document in jobs]
    names = [document["metadata"].get("name", "") for document in jobs]
    header: list[object] = ["Name", *(title for title, _ in _COLUMNS)]
    widths = [max(len("Name"), *map(len, names), 0) + 3, *(width for _, width in _COLUMNS)]
    rows = [_row(document) for document in jobs]
    if all_namespaces:
        header.insert(0, "Namespace")
        widths.insert(0, max(len("Namespace"), *map(len, namespaces), 0) + 3)
        rows = [[namespace, *row] for namespace, row in zip(namespaces, rows, strict=True)]
    if reason is not None:
        header.append("Reason")
        widths[-1] += 2
        widths.append(0)
        rows = [[*row, reason(document)] for row, document in zip(rows, jobs, strict=True)]
    return "\n".join([padded_row(header, widths).rstrip(), *(padded_row(row, widths) for row in rows)]) + "\n"


def _row(document: JsonObject) -> list[object]:
    metadata, spec, status = document["metadata"], document.get("spec") or {}, document.get("status") or {}
    return [
        metadata.get("name", ""),
        (metadata.get("creationTimestamp") or "0001-01-01")[:10],
        (status.get("state") or {}).get("phase", ""),
        (metadata.get("labels") or {}).get(keys.JOB_TYPE, "Batch"),
        sum(task.get("replicas", 0) for task in spec.get("tasks") or ()),
        status.get("minAvailable", 0),
        *(status.get(key, 0) for key in ("pending", "running", "succeeded", "failed", "unknown", "retryCount")),
    ]


async def whys(client: Client, jobs: Sequence[JsonObject], namespace: str | None) -> Why:
    """Why each of these jobs waits or has failed, as a function; of all namespaces with None."""
    groups = await listed(client, PODGROUPS, namespace or "", all_namespaces=namespace is None) if jobs else []
    podgroups = {key_of(group): group for group in groups}
    failed = await causes(client, jobs, namespace)

    def why(job: JsonObject) -> Refusal:
        reason, message = why_of(job, podgroups)
        return Refusal(": ".join(filter(None, (reason, failed.get(key_of(job))))), message)

    return why


def wide_table(jobs: Sequence[JsonObject], why: Why) -> str:
    """The columns of upstream, the queue and why the phase is what it is."""
    header = ["Namespace", "Name", *(title for title, _ in _COLUMNS), "Queue", "Reason", "Message"]
    rows = [
        [
            document["metadata"].get("namespace", ""),
            *_row(document),
            (document.get("spec") or {}).get("queue", ""),
            *why(document),
        ]
        for document in jobs
    ]
    return columns(header, rows)
