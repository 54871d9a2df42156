"""Files that may be replaced while we run: certificates, authorities, settings. They are read again when they change.

Used by `health` and by whoever else reads such files; `tls` has contexts that follow them.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Final, Generic, TypeAlias, TypeVar

log = logging.getLogger(__name__)

T = TypeVar("T")
Stamps: TypeAlias = tuple[tuple[int, int, int], ...]
NEVER_READ: Final[Stamps] = ((-1, -1, -1),)
"""What no file has: one that has not been read yet."""


def stamps_of(files: Sequence[Path]) -> Stamps:
    """What changes when one of the files is written or replaced; a link that is moved is noticed too."""
    return tuple(_stamp(path) for path in files)


def _stamp(path: Path) -> tuple[int, int, int]:
    try:
        found = path.stat()
    except OSError:
        return (0, 0, 0)
    return found.st_mtime_ns, found.st_ino, found.st_size


@dataclass(frozen=True, slots=True)
class Reading(Generic[T]):
    """What was read; the files it was in, as they were right before."""

    value: T
    files: tuple[Path, ...]
    stamps: Stamps


class Followed(Generic[T]):
    """The value of files as they are now, or of before for as long as it cannot be had: as when they are half written.

    `read` raises one of `refusals` then. `problem` says what is the matter; the log says each problem once.
    """

    def __init__(
        self, first: Reading[T], read: Callable[[], Reading[T]], refusals: tuple[type[Exception], ...]
    ) -> None:
        self._reading = first
        self._read = read
        self._refusals = refusals
        self.problem: str | None = None

    @classmethod
    def files(cls, files: Sequence[Path], read: Callable[[], T], *refusals: type[Exception]) -> Followed[T]:
        """Follow these files, which are read now: what `read` raises at the start is not caught."""

        def reading() -> Reading[T]:
            stamps = stamps_of(files)
            return Reading(read(), tuple(files), stamps)

        return cls(reading(), reading, refusals)

    @property
    def value(self) -> T:
        """What was read last."""
        return self._reading.value

    def look(self) -> T:
        """What is in the files now; the same object while they have not changed."""
        before = self._reading
        changed = [
            str(path) for path, stamp in zip(before.files, before.stamps, strict=True) if stamps_of([path]) != (stamp,)
        ]
        if not changed:
            self.problem = None
            return before.value
        try:
            self._reading = self._read()
        except self._refusals as error:
            self._complain(str(error))
        else:
            self.problem = None
            log.info("%s: used as it is now", " and ".join(changed))
        return self._reading.value

    def _complain(self, error: str) -> None:
        unread = self._reading.stamps == NEVER_READ
        problem = f"{error}; " + ("it is read once it can be" if unread else "what was read before stays in use")
        if problem != self.problem:
            self.problem = problem
            log.error("%s", problem)
