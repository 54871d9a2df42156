"""The resource-group file (--admission-conf): read, checked, and read again when it changes.

A file that cannot be read keeps the groups that were read before, and says so once.
"""

from __future__ import annotations

import logging
from pathlib import Path
from typing import Any

import msgspec
import yaml

from volcano.http.stamps import Stamps, stamps_of
from volcano.webhooks.rules import ResourceGroup

log = logging.getLogger(__name__)


class GroupsError(ValueError):
    """The file is not a list of resource groups."""


class _File(msgspec.Struct, rename="camel", forbid_unknown_fields=True):
    resource_groups: tuple[ResourceGroup, ...] | None = None


def load(path: Path) -> tuple[ResourceGroup, ...]:
    try:
        document: Any = yaml.safe_load(path.read_text(encoding="utf-8"))
        return msgspec.convert(document or {}, _File).resource_groups or ()
    except OSError as error:
        raise GroupsError(f"{path}: {error.strerror}: check --admission-conf") from error
    except (yaml.YAMLError, msgspec.ValidationError, UnicodeDecodeError) as error:
        raise GroupsError(f"{path}: {error}") from error


class WatchedGroups:
    """The groups of a file. `current` is None until the file was read once: pods are then not mutated."""

    def __init__(self, path: Path | None) -> None:
        self._path = path
        self._seen: Stamps | None = None
        self.current: tuple[ResourceGroup, ...] | None = None
        self.refresh()

    def refresh(self) -> None:
        """Read the file if it is another one than last time."""
        if self._path is None:
            return
        seen = stamps_of([self._path])
        if seen == self._seen:
            return
        self._seen = seen
        try:
            self.current = load(self._path)
            log.info("%s: %d resource groups", self._path, len(self.current))
        except GroupsError as error:
            log.error("%s; the groups read before stay in force", error)
