"""Files that pages name are there."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from tests.docs.blocks import PAGES, ROOT

_NAMED = re.compile(r"`([\w/]+\.(?:py|txt|sh))`")
_FOLDERS = ("src", "tests", "tools", "examples", "benchmarks")
FILES = {f"/{path.relative_to(ROOT)}" for folder in _FOLDERS for path in (ROOT / folder).rglob("*.*")}
NAMING = [page for page in PAGES if _NAMED.search(page.read_text())]


def is_there(name: str) -> bool:
    return any(file.endswith(f"/{name}") for file in FILES)


@pytest.mark.parametrize("page", NAMING, ids=lambda page: str(page.relative_to(ROOT)))
def test_files_that_pages_name_are_there(page: Path) -> None:
    assert [name for name in _NAMED.findall(page.read_text()) if not is_there(name)] == []
