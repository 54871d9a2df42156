"""Whether the API server is one that Volcano is made for."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Final

from volcano.doctor.findings import Facts, Finding, error, warning

SUBJECT: Final = "API server"
OLDEST: Final = (1, 30)
"""Before it there is no matchConditions for webhooks and no v1 of admission policies."""
NEWEST: Final = (1, 36)
"""What the tests run on."""


def check(facts: Facts) -> Iterator[Finding]:
    found = re.match(r"v?(\d+)\.(\d+)", facts.version)
    if found is None:
        yield warning(SUBJECT, f"says that its version is {facts.version!r}", "see that it is 1.30 or later")
        return
    version = int(found[1]), int(found[2])
    if version < OLDEST:
        yield error(SUBJECT, f"is {facts.version}, older than v1.30", "upgrade Kubernetes to 1.30 or later")
    elif version > NEWEST:
        yield warning(SUBJECT, f"is {facts.version}, newer than v1.36", "see whether there is a newer Volcano, too")
