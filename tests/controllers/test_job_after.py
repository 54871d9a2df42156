"""Jobs that wait for other jobs: the rule, and the life of two of them."""

from __future__ import annotations

import asyncio
import datetime

import pytest

from tests.controllers.bench import Bench, bench
from tests.waiting import until
from volcano.api import dependencies, keys, resources
from volcano.api.batch import Job, JobSpec, TaskSpec
from volcano.api.meta import ObjectMeta
from volcano.controllers.job import after, machine
from volcano.controllers.job.events import SYNC
from volcano.controllers.job.facts import Facts
from volcano.controllers.job.members import Members

NOW = datetime.datetime(2026, 1, 1, tzinfo=datetime.UTC)


def job(text: str, phase: str = "") -> Job:
    metadata = ObjectMeta(name="j", namespace="n", uid="u", annotations={keys.AFTER: text})
    made = Job(metadata=metadata, spec=JobSpec(min_available=1, queue="q", tasks=[TaskSpec(name="w", replicas=1)]))
    made.status.state.phase = phase
    return made


@pytest.mark.parametrize(
    ("text", "phases", "reason"),
    [
        ("afterok:a", {"a": "Running"}, after.WAITING),
        ("afterok:a", {"a": "Completed"}, None),
        ("a", {"a": "Completed"}, None),
        ("afterok:a", {"a": "Failed"}, after.NEVER),
        ("afterok:a", {"a": "Aborted"}, after.WAITING),
        ("afterok:a", {}, after.NEVER),
        ("afternotok:a", {"a": "Failed"}, None),
        ("afternotok:a", {"a": "Completed"}, after.NEVER),
        ("afterany:a", {"a": "Terminated"}, None),
        ("after:a", {"a": "Pending"}, after.WAITING),
        ("after:a", {"a": "Running"}, None),
        ("afterok:a:b", {"a": "Completed", "b": "Running"}, after.WAITING),
        ("afterok:a,afterany:b", {"a": "Running", "b": "Failed"}, after.WAITING),
        ("afterok:a,afterok:b", {"a": "Running", "b": "Failed"}, after.NEVER),
        ("afterwards:a", {}, after.WRONG),
    ],
)
def test_what_holds_a_job_back(text: str, phases: dict[str, str], reason: str | None) -> None:
    found = after.hold(job(text), lambda name: phases.get(name))

    assert (found and found.reason) == reason


def test_a_job_that_has_begun_is_not_held() -> None:
    assert after.hold(job("afterok:a", "Running"), lambda _name: None) is None


@pytest.mark.parametrize("text", ["", "afterok", "afterok:", "afterok:a,", "sometime:a"])
def test_texts_that_name_no_dependencies(text: str) -> None:
    with pytest.raises(dependencies.DependencyError, match="afterok:prepare"):
        dependencies.parse(text)


def test_a_held_job_says_why_and_makes_nothing_until_it_is_freed() -> None:
    waiting = job("afterok:a")
    plan = machine.step(waiting, Members(), None, SYNC, NOW, Facts(hold=after.hold(waiting, {"a": "Running"}.get)))
    assert plan.podgroup_create is None
    assert plan.status is not None
    assert (plan.status.state.phase, plan.status.state.reason) == ("Pending", "Dependency")
    assert "job a (afterok) has not ended" in plan.status.state.message

    waiting.status = plan.status
    plan = machine.step(waiting, Members(), None, SYNC, NOW, Facts(hold=after.hold(waiting, {"a": "Completed"}.get)))
    assert plan.podgroup_create is not None
    assert plan.status is not None
    assert (plan.status.state.phase, plan.status.state.reason) == ("Pending", "")


def test_a_job_starts_when_the_one_before_it_has_completed() -> None:
    async def main() -> None:
        async with bench() as world:
            await world.submit(replicas=1)
            await world.submit(name="second", replicas=1, annotations={keys.AFTER: "afterok:train"})
            await until(lambda: reason_is(world, "second", "Dependency"))

            await world.admit()
            await until(lambda: world.has_pods(1))
            await world.set_phases("Running")
            await world.set_phases("Succeeded")

            await world.reaches("Completed")
            await until(lambda: has_podgroup(world, "second"))

    asyncio.run(main())


async def reason_is(world: Bench, name: str, reason: str) -> bool:
    return (await world.job(name)).status.state.reason == reason


async def has_podgroup(world: Bench, name: str) -> bool:
    found = await world.job(name)
    return await world.exists(resources.PODGROUPS, f"{name}-{found.metadata.uid}")
