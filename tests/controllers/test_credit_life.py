"""Jobs whose podgroups are let in before they are there: under the real controllers, and nobody admits anything."""

from __future__ import annotations

import asyncio
import datetime
import json
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

import pytest

from tests.controllers.bench import NAMESPACE, SLEEPER, Bench, bench
from tests.controllers.simulation.job_life import Jobs
from tests.controllers.simulation.world import Silent, run
from tests.controllers.test_job_life import RESTART_ON_FAILURE
from tests.waiting import until
from volcano.api import keys, resources
from volcano.api.meta import JsonObject
from volcano.controllers.job.after import FORBIDDEN
from volcano.controllers.job.controller import JobController
from volcano.controllers.job.perform import PODGROUP_PATIENCE_SECONDS
from volcano.controllers.job.sync import QueueClosed

EACH = {"count/pods": "2", "pods": "2"}
YEAR_9000 = datetime.datetime(9000, 1, 1, tzinfo=datetime.UTC)


def credit(groups: int, id_: str = "a") -> JsonObject:
    """What the scheduler writes about a queue."""
    said = {"id": id_, "schedulerNames": ["volcano"], "groups": groups, "each": EACH, "until": YEAR_9000.isoformat()}
    return {"metadata": {"annotations": {keys.ADMISSION_CREDIT: json.dumps(said)}}}


@asynccontextmanager
async def rush(groups: int) -> AsyncIterator[Bench]:
    """Controllers that have heard of so much credit."""
    async with bench() as world:
        controller = job_controller(world)
        await until(lambda: controller.mailroom.read)
        await world.client.patch(resources.QUEUES, "default", credit(groups))
        await until(lambda: controller._balance.offers("default"))
        await until(lambda: are_open(world))
        world.wire.writes.clear()
        yield world


async def are_open(world: Bench) -> bool:
    """The queues, as their controller writes at its start: it has nothing more to write until there are podgroups."""
    return all(queue.status.state == "Open" for queue in (await world.client.list(resources.QUEUES)).items)


def job_controller(world: Bench) -> JobController:
    assert world.runtime is not None
    [found] = [one for one, _ in world.runtime._controllers if isinstance(one, JobController)]
    return found


def made(world: Bench) -> list[str]:
    """The kinds of what the controllers have made, in order."""
    return [path.rsplit("/", 1)[-1] for method, path in world.wire.writes if method == "POST"]


async def phase_of_group(world: Bench, name: str = "train") -> str:
    job = await world.job(name)
    group = await world.client.get(resources.PODGROUPS, f"{name}-{job.metadata.uid}", NAMESPACE)
    return group.status.phase


def test_pods_follow_their_podgroup_at_once_until_the_credit_is_spent() -> None:
    async def main() -> None:
        async with rush(1) as world:
            await world.submit("first")
            await until(lambda: world.has_pods(2, "first"))
            assert made(world) == ["podgroups", "pods", "pods"]
            assert await phase_of_group(world, "first") == "Inqueue"
            await world.reaches("Pending", "first")

            await world.submit("second")
            await world.reaches("Pending", "second")
            assert await phase_of_group(world, "second") in {"", "Pending"}
            assert await world.pods("second") == {}
            await world.admit("second")
            await until(lambda: world.has_pods(2, "second"))

    asyncio.run(main())


def test_a_job_larger_than_agreed_waits_and_spends_nothing() -> None:
    async def main() -> None:
        async with rush(1) as world:
            await world.submit("large", replicas=3)
            await world.reaches("Pending", "large")
            assert await world.pods("large") == {}
            await world.submit("small")
            await until(lambda: world.has_pods(2, "small"))

    asyncio.run(main())


def test_a_job_that_starts_again_waits_for_its_turn() -> None:
    async def main() -> None:
        async with rush(5) as world:
            await world.submit(policies=RESTART_ON_FAILURE)
            await until(lambda: world.has_pods(2))
            await world.set_phases("Running")
            await world.reaches("Running")
            await world.set_phase("train-worker-0", "Failed", exit_code=1)
            await world.reaches("Pending")
            await until(lambda: has_waiting_group(world))
            assert await world.pods() == {}

            await world.admit()
            await until(lambda: world.has_pods(2))
            assert job_controller(world)._balance._left["default"] == {"a": 4}

    asyncio.run(main())


async def has_waiting_group(world: Bench) -> bool:
    return await phase_of_group(world) in {"", "Pending"}


@pytest.mark.parametrize(("writes", "loses_answer"), [(1, False), (0, True)])
def test_who_takes_over_between_podgroup_and_pods_makes_the_pods(writes: int, *, loses_answer: bool) -> None:
    async def main() -> None:
        async with rush(2) as world:
            world.wire.cut_after, world.wire.loses_answer = writes, loses_answer
            await world.submit()
            await world.wire.cut.wait()
            await world.stop()
            assert await world.pods() == {}
            assert await phase_of_group(world) == "Inqueue"

            world.wire.repair()
            world.start()
            await until(lambda: world.has_pods(2))
            await world.quiet()
            assert set(await world.pods()) == {"train-worker-0", "train-worker-1"}

    asyncio.run(main())


