"""CronJobs with the real controller and API server, under a clock of our own."""

from __future__ import annotations

import asyncio
import datetime
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

from tests.controllers.bench import NAMESPACE, SLEEPER, Bench, bench
from tests.waiting import until
from volcano.api import keys, resources
from volcano.api.batch import CronJob

TEMPLATE = {
    "metadata": {"labels": {"app": "nightly"}},
    "spec": {"tasks": [{"name": "t", "replicas": 1, "template": {"spec": SLEEPER}}]},
}


class Clock:
    def __init__(self, text: str) -> None:
        self.now = datetime.datetime.fromisoformat(text)

    def __call__(self) -> datetime.datetime:
        return self.now


@asynccontextmanager
async def at(text: str, **flags: str) -> AsyncIterator[tuple[Bench, Clock]]:
    clock = Clock(text)
    async with bench(running=False, **flags) as world:
        world.start()
        assert world.runtime is not None
        world.runtime.context.now = clock
        yield world, clock


async def submit(world: Bench, schedule: str, **spec: Any) -> None:
    document = {
        "apiVersion": "batch.volcano.sh/v1alpha1",
        "kind": "CronJob",
        "metadata": {"name": "nightly", "namespace": NAMESPACE},
        "spec": {"schedule": schedule, "jobTemplate": TEMPLATE, **spec},
    }
    await world.client.create(resources.CRON_JOBS.untyped, document)


async def last_start(world: Bench, text: str) -> None:
    """As if the job of that time had been started and forgotten."""
    await world.client.patch(
        resources.CRON_JOBS, "nightly", {"status": {"lastScheduleTime": text}}, NAMESPACE, subresource="status"
    )
    await wake(world, "started")


async def wake(world: Bench, mark: str) -> None:
    """Have the controller look again: time does not pass by itself here."""
    await world.client.patch(
        resources.CRON_JOBS, "nightly", {"spec": {"jobTemplate": {"metadata": {"labels": {"mark": mark}}}}}, NAMESPACE
    )


async def cronjob(world: Bench) -> CronJob:
    return await world.client.get(resources.CRON_JOBS, "nightly", NAMESPACE)


async def jobs(world: Bench) -> dict[str, str]:
    found = (await world.client.list(resources.JOBS, NAMESPACE)).items
    return {job.metadata.name: job.metadata.annotations.get(keys.CRONJOB_SCHEDULED_TIMESTAMP, "") for job in found}


async def reasons(world: Bench) -> set[str]:
    return {event.reason for event in (await world.client.list(resources.EVENTS, NAMESPACE)).items}


async def has_jobs(world: Bench, *stamps: str) -> bool:
    return sorted((await jobs(world)).values()) == sorted(stamps)


async def finish(world: Bench, stamp: str, phase: str, when: str) -> None:
    name = next(name for name, found in (await jobs(world)).items() if found == stamp)
    await world.reaches("Pending", name)
    state = {"phase": phase, "lastTransitionTime": when}
    await world.client.patch(resources.JOBS, name, {"status": {"state": state}}, NAMESPACE, subresource="status")


def test_a_nightly_job_across_the_change_of_clocks() -> None:
    """In spring 2:30 does not exist: that night is left out. In autumn 1:30 comes twice, and so does the job."""

    async def main() -> None:
        async with at("2025-03-08T12:00:00+00:00") as (world, clock):
            await submit(world, "30 2 * * *", timeZone="America/New_York")
            await last_start(world, "2025-03-08T07:30:00Z")
            clock.now = datetime.datetime(2025, 3, 9, 12, tzinfo=datetime.UTC)
            await wake(world, "a")
            await asyncio.sleep(0.2)
            assert await jobs(world) == {}
            clock.now = datetime.datetime(2025, 3, 10, 6, 30, 1, tzinfo=datetime.UTC)
            await wake(world, "b")
            await until(lambda: has_jobs(world, "2025-03-10T02:30:00-04:00"))

    asyncio.run(main())


