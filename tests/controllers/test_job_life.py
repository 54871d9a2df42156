"""The life of jobs with the real controllers and API server: start, end, restarts, commands, restarts of ourselves."""

from __future__ import annotations

import asyncio
from contextlib import suppress
from typing import Any

import pytest

from tests.controllers.bench import NAMESPACE, SLEEPER, Bench, bench
from tests.waiting import until
from volcano.api import keys, resources
from volcano.api.resources import Resource
from volcano.kube.client import PatchKind

RESTART_ON_FAILURE = [{"event": "PodFailed", "action": "RestartJob"}]


def test_a_job_gets_its_podgroup_then_its_pods_and_completes() -> None:
    async def main() -> None:
        async with bench() as world:
            job = await world.submit(replicas=2)
            group = f"train-{job.metadata.uid}"
            await until(lambda: world.exists(resources.PODGROUPS, group))
            await asyncio.sleep(0.1)
            assert await world.pods() == {}

            await world.admit()
            await until(lambda: world.has_pods(2))
            await world.set_phases("Running")
            await world.reaches("Running")
            await world.set_phases("Succeeded")
            done = await world.reaches("Completed")

            assert done.status.succeeded == 2
            assert [condition.status for condition in done.status.conditions] == ["Pending", "Running", "Completed"]
            assert done.status.running_duration is not None
            await until(lambda: gone(world, resources.PODGROUPS, group))
            assert set(await world.pods()) == {"train-worker-0", "train-worker-1"}

    asyncio.run(main())


def test_only_a_first_status_replaces_what_is_there() -> None:
    """What another version has written into a status stays, and so does what anybody has into the rest of a job."""

    async def main() -> None:
        async with bench() as world:
            await world.submit(replicas=1, annotations={"mine": "kept"})
            await world.reaches("Pending")
            await world.admit()
            await until(lambda: world.has_pods(1))
            await world.set_phases("Running")
            running = await world.reaches("Running")

            methods = [method for method, path in world.wire.writes if path.endswith("/jobs/train/status")]
            assert methods[0] == "PUT"
            assert set(methods[1:]) == {"PATCH"}
            assert running.metadata.annotations["mine"] == "kept"
            assert [task.replicas for task in running.spec.tasks] == [1]

    asyncio.run(main())


def test_a_failed_pod_restarts_the_job_until_its_retries_are_used_up() -> None:
    async def main() -> None:
        async with bench() as world:
            await world.started(policies=RESTART_ON_FAILURE, maxRetry=2)
            first = await world.pods()

            await world.set_phase("train-worker-0", "Failed", exit_code=1)
            await world.reaches("Pending")
            await world.admit()
            await until(lambda: other_pods(world, first))
            again = await world.job()
            assert (again.status.retry_count, again.status.version) == (1, 1)

            await world.set_phases("Running")
            await world.reaches("Running")
            await world.set_phase("train-worker-1", "Failed", exit_code=1)
            failed = await world.reaches("Failed")
            assert failed.status.retry_count == 2
            assert failed.status.state.message == "retries are used up (2 of 2)"

            async def warned() -> bool:
                events = (await world.client.list(resources.EVENTS, NAMESPACE)).items
                return any(event.type == "Warning" and failed.status.state.message in event.message for event in events)

            await until(warned)

    asyncio.run(main())


def test_a_restarted_pod_leaves_the_others_alone() -> None:
    async def main() -> None:
        async with bench() as world:
            policies = [{"exitCode": 3, "action": "RestartPod"}]
            job = await world.started(replicas=3, policies=policies)
            before = await world.pods()

            await world.set_phase("train-worker-1", "Failed", exit_code=3)
            await until(lambda: replaced(world, before, "train-worker-1"))
            await world.set_phase("train-worker-1", "Running")
            await world.reaches("Running")

            after = await world.pods()
            assert after["train-worker-0"] == before["train-worker-0"]
            assert after["train-worker-2"] == before["train-worker-2"]
            assert (await world.job()).status.version == job.status.version

    asyncio.run(main())


def test_a_command_aborts_and_another_resumes() -> None:
    async def main() -> None:
        async with bench() as world:
            await world.started()
            await world.command("AbortJob")
            aborted = await world.reaches("Aborted")
            assert aborted.status.running == 0
            await until(lambda: world.has_pods(0))
            await until(lambda: no_commands(world))

            await world.command("ResumeJob")
            await world.reaches("Pending")
            await world.admit()
            await until(lambda: world.has_pods(2))

    asyncio.run(main())


