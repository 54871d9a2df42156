"""Random worlds: by family, how many we decide as the reference did, at every level that was deterministic there."""

from __future__ import annotations

from typing import Any

import msgspec
import pytest

from tests.corpus import differential_deviations as deviations, differential_worlds as worlds
from tests.corpus.loader import cases, corpus_root

FAMILIES = (
    "default",
    "scoring",
    "topology",
    "subgroups",
    "capacity-flat",
    "capacity-hierarchy",
    "drf-hdrf",
    "reclaim",
    "preempt",
    "affinity-spread",
    "mixed-plugins",
    "gang-eviction",
    "edge-cases",
)
EQUAL_SHARE = 0.93


@pytest.mark.parametrize("family", FAMILIES)
def test_family(family: str) -> None:
    root = corpus_root()
    if root is None or not (root / "differential" / family).exists():
        pytest.skip("VOLCANO_SHARED does not name a folder with this part of the corpus")
    confs: dict[str, Any] = msgspec.json.decode((root / "differential" / "confs.json").read_bytes())
    compared, different = 0, {}
    for name, record in cases("differential", family):
        conf = worlds.conf_of(record, confs)
        if worlds.missing(conf) or record.get("questionable"):
            continue
        compared += 1
        found = worlds.differences(record, worlds.outcome(*worlds.run(record, conf)))
        if found and not deviations.reason(record):
            different[name] = found
    if not compared:
        pytest.skip(f"{family}: needs actions or plugins that do not exist")

    assert compared - len(different) >= EQUAL_SHARE * compared, different
