"""Blocks that are made inside pages that are written by hand.

<!-- made: NAME -->
…
<!-- end -->
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping

_BLOCK = re.compile(r"(<!-- made: (\w+) -->\n)(.*?)(<!-- end -->)", re.DOTALL)
_ROW = re.compile(r"^\| `([^`]+)` \|(?:.*\|)? ([^|]*) \|$", re.MULTILINE)


def fill(page: str, makers: Mapping[str, Callable[[str], str]]) -> str:
    """The page with each of its blocks made anew. A maker is given what the block holds now."""

    def anew(found: re.Match[str]) -> str:
        return f"{found[1]}{makers[found[2]](found[3])}\n{found[4]}"

    return _BLOCK.sub(anew, page)


def meanings(block: str) -> dict[str, str]:
    """The last column of a table, which is written by hand, by the name in the first."""
    return {name: meaning.strip() for name, meaning in _ROW.findall(block)}


def table(head: Iterable[str], rows: Iterable[Iterable[str]]) -> str:
    """A table of Markdown; a `|` within a cell stays one."""
    names = list(head)
    return "\n".join([_line(names), "|---" * len(names) + "|", *map(_line, rows)])


def _line(cells: Iterable[str]) -> str:
    escaped = (cell.replace("|", "\\|") for cell in cells)
    return f"| {' | '.join(escaped)} |"


def sentence(text: str) -> str:
    """`text` as a sentence of its own."""
    text = " ".join(text.split())
    return text[:1].upper() + text[1:] + ("" if text.endswith((".", "!", "?", ":")) or not text else ".")