@pytest.mark.parametrize("loses_answer", [False, True])
@pytest.mark.parametrize("writes", range(6))
def test_a_command_is_obeyed_once_wherever_we_are_killed(writes: int, *, loses_answer: bool) -> None:
    async def main() -> None:
        async with bench() as world:
            await world.started()
            before = await world.pods()
            world.wire.loses_answer = loses_answer
            world.wire.cut_after = len(world.wire.writes) + writes

            await world.command("RestartJob")
            with suppress(TimeoutError):
                await asyncio.wait_for(world.wire.cut.wait(), 1)
            await world.stop()
            world.wire.repair()
            world.start()

            await until(lambda: no_commands(world))
            await world.reaches("Pending")
            await world.admit()
            await until(lambda: other_pods(world, before))
            job = await world.job()
            assert (job.status.version, job.status.retry_count) == (1, 1)

    asyncio.run(main())


def test_scaling_down_deletes_and_scaling_up_creates() -> None:
    async def main() -> None:
        async with bench() as world:
            task = {"name": "worker", "replicas": 3, "minAvailable": 1, "template": {"spec": SLEEPER}}
            await world.started(tasks=[task], minAvailable=1)
            await scale(world, 1)
            await until(lambda: world.has_pods(1))
            await scale(world, 4)
            await until(lambda: world.has_pods(4))
            assert (await world.job()).status.retry_count == 0

    asyncio.run(main())


def test_dependent_tasks_wait_for_the_tasks_they_name() -> None:
    async def main() -> None:
        async with bench() as world:
            tasks = [
                {"name": "first", "replicas": 1, "minAvailable": 1, "template": {"spec": SLEEPER}},
                {
                    "name": "second",
                    "replicas": 2,
                    "dependsOn": {"name": ["first"]},
                    "template": {"spec": SLEEPER},
                },
            ]
            await world.submit(tasks=tasks, minAvailable=1)
            await world.admit()
            await until(lambda: world.has_pods(1))
            await asyncio.sleep(0.1)
            assert set(await world.pods()) == {"train-first-0"}

            await world.set_phase("train-first-0", "Succeeded")
            await until(lambda: world.has_pods(3))

    asyncio.run(main())


def test_plugins_keep_their_objects_beside_the_job_and_take_them_away_at_its_end() -> None:
    async def main() -> None:
        async with bench() as world:
            await world.started(plugins={"svc": [], "ssh": [], "env": []})
            secret = await world.client.get(resources.SECRETS, "train-ssh", NAMESPACE)
            assert set(secret.data) == {"id_rsa", "id_rsa.pub", "authorized_keys", "config"}
            hosts = await world.client.get(resources.CONFIGMAPS, "train-svc", NAMESPACE)
            assert hosts.data["VC_WORKER_HOSTS"] == "train-worker-0.train,train-worker-1.train"

            await world.set_phases("Succeeded")
            await world.reaches("Completed")
            await until(lambda: gone(world, resources.SECRETS, "train-ssh"))
            await until(lambda: gone(world, resources.SERVICES, "train"))

            async def unmarked() -> bool:
                return (await world.job()).status.controlled_resources == {}

            await until(unmarked)

    asyncio.run(main())


def test_a_missing_claim_keeps_the_job_pending_and_says_so() -> None:
    async def main() -> None:
        async with bench() as world:
            await world.submit(volumes=[{"mountPath": "/data", "volumeClaimName": "mine"}])

            async def told() -> bool:
                events = (await world.client.list(resources.EVENTS, NAMESPACE)).items
                return any(event.reason == "PVCError" and "pvc mine is not found" in event.message for event in events)

            await until(told)
            claim = {"metadata": {"name": "mine"}, "spec": {"accessModes": ["ReadWriteOnce"]}}
            claim["spec"]["resources"] = {"requests": {"storage": "1Gi"}}  # type: ignore[index]
            await world.client.create(resources.PERSISTENT_VOLUME_CLAIMS.untyped, claim, NAMESPACE)
            await world.admit()
            await until(lambda: world.has_pods(2))

    asyncio.run(main())


