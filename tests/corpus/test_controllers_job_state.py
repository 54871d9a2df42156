"""The job machine against recorded transitions: the row of the table, the phase, the status, the pods touched."""

from __future__ import annotations

import pytest

from tests.corpus.controller_deviations import STATE, corrected_status, deviation_of
from tests.corpus.controller_records import (
    argument,
    facts_of,
    job_info,
    job_of,
    members_of,
    merged,
    names_written,
    now_of,
    order_of,
    plain,
    podgroup_of,
    pruned,
    typed,
    writes,
)
from tests.corpus.loader import Record, cases, parameters
from volcano.api.batch import JobStatus
from volcano.controllers.job import machine
from volcano.controllers.job.vocabulary import FINISHED_PODS

CASES = [case for area in ("job-state", "job-state-derived") for case in cases("controllers", area)]


@pytest.mark.parametrize("record", parameters(CASES))
def test_transition_row(record: Record) -> None:
    info = job_info(record)
    row = machine.transition_of(job_of(info).status.state.phase, argument(record, "action")["action"])

    assert delegate_of(row) == (record["output"].get("delegate"), record["output"].get("delegateArg", ""))


@pytest.mark.parametrize("record", parameters(CASES))
def test_phase_decision(record: Record) -> None:
    """The outcome function alone, on exactly the counts upstream's saw."""
    info = job_info(record)
    job = job_of(info)
    row = machine.transition_of(job.status.state.phase, argument(record, "action")["action"])
    for call in record["output"].get("statusFunction") or []:
        assert not isinstance(row, machine.Settle)
        before = typed(call["before"]["status"], JobStatus)
        if not isinstance(row, machine.Sync):
            before.retry_count += row.retries

        after = call["after"].get("status") or call["before"]["status"]

        assert row.outcome(job.spec, before) == (after.get("state") or {}).get("phase", "Pending")


@pytest.mark.parametrize("record", parameters(CASES))
def test_step(record: Record, request: pytest.FixtureRequest) -> None:
    if deviation := deviation_of(STATE, record):
        request.applymarker(pytest.mark.xfail(reason=deviation.reason))
    info = job_info(record)
    job = job_of(info)
    podgroup = podgroup_of(record, job)

    plan = machine.act(
        job, members_of(info), podgroup, order_of(argument(record, "action")), now_of(record), facts_of(record)
    )

    before = info["job"].get("status") or {}
    expected = corrected_status(record, before, info, record["output"].get("status") or before)
    assert pruned(plain(plan.status or job.status)) == pruned(expected)
    assert {member.name for member in plan.evict} == names_written(record, "delete", "pods")
    assert {replica.name for replica in plan.create} == names_written(record, "create", "pods")
    assert {plan.podgroup_delete} - {""} == names_written(record, "delete", "podgroups")
    for write in writes(record, "create", "podgroups"):
        assert pruned(plan.podgroup_create) == pruned(write["object"])
    for write in writes(record, "update", "podgroups"):
        assert podgroup is not None
        assert plan.podgroup_patch is not None
        assert pruned(merged(plain(podgroup), plan.podgroup_patch[1])) == pruned(write["object"])


def delegate_of(row: machine.Transition) -> tuple[str, str]:
    match row:
        case machine.Sync():
            return "SyncJob", ""
        case machine.KillTarget():
            return "KillTarget", "action.Target"
        case machine.Kill(_, spare):
            return "KillJob", "PodRetainPhaseSoft" if spare == FINISHED_PODS else "PodRetainPhaseNone"
        case machine.Settle():
            return "KillJob", "PodRetainPhaseSoft"
