"""Jobs that a job waits for, as its annotation `volcano.sh/after` says: `afterok:prepare:fetch,afterany:old`."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Final

AFTER_OK: Final = "afterok"
AFTER_NOT_OK: Final = "afternotok"
AFTER_ANY: Final = "afterany"
AFTER_START: Final = "after"
CONDITIONS: Final = (AFTER_OK, AFTER_NOT_OK, AFTER_ANY, AFTER_START)
"""The job named must have completed; ended otherwise; ended; begun to run."""


class DependencyError(ValueError):
    """The text names no dependencies; the message says what they look like."""


@dataclass(frozen=True, slots=True)
class Dependency:
    """One job of the same namespace, and what must have become of it."""

    condition: str
    job: str


def parse(text: str) -> list[Dependency]:
    """The dependencies, all of which must hold. A name without a condition means `afterok`."""
    return [dependency for part in text.split(",") for dependency in _part(part.strip(), text)]


def _part(part: str, text: str) -> Iterator[Dependency]:
    head, *jobs = part.split(":")
    if not jobs and head and head not in CONDITIONS:
        head, jobs = AFTER_OK, [head]
    if head not in CONDITIONS or not jobs or not all(jobs):
        raise DependencyError(
            f"invalid dependency {part!r} in {text!r}: write {'|'.join(CONDITIONS)}:job[:job], such as afterok:prepare"
        )
    for job in jobs:
        yield Dependency(head, job)
