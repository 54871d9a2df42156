"""Events about bound pods: one each while they are few, sums for their groups in a rush."""

from __future__ import annotations

import asyncio

from tests.scheduler.daemon.bench import bench
from tests.waiting import until
from volcano.api.core import Event
from volcano.api.resources import EVENTS, PODS
from volcano.scheduler.daemon.announcements import BURST
from volcano.testing.builders import gang


def events_after(pods: int, gangs: int = 1) -> list[Event]:
    """The events that say where the pods of gangs went."""

    async def scenario() -> list[Event]:
        async with bench(nodes=2, cpu=1000) as b:
            names = ["train", *(f"train-{number}" for number in range(1, gangs))]
            for name in names:
                await b.submit(gang(name, pods=pods, cpu=1))

            async def bound() -> bool:
                return all(pod.spec.node_name for pod in (await b.client.list(PODS)).items)

            await until(bound)
            await b.scheduler.outbox.drain()
            await b.scheduler.recorder.flush()
            return [event for event in (await b.client.list(EVENTS)).items if event.reason == "Scheduled"]

    return asyncio.run(scenario())


def test_a_few_pods_are_told_one_by_one() -> None:
    events = events_after(3)

    assert {event.involved_object.name for event in events} == {f"train-worker-{index}" for index in range(3)}
    assert {event.message[:-1] for event in events} >= {"Successfully assigned default/train-worker-1 to n"}


def test_in_a_rush_the_group_is_told_how_many() -> None:
    events = events_after(BURST + 50)

    of_pods = [event for event in events if event.involved_object.kind == "Pod"]
    of_groups = [event for event in events if event.involved_object.kind == "PodGroup"]
    assert BURST <= len(of_pods) < BURST + 50
    assert sum(int(event.message.split()[2]) for event in of_groups) == BURST + 50 - len(of_pods)


def test_of_many_small_groups_only_some_are_told() -> None:
    events = events_after(1, gangs=3 * BURST)

    assert BURST <= len(events) < 3 * BURST
    assert {event.involved_object.kind for event in events} == {"Pod"}, "a group of one has nothing to sum up"