def test_nothing_is_written_when_nothing_changes() -> None:
    async def main() -> None:
        async with bench() as world:
            await world.started(plugins={"svc": [], "env": []})
            await world.quiet(0.7)
            await asyncio.sleep(0.7)
            assert world.wire.writes == []

    asyncio.run(main())


def test_a_pod_costs_one_create_and_the_job_few_status_writes() -> None:
    async def main() -> None:
        async with bench() as world:
            await world.started(replicas=100)
            await world.set_phases("Succeeded")
            await world.reaches("Completed")
            creates = [path for method, path in world.wire.writes if method == "POST" and path.endswith("/pods")]
            statuses = [path for method, path in world.wire.writes if path.endswith("/jobs/train/status")]
            assert len(creates) == 100
            assert len(statuses) <= 40

    asyncio.run(main())


@pytest.mark.parametrize("loses_answer", [False, True])
def test_a_controller_killed_at_any_write_continues_what_it_began(loses_answer: bool) -> None:
    """A restart after a failure, cut off after every single write: the job restarts once and starts its pods once."""

    async def main() -> None:
        writes = await restart_with_cut(None, loses_answer)
        assert writes >= 10
        for cut_after in range(writes):
            await restart_with_cut(cut_after, loses_answer)

    asyncio.run(main())


async def restart_with_cut(cut_after: int | None, loses_answer: bool) -> int:
    """Number of writes from the failure of a pod until the job runs again."""
    async with bench() as world:
        await world.started(replicas=3, policies=RESTART_ON_FAILURE, plugins={"svc": []})
        await asyncio.sleep(0.02)
        first = await world.pods()
        wire = world.wire
        wire.writes.clear()
        wire.cut_after, wire.loses_answer = cut_after, loses_answer
        life = asyncio.create_task(second_life(world, first))
        if cut_after is not None:
            await asyncio.wait([life, asyncio.create_task(wire.cut.wait())], return_when=asyncio.FIRST_COMPLETED)
            await world.stop()
            wire.repair()
            world.start()
        await life
        job = await world.job()
        assert (job.status.retry_count, job.status.version) == (1, 1), cut_after
        assert (job.status.running, job.status.failed) == (3, 0), cut_after
        return len(wire.writes)


async def second_life(world: Bench, first: dict[str, str]) -> None:
    await world.set_phase("train-worker-2", "Failed", exit_code=1)
    await world.reaches("Pending")
    await world.admit()
    await until(lambda: other_pods(world, first, 3))
    created = await world.pods()
    await world.set_phases("Running")
    await world.reaches("Running")
    assert await world.pods() == created


async def gone(world: Bench, resource: Resource[Any], name: str) -> bool:
    return not await world.exists(resource, name)


async def no_commands(world: Bench) -> bool:
    return (await world.client.list(resources.COMMANDS, NAMESPACE)).items == []


async def other_pods(world: Bench, before: dict[str, str], count: int = 2) -> bool:
    now = await world.pods()
    return len(now) == count and not set(now.values()) & set(before.values())


async def replaced(world: Bench, before: dict[str, str], name: str) -> bool:
    now = await world.pods()
    return name in now and now[name] != before[name]


async def scale(world: Bench, replicas: int) -> None:
    operation = {"op": "replace", "path": "/spec/tasks/0/replicas", "value": replicas}
    await world.client.patch(resources.JOBS, "train", [operation], NAMESPACE, kind=PatchKind.JSON)


def test_an_array_has_no_more_unfinished_pods_than_it_says() -> None:
    async def main() -> None:
        async with bench() as world:
            await world.submit(replicas=4, minAvailable=1, annotations={keys.AT_ONCE: "2"})
            await world.admit()
            await until(lambda: world.has_pods(2))
            await world.set_phases("Running")
            await world.reaches("Running")
            assert set(await world.pods()) == {"train-worker-0", "train-worker-1"}

            await world.set_phase("train-worker-0", "Failed", exit_code=1)
            await until(lambda: world.has_pods(3))
            await world.set_phase("train-worker-1", "Succeeded")
            await until(lambda: world.has_pods(4))
            for name in ("train-worker-2", "train-worker-3"):
                await world.set_phase(name, "Succeeded")

            done = await world.reaches("Completed")
            assert (done.status.succeeded, done.status.failed) == (3, 1)

    asyncio.run(main())
