"""When the status of a job is written."""

from __future__ import annotations

from volcano.api.batch import Job, JobState, JobStatus
from volcano.controllers.job.pace import BURST, COUNTERS, FIRST_WORD, StatusPace
from volcano.controllers.job.plan import Plan

NEW = JobStatus()
PENDING = JobStatus(state=JobState(phase="Pending"))
COUNTED = JobStatus(state=JobState(phase="Pending"), pending=3)
RUNNING = JobStatus(state=JobState(phase="Running"), running=3)


def hold(pace: StatusPace, old: JobStatus, new: JobStatus, age: float) -> float:
    """Seconds that `new` is held back, `age` seconds after the last write."""
    return pace.hold_seconds(Job(status=old), Plan(status=new), 100.0, 100.0 + age)


def in_a_rush() -> StatusPace:
    pace = StatusPace()
    for _ in range(BURST):
        assert hold(pace, NEW, PENDING, 0.0) == 0
    return pace


def test_a_phase_is_written_at_once_even_in_a_rush() -> None:
    pace = in_a_rush()

    assert all(hold(pace, COUNTED, RUNNING, 0.0) == 0 for _ in range(10 * BURST))


def test_numbers_wait_a_little_and_in_a_rush_longer() -> None:
    assert hold(StatusPace(), PENDING, COUNTED, 0.0) == COUNTERS[0]
    assert hold(StatusPace(), PENDING, COUNTED, COUNTERS[0]) == 0
    assert hold(in_a_rush(), PENDING, COUNTED, 0.0) == COUNTERS[0]

    pace = in_a_rush()
    for _ in range(BURST):
        hold(pace, PENDING, COUNTED, COUNTERS[0])
    assert hold(pace, PENDING, COUNTED, COUNTERS[0]) == COUNTERS[1] - COUNTERS[0]
    assert hold(pace, PENDING, COUNTED, COUNTERS[1]) == 0


def test_the_first_word_waits_in_a_rush_only() -> None:
    pace = in_a_rush()

    assert hold(pace, NEW, PENDING, 0.0) == FIRST_WORD[1]
    assert hold(pace, NEW, PENDING, FIRST_WORD[1]) == 0


def test_what_goes_with_evictions_does_not_wait() -> None:
    plan = Plan(status=COUNTED, evict=[object()])  # type: ignore[list-item]

    assert StatusPace().hold_seconds(Job(status=PENDING), plan, 100.0, 100.0) == 0
