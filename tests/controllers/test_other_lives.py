"""Queues, podgroups of loose pods and expired jobs, with the real controllers and API server."""

from __future__ import annotations

import asyncio
import datetime
from typing import Any

import pytest

from tests.controllers.bench import NAMESPACE, SLEEPER, Bench, bench
from tests.waiting import until
from volcano.api import keys, resources
from volcano.api.meta import ObjectMeta
from volcano.api.scheduling import Queue, QueueStatus
from volcano.controllers.podgroup import controller
from volcano.controllers.queue import machine


async def make_queue(world: Bench, name: str, parent: str = "root") -> None:
    await world.client.create(
        resources.QUEUES.untyped, {"metadata": {"name": name}, "spec": {"weight": 1, "parent": parent}}
    )


async def order(world: Bench, action: str, queue: str) -> None:
    target = {"apiVersion": "scheduling.volcano.sh/v1beta1", "kind": "Queue", "name": queue, "uid": ""}
    document = {"metadata": {"generateName": "order-", "namespace": NAMESPACE}, "action": action, "target": target}
    await world.client.create(resources.COMMANDS.untyped, document)


async def is_state(world: Bench, queue: str, state: str) -> bool:
    return (await world.client.get(resources.QUEUES, queue)).status.state == state


def test_a_tree_of_queues_closes_and_opens_from_its_root() -> None:
    async def main() -> None:
        async with bench() as world:
            for name, parent in (("a", "root"), ("b", "a"), ("c", "b")):
                await make_queue(world, name, parent)
            for name in "abc":
                await until(lambda: is_state(world, name, "Open"))  # noqa: B023

            await order(world, "CloseQueue", "a")
            for name in "abc":
                await until(lambda: is_state(world, name, "Closed"))  # noqa: B023

            await order(world, "OpenQueue", "a")
            for name in "abc":
                await until(lambda: is_state(world, name, "Open"))  # noqa: B023
            assert (await world.client.list(resources.COMMANDS, NAMESPACE)).items == []

    asyncio.run(main())


def test_a_queue_below_a_closed_one_does_not_open_and_the_order_is_done_with() -> None:
    async def main() -> None:
        async with bench() as world:
            for name, parent in (("a", "root"), ("b", "a")):
                await make_queue(world, name, parent)
            await until(lambda: is_state(world, "b", "Open"))
            await order(world, "CloseQueue", "a")
            await until(lambda: is_state(world, "b", "Closed"))
            await order(world, "OpenQueue", "b")

            async def refused() -> bool:
                events = (await world.client.list(resources.EVENTS, "default")).items
                return any("because its parent queue a is closing or closed" in event.message for event in events)

            async def no_orders() -> bool:
                return not (await world.client.list(resources.COMMANDS, NAMESPACE)).items

            await until(refused)
            await until(no_orders)
            assert await is_state(world, "b", "Closed")

            await order(world, "OpenQueue", "b")
            await order(world, "OpenQueue", "a")
            await until(lambda: is_state(world, "b", "Open"))

    asyncio.run(main())


def test_a_queue_closes_when_its_last_podgroup_has_completed() -> None:
    async def main() -> None:
        async with bench() as world:
            await make_queue(world, "q")
            await until(lambda: is_state(world, "q", "Open"))
            document = {"metadata": {"name": "g", "namespace": NAMESPACE}, "spec": {"minMember": 1, "queue": "q"}}
            await world.client.create(resources.PODGROUPS.untyped, document)
            await asyncio.sleep(0.3)  # the controller has seen it
            await order(world, "CloseQueue", "q")
            await until(lambda: is_state(world, "q", "Closing"))
            await world.client.patch(resources.PODGROUPS, "g", {"status": {"phase": "Completed"}}, NAMESPACE)
            await until(lambda: is_state(world, "q", "Closed"))

    asyncio.run(main())


