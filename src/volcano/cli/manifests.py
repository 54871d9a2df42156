"""Manifests that commands are given with -f, and other files of text."""

from __future__ import annotations

import sys
from collections.abc import Iterable
from pathlib import Path
from typing import TYPE_CHECKING

from volcano.cli.errors import fail
from volcano.cli.statuses import UNREADABLE

if TYPE_CHECKING:
    from volcano.api.meta import JsonObject


def read(files: Iterable[str]) -> list[JsonObject]:
    """The objects of the files and folders, and of standard input for `-`."""
    from volcano.kube.manifests import ManifestError, load_paths

    standard_input = read_text("-") if "-" in files else None
    try:
        return load_paths(files, standard_input=standard_input)
    except ManifestError as error:
        raise fail(str(error), exit_status=UNREADABLE) from error


def name_of(file: str) -> str:
    """What to call it when something is wrong with it."""
    return "standard input" if file == "-" else file


def read_text(file: str) -> str:
    """The text of a file, or of standard input for `-`."""
    try:
        return sys.stdin.read() if file == "-" else Path(file).read_text(encoding="utf-8")
    except OSError as error:
        raise fail(f"{name_of(file)}: {error.strerror}", exit_status=UNREADABLE) from error
    except UnicodeDecodeError as error:
        raise fail(f"{name_of(file)}: not UTF-8 text: {error}", exit_status=UNREADABLE) from error
