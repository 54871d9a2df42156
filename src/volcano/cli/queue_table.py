"""The tables of queues: upstream's bytes, and a wide one. The counts are true: made from the podgroups there are."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

from volcano.cli.text import columns, padded_row

if TYPE_CHECKING:
    from volcano.api.meta import JsonObject

Counts = Mapping[str, Mapping[str, int]]

PHASES = ("Inqueue", "Pending", "Running", "Unknown", "Completed")
_WIDTHS = 25, 8


def count_phases(podgroups: Sequence[JsonObject]) -> dict[str, Counter[str]]:
    """By queue, how many podgroups are in each phase."""
    counts: dict[str, Counter[str]] = {}
    for podgroup in podgroups:
        phase = (podgroup.get("status") or {}).get("phase", "")
        counts.setdefault((podgroup.get("spec") or {}).get("queue", ""), Counter())[phase] += 1
    return counts


def table(queues: Sequence[JsonObject], counts: Counts, *, slurm: bool = False) -> str:
    """Padded as upstream pads it; `vqueues` has neither the parent nor completed podgroups."""
    hidden = {"Parent", "Completed"} if slurm else set()
    header = [title for title in _header() if title not in hidden]
    widths = [_WIDTHS[0], *[_WIDTHS[1]] * (len(header) - 1)]
    rows = [[cells[title] for title in header] for document in queues if (cells := _cells(document, counts))]
    return "\n".join([padded_row(header, widths).rstrip(), *(padded_row(row, widths) for row in rows)]) + "\n"


def wide_table(queues: Sequence[JsonObject], counts: Counts) -> str:
    """With what the queue may use, deserves and uses."""
    rows = []
    for document in queues:
        spec, status = document.get("spec") or {}, document.get("status") or {}
        amounts = (spec.get("capability"), spec.get("deserved"), status.get("allocated"))
        rows.append([*_cells(document, counts).values(), *(amounts_text(amount) for amount in amounts)])
    return columns([*_header(), "Capability", "Deserved", "Allocated"], rows)


def amounts_text(amounts: Mapping[str, object] | None) -> str:
    return ",".join(f"{name}={value}" for name, value in sorted((amounts or {}).items())) or "-"


def _header() -> tuple[str, ...]:
    return ("Name", "Weight", "State", "Parent", *PHASES)


def _cells(document: JsonObject, counts: Counts) -> dict[str, object]:
    name, spec = document["metadata"]["name"], document.get("spec") or {}
    phases = counts.get(name, {})
    state = (document.get("status") or {}).get("state", "")
    values = (name, spec.get("weight", 0), state, spec.get("parent", ""), *(phases.get(phase, 0) for phase in PHASES))
    return dict(zip(_header(), values, strict=True))
