"""What a printer is: column definitions and a function from an object to its cells.

The printers of built-in kinds live beside this module; tables.py turns rows into a Table.
"""

from __future__ import annotations

from dataclasses import dataclass
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any

from volcano.api.age import human_duration
from volcano.api.meta import JsonObject

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    Cells = Callable[[JsonObject, datetime], list[Any]]
    Conditions = Callable[[JsonObject], list[JsonObject]]

NONE = "<none>"
UNKNOWN = "<unknown>"
UNSET = "<unset>"


@dataclass(frozen=True, slots=True)
class Column:
    """A column definition; columns of priority 1 show with `-o wide` only."""

    name: str
    type: str = "string"
    priority: int = 0
    format: str = ""
    description: str = ""

    @property
    def definition(self) -> JsonObject:
        return {
            "name": self.name,
            "type": self.type,
            "format": self.format,
            "description": self.description or f"{self.name} of the object",
            "priority": self.priority,
        }


@dataclass(frozen=True, slots=True)
class Printer:
    """`conditions` say what holds for a whole row: that its object has ended."""

    columns: tuple[Column, ...]
    cells: Cells
    conditions: Conditions | None = None


def printer(
    cells: Cells,
    names: str,
    wide: str = "",
    integers: Iterable[str] = (),
    conditions: Conditions | None = None,
) -> Printer:
    """A printer whose columns are named by comma-separated lists: always shown, and shown on request."""
    whole = frozenset(integers)
    columns = [Column("Name", format="name")]
    for text, priority in ((names, 0), (wide, 1)):
        columns += [
            Column(name, "integer" if name in whole else "string", priority) for name in text.split(",") if name
        ]
    return Printer(tuple(columns), cells, conditions)


def name_of(item: JsonObject) -> str:
    return str(item.get("metadata", {}).get("name", ""))


def age_of(item: JsonObject, now: datetime) -> str:
    return since(item.get("metadata", {}).get("creationTimestamp"), now)


def created_at(item: JsonObject, _: datetime) -> list[Any]:
    return [name_of(item), item.get("metadata", {}).get("creationTimestamp") or UNKNOWN]


def name_and_age(item: JsonObject, now: datetime) -> list[Any]:
    return [name_of(item), age_of(item, now)]


def since(timestamp: Any, now: datetime) -> str:
    """How long ago an RFC 3339 time was, as kubectl writes it."""
    instant = instant_of(timestamp)
    return UNKNOWN if instant is None else human_duration((now - instant).total_seconds())


def instant_of(timestamp: Any) -> datetime | None:
    """The moment of an RFC 3339 text; None where absent or unreadable."""
    if not isinstance(timestamp, str):
        return None
    try:
        instant = datetime.fromisoformat(timestamp)
    except ValueError:
        return None
    return instant if instant.tzinfo else instant.replace(tzinfo=UTC)


def selector_text(selector: Any) -> str:
    """A LabelSelector, or a plain label map, in kubectl's notation."""
    if not isinstance(selector, dict):
        return NONE
    labels = selector.get("matchLabels", {} if "matchExpressions" in selector else selector)
    parts = [f"{key}={value}" for key, value in sorted(labels.items())]
    parts += [_expression(item) for item in selector.get("matchExpressions") or ()]
    return ",".join(parts) or NONE


def container_cells(item: JsonObject) -> list[Any]:
    """Names and images of the containers in an object's pod template."""
    containers = ((item.get("spec") or {}).get("template") or {}).get("spec", {}).get("containers") or []
    return [",".join(str(c.get(key, "")) for c in containers) for key in ("name", "image")]


def _expression(item: JsonObject) -> str:
    key, values = item.get("key", ""), ",".join(item.get("values") or ())
    match item.get("operator"):
        case "In":
            return f"{key} in ({values})"
        case "NotIn":
            return f"{key} notin ({values})"
        case "DoesNotExist":
            return f"!{key}"
        case _:
            return str(key)
