"""Admission on credit: in a rush of small jobs the scheduler lets in so many of a queue's next podgroups in advance.

It says so in an annotation of the queue; the job controller then makes podgroups that are Inqueue from the beginning.
Written by scheduler/daemon/credit.py, spent by controllers/job/credit.py.
"""

from __future__ import annotations

import datetime
from collections.abc import Mapping
from typing import Annotated

import msgspec
from msgspec import Meta, Struct

from volcano.api import quantity
from volcano.api.keys import ADMISSION_CREDIT
from volcano.api.meta import ObjectMeta


class Credit(Struct, frozen=True, kw_only=True, rename="camel"):
    """`groups` more podgroups may come in, none of which asks for more than `each`, until `until` (UTC)."""

    id: str
    """Of each credit another: it replaces what is left of the one before."""
    scheduler_names: tuple[str, ...]
    """Only jobs of this scheduler may use it: those that name it so."""
    groups: Annotated[int, Meta(ge=0)]
    each: Mapping[str, str]
    """`minResources` of the largest podgroup, as it would declare them."""
    until: Annotated[datetime.datetime, Meta(tz=True)]

    def written(self) -> str:
        return msgspec.json.encode(self).decode()

    def covers(self, declared: Mapping[str, object]) -> bool:
        """Whether a podgroup with these `minResources` is no larger than is allowed."""
        if declared == self.each:
            return True
        limits = self.each
        return all(name in limits and _parsed(declared[name]) <= _parsed(limits[name]) for name in declared)


def of(meta: ObjectMeta) -> Credit | None:
    """The credit of a queue; None where it has none that can be read."""
    text = meta.annotations.get(ADMISSION_CREDIT)
    if text is None:
        return None
    try:
        found = msgspec.json.decode(text, type=Credit)
        for amount in found.each.values():
            quantity.parse(amount)
    except (msgspec.DecodeError, ValueError, RecursionError):
        return None
    return found


def _parsed(amount: object) -> quantity.Quantity:
    return quantity.parse(amount)  # type: ignore[arg-type]
