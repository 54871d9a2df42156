"""What the scheduler's configuration says that it does not mean."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from volcano.doctor.findings import Facts, Finding, error, warning
from volcano.scheduler.framework import conf, registry

KEY: Final = "volcano-scheduler.conf"


def check(facts: Facts) -> Iterator[Finding]:
    for configmap in facts.of("configmaps"):
        text = (configmap.get("data") or {}).get(KEY)
        if text is None:
            continue
        subject = f"{KEY} in configmap {configmap['metadata']['namespace']}/{configmap['metadata']['name']}"
        try:
            parsed = conf.parse(text, registry.built_in().actions)
        except conf.ConfError as problem:
            yield error(subject, str(problem), "correct it: the scheduler goes on with its last good configuration")
            continue
        for text in parsed.warnings:
            yield warning(subject, text, "see `vcctl config lint`")
