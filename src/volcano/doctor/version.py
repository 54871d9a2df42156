"""Whether the API server is one that Volcano is made for."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from volcano.doctor.findings import Facts, Finding, error, warning
from volcano.kube import versions

SUBJECT: Final = "API server"


def check(facts: Facts) -> Iterator[Finding]:
    if problem := versions.too_old(facts.version):
        yield error(SUBJECT, problem, "upgrade Kubernetes to 1.30 or later")
    elif remark := versions.unknown(facts.version):
        yield warning(SUBJECT, remark, "1.30 to 1.36 are supported: see whether there is a newer Volcano")
