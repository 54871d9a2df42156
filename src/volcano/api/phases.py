"""The phases of a job, and a word on one. Apart from its types, so that who only compares need not load these."""

from __future__ import annotations

from typing import Final

PENDING: Final = "Pending"
ABORTING: Final = "Aborting"
ABORTED: Final = "Aborted"
RUNNING: Final = "Running"
RESTARTING: Final = "Restarting"
COMPLETING: Final = "Completing"
COMPLETED: Final = "Completed"
TERMINATING: Final = "Terminating"
TERMINATED: Final = "Terminated"
FAILED: Final = "Failed"
JOB_PHASES: Final = (
    PENDING,
    ABORTING,
    ABORTED,
    RUNNING,
    RESTARTING,
    COMPLETING,
    COMPLETED,
    TERMINATING,
    TERMINATED,
    FAILED,
)
ENDED: Final = frozenset({COMPLETED, TERMINATED, FAILED})
"""Phases that a job never leaves."""

RETRIES_USED_UP: Final = "RetriesUsedUp"
"""What `status.state.reason` says of a job that would have been restarted once too often."""