def test_podgroups_of_a_queue_that_is_open_are_no_work_for_its_controller() -> None:
    def queue(state: str) -> Queue:
        return Queue(metadata=ObjectMeta(name="q"), status=QueueStatus(state=state))

    states = ("", "Open", "Closing", "Closed", "Unknown", "Nonsense")
    assert [state for state in states if machine.counts_podgroups(queue(state))] == ["Closing"]
    for state in states:
        counted = {(machine.step(queue(state), "SyncQueue", number, None, []).state) for number in (0, 1)}
        assert (len(counted) == 2) == machine.counts_podgroups(queue(state))


async def make_pod(world: Bench, name: str, owner: Any = None, **annotations: str) -> None:
    meta: dict[str, Any] = {"name": name, "namespace": NAMESPACE, "annotations": annotations}
    if owner is not None:
        meta["ownerReferences"] = [owner]
    spec = {**SLEEPER, "schedulerName": "volcano"}
    await world.client.create(resources.PODS.untyped, {"metadata": meta, "spec": spec})


async def group_of(world: Bench, name: str) -> str:
    pod = await world.client.get(resources.PODS, name, NAMESPACE)
    return pod.metadata.annotations.get(keys.GROUP_NAME, "")


def test_a_bare_pod_gets_a_group_of_its_own() -> None:
    async def main() -> None:
        async with bench() as world:
            await make_pod(world, "p", **{keys.POD_QUEUE_NAME: "default", keys.PREEMPTABLE: "true"})

            async def grouped() -> bool:
                name = await group_of(world, "p")
                return bool(name) and await world.exists(resources.PODGROUPS, name)

            await until(grouped)
            group = await world.client.get(resources.PODGROUPS, await group_of(world, "p"), NAMESPACE)
            assert (group.spec.min_member, group.spec.queue) == (1, "default")
            assert group.metadata.annotations[keys.PREEMPTABLE] == "true"
            assert group.metadata.owner_references[0].name == "p"

    asyncio.run(main())


def test_a_pod_that_names_its_group_gets_it_though_whoever_said_so_was_interrupted() -> None:
    async def main() -> None:
        async with bench() as world:
            owner = {"apiVersion": "example.org/v1", "kind": "Owner", "name": "o", "uid": "u-1", "controller": True}
            await make_pod(world, "p", owner, **{keys.GROUP_NAME: "podgroup-u-1"})

            async def made() -> bool:
                return await world.exists(resources.PODGROUPS, "podgroup-u-1")

            await until(made)

    asyncio.run(main())


