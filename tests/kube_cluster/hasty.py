"""The scheduler's daemon, to whom more than five podgroups at once, then more than two a second, are a rush."""

from __future__ import annotations

import sys

from volcano.scheduler.daemon import credit, main

credit.BURST = 5  # type: ignore[misc]
credit.REFILL_SECONDS = 0.5  # type: ignore[misc]
credit.DEBT = 10.0  # type: ignore[misc]

if __name__ == "__main__":
    sys.exit(main.main())
