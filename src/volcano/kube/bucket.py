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
        self.tokens = min(burst, self.tokens + max(0.0, now - self.at) / refill_seconds)
        self.at = now
        if self.tokens < 1.0:
            return False
        self.tokens -= 1.0
        return True
