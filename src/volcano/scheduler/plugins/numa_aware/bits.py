"""Sets of CPUs and of NUMA cells as bits of an integer."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

LARGEST_CPU = 1 << 16


class CpuSetError(ValueError):
    """Not a set of CPUs; the message shows it."""


def of(members: Iterable[int]) -> int:
    bits = 0
    for member in members:
        bits |= 1 << member
    return bits


def members(bits: int) -> Iterator[int]:
    """In ascending order."""
    while bits:
        lowest = bits & -bits
        yield lowest.bit_length() - 1
        bits ^= lowest


def parse(text: str) -> int:
    """`0-3,8` as the kernel writes sets of CPUs."""
    bits = 0
    for part in filter(None, (part.strip() for part in text.split(","))):
        first, _, last = part.partition("-")
        if not first.isdigit() or (last and not last.isdigit()):
            raise CpuSetError(f"{text!r} is not a set of CPUs like '0-3,8'")
        begin, end = int(first), int(last or first)
        if end < begin or end >= LARGEST_CPU:
            raise CpuSetError(f"{text!r} is not a set of CPUs like '0-3,8'")
        bits |= (1 << (end + 1)) - (1 << begin)
    return bits
