"""Random worlds: each is decided as the reference did, at every level that was deterministic there, or by a rule.

Where the reference broke an invariant of its own, ours holds.
"""

from __future__ import annotations

from functools import cache
from typing import Any

import msgspec
import pytest

from tests.corpus import (
    differential_deviations as deviations,
    differential_invariants as invariants,
    differential_worlds as worlds,
)
from tests.corpus.loader import Record, cases, corpus_root

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
RIGHT_SHARE = 0.97
NO_CORPUS = "VOLCANO_SHARED does not name a folder with this part of the corpus"


@cache
def _confs() -> dict[str, Any]:
    root = corpus_root()
    path = root / "differential" / "confs.json" if root is not None else None
    return msgspec.json.decode(path.read_bytes()) if path is not None and path.exists() else {}


@cache
def _worlds(family: str) -> dict[str, Record]:
    return dict(cases("differential", family))


@cache
def _decided(family: str, name: str) -> tuple[invariants.Outcome, dict[str, Any]]:
    record = _worlds(family)[name]
    conf = worlds.conf_of(record, _confs())
    cluster, decisions = worlds.run(record, conf)
    return invariants.Outcome(worlds.cluster_of(record), conf, decisions), worlds.outcome(cluster, decisions)


@cache
def _compared(family: str, name: str) -> tuple[dict[str, str], deviations.Correction | None]:
    """How ours differs, and what was corrected."""
    record = _worlds(family)[name]
    got = _decided(family, name)[1]
    found = worlds.differences(record, got)
    return found, deviations.correction(record, got) if found else None


def _names(*, questionable: bool) -> list[Any]:
    """The worlds in which the reference broke an invariant of its own, or the others."""
    found = [
        pytest.param(family, name, id=f"{family}-{name}")
        for family in FAMILIES
        for name, record in _worlds(family).items()
        if bool(record.get("questionable")) == questionable
    ]
    return found or [pytest.param("", "", id="no-corpus", marks=pytest.mark.skip(reason=NO_CORPUS))]


@pytest.mark.parametrize(("family", "name"), _names(questionable=False))
def test_world(family: str, name: str) -> None:
    different, correction = _compared(family, name)

    if correction is not None:
        for check in correction.invariants:
            assert list(check(_decided(family, name)[0])) == [], correction.why
        return
    reason = deviations.reason(_worlds(family)[name], _decided(family, name)[1]) if different else ""
    if reason:
        pytest.xfail(reason)
    assert different == {}


@pytest.mark.parametrize(("family", "name"), _names(questionable=True))
def test_what_the_reference_broke_holds(family: str, name: str) -> None:
    broken = invariants.named(_worlds(family)[name]["violations"])

    assert broken, "the world names no invariant that is known here"
    for invariant in broken:
        assert list(invariants.CHECKS[invariant](_decided(family, name)[0])) == [], invariant


@pytest.mark.parametrize("family", FAMILIES)
def test_few_worlds_are_decided_otherwise(family: str) -> None:
    compared = [name for name, record in _worlds(family).items() if not record.get("questionable")]
    if not compared:
        pytest.skip(NO_CORPUS)

    right = [name for name in compared if not _compared(family, name)[0] or _compared(family, name)[1]]

    assert len(right) >= RIGHT_SHARE * len(compared)
