"""Text on the terminal: padded tables as upstream prints them, and documents as JSON or YAML."""

from __future__ import annotations

import json
import sys
from collections.abc import Iterable, Sequence
from typing import Any

import click

from volcano.cli.errors import fail

OUTPUT_FORMATS = ("wide", "json", "yaml", "name")


def padded_row(values: Iterable[object], widths: Sequence[int]) -> str:
    """The values left-aligned in columns of at least `widths` characters, the last one padded too."""
    return "".join(str(value).ljust(width) for value, width in zip(values, widths, strict=True))


def columns(header: Sequence[str], rows: Sequence[Sequence[object]]) -> str:
    """A table in kubectl's style: columns as wide as their longest value, three blanks between."""
    cells = [list(header), *[[str(value) for value in row] for row in rows]]
    widths = [max(len(row[i]) for row in cells) for i in range(len(header))]
    return "\n".join("   ".join(v.ljust(w) for v, w in zip(row, widths, strict=True)).rstrip() for row in cells)


def print_documents(documents: Sequence[dict[str, Any]], output: str, *, as_list: bool) -> None:
    """Print API objects as JSON, YAML or `kind/name`; several objects as one `List`."""
    if output == "name":
        for document in documents:
            click.echo(f"{document.get('kind', '').lower()}/{document['metadata']['name']}")
        return
    whole: Any = {"apiVersion": "v1", "kind": "List", "items": list(documents)} if as_list else documents[0]
    click.echo(dump(whole, output), nl=False)


def dump(value: Any, output: str) -> str:
    """`value` as indented JSON or as YAML, with a final newline."""
    if output == "json":
        return json.dumps(value, indent=4) + "\n"
    if output == "yaml":
        import yaml

        return yaml.safe_dump(value, sort_keys=True, default_flow_style=False, allow_unicode=True)
    raise fail(f"unknown output format {output!r}: use one of {', '.join(OUTPUT_FORMATS)}")


def on_terminal() -> bool:
    """Whether standard output is a terminal, so that colours and live views make sense."""
    return sys.stdout.isatty()
