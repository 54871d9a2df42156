"""The words of a job's life: phases, events, actions, and the phases of pods.

Wire values of batch/v1alpha1 and bus/v1alpha1; read by every module of this room.
"""

from __future__ import annotations

from enum import StrEnum

from volcano.api import bus, phases


class Phase(StrEnum):
    PENDING = phases.PENDING
    RUNNING = phases.RUNNING
    RESTARTING = phases.RESTARTING
    ABORTING = phases.ABORTING
    ABORTED = phases.ABORTED
    COMPLETING = phases.COMPLETING
    COMPLETED = phases.COMPLETED
    TERMINATING = phases.TERMINATING
    TERMINATED = phases.TERMINATED
    FAILED = phases.FAILED


FINAL = frozenset({Phase.COMPLETED, Phase.FAILED, Phase.TERMINATED})
"""Phases that nothing leaves."""


class Action(StrEnum):
    SYNC_JOB = bus.SYNC_JOB
    ENQUEUE_JOB = bus.ENQUEUE_JOB
    ABORT_JOB = bus.ABORT_JOB
    RESTART_JOB = bus.RESTART_JOB
    RESTART_TASK = bus.RESTART_TASK
    RESTART_POD = bus.RESTART_POD
    RESTART_PARTITION = bus.RESTART_PARTITION
    TERMINATE_JOB = bus.TERMINATE_JOB
    COMPLETE_JOB = bus.COMPLETE_JOB
    RESUME_JOB = bus.RESUME_JOB


INTERNAL_ACTIONS = frozenset({Action.SYNC_JOB, Action.ENQUEUE_JOB})


class EventKind(StrEnum):
    ANY = bus.ANY_EVENT
    POD_PENDING = bus.POD_PENDING
    POD_RUNNING = bus.POD_RUNNING
    POD_FAILED = bus.POD_FAILED
    POD_EVICTED = bus.POD_EVICTED
    UNKNOWN = bus.JOB_UNKNOWN
    TASK_COMPLETED = bus.TASK_COMPLETED
    TASK_FAILED = bus.TASK_FAILED
    OUT_OF_SYNC = bus.OUT_OF_SYNC
    COMMAND_ISSUED = bus.COMMAND_ISSUED
    JOB_UPDATED = bus.JOB_UPDATED
    NONE = ""


class PodPhase(StrEnum):
    PENDING = "Pending"
    RUNNING = "Running"
    SUCCEEDED = "Succeeded"
    FAILED = "Failed"
    UNKNOWN = "Unknown"


FINISHED_PODS = frozenset({PodPhase.SUCCEEDED, PodPhase.FAILED})

DEFAULT_MAX_RETRY = 3
NEVER_RETRY_LIMIT = -1
