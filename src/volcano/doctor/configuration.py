"""What the scheduler's configuration says that it does not mean, and ours does not say either."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Final

from volcano.api.meta import JsonObject
from volcano.doctor.findings import Facts, Finding, error, warning

KEY: Final = "volcano-scheduler.conf"


def check(facts: Facts) -> Iterator[Finding]:
    found = [(configmap, (configmap.get("data") or {}).get(KEY)) for configmap in facts.of("configmaps")]
    texts = [(configmap["metadata"], text) for configmap, text in found if text is not None]
    if texts:  # who knows what a configuration means is the engine: slow to load, so only where there is one
        yield from _judged(texts)


def _judged(texts: Sequence[tuple[JsonObject, str]]) -> Iterator[Finding]:
    from volcano.local.cluster import DEFAULT_SCHEDULER_CONF
    from volcano.scheduler.framework import lint, registry
    from volcano.scheduler.framework.conf import ConfError

    known = registry.built_in()
    delivered = lint.warnings(DEFAULT_SCHEDULER_CONF, known)
    for metadata, text in texts:
        subject = f"{KEY} in configmap {metadata['namespace']}/{metadata['name']}"
        try:
            remarks = lint.warnings(text, known)
        except ConfError as problem:
            yield error(subject, str(problem), "correct it: the scheduler goes on with its last good configuration")
            continue
        for remark in (remark for remark in remarks if remark not in delivered):
            yield warning(subject, remark, "see `vcctl config lint`; it knows own plugins, too (--plugins-dir)")
