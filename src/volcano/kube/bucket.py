"""Token buckets: how much may be done at once, and how much more per second; and rushes, in which more is done."""

from __future__ import annotations


class Bucket:
    """Holds at most `burst` tokens, as it does at first, and gets another one every `refill_seconds`."""

    __slots__ = ("_at", "_burst", "_refill_seconds", "_tokens")

    def __init__(self, now: float, burst: float, refill_seconds: float) -> None:
        self._at = now
        self._burst = burst
        self._refill_seconds = refill_seconds
        self._tokens = burst

    def take(self, now: float) -> bool:
        """Use up a token; False when there is none."""
        found = self.count(now) > 0
        if found:
            self._tokens -= 1.0
        return found

    def take_or_owe(self, now: float, debt: float) -> bool:
        """The same where it is done even without a token: it is owed then, up to `debt` of them."""
        found = self.count(now) > 0
        self._tokens = max(self._tokens - 1.0, -debt)
        return found

    def count(self, now: float) -> int:
        """How many tokens there are."""
        self._tokens = min(self._burst, self._tokens + max(0.0, now - self._at) / self._refill_seconds)
        self._at = now
        return max(int(self._tokens), 0)


class Rush:
    """Whether very many things happen: more than `burst` at once, or than one per `refill_seconds` in the long run.

    It goes on through pauses shorter than `debt` times `refill_seconds`, as things that come by the dozen have them.
    """

    def __init__(self, now: float, burst: float, refill_seconds: float, debt: float = 1.0) -> None:
        self._bucket = Bucket(now, burst, refill_seconds)
        self._debt = debt

    def begins_or_lasts(self, now: float) -> bool:
        """One more thing happens."""
        return not self._bucket.take_or_owe(now, self._debt)

    def lasts(self, now: float) -> bool:
        return self.spare(now) == 0

    def spare(self, now: float) -> int:
        """How many things more may happen now without being a rush."""
        return self._bucket.count(now)
