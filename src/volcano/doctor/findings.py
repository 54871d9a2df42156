"""The words of the doctor: what it knows of a cluster, and what it says about it."""

from __future__ import annotations

import datetime
import enum
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, TypeAlias

from volcano.api.meta import JsonObject
from volcano.api.resources import Resource


class Severity(enum.StrEnum):
    ERROR = "error"
    """Something does not work."""
    WARNING = "warning"
    """Something will not work, or not as its author thinks."""


@dataclass(frozen=True, slots=True)
class Finding:
    """`subject` is what is wrong, `problem` says how, `remedy` what to do."""

    severity: Severity
    subject: str
    problem: str
    remedy: str


@dataclass(frozen=True, slots=True)
class Facts:
    """What was read of a cluster. A kind that could not be read is empty here; `unseen` says why."""

    now: datetime.datetime
    version: str
    """The API server's, such as v1.36.3."""
    objects: Mapping[str, Sequence[JsonObject]] = field(default_factory=dict)
    """By plural name; of podgroups only some, of pods those on nodes that were deleted: there may be too many."""
    refusal: str = ""
    """How the admission of an impossible job was answered; "" when it was let in."""
    expected: Sequence[Resource[Any]] = ()
    """What this version defines."""
    unseen: Mapping[str, str] = field(default_factory=dict)

    def of(self, plural: str) -> Sequence[JsonObject]:
        return self.objects.get(plural, ())

    @property
    def is_local(self) -> bool:
        """Local mode admits in its API server and needs no installation."""
        return "volcano" in self.version


Check: TypeAlias = Callable[[Facts], Iterator[Finding]]


def error(subject: str, problem: str, remedy: str) -> Finding:
    return Finding(Severity.ERROR, subject, problem, remedy)


def warning(subject: str, problem: str, remedy: str) -> Finding:
    return Finding(Severity.WARNING, subject, problem, remedy)


def name_of(document: JsonObject) -> str:
    """The name, with its namespace where it has one."""
    metadata = document["metadata"]
    namespace = metadata.get("namespace")
    return f"{namespace}/{metadata['name']}" if namespace else str(metadata["name"])
