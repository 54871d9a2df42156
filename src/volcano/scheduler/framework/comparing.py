"""Sort keys made of a comparison, for keys that stand in tuples. Used by dispatch.py."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Generic, TypeVar

T = TypeVar("T")


class Compared(Generic[T]):  # noqa: PLW1641 - its place among others changes, it has no hash
    """As `functools.cmp_to_key`, at half the price: tuples ask whether parts are equal, and then which is less.

    The second question is answered by what the first one found out. No later one is: what is compared may change.
    """

    __slots__ = ("_answer", "_compare", "_other", "_subject")

    def __init__(self, compare: Callable[[T, T], int], subject: T) -> None:
        self._compare = compare
        self._subject = subject
        self._other: object = None
        self._answer = 0

    def __eq__(self, other: Any) -> bool:
        self._other = None
        answer = self._compare(self._subject, other._subject)
        if answer:
            self._other, self._answer = other, answer
        return not answer

    def __lt__(self, other: Any) -> bool:
        if self._other is other:
            self._other = None
            return self._answer < 0
        return self._compare(self._subject, other._subject) < 0
