"""bus.volcano.sh/v1alpha1: Command, a one-shot order to a job, queue or flow; and the vocabulary of policies."""

from __future__ import annotations

from typing import Annotated, Final

from msgspec import field

from volcano.api.constraints import Schema
from volcano.api.meta import Model, ObjectMeta, OwnerReference

# Actions
ABORT_JOB: Final = "AbortJob"
RESTART_JOB: Final = "RestartJob"
RESTART_TASK: Final = "RestartTask"
RESTART_POD: Final = "RestartPod"
RESTART_PARTITION: Final = "RestartPartition"
TERMINATE_JOB: Final = "TerminateJob"
COMPLETE_JOB: Final = "CompleteJob"
RESUME_JOB: Final = "ResumeJob"
SYNC_JOB: Final = "SyncJob"
ENQUEUE_JOB: Final = "EnqueueJob"
SYNC_QUEUE: Final = "SyncQueue"
OPEN_QUEUE: Final = "OpenQueue"
CLOSE_QUEUE: Final = "CloseQueue"

# Events
ANY_EVENT: Final = "*"
POD_FAILED: Final = "PodFailed"
POD_EVICTED: Final = "PodEvicted"
POD_PENDING: Final = "PodPending"
POD_RUNNING: Final = "PodRunning"
JOB_UNKNOWN: Final = "Unknown"
TASK_COMPLETED: Final = "TaskCompleted"
TASK_FAILED: Final = "TaskFailed"
OUT_OF_SYNC: Final = "OutOfSync"
COMMAND_ISSUED: Final = "CommandIssued"
JOB_UPDATED: Final = "JobUpdated"


class Command(Model, kw_only=True):
    """An order to a job, queue or flow; the controller that carries it out deletes it first."""

    api_version: str = ""
    kind: str = ""
    metadata: ObjectMeta = field(default_factory=ObjectMeta)
    action: Annotated[str, Schema(doc="What to do to the target.")] = ""
    target: Annotated[OwnerReference | None, Schema(map_type="atomic", doc="The object to act on.")] = None
    reason: Annotated[str, Schema(doc="Why, in one word.")] = ""
    message: Annotated[str, Schema(doc="Why, for people.")] = ""
