"""Arrays of jobs as Slurm writes them: `0-9`, `1,3,5`, `0-20:4`. Pure."""

from __future__ import annotations

import itertools
import re

_RANGE = re.compile(r"(?P<first>\d+)(?:-(?P<last>\d+)(?::(?P<step>\d+))?)?")

MOST = 100_000


class ArrayError(ValueError):
    """The text is no array; the message says what one looks like."""


def parse_array(text: str) -> list[int]:
    """The numbers of the elements, in the order given; none twice."""
    if "%" in text:
        raise ArrayError(
            f"invalid array {text!r}: there is no limit per array; a queue's capability limits what runs at once"
        )
    elements: dict[int, None] = {}
    for part in text.split(","):
        match = _RANGE.fullmatch(part.strip())
        if match is None:
            raise ArrayError(f"invalid array {text!r}: write numbers and ranges, such as 0-9, 1,3,5 or 0-20:4")
        first, step = int(match["first"]), int(match["step"] or 1)
        last = int(match["last"]) if match["last"] else first
        if step < 1 or last < first:
            raise ArrayError(f"invalid array {text!r}: {part.strip()!r} is empty")
        if (last - first) // step + 1 + len(elements) > MOST:
            raise ArrayError(f"invalid array {text!r}: more than {MOST} elements")
        elements.update(dict.fromkeys(range(first, last + 1, step)))
    return list(elements)


def shell_element(elements: list[int], index: str) -> str:
    """A shell word that is the element at position `$index`."""
    steps = {later - earlier for earlier, later in itertools.pairwise(elements)}
    if len(steps) <= 1:
        return f"$(({elements[0]} + {index} * {steps.pop() if steps else 1}))"
    return f"$(set -- {' '.join(map(str, elements))}; shift ${index}; echo $1)"
