"""When statuses of jobs are written."""

from __future__ import annotations

import msgspec

from volcano.api.batch import Job, JobStatus
from volcano.controllers.job.pace import (
    BURST,
    COUNTERS,
    FIRST_WORD,
    REFILL_SECONDS,
    WORD_BURST,
    WORD_SECONDS,
    StatusPace,
)
from volcano.controllers.job.plan import Plan


def job(phase: str = "") -> Job:
    found = Job()
    found.status.state.phase = phase
    return found


def plan(old: Job, phase: str, running: int = 0) -> Plan:
    status: JobStatus = msgspec.convert(msgspec.to_builtins(old.status), JobStatus)
    status.state.phase = phase
    status.running = running
    return Plan(status=status)


def test_the_first_word_on_a_job_waits_in_a_rush_only() -> None:
    pace, fresh = StatusPace(), job()
    word = plan(fresh, "Pending")

    held = [pace.hold_seconds(fresh, word, 0.0, 0.0) for _ in range(WORD_BURST + 2)]

    assert held == [*[0.0] * WORD_BURST, FIRST_WORD[1], FIRST_WORD[1]]
    assert pace.hold_seconds(fresh, word, 0.0, WORD_SECONDS / 2) == FIRST_WORD[1] - WORD_SECONDS / 2
    assert pace.hold_seconds(fresh, word, 0.0, WORD_SECONDS) == 0.0
    assert pace.hold_seconds(fresh, word, 0.0, FIRST_WORD[1]) == 0.0


def test_a_new_phase_never_waits_and_numbers_always_a_little() -> None:
    pace = StatusPace()

    for _ in range(BURST + 2):
        assert pace.hold_seconds(job("Pending"), plan(job("Pending"), "Running", running=1), 0.0, 0.0) == 0.0
        assert pace.hold_seconds(job("Running"), plan(job("Running"), "Running", running=1), 0.0, 0.0) == COUNTERS[0]


def test_many_first_words_do_not_delay_numbers() -> None:
    pace, running = StatusPace(), job("Running")
    for _ in range(BURST + 2):
        pace.hold_seconds(job(), plan(job(), "Pending"), 0.0, 0.0)

    numbers = [
        pace.hold_seconds(running, plan(running, "Running", running=1), 0.0, COUNTERS[0]) for _ in range(BURST + 1)
    ]

    assert numbers == [*[0.0] * BURST, COUNTERS[1] - COUNTERS[0]]
    assert pace.hold_seconds(running, plan(running, "Running", running=1), 0.0, COUNTERS[0] + 2 * REFILL_SECONDS) == 0.0
