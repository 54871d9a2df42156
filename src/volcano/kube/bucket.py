"""Token buckets: how much may be written at once, and how much more per second."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(slots=True)
class Bucket:
    """Holds at most `burst` tokens, and gets another one every `refill_seconds`."""

    tokens: float
    at: float

    def take(self, now: float, burst: float, refill_seconds: float) -> bool:
        """Use up a token; False when there is none."""
        self._refill(now, burst, refill_seconds)
        if self.tokens < 1.0:
            return False
        self.tokens -= 1.0
        return True

    def take_or_owe(self, now: float, burst: float, refill_seconds: float, *, debt: float = 1.0) -> bool:
        """The same where it is done even without a token: it is owed then, up to `debt` of them."""
        found = self.has_one(now, burst, refill_seconds)
        self.tokens = max(self.tokens - 1.0, -debt)
        return found

    def has_one(self, now: float, burst: float, refill_seconds: float) -> bool:
        """Whether there is a token; it stays."""
        return self.whole_tokens(now, burst, refill_seconds) > 0

    def whole_tokens(self, now: float, burst: float, refill_seconds: float) -> int:
        """How many there are; they stay."""
        self._refill(now, burst, refill_seconds)
        return max(int(self.tokens), 0)

    def _refill(self, now: float, burst: float, refill_seconds: float) -> None:
        self.tokens = min(burst, self.tokens + max(0.0, now - self.at) / refill_seconds)
        self.at = now
