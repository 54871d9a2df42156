"""Manifests that commands are given with -f."""

from __future__ import annotations

import sys
from collections.abc import Iterable
from typing import TYPE_CHECKING

from volcano.cli.errors import fail
from volcano.cli.statuses import UNREADABLE

if TYPE_CHECKING:
    from volcano.api.meta import JsonObject


def read(files: Iterable[str]) -> list[JsonObject]:
    """The objects of the files and folders, and of standard input for `-`."""
    from volcano.kube.manifests import ManifestError, load_paths

    try:
        standard_input = sys.stdin.read() if "-" in files else None
        return load_paths(files, standard_input=standard_input)
    except UnicodeDecodeError as error:
        raise fail(f"standard input: not UTF-8 text: {error}", exit_status=UNREADABLE) from error
    except ManifestError as error:
        raise fail(str(error), exit_status=UNREADABLE) from error
