"""What the scheduler's configuration says that it does not mean, and ours does not say either."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from volcano.doctor.findings import Facts, Finding, error, warning
from volcano.local.cluster import DEFAULT_SCHEDULER_CONF
from volcano.scheduler.framework import lint, registry
from volcano.scheduler.framework.conf import ConfError

KEY: Final = "volcano-scheduler.conf"


def check(facts: Facts) -> Iterator[Finding]:
    known = registry.built_in()
    delivered = lint.warnings(DEFAULT_SCHEDULER_CONF, known)
    for configmap in facts.of("configmaps"):
        text = (configmap.get("data") or {}).get(KEY)
        if text is None:
            continue
        subject = f"{KEY} in configmap {configmap['metadata']['namespace']}/{configmap['metadata']['name']}"
        try:
            remarks = lint.warnings(text, known)
        except ConfError as problem:
            yield error(subject, str(problem), "correct it: the scheduler goes on with its last good configuration")
            continue
        for remark in (remark for remark in remarks if remark not in delivered):
            yield warning(subject, remark, "see `vcctl config lint`; it knows own plugins, too (--plugins-dir)")
