"""When statuses of jobs are written."""

from __future__ import annotations

from typing import Any, cast

import msgspec
import pytest

from tests.controllers.simulation.job_life import Jobs
from tests.controllers.simulation.world import run
from volcano.api.batch import Job, JobStatus
from volcano.api.meta import JsonObject
from volcano.controllers.job import pace as pacing
from volcano.controllers.job.pace import (
    BURST,
    COUNTERS,
    DEBT,
    FIRST_WORD,
    LOOK_SECONDS,
    REFILL_SECONDS,
    WORD_BURST,
    WORD_SECONDS,
    StatusPace,
)
from volcano.controllers.job.plan import Plan

CONTAINER = {"name": "c", "image": "i"}


def job(phase: str = "", name: str = "") -> Job:
    found = Job()
    found.metadata.name = name
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
    assert pace.hold_seconds(fresh, word, 0.0, WORD_SECONDS) == FIRST_WORD[1] - WORD_SECONDS
    assert pace.hold_seconds(fresh, word, 0.0, FIRST_WORD[1]) == 0.0


def test_words_that_were_held_back_are_said_when_the_rush_is_over_and_not_all_at_once() -> None:
    pace, jobs = StatusPace(), [job(name=str(index)) for index in range(3 * WORD_BURST)]
    for fresh in jobs:
        pace.hold_seconds(fresh, plan(fresh, "Pending"), 0.0, 0.0)
    begun = jobs[WORD_BURST]
    assert pace.hold_seconds(begun, plan(begun, "Running"), 0.0, 0.0) == 0.0

    assert pace.overdue(DEBT * WORD_SECONDS) == []  # nothing is owed any more
    some = pace.overdue(LOOK_SECONDS)
    assert some == [str(index) for index in range(WORD_BURST + 1, WORD_BURST + 1 + len(some))]
    assert len(some) == (LOOK_SECONDS - DEBT * WORD_SECONDS) / WORD_SECONDS
    said = [pace.hold_seconds(jobs[int(key)], plan(job(), "Pending"), 0.0, LOOK_SECONDS) for key in some]
    assert said == [0.0] * len(some)
    assert len(pace.unsaid) == 2 * WORD_BURST - 1 - len(some)


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


def test_jobs_that_go_on_waiting_after_a_rush_say_so() -> None:
    async def story() -> None:
        life = a_rush_of(WORD_BURST + 30)
        await life.pause(LOOK_SECONDS / 2)
        assert phases(life).count("Pending") == WORD_BURST
        await life.pause(LOOK_SECONDS)
        assert phases(life) == ["Pending"] * (WORD_BURST + 30)
        await life.stop()

    run(story())


def test_jobs_that_are_deleted_in_a_rush_without_end_are_forgotten(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(pacing, "WORD_SECONDS", 1e9)

    async def story() -> None:
        life = a_rush_of(WORD_BURST + 30)
        await life.pause(LOOK_SECONDS)
        unsaid: dict[str, None] = cast("Any", life.leader)._pace.unsaid
        assert len(unsaid) == 30
        for key in unsaid:
            life.server.remove("jobs", key)
        await life.pause(FIRST_WORD[1])
        assert not unsaid
        await life.stop()

    run(story())


def a_rush_of(count: int) -> Jobs:
    """So many jobs at once, which all wait to be admitted."""
    life, task = Jobs(0), {"name": "t", "replicas": 1, "template": {"spec": {"containers": [CONTAINER]}}}
    life.server.put("queues", "q", {"metadata": {"name": "q"}, "spec": {"weight": 1}})
    life.start()
    for index in range(count):
        meta = {"name": f"j{index}", "namespace": "ns"}
        spec = {"schedulerName": "volcano", "queue": "q", "minAvailable": 1, "maxRetry": 3, "tasks": [task]}
        life.server.put("jobs", f"ns/j{index}", {"metadata": meta, "spec": spec})
    return life


def phases(life: Jobs) -> list[str]:
    found: list[JsonObject] = [job.get("status", {}).get("state", {}) for job in life.server.objects["jobs"].values()]
    return [state.get("phase", "") for state in found]
