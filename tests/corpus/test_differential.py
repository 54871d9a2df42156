"""Random worlds: each is decided as the reference did, at every level that was deterministic there, or by a rule.

Where the reference broke an invariant of its own, ours holds.
"""

from __future__ import annotations

from collections import Counter
from typing import Any

import pytest

from tests.corpus import differential_deviations as deviations, differential_invariants as invariants
from tests.corpus.differential_shares import FAMILIES, Share, compared, decided, share, total, worlds
from volcano.scheduler.cluster.jobs import COMPLETED, RUNNING
from volcano.scheduler.cluster.tasks import Task
from volcano.scheduler.framework.remedies import remedy

RIGHT_SHARE = 0.97
NO_CORPUS = "VOLCANO_SHARED does not name a folder with this part of the corpus"

pytestmark = pytest.mark.xdist_group("differential")  # each world is decided once, for its own test and for the shares


def _names(*, questionable: bool) -> list[Any]:
    """The worlds in which the reference broke an invariant of its own, or the others."""
    found = [
        pytest.param(family, name, id=f"{family}-{name}")
        for family in FAMILIES
        for name, record in worlds(family).items()
        if bool(record.get("questionable")) == questionable
    ]
    return found or [pytest.param("", "", id="no-corpus", marks=pytest.mark.skip(reason=NO_CORPUS))]


@pytest.mark.parametrize(("family", "name"), _names(questionable=False))
def test_world(family: str, name: str) -> None:
    different, correction = compared(family, name)

    if correction is not None:
        for check in correction.invariants:
            assert list(check(decided(family, name)[0])) == [], correction.why
        return
    reason = deviations.reason(worlds(family)[name], decided(family, name)[1]) if different else ""
    if reason:
        pytest.xfail(reason)
    assert different == {}


@pytest.mark.parametrize(("family", "name"), _names(questionable=True))
def test_what_the_reference_broke_holds(family: str, name: str) -> None:
    broken = invariants.named(worlds(family)[name]["violations"])

    assert broken, "the world names no invariant that is known here"
    for invariant in broken:
        assert list(invariants.CHECKS[invariant](decided(family, name)[0])) == [], invariant


@pytest.mark.parametrize("family", FAMILIES)
def test_every_job_that_waits_has_a_record(family: str) -> None:
    for name in worlds(family):
        outcome = decided(family, name)[0]
        placed = Counter(
            task.job.key for task in outcome.before.tasks.values() if _is_bound(task, outcome) and task.job
        )
        for key, group in outcome.decisions.podgroups.items():
            waits = group.phase not in (RUNNING, COMPLETED) and not placed[key]
            reason = outcome.decisions.reasons.get(key)
            assert not waits or reason is not None, f"{family}/{name}: {key}"
            if reason is not None:
                assert all((reason.stage, reason.code, str(reason), remedy(reason)))


def _is_bound(task: Task, outcome: invariants.Outcome) -> bool:
    return task.key in outcome.decisions.binds


def _shares() -> list[Share]:
    shares = [share(family) for family in FAMILIES]
    if not total(shares).worlds:
        pytest.skip(NO_CORPUS)
    return shares


def test_all_but_a_few_worlds_are_decided_the_same() -> None:
    """Whatever the reason of a difference: corrections count as differences here."""
    shares = _shares()

    assert total(shares).equal >= RIGHT_SHARE * total(shares).worlds, "\n".join(map(str, [*shares, total(shares)]))


@pytest.mark.parametrize("family", FAMILIES)
def test_what_is_decided_otherwise_has_a_reason(family: str) -> None:
    found = next(one for one in _shares() if one.family == family)

    assert "" not in found.deviating


def test_few_worlds_have_several_right_answers() -> None:
    shares = _shares()

    assert sum(one.deviating.total() for one in shares) <= (1 - RIGHT_SHARE) * total(shares).worlds
