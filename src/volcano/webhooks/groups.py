"""The resource-group file (--admission-conf): read, checked, and read again when it changes.

A file that cannot be read keeps the groups that were read before, and says so once.
"""

from __future__ import annotations

import logging
from pathlib import Path

import msgspec
import yaml

from volcano.api import yaml_text
from volcano.http.stamps import Stamps, stamps_of
from volcano.webhooks.rules import ResourceGroup

log = logging.getLogger(__name__)


class GroupsError(ValueError):
    """The file is not a list of resource groups."""


class _File(msgspec.Struct, rename="camel", forbid_unknown_fields=True):
    resource_groups: tuple[ResourceGroup, ...] | None = None


def load(path: Path, *, strict: bool = False) -> tuple[ResourceGroup, ...]:
    """The groups of a file. A key that comes twice is an error if `strict`, and else a warning of the log."""
    try:
        document, repeated = yaml_text.read(path.read_text(encoding="utf-8"))
        if repeated and strict:
            raise GroupsError(f"{path}: {'; '.join(repeated)}")
        for remark in repeated:
            log.warning("%s: %s", path, remark)
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
