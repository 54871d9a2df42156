"""Text on the terminal: padded tables as upstream prints them, and kubectl's."""

from __future__ import annotations

import sys
from collections.abc import Iterable, Sequence


def padded_row(values: Iterable[object], widths: Sequence[int]) -> str:
    """The values left-aligned in columns of at least `widths` characters, the last one padded too."""
    return "".join(str(value).ljust(width) for value, width in zip(values, widths, strict=True))


def fitted(header: Sequence[str], rows: Sequence[Sequence[object]], *, beyond_title: int, beyond_value: int) -> str:
    """A table whose columns are wider than their title and longest value by so much, padded to the line's end."""
    cells = [[str(value) for value in row] for row in rows]
    widths = [
        max(len(title) + beyond_title, *(len(row[i]) + beyond_value for row in cells), 0)
        for i, title in enumerate(header)
    ]
    return "".join(padded_row(row, widths) + "\n" for row in (header, *cells))


def columns(header: Sequence[str], rows: Sequence[Sequence[object]]) -> str:
    """A table in kubectl's style: columns as wide as their longest value, three blanks between."""
    cells = [list(header), *[[str(value) for value in row] for row in rows]]
    widths = [max(len(row[i]) for row in cells) for i in range(len(header))]
    return "\n".join("   ".join(v.ljust(w) for v, w in zip(row, widths, strict=True)).rstrip() for row in cells)


def on_terminal() -> bool:
    """Whether standard output is a terminal, so that colours and live views make sense."""
    return sys.stdout.isatty()
