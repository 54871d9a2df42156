"""Arrays of jobs as Slurm writes them: `0-9`, `1,3,5`, `0-20:4`, `0-9%2`. Pure."""

from __future__ import annotations

import itertools
import re
from dataclasses import dataclass

_RANGE = re.compile(r"(?P<first>\d+)(?:-(?P<last>\d+)(?::(?P<step>\d+))?)?")

MOST = 100_000


class ArrayError(ValueError):
    """The text is no array; the message says what one looks like."""


@dataclass(frozen=True)
class Array:
    """The numbers of the elements, in the order given, none twice; and how many may run at once, 0 for all."""

    elements: list[int]
    at_once: int = 0


def parse_array(text: str) -> Array:
    numbers, limited, at_once = text.partition("%")
    if limited and (not at_once.isdecimal() or int(at_once) < 1):
        raise ArrayError(f"invalid array {text!r}: write how many may run at once after the %, such as 0-9%2")
    elements: dict[int, None] = {}
    for part in numbers.split(","):
        match = _RANGE.fullmatch(part.strip())
        if match is None:
            raise ArrayError(f"invalid array {text!r}: write numbers and ranges, such as 0-9, 1,3,5, 0-20:4 or 0-9%2")
        first, step = int(match["first"]), int(match["step"] or 1)
        last = int(match["last"]) if match["last"] else first
        if step < 1 or last < first:
            raise ArrayError(f"invalid array {text!r}: {part.strip()!r} is empty")
        if (last - first) // step + 1 + len(elements) > MOST:
            raise ArrayError(f"invalid array {text!r}: more than {MOST} elements")
        elements.update(dict.fromkeys(range(first, last + 1, step)))
    return Array(list(elements), int(at_once) if limited else 0)


def shell_element(elements: list[int], index: str) -> str:
    """A shell word that is the element at position `$index`."""
    steps = {later - earlier for earlier, later in itertools.pairwise(elements)}
    if len(steps) <= 1:
        return f"$(({elements[0]} + {index} * {steps.pop() if steps else 1}))"
    return f"$(set -- {' '.join(map(str, elements))}; shift ${index}; echo $1)"