def test_what_pods_need_is_there_before_them() -> None:
    async def main() -> None:
        async with rush(1) as world:
            claim = {"accessModes": ["ReadWriteOnce"], "resources": {"requests": {"storage": "1Gi"}}}
            volumes = [{"mountPath": "/data", "volumeClaim": claim}]
            await world.submit(plugins={"svc": [], "ssh": []}, volumes=volumes)
            await until(lambda: world.has_pods(2))

            kinds = made(world)
            assert kinds[-3:] == ["podgroups", "pods", "pods"]
            assert {"persistentvolumeclaims", "secrets", "services", "configmaps"} <= set(kinds[:-3])
            pod = await world.client.get(resources.PODS.untyped, "train-worker-0", NAMESPACE)
            mounted = [one.get("persistentVolumeClaim", {}).get("claimName") for one in pod["spec"]["volumes"]]
            assert (await world.job()).spec.volumes[0].volume_claim_name in mounted

    asyncio.run(main())


def test_dependent_tasks_wait_as_ever() -> None:
    async def main() -> None:
        async with rush(1) as world:
            first = {"name": "first", "replicas": 1, "minAvailable": 1, "template": {"spec": SLEEPER}}
            second = {"name": "second", "replicas": 1, "dependsOn": {"name": ["first"]}, "template": {"spec": SLEEPER}}
            await world.submit(tasks=[first, second], minAvailable=1)
            await until(lambda: world.has_pods(1))
            await world.reaches("Pending")
            assert set(await world.pods()) == {"train-first-0"}
            await world.set_phase("train-first-0", "Running")
            await until(lambda: world.has_pods(2))

    asyncio.run(main())


def test_a_job_that_waits_for_another_one_is_let_in_when_it_begins() -> None:
    async def main() -> None:
        async with rush(2) as world:
            await world.submit("before")
            await world.submit("after", annotations={keys.AFTER: "before"})
            await until(lambda: world.has_pods(2, "before"))
            await world.reaches("Pending", "after")
            assert await world.pods("after") == {}
            assert job_controller(world)._balance.offers("default")

            await world.set_phases("Running", "before")
            await world.set_phases("Succeeded", "before")
            await world.reaches("Completed", "before")
            await until(lambda: world.has_pods(2, "after"))

    asyncio.run(main())


def test_a_queue_that_is_closed_meanwhile_lets_nobody_in() -> None:
    async def main() -> None:
        async with rush(2) as world:
            controller = job_controller(world)
            await world.submit("before")
            await world.submit("after", annotations={keys.AFTER: "before"})
            await until(lambda: world.has_pods(2, "before"))
            await world.reaches("Pending", "after")
            closed = {"status": {"state": "Closed"}}
            await world.client.patch(resources.QUEUES, "default", closed, subresource="status")
            await until(lambda: not controller._queues.store["default"].is_open)
            await world.set_phases("Running", "before")
            await world.set_phases("Succeeded", "before")

            async def told() -> bool:
                return (await world.job("after")).status.state.reason == QueueClosed.reason

            await until(told)
            assert made(world).count("podgroups") == 1
            assert controller._balance.offers("default")

    asyncio.run(main())


def test_a_job_that_is_refused_spends_once_and_then_waits_for_its_turn() -> None:
    async def main() -> None:
        async with rush(9) as world:
            world.wire.forbidden = "podgroups"
            await world.submit()

            async def told() -> bool:
                return (await world.job()).status.state.reason == FORBIDDEN

            await until(told)
            world.wire.forbidden = ""
            await world.admit()
            await until(lambda: world.has_pods(2))
            assert job_controller(world)._balance._left["default"] == {"a": 8}

    asyncio.run(main())


# A podgroup that is there, and of which the watch has not told


@pytest.mark.parametrize("phase", ["Pending", "Inqueue"])
def test_pods_wait_for_the_word_on_a_podgroup_that_was_made_before(phase: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """A process before this one was killed as it had made it. They are made as soon as the watch shows it, let in."""
    warnings: list[Any] = []
    monkeypatch.setattr(Silent, "record", lambda _, *words: warnings.append(words))
    container = {"name": "c", "image": "i"}
    task = {"name": "t", "replicas": 2, "template": {"spec": {"containers": [container]}}}
    spec = {"queue": "q", "schedulerName": "volcano", "minAvailable": 2, "maxRetry": 3, "tasks": [task]}
    head = {"apiVersion": "batch.volcano.sh/v1alpha1", "kind": "Job"}

    async def story() -> None:
        life = Jobs(0)
        server = life.server
        server.put("queues", "q", {"metadata": {"name": "q"}, "spec": {}, "status": {"state": "Open"}})
        life.start()
        await life.pause(1.0)
        server.patch("queues", "q", credit(9))
        await life.pause(1.0)
        with server.held("podgroups"):
            job = server.put("jobs", "ns/a", {**head, "metadata": {"name": "a", "namespace": "ns"}, "spec": spec})
            uid = job["metadata"]["uid"]
            owner = {**head, "name": "a", "uid": uid, "controller": True}
            meta = {"name": f"a-{uid}", "namespace": "ns", "ownerReferences": [owner]}
            server.put("podgroups", f"ns/a-{uid}", {"metadata": meta, "spec": {"queue": "q"}})
            server.patch("podgroups", f"ns/a-{uid}", {"status": {"phase": phase}})
            server.break_watches("podgroups", forget=True)
            await life.pause(5.0)
            assert not server.objects["pods"]
        await life.pause(PODGROUP_PATIENCE_SECONDS / 3)
        assert len(server.objects["pods"]) == (2 if phase == "Inqueue" else 0)
        await life.scheduler_admits()
        await life.pause(1.0)
        assert len(server.objects["pods"]) == 2
        assert life.jobs._balance._left["q"] == {"a": 8}
        await life.stop()

    run(story())
    assert [words for words in warnings if words[2] == "Warning"] == []
