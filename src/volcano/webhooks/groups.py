"""The resource-group file (--admission-conf): read, checked, and read again when it changes.

A file that cannot be read keeps the groups that were read before, and says so once.
"""

from __future__ import annotations

import logging
from pathlib import Path
from typing import TypeAlias

import msgspec
import yaml

from volcano.api import yaml_text
from volcano.http.following import NEVER_READ, Followed, Reading, stamps_of
from volcano.webhooks.rules import ResourceGroup

log = logging.getLogger(__name__)

Groups: TypeAlias = tuple[ResourceGroup, ...] | None


class GroupsError(ValueError):
    """The file is not a list of resource groups."""


class _File(msgspec.Struct, rename="camel", forbid_unknown_fields=True):
    resource_groups: tuple[ResourceGroup, ...] | None = None


def load(path: Path, *, strict: bool = False) -> tuple[ResourceGroup, ...]:
    """The groups of a file. A key that comes twice is an error if `strict`, and else a warning of the log."""
    try:
        document, repeated = yaml_text.read(path.read_text(encoding="utf-8"))
        found = msgspec.convert(document or {}, _File).resource_groups or ()
    except OSError as error:
        raise GroupsError(f"{path}: {error.strerror}: check --admission-conf") from error
    except (yaml.YAMLError, ValueError, RecursionError) as error:  # also a date that is none, or too many brackets
        raise GroupsError(f"{path}: {error}") from error
    if repeated and strict:
        raise GroupsError(f"{path}: {'; '.join(repeated)}")
    for remark in repeated:
        log.warning("%s: %s", path, remark)
    return found


def followed(path: Path) -> Followed[Groups]:
    """The groups of a file. None until it could be read: pods are then not mutated."""

    def read() -> Reading[Groups]:
        stamps = stamps_of([path])
        groups = load(path)
        log.info("%s: %d resource groups", path, len(groups))
        return Reading(groups, (path,), stamps)

    made = Followed[Groups](Reading(None, (path,), NEVER_READ), read, (GroupsError,))
    made.look()
    return made
