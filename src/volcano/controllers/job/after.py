"""Jobs that wait for other jobs (annotation `volcano.sh/after`): what holds one back before it has started.

Pure. Asked by controller.py, which knows the other jobs; sync.py leaves a job alone that is held.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

import msgspec

from volcano.api import keys
from volcano.api.dependencies import AFTER_NOT_OK, AFTER_OK, AFTER_START, Dependency, DependencyError, parse
from volcano.controllers.job import counts
from volcano.controllers.job.vocabulary import FINAL, Phase

if TYPE_CHECKING:
    import datetime

    from volcano.api.batch import Job, JobStatus

WAITING: Final = "Dependency"
NEVER: Final = "DependencyNeverSatisfied"
WRONG: Final = "InvalidDependency"
NAME_TAKEN: Final = "NameTaken"
CLAIM_MISSING: Final = "ClaimMissing"
QUEUE_MISSING: Final = "QueueMissing"
QUEUE_CLOSED: Final = "QueueClosed"
FORBIDDEN: Final = "Forbidden"
REASONS: Final = frozenset({WAITING, NEVER, WRONG, NAME_TAKEN, CLAIM_MISSING, QUEUE_MISSING, QUEUE_CLOSED, FORBIDDEN})
"""What `status.state.reason` says while something is in the way that somebody else must clear."""

_NOT_BEGUN: Final = frozenset({"", Phase.PENDING})
_ENDED_OTHERWISE: Final = FINAL - {Phase.COMPLETED}


@dataclass(frozen=True, slots=True)
class Hold:
    """Why a job does not start yet, and the jobs of its namespace whose changes may free it."""

    reason: str
    message: str
    jobs: tuple[str, ...] = ()


def hold(job: Job, phase_of: Callable[[str], str | None]) -> Hold | None:
    """What holds `job` back; `phase_of` gives the phase of another job, None for one that does not exist."""
    text = job.metadata.annotations.get(keys.AFTER, "")
    if not text or job.status.state.phase not in _NOT_BEGUN:
        return None
    try:
        dependencies = parse(text)
    except DependencyError as error:
        return Hold(WRONG, f"annotation {keys.AFTER}: {error}")
    obstacles = [found for dependency in dependencies for found in _obstacle(dependency, phase_of(dependency.job))]
    if not obstacles:
        return None
    hopeless = [message for reason, message in obstacles if reason == NEVER]
    message = (hopeless or [message for _, message in obstacles])[0]
    return Hold(NEVER if hopeless else WAITING, message, tuple({dependency.job for dependency in dependencies}))


def _obstacle(dependency: Dependency, phase: str | None) -> Iterator[tuple[str, str]]:
    name, condition = dependency.job, dependency.condition
    if phase is None:
        yield NEVER, f"job {name} ({condition}) does not exist"
    elif condition == AFTER_START:
        if phase in _NOT_BEGUN:
            yield WAITING, f"job {name} has not begun"
    elif phase not in FINAL:
        yield WAITING, f"job {name} ({condition}) has not ended"
    elif (condition == AFTER_OK and phase in _ENDED_OTHERWISE) or (
        condition == AFTER_NOT_OK and phase == Phase.COMPLETED
    ):
        yield NEVER, f"job {name} ({condition}) is {phase}"


def held(job: Job, why: Hold, now: datetime.datetime) -> JobStatus:
    """The status of a job that is held back; its message is gone with the next look that finds the way clear."""
    status = job.status if job.status.state.phase else counts.entered(job.status, Phase.PENDING, now)
    state = msgspec.structs.replace(status.state, reason=why.reason, message=why.message)
    return msgspec.structs.replace(status, state=state, min_available=job.spec.min_available)


def freed(status: JobStatus) -> JobStatus:
    """The status without what `held` said."""
    if status.state.reason not in REASONS:
        return status
    return msgspec.structs.replace(status, state=msgspec.structs.replace(status.state, reason="", message=""))
