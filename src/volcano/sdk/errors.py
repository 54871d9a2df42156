"""What can become of work that was submitted, as exceptions that callers tell apart."""

from __future__ import annotations

from typing import Any

from volcano.kube.errors import AlreadyExists, NotFound

__all__ = [
    "Cancelled",
    "Evicted",
    "Failed",
    "JobError",
    "NameTaken",
    "NoCluster",
    "NoSuchJob",
    "NotPicklable",
    "PayloadTooLarge",
    "Rejected",
    "RemoteTraceback",
    "ResultLost",
    "ResultTooLarge",
    "SdkError",
    "TimedOut",
    "Unschedulable",
    "WaitTimeout",
    "WrongArgument",
]


class SdkError(Exception):
    """Base of what this package raises itself. Refusals of the API server are `volcano.kube.errors.ApiError`."""


class NoCluster(SdkError):
    """There is no cluster to talk to, and none could be started."""


class WrongArgument(SdkError, ValueError):
    """What was asked for makes no sense, or cannot be read; nothing was sent."""


class NameTaken(SdkError, AlreadyExists):
    """There is an object of this name; it was left as it is."""


class NoSuchJob(SdkError, NotFound):
    """There is no job of this name, or no longer."""


class Rejected(SdkError):
    """Admission refused the object; nothing of it was created. `causes` names fields, as (field, message)."""

    def __init__(self, message: str, causes: list[tuple[str, str]] | None = None) -> None:
        super().__init__(message)
        self.causes = causes or []


class NotPicklable(SdkError, TypeError):
    """A function, its arguments or its result cannot be sent between processes."""


class PayloadTooLarge(SdkError, ValueError):
    """A function and its arguments are larger than an object of the API may be."""


class ResultTooLarge(SdkError, ValueError):
    """A function's result is larger than a log is meant to carry: write it to a volume and return its path."""


class WaitTimeout(SdkError, TimeoutError):
    """Whoever waits has lost patience; the job goes on."""


class JobError(SdkError):
    """A job came to no good end. `job` is its name, `log` the last lines of the member that tells most."""

    def __init__(self, message: str, *, job: str = "", log: str = "") -> None:
        super().__init__(f"{message}\n{log}" if log else message)
        self.job = job
        self.log = log


class Unschedulable(JobError):
    """No node, or no share of its queue, can ever hold it as the cluster is now. `reason` has the numbers."""

    def __init__(self, message: str, *, job: str = "", reason: dict[str, Any] | None = None) -> None:
        super().__init__(message, job=job)
        self.reason = reason or {}


class Failed(JobError):
    """A member ended with an error. `exit_code` is None where no container ran."""

    def __init__(
        self, message: str, *, job: str = "", log: str = "", member: str = "", exit_code: int | None = None
    ) -> None:
        super().__init__(message, job=job, log=log)
        self.member = member
        self.exit_code = exit_code


class TimedOut(JobError):
    """It ran for longer than its time limit."""


class Evicted(JobError):
    """Its pods were taken away: for a job that comes first, or by a node under pressure."""


class Cancelled(JobError):
    """Somebody stopped or removed it."""


class ResultLost(JobError):
    """It ran, but its pods and their logs are gone."""


class RemoteTraceback(Exception):
    """Where in the pod a function raised; the cause of the exception that `result` raises."""

    def __init__(self, text: str) -> None:
        super().__init__(text)
        self.text = text

    def __str__(self) -> str:
        return f"\n{self.text}"
