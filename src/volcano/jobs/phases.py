"""Where a job is in its life, for people. Pure."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from volcano.api import phases

if TYPE_CHECKING:
    from volcano.api.meta import JsonObject

FINISHED: Final = frozenset({phases.COMPLETED, phases.FAILED, phases.TERMINATED, phases.ABORTED})
"""Phases that a job does not leave by itself."""
COUNTS: Final = ("pending", "running", "succeeded", "failed", "terminating")


def phase_of(job: JsonObject) -> str:
    """The job's phase; "" before the controller has seen it."""
    return str(((job.get("status") or {}).get("state") or {}).get("phase", ""))


def summary(job: JsonObject) -> str:
    """`Running: 4 running, 0 succeeded …`: the phase and the pod counts that are not zero."""
    status = job.get("status") or {}
    counts = ", ".join(f"{status[key]} {key}" for key in COUNTS if status.get(key))
    retries = f", retry {status['retryCount']}" if status.get("retryCount") else ""
    return f"{phase_of(job) or 'Submitted'}{': ' + counts if counts else ''}{retries}"
