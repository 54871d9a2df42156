"""Events about bound pods: one each while they are few, sums for their groups in a rush."""

from __future__ import annotations

import asyncio

from tests.scheduler.daemon.bench import bench, eventually
from volcano.api.core import Event
from volcano.api.resources import EVENTS
from volcano.scheduler.daemon.announcements import BURST
from volcano.testing.builders import gang


def events_after(pods: int) -> list[Event]:
    """The events that say where the pods of one gang went."""

    async def scenario() -> list[Event]:
        async with bench(nodes=1, cpu=1000) as b:
            await b.submit(gang("train", pods=pods, cpu=1))

            async def bound() -> bool:
                return bool((await b.pod(f"train-worker-{pods - 1}")).spec.node_name)

            await eventually(bound)
            await b.scheduler.outbox.drain()
            await b.scheduler.recorder.flush()
            return [event for event in (await b.client.list(EVENTS)).items if event.reason == "Scheduled"]

    return asyncio.run(scenario())


def test_a_few_pods_are_told_one_by_one() -> None:
    events = events_after(3)

    assert {event.involved_object.name for event in events} == {f"train-worker-{index}" for index in range(3)}
    assert "Successfully assigned default/train-worker-1 to n0" in {event.message for event in events}


def test_in_a_rush_the_group_is_told_how_many() -> None:
    events = events_after(BURST + 50)

    of_pods = [event for event in events if event.involved_object.kind == "Pod"]
    of_groups = [event for event in events if event.involved_object.kind == "PodGroup"]
    assert BURST <= len(of_pods) < BURST + 50
    assert sum(int(event.message.split()[2]) for event in of_groups) == BURST + 50 - len(of_pods)
