"""Whether files have changed. Used by whatever follows certificates and settings."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TypeAlias

Stamps: TypeAlias = tuple[tuple[int, int, int], ...]


def stamps_of(files: Sequence[Path]) -> Stamps:
    """What changes when one of the files is written or replaced; a link that is moved is noticed too."""
    return tuple(_stamp(path) for path in files)


def _stamp(path: Path) -> tuple[int, int, int]:
    try:
        found = path.stat()
    except OSError:
        return (0, 0, 0)
    return found.st_mtime_ns, found.st_ino, found.st_size