def test_a_time_that_comes_twice_starts_two_jobs() -> None:
    async def main() -> None:
        async with at("2025-11-02T05:31:00+00:00") as (world, clock):
            await submit(world, "30 1 * * *", timeZone="America/New_York")
            await last_start(world, "2025-11-01T05:30:00Z")
            await until(lambda: has_jobs(world, "2025-11-02T01:30:00-04:00"))
            clock.now = datetime.datetime(2025, 11, 2, 6, 31, tzinfo=datetime.UTC)
            await wake(world, "b")
            await until(lambda: has_jobs(world, "2025-11-02T01:30:00-04:00", "2025-11-02T01:30:00-05:00"))

    asyncio.run(main())


def test_the_status_follows_the_jobs_and_old_ones_go() -> None:
    async def main() -> None:
        async with at("2030-01-01T00:01:30+00:00") as (world, clock):
            await submit(world, "* * * * *", successfulJobsHistoryLimit=1)
            await until(lambda: has_jobs(world, "2030-01-01T00:01:00Z"))

            async def is_active(count: int) -> bool:
                return len((await cronjob(world)).status.active) == count

            await until(lambda: is_active(1))
            await finish(world, "2030-01-01T00:01:00Z", "Completed", "2030-01-01T00:01:20Z")
            await until(lambda: is_active(0))
            assert (await cronjob(world)).status.last_successful_time == clock.now.replace(second=20)
            clock.now += datetime.timedelta(minutes=1)
            await wake(world, "b")
            await until(lambda: has_jobs(world, "2030-01-01T00:01:00Z", "2030-01-01T00:02:00Z"))
            await finish(world, "2030-01-01T00:02:00Z", "Completed", "2030-01-01T00:02:20Z")
            await until(lambda: has_jobs(world, "2030-01-01T00:02:00Z"))

            async def all_told() -> bool:
                return {"SawCompletedJob", "SuccessfulCreate", "SuccessfulDelete"} <= await reasons(world)

            await until(all_told)

    asyncio.run(main())


def test_a_job_that_still_runs_is_waited_for_or_replaced() -> None:
    async def main() -> None:
        async with at("2030-01-01T00:01:30+00:00") as (world, clock):
            await submit(world, "* * * * *", concurrencyPolicy="Forbid")
            await until(lambda: has_jobs(world, "2030-01-01T00:01:00Z"))
            clock.now += datetime.timedelta(minutes=1)
            await wake(world, "b")

            async def told() -> bool:
                return "ForbidConcurrent" in await reasons(world)

            await until(told)
            assert await has_jobs(world, "2030-01-01T00:01:00Z")
            await world.client.patch(
                resources.CRON_JOBS, "nightly", {"spec": {"concurrencyPolicy": "Replace"}}, NAMESPACE
            )
            await until(lambda: has_jobs(world, "2030-01-01T00:02:00Z"))

    asyncio.run(main())


def test_a_controller_that_is_killed_in_the_middle_starts_nothing_twice() -> None:
    async def main() -> None:
        async with at("2030-01-01T00:01:30+00:00", controllers="cronjob-controller") as (world, clock):
            world.wire.cut_after = 1  # the job is created, its note in the status is lost
            world.wire.loses_answer = True
            await submit(world, "* * * * *", concurrencyPolicy="Forbid")
            await until(lambda: has_jobs(world, "2030-01-01T00:01:00Z"))
            await world.wire.cut.wait()
            await world.stop()
            world.wire.repair()
            world.start()
            assert world.runtime is not None
            world.runtime.context.now = clock

            async def noted() -> bool:
                status = (await cronjob(world)).status
                return len(status.active) == 1

            await until(noted)
            assert await has_jobs(world, "2030-01-01T00:01:00Z")

    asyncio.run(main())


def test_a_schedule_that_never_comes_is_told() -> None:
    async def main() -> None:
        async with at("2030-01-01T00:01:30+00:00") as (world, _clock):
            await submit(world, "0 0 31 2 *")

            async def told() -> bool:
                return "InvalidSchedule" in await reasons(world)

            await until(told)

    asyncio.run(main())
