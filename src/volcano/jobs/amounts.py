"""Amounts of resources and of time as people write them: `cpu=1,memory=2Gi`, `1-02:30:00`. Pure."""

from __future__ import annotations

import re

from volcano.api import duration, quantity

__all__ = ["AmountError", "parse_memory", "parse_resources", "parse_seconds"]

_CLOCK = re.compile(r"(?:(?P<days>\d+)-)?(?P<clock>\d+(?::\d+){0,2})")

_SLURM_MEMORY = re.compile(r"(?P<number>\d+(?:\.\d+)?)(?P<unit>[KMGT]?)", re.IGNORECASE)


class AmountError(ValueError):
    """A text that is no amount; the message says what one looks like."""


def parse_resources(text: str) -> dict[str, str]:
    """`cpu=1000m,memory=100Mi` as canonical quantities by resource name."""
    amounts = {}
    for item in filter(None, text.split(",")):
        resource, separator, value = item.partition("=")
        if not separator or "=" in value:
            raise AmountError(f"invalid argument syntax {item}, expected <resource>=<value>")
        try:
            amounts[resource] = str(quantity.parse(value))
        except quantity.QuantityError as error:
            raise AmountError(f"{resource}: {error}") from error
    return amounts


def parse_memory(text: str) -> str:
    """Memory as Slurm has it, as a canonical quantity: 100 and 100M are 100 MiB, and K, M, G, T steps of 1024.

    What Slurm does not have, such as `4Gi`, is a quantity of Kubernetes.
    """
    slurm = _SLURM_MEMORY.fullmatch(text)
    amount = f"{slurm['number']}{slurm['unit'].upper() or 'M'}i" if slurm else text
    try:
        return str(quantity.parse(amount))
    except quantity.QuantityError as error:
        raise AmountError(f"memory: {error}") from error


def parse_seconds(text: str) -> int:
    """A span of time: `90s` and `1h30m`, or as Slurm has it: minutes, `min:sec`, `h:min:sec`, `days-h[:min[:sec]]`."""
    clock = _CLOCK.fullmatch(text)
    if clock is None:
        try:
            return int(duration.parse_seconds(text))
        except ValueError as error:
            raise AmountError(
                f"invalid time {text!r}: write 90s, 1h30m, minutes or [days-]hours:minutes:seconds"
            ) from error
    parts = [int(part) for part in clock["clock"].split(":")]
    if clock["days"] is not None:
        hours, minutes, seconds = (*parts, 0, 0)[:3]
    elif len(parts) < 3:
        hours, (minutes, seconds) = 0, (*parts, 0)[:2]
    else:
        hours, minutes, seconds = parts
    return ((int(clock["days"] or 0) * 24 + hours) * 60 + minutes) * 60 + seconds