@pytest.mark.parametrize("owned", [False, True], ids=["alone", "owned"])
def test_a_group_that_somebody_deletes_is_there_again_for_pods_that_wait(
    owned: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Not for those that run, and not for those that go."""
    monkeypatch.setattr(controller, "REGROUP_SECONDS", 0.1)
    owner = {"apiVersion": "example.org/v1", "kind": "Owner", "name": "o", "uid": "u-1", "controller": True}

    async def main() -> None:
        async with bench() as world:
            await make_pod(world, "p", *([owner] if owned else []))

            async def grouped() -> bool:
                name = await group_of(world, "p")
                return bool(name) and await world.exists(resources.PODGROUPS, name)

            await until(grouped)
            name = await group_of(world, "p")
            await world.client.delete(resources.PODGROUPS, name, NAMESPACE)
            await until(grouped)

            await world.set_phase("p", "Running")
            await world.client.delete(resources.PODGROUPS, name, NAMESPACE)
            await asyncio.sleep(0.4)
            assert not await world.exists(resources.PODGROUPS, name)

    asyncio.run(main())


def test_pods_of_a_replica_set_share_a_group_that_follows_its_annotations() -> None:
    async def main() -> None:
        async with bench() as world:
            annotations = {keys.GROUP_MIN_MEMBER: "2", "volcano.sh/mine": "yes"}
            template = {"metadata": {"labels": {"app": "x"}}, "spec": {**SLEEPER, "schedulerName": "volcano"}}
            replica_set = {
                "metadata": {"name": "rs", "namespace": NAMESPACE, "annotations": annotations},
                "spec": {"replicas": 2, "selector": {"matchLabels": {"app": "x"}}, "template": template},
            }
            made = await world.client.create(resources.REPLICA_SETS.untyped, replica_set)
            uid = made["metadata"]["uid"]
            owner = {"apiVersion": "apps/v1", "kind": "ReplicaSet", "name": "rs", "uid": uid, "controller": True}
            await make_pod(world, "rs-a", owner)
            await make_pod(world, "rs-b", owner)
            name = f"podgroup-{uid}"

            async def shared() -> bool:
                named = [await group_of(world, pod) for pod in ("rs-a", "rs-b")]
                return named == [name, name] and await world.exists(resources.PODGROUPS, name)

            await until(shared)
            group = await world.client.get(resources.PODGROUPS, name, NAMESPACE)
            assert group.spec.min_member == 2
            assert group.metadata.annotations["volcano.sh/mine"] == "yes"

            change = {"metadata": {"annotations": {keys.GROUP_MIN_MEMBER: "1"}}}
            await world.client.patch(resources.REPLICA_SETS, "rs", change, NAMESPACE)

            async def follows() -> bool:
                return (await world.client.get(resources.PODGROUPS, name, NAMESPACE)).spec.min_member == 1

            await until(follows)
            await world.client.patch(resources.REPLICA_SETS, "rs", {"spec": {"replicas": 0}}, NAMESPACE)

            async def gone() -> bool:
                return not await world.exists(resources.PODGROUPS, name)

            await until(gone)

    asyncio.run(main())


def test_a_pod_of_another_scheduler_is_left_alone() -> None:
    async def main() -> None:
        async with bench() as world:
            spec = {**SLEEPER, "schedulerName": "default-scheduler"}
            await world.client.create(
                resources.PODS.untyped, {"metadata": {"name": "p", "namespace": NAMESPACE}, "spec": spec}
            )
            await asyncio.sleep(0.1)
            assert await group_of(world, "p") == ""
            assert world.wire.writes == [write for write in world.wire.writes if "queues" in write[1]]

    asyncio.run(main())


def test_a_finished_job_is_removed_after_its_time_to_live() -> None:
    async def main() -> None:
        async with bench() as world:
            await world.started(ttlSecondsAfterFinished=1)
            await world.set_phases("Succeeded")
            await world.reaches("Completed")
            began = datetime.datetime.now(datetime.UTC)

            async def removed() -> bool:
                job = await world.client.list(resources.JOBS, NAMESPACE)
                return not job.items or job.items[0].metadata.deletion_timestamp is not None

            await until(removed)
            assert datetime.datetime.now(datetime.UTC) - began < datetime.timedelta(seconds=30)

    asyncio.run(main())


def test_a_pod_that_belongs_to_somebody_else_is_named_and_waited_for() -> None:
    async def main() -> None:
        async with bench() as world:
            await make_pod(world, "train-worker-0", **{keys.GROUP_NAME: "mine"})
            await world.submit()
            await world.admit()

            async def told() -> bool:
                events = (await world.client.list(resources.EVENTS, NAMESPACE)).items
                return any("'train-worker-0' exists and belongs to nobody" in event.message for event in events)

            await until(told)
            await world.client.delete(resources.PODS, "train-worker-0", NAMESPACE, grace_seconds=0)
            await until(lambda: world.has_pods(2))

    asyncio.run(main())


def test_a_service_of_somebody_else_is_neither_used_nor_deleted() -> None:
    async def main() -> None:
        async with bench() as world:
            service = {"metadata": {"name": "train", "namespace": NAMESPACE}, "spec": {"ports": [{"port": 80}]}}
            await world.client.create(resources.SERVICES.untyped, service)
            await world.submit(plugins={"svc": []})

            async def told() -> bool:
                events = (await world.client.list(resources.EVENTS, NAMESPACE)).items
                return any(event.reason == "PluginError" and "does not belong" in event.message for event in events)

            await until(told)
            await world.command("AbortJob")
            await world.reaches("Aborted")
            assert await world.exists(resources.SERVICES, "train")

    asyncio.run(main())
