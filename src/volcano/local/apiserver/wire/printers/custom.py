"""Custom resources: the additionalPrinterColumns of a CRD, read from objects by JSONPath."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

from volcano.local.apiserver.wire.printers.columns import UNKNOWN, Column, Printer, instant_of, name_of, since
from volcano.local.apiserver.wire.printers.jsonpath import compile_path

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from datetime import datetime

    from volcano.api.meta import JsonObject

    Find = Callable[[JsonObject], list[Any]]

_AGE: JsonObject = {"name": "Age", "type": "date", "jsonPath": ".metadata.creationTimestamp"}


def custom_printer(columns: Sequence[JsonObject]) -> Printer:
    """The printer of a CRD version; without columns of its own it shows the age."""
    chosen = list(columns) or [_AGE]
    finders = [(compile_path(str(c["jsonPath"])), str(c.get("type", "string"))) for c in chosen]

    def cells(item: JsonObject, now: datetime) -> list[Any]:
        return [name_of(item), *(_cell(find(item), kind, now) for find, kind in finders)]

    return Printer((Column("Name", format="name"), *map(_column, chosen)), cells)


def _column(text: JsonObject) -> Column:
    # A date is sent as its age, so the column that clients see holds strings.
    kind = str(text.get("type", "string"))
    return Column(
        name=str(text["name"]),
        type="date" if kind == "date" else kind,
        priority=int(text.get("priority", 0)),
        format=str(text.get("format", "")),
        description=str(text.get("description", "")),
    )


def _cell(found: list[Any], kind: str, now: datetime) -> Any:
    if not found or found[0] is None:
        return None
    value = found[0]
    if kind == "date":
        return since(value, now) if instant_of(value) else UNKNOWN if isinstance(value, str) else "<invalid>"
    if kind == "string":
        return value if isinstance(value, str) and len(found) == 1 else " ".join(map(_text, found))
    if kind == "integer":
        return int(value) if isinstance(value, (int, float)) and not isinstance(value, bool) else None
    if kind == "number":
        return value if isinstance(value, (int, float)) and not isinstance(value, bool) else None
    return value if isinstance(value, bool) else None


def _text(value: Any) -> str:
    return value if isinstance(value, str) else json.dumps(value, separators=(",", ":"))
