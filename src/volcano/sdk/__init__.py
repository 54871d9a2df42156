"""Volcano for Python programs: submit work to a cluster or to this machine, follow it, get its results.

`Client` and `AsyncClient` are twins; `Options` says what can be wished for; `errors` what may become of it.
"""

from __future__ import annotations

from volcano.sdk.client import AsyncClient
from volcano.sdk.cron import AsyncCronJob
from volcano.sdk.documents import Typed
from volcano.sdk.errors import (
    Cancelled,
    Evicted,
    Failed,
    JobError,
    NameTaken,
    NoCluster,
    NoSuchJob,
    NotPicklable,
    PayloadTooLarge,
    Rejected,
    ResultLost,
    ResultTooLarge,
    SdkError,
    TimedOut,
    Unschedulable,
    WaitTimeout,
    WrongArgument,
)
from volcano.sdk.executor import Executor, WorkerLost
from volcano.sdk.flow import AsyncFlowRun, Flow
from volcano.sdk.job import AsyncJob
from volcano.sdk.options import Options
from volcano.sdk.remarks import ServerWarning
from volcano.sdk.status import Phase, Status
from volcano.sdk.sync import Client, CronJob, FlowRun, Job

__all__ = [
    "AsyncClient",
    "AsyncCronJob",
    "AsyncFlowRun",
    "AsyncJob",
    "Cancelled",
    "Client",
    "CronJob",
    "Evicted",
    "Executor",
    "Failed",
    "Flow",
    "FlowRun",
    "Job",
    "JobError",
    "NameTaken",
    "NoCluster",
    "NoSuchJob",
    "NotPicklable",
    "Options",
    "PayloadTooLarge",
    "Phase",
    "Rejected",
    "ResultLost",
    "ResultTooLarge",
    "SdkError",
    "ServerWarning",
    "Status",
    "TimedOut",
    "Typed",
    "Unschedulable",
    "WaitTimeout",
    "WorkerLost",
    "WrongArgument",
]
