"""Recorded cases with right answers, found through the environment variable VOLCANO_SHARED.

`cases(family, area)` gives the records of one folder (an area may be a pattern, as in "jobs-*"), by id.
"""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import msgspec
import pytest

Record = dict[str, Any]


def corpus_root() -> Path | None:
    shared = os.environ.get("VOLCANO_SHARED")
    return Path(shared) / "corpus" if shared else None


def cases(family: str, area: str) -> list[tuple[str, Record]]:
    """(id, record) of every case of an area, in a stable order; none when the corpus is not at hand."""
    root = corpus_root()
    if root is None:
        return []
    files = sorted((root / family).glob(f"{area}/*.json"))
    return [(file.stem, msgspec.json.decode(file.read_bytes())) for file in files]


def parameters(found: list[tuple[str, Record]]) -> list[Any]:
    """The cases as pytest parameters; one that skips and says why when there are none."""
    if found:
        return [pytest.param(record, id=identifier) for identifier, record in found]
    reason = "VOLCANO_SHARED does not name a folder with this part of the corpus"
    return [pytest.param({}, id="no-corpus", marks=pytest.mark.skip(reason=reason))]
