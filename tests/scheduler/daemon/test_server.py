"""The daemon beside a real API server: binds, statuses, refusals, reload."""

from __future__ import annotations

import asyncio
import time
from pathlib import Path
from typing import Any

from tests.scheduler.daemon.bench import bench
from tests.waiting import until
from volcano.api.resources import PODS, PRIORITY_CLASSES, QUEUES
from volcano.testing.builders import gang, priority_class


def test_a_gang_is_bound_soon_after_it_is_created() -> None:
    async def scenario() -> None:
        async with bench(nodes=2) as b:
            await b.submit(gang("train", pods=4, cpu=1))

            async def bound() -> bool:
                return all([(await b.pod(f"train-worker-{i}")).spec.node_name for i in range(4)])

            await until(bound)

    asyncio.run(scenario())


def test_a_gang_that_does_not_fit_is_told_why_once() -> None:
    async def scenario() -> None:
        async with bench(nodes=1, cpu=2) as b:
            await b.submit(gang("train", pods=3, cpu=1))

            async def told() -> bool:
                return bool((await b.pod_group("train")).status.conditions)

            await until(told)
            condition = (await b.pod_group("train")).status.conditions[0]
            assert (condition.type, condition.reason) == ("Unschedulable", "NotEnoughResources")
            assert "3 cpu needed, 2 available" in condition.message
            message = "the cluster is full: 3 cpu needed, 2 available"

            async def told_of_pods() -> bool:
                return (await b.pod("train-worker-2")).status.conditions[0].message == message

            await until(told_of_pods)

            async def stays() -> bool:
                version = (await b.pod_group("train")).metadata.resource_version
                b.scheduler.feed.changed.set()
                await asyncio.sleep(0.3)
                return (await b.pod_group("train")).metadata.resource_version == version

            await until(stays)
            assert await stays()

    asyncio.run(scenario())


def test_the_queues_that_must_exist_are_created() -> None:
    async def scenario() -> None:
        async with bench() as b:
            assert {queue.metadata.name for queue in (await b.client.list(QUEUES)).items} >= {"root", "default"}

    asyncio.run(scenario())


def test_a_refused_bind_is_undone_and_tried_again() -> None:
    async def scenario() -> None:
        async with bench() as b:
            original, refused = b.scheduler.writer.bind, []

            async def refuse_once(namespace: str, name: str, *rest: object, **more: object) -> None:
                if not refused:
                    refused.append(name)
                    from volcano.kube.errors import Conflict

                    raise Conflict("the node says no")
                await original(namespace, name, *rest, **more)  # type: ignore[arg-type]

            b.scheduler.writer.bind = refuse_once  # type: ignore[method-assign, assignment]
            await b.submit(gang("train", pods=1, cpu=1))

            async def bound() -> bool:
                return bool((await b.pod("train-worker-0")).spec.node_name)

            await until(bound)
            assert refused == ["train-worker-0"]

    asyncio.run(scenario())


def test_an_idle_scheduler_binds_within_a_tenth_of_a_second() -> None:
    """At its quickest: a machine that is busy with other things delays some."""

    async def scenario() -> None:
        async with bench(nodes=4, cpu=100) as b:
            took = 1.0
            for number in range(50):
                began = time.monotonic()
                await b.submit(gang(f"g{number}", pods=1, cpu=1))

                async def bound(name: str = f"g{number}-worker-0") -> bool:
                    return bool((await b.pod(name)).spec.node_name)

                await until(bound)
                took = min(took, time.monotonic() - began)
                if number >= 4 and took < 0.1:
                    return
                await asyncio.sleep(0.05)
            raise AssertionError(f"{took:.3f} s at best")

    asyncio.run(scenario())


def test_deleted_pods_give_their_room_back() -> None:
    async def scenario() -> None:
        async with bench(nodes=1, cpu=1) as b:
            await b.submit(gang("first", pods=1, cpu=1))

            async def first_bound() -> bool:
                return bool((await b.pod("first-worker-0")).spec.node_name)

            await until(first_bound)
            await b.submit(gang("second", pods=1, cpu=1))
            await b.client.delete(PODS, "first-worker-0", "default", grace_seconds=0)

            async def second_bound() -> bool:
                return bool((await b.pod("second-worker-0")).spec.node_name)

            await until(second_bound)

    asyncio.run(scenario())


def test_for_whom_a_pod_goes_is_written_before_it_goes(tmp_path: Path) -> None:
    """Whoever leads after a `kill -9` in between knows it, and takes no second one."""
    conf = tmp_path / "scheduler.conf"
    conf.write_text("""
actions: "enqueue, allocate, preempt"
tiers:
- plugins: [{name: priority}, {name: gang, enableJobStarving: false}, {name: predicates}]
""")

    async def scenario() -> None:
        async with bench(cpu=2, scheduler_conf=str(conf)) as b:
            await b.client.create(PRIORITY_CLASSES, priority_class("high", 1000))
            await b.submit(gang("small", pods=2, min_available=1, cpu=1))

            async def full() -> bool:
                return all([(await b.pod(f"small-worker-{i}")).spec.node_name for i in range(2)])

            await until(full)
            for i in range(2):
                running = {"status": {"phase": "Running"}}
                await b.client.patch(PODS, f"small-worker-{i}", running, "default", subresource="status")
            delete, noted = b.scheduler.writer.delete, []

            async def watched(*what: Any, **more: Any) -> Any:
                noted.append((await b.pod("train-worker-0")).status.nominated_node_name)
                return await delete(*what, **more)

            b.scheduler.writer.delete = watched  # type: ignore[method-assign]
            await b.submit(gang("train", pods=1, cpu=1, priority_class="high"))

            await until(lambda: bool(noted))
            assert noted == ["n0"]

    asyncio.run(scenario())
