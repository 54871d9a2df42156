"""How late statuses are: at once or in a moment in a calm cluster, when the rush is over for what nobody waits for."""

from __future__ import annotations

import asyncio
from typing import Any, cast

import pytest

from tests.waiting import until
from volcano.api.keys import POD_GROUP_PREFIX
from volcano.api.meta import JsonObject
from volcano.api.scheduling import SCHEDULED, UNSCHEDULABLE, PodGroup
from volcano.kube.client import Client
from volcano.kube.events import EventRecorder
from volcano.scheduler.daemon import lateness, statuses
from volcano.scheduler.daemon.ingest import Feed
from volcano.scheduler.daemon.lateness import (
    AFTERWARDS_SECONDS,
    AT_ONCE,
    BURST,
    DEBT,
    NUMBERS,
    REFILL_SECONDS,
    RUNS,
    SETTLES,
    StatusRush,
)
from volcano.scheduler.daemon.statuses import StatusWriter
from volcano.scheduler.framework.decisions import Condition, Decisions, PodGroupDecision
from volcano.testing.builders import gang

PLACED = [Condition(SCHEDULED, "tasks in gang are ready to be scheduled")]
STARTS = PodGroupDecision("Running", conditions=PLACED, is_settling=True)
ALL_RUN = PodGroupDecision("Running", running=1, conditions=PLACED)
FOR_PODS = f"{POD_GROUP_PREFIX}1234"
MANY = 150


@pytest.mark.parametrize(
    ("phase", "wanted", "expected", "name"),
    [
        ("Inqueue", STARTS, SETTLES, "train"),
        ("Inqueue", ALL_RUN, RUNS, "train"),
        ("Running", PodGroupDecision("Running", running=3), NUMBERS, "train"),
        ("Pending", PodGroupDecision("Inqueue"), AT_ONCE, "train"),
        ("Pending", PodGroupDecision("Inqueue"), SETTLES, FOR_PODS),
        ("Pending", STARTS, NUMBERS, "train"),
        ("Pending", ALL_RUN, AT_ONCE, "train"),
        ("Pending", ALL_RUN, RUNS, FOR_PODS),
        ("Unknown", ALL_RUN, AT_ONCE, "train"),
        ("Inqueue", PodGroupDecision("Completed", succeeded=1), AT_ONCE, "train"),
        ("Running", PodGroupDecision("Unknown", conditions=PLACED, is_settling=True), AT_ONCE, "train"),
        ("Inqueue", PodGroupDecision("Running", conditions=[Condition(UNSCHEDULABLE, "x")]), AT_ONCE, "train"),
    ],
    ids=[
        "placed",
        "runs",
        "numbers",
        "admitted",
        "made for its pods",
        "placed, somebody may wait to hear that it is admitted",
        "runs, somebody may wait to hear that it is admitted",
        "made for its pods, runs",
        "recovers",
        "over",
        "in trouble",
        "refused",
    ],
)
def test_how_late(phase: str, wanted: PodGroupDecision, expected: lateness.Seconds, name: str) -> None:
    group = gang(name, phase=phase).pod_group

    assert lateness.lateness(group, wanted, wanted.news(group.status)) == expected


def test_a_rush_is_over_when_little_changes_for_a_while() -> None:
    rush = StatusRush(0.0)

    at_first = [rush.begins_or_lasts(0.0) for _ in range(BURST + 20)]

    assert at_first == [False] * BURST + [True] * 20
    assert all(rush.begins_or_lasts(cycle * 0.3) for cycle in range(1, 11) for _ in range(20))
    assert rush.lasts(3.0)
    assert rush.lasts(3.0 + (DEBT - 1) * REFILL_SECONDS)
    assert not rush.lasts(3.0 + (DEBT + 2) * REFILL_SECONDS)


def test_what_was_held_back_in_a_rush_does_not_make_another_one() -> None:
    rush = StatusRush(0.0)
    for _ in range(2 * BURST):
        rush.begins_or_lasts(0.0)
    over = (DEBT + 2) * REFILL_SECONDS

    assert rush.turns(0.0, waiting=7) == 0
    assert rush.turns(over, waiting=7) == 7
    assert rush.turns(over, waiting=2 * BURST) == BURST - 7
    assert rush.turns(over + 0.5, waiting=2 * BURST) == pytest.approx(0.5 / AFTERWARDS_SECONDS, abs=1)


class Clock:
    """In place of the module `time`: it stands still until somebody sets it."""

    seconds = 0.0

    def monotonic(self) -> float:
        return self.seconds


@pytest.fixture
def clock(monkeypatch: pytest.MonkeyPatch) -> Clock:
    clock = Clock()
    monkeypatch.setattr(statuses, "time", clock)
    monkeypatch.setattr(statuses, "LOOK_SECONDS", 0.05)
    return clock


class Server:
    """Stands for the API server and the view of it, with very many groups that have been admitted."""

    def __init__(self) -> None:
        self.groups: dict[str, PodGroup] = {}
        for number in range(MANY):
            group = gang(f"train-{number}", phase="Inqueue").pod_group
            self.groups[group.metadata.key] = group
        self.phases: dict[str, list[str]] = {key: [] for key in self.groups}

    def store(self, _plural: str) -> dict[str, Any]:
        return cast("dict[str, Any]", self.groups)

    async def patch(self, _resource: Any, name: str, body: JsonObject, namespace: str) -> None:
        key = f"{namespace}/{name}"
        self.groups[key].status.phase = body["status"]["phase"]
        self.phases[key].append(body["status"]["phase"])

    @property
    def told(self) -> int:
        return sum(bool(phases) for phases in self.phases.values())


async def rushing(server: Server, writer: StatusWriter) -> asyncio.Task[None]:
    """All groups run at once."""
    writing = asyncio.create_task(writer.run())
    writer.accept(Decisions(podgroups=dict.fromkeys(server.groups, ALL_RUN)))
    await until(lambda: server.told >= BURST)
    await asyncio.sleep(0.1)
    return writing


def writer_to(server: Server) -> StatusWriter:
    return StatusWriter(cast("Client", server), cast("Feed", server), cast("EventRecorder", None))


def test_in_a_rush_the_first_are_told_at_once_and_the_others_when_it_is_over(clock: Clock) -> None:
    async def main() -> None:
        server = Server()
        writing = await rushing(server, writer_to(server))
        assert server.told == BURST

        clock.seconds = (DEBT + 2) * REFILL_SECONDS
        await until(lambda: server.told == MANY)
        writing.cancel()
        assert set(map(tuple, server.phases.values())) == {("Running",)}

    asyncio.run(main())


def test_a_rush_without_end_is_not_waited_for(clock: Clock, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(lateness, "REFILL_SECONDS", 1e9)

    async def main() -> None:
        server = Server()
        writing = await rushing(server, writer_to(server))
        clock.seconds = RUNS[1] - 1.0
        await asyncio.sleep(0.1)
        assert server.told == BURST
        clock.seconds = RUNS[1]
        await until(lambda: server.told == MANY)
        writing.cancel()

    asyncio.run(main())


@pytest.mark.usefixtures("clock")
def test_news_that_somebody_waits_for_is_told_in_a_rush_too() -> None:
    async def main() -> None:
        server = Server()
        writer = writer_to(server)
        writing = await rushing(server, writer)
        untold = next(key for key, phases in server.phases.items() if not phases)

        writer.accept(Decisions(podgroups={untold: PodGroupDecision("Completed", succeeded=1)}))
        await until(lambda: server.phases[untold])
        writing.cancel()
        assert server.phases[untold] == ["Completed"]
        assert server.told == BURST + 1

    asyncio.run(main())
