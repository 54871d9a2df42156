"""Where our admission answers differ from the recorded ones on purpose: rules over records, each with its reason."""

from __future__ import annotations

from collections.abc import Callable
from typing import Final, NamedTuple

from tests.corpus.loader import Record


class Deviation(NamedTuple):
    reason: str
    covers: Callable[[Record], bool]


def _stray_percent_signs(record: Record) -> bool:
    annotations = (record.get("object") or {}).get("metadata", {}).get("annotations", {})
    budgets = [str(value) for key, value in annotations.items() if key.startswith("volcano.sh/jdb-")]
    return record["resource"] == "pods" and any("%" in value.removesuffix("%") for value in budgets)


DEVIATIONS: Final = (
    Deviation("only one percent sign, at the end, makes a percentage: 5%0 and 10%% are refused", _stray_percent_signs),
)


def deviation_of(record: Record) -> Deviation | None:
    return next((deviation for deviation in DEVIATIONS if deviation.covers(record)), None)
