"""Cron expressions: five fields, or a word such as @daily. Says only whether one can be read."""

from __future__ import annotations

import re
from typing import Final

from volcano.api.duration import DurationError, parse

WORDS: Final = ("@annually", "@daily", "@hourly", "@midnight", "@monthly", "@weekly", "@yearly")
EVERY: Final = "@every "
MONTHS: Final = ("jan", "feb", "mar", "apr", "may", "jun", "jul", "aug", "sep", "oct", "nov", "dec")
DAYS: Final = ("sun", "mon", "tue", "wed", "thu", "fri", "sat")

_NUMBERS: Final[dict[str, int]] = {}
_FIELDS: Final = (
    (0, 59, _NUMBERS),
    (0, 23, _NUMBERS),
    (1, 31, _NUMBERS),
    (1, 12, {name: number for number, name in enumerate(MONTHS, 1)}),
    (0, 6, {name: number for number, name in enumerate(DAYS)}),
)
_PART: Final = re.compile(r"(?P<first>[^-/]+)(-(?P<last>[^-/]+))?(/(?P<step>[0-9]+))?")


def is_cron_expression(text: str) -> bool:
    if text.startswith("@"):
        return text in WORDS or (text.startswith(EVERY) and _is_duration(text.removeprefix(EVERY)))
    fields = text.split()
    return len(fields) == len(_FIELDS) and all(
        _is_field(field, low, high, words) for field, (low, high, words) in zip(fields, _FIELDS, strict=True)
    )


def _is_field(field: str, low: int, high: int, words: dict[str, int]) -> bool:
    parts = [part for part in field.split(",") if part]
    return bool(parts) and all(_is_part(part, low, high, words) for part in parts)


def _is_part(part: str, low: int, high: int, words: dict[str, int]) -> bool:
    """A star, a number or a range, each perhaps with a step."""
    found = _PART.fullmatch(part)
    if found is None or (found["step"] is not None and int(found["step"]) == 0):
        return False
    if found["first"] in ("*", "?"):
        return found["last"] is None
    first = _value(found["first"], words)
    last = _value(found["last"], words) if found["last"] else first
    return first is not None and last is not None and low <= first <= last <= high


def _value(text: str, words: dict[str, int]) -> int | None:
    return words.get(text.lower(), int(text) if re.fullmatch("[0-9]+", text) else None)


def _is_duration(text: str) -> bool:
    try:
        parse(text)
    except DurationError:
        return False
    return True
