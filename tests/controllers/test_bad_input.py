"""What people can get wrong where admission does not see it, or is not there: told, waited for, survived."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest

from tests.controllers.bench import NAMESPACE, SLEEPER, Bench, bench
from tests.controllers.test_cronjobs import at, reasons, submit as submit_cronjob
from tests.controllers.test_jobflows import after, has_jobs, make_flow, make_template, told
from tests.controllers.test_other_lives import is_state, make_queue, order
from tests.waiting import until
from volcano.api import resources
from volcano.api.keys import AFTER
from volcano.controllers.job.volumes import claim_name
from volcano.kube.client import PatchKind
from volcano.local.apiserver.admission.volcano import VolcanoRules


@pytest.fixture
def unguarded(monkeypatch: pytest.MonkeyPatch) -> None:
    """As where the webhooks are down and their configuration lets requests pass."""
    for verb in ("mutate", "validate"):
        monkeypatch.setattr(VolcanoRules, verb, lambda _rules, _attributes: None)


async def state(world: Bench) -> tuple[str, str]:
    """What the job's status says is in the way."""
    found = (await world.job()).status.state
    return found.reason, found.message


async def waits(world: Bench, reason: str, words: str) -> None:
    """An event and the status say so."""

    async def said() -> bool:
        found, message = await state(world)
        return found == reason and words in message and await told(world, words)

    await until(said)


async def rests(world: Bench) -> None:
    """Nothing is written any more."""
    await world.quiet()
    await asyncio.sleep(0.3)
    assert world.wire.writes == []


async def starts(world: Bench) -> None:
    """Whatever was in the way is gone: the job runs, and its status says nothing any more."""
    await world.admit()
    await until(lambda: world.has_pods(2))
    await world.set_phases("Running")
    await world.reaches("Running")

    async def clear() -> bool:
        return await state(world) == ("", "")

    await until(clear)


# Flows


@pytest.mark.usefixtures("unguarded")
@pytest.mark.parametrize(
    ("steps", "words"),
    [
        ([after("a", "a")], "a waits for itself: break the circle"),
        ([{"name": "x"}, after("a", "c", "x"), after("b", "a"), after("c", "b")], "a and b and c wait for one another"),
        ([after("a", "nothing")], "spec.flows[0].dependsOn.targets: 'nothing' is not a step of this flow (a)"),
        ([{"name": "x"}, {"name": "x"}], "spec.flows names 'x' 2 times"),
    ],
    ids=["of itself", "in a circle", "of nothing", "twice"],
)
def test_a_flow_that_cannot_come_to_its_end_says_so(steps: list[dict[str, Any]], words: str) -> None:
    async def main() -> None:
        async with bench(controllers="jobflow-controller") as world:
            for name in "abcx":
                await make_template(world, name)
            await make_flow(world, *steps)
            await until(lambda: told(world, words))
            begun = ["x"] if {"name": "x"} in steps else []
            await until(lambda: has_jobs(world, *begun))
            await rests(world)

    asyncio.run(main())


# Cronjobs


@pytest.mark.usefixtures("unguarded")
def test_a_time_zone_that_does_not_exist_is_told() -> None:
    async def main() -> None:
        async with at("2030-01-01T00:01:30+00:00") as (world, _clock):
            await submit_cronjob(world, "* * * * *", timeZone="Mars/Olympus")

            async def said() -> bool:
                return "InvalidTimeZone" in await reasons(world) and await told(world, 'time zone "Mars/Olympus"')

            await until(said)

    asyncio.run(main())


# Names


@pytest.mark.usefixtures("unguarded")
def test_a_name_too_long_for_the_labels_of_pods_ends_the_job_and_is_told() -> None:
    name = "train-" + "x" * 60

    async def main() -> None:
        async with bench(max_requeue_num=2) as world:
            await world.submit(name)
            await world.admit(name)
            await until(lambda: told(world, "must be no more than 63"))
            await world.reaches("Terminated", name)

    asyncio.run(main())


def test_a_pod_of_somebody_else_is_named_in_the_status() -> None:
    async def main() -> None:
        async with bench() as world:
            pod = {"metadata": {"name": "train-worker-0", "namespace": NAMESPACE}, "spec": SLEEPER}
            await world.client.create(resources.PODS.untyped, pod)
            await world.submit()
            await world.admit()
            await waits(world, "NameTaken", "pod 'train-worker-0' exists and belongs to nobody")
            await world.client.delete(resources.PODS, "train-worker-0", NAMESPACE, grace_seconds=0)
            await starts(world)

    asyncio.run(main())


def test_a_claim_that_exists_already_is_not_the_jobs() -> None:
    claim = {"accessModes": ["ReadWriteOnce"], "resources": {"requests": {"storage": "1Gi"}}}

    async def main() -> None:
        async with bench() as world:
            await world.submit("first", replicas=1)
            volumes = [{"mountPath": "/data", "volumeClaim": claim}]
            job = await world.submit(annotations={AFTER: "afterok:first"}, volumes=volumes)
            name = claim_name(job, 0)
            document = {"metadata": {"name": name, "namespace": NAMESPACE}, "spec": claim}
            await world.client.create(resources.PERSISTENT_VOLUME_CLAIMS.untyped, document)
            await world.client.patch(resources.JOBS, "train", {"metadata": {"annotations": {AFTER: None}}}, NAMESPACE)
            await world.command("ResumeJob")  # look again
            await waits(world, "NameTaken", f"PersistentVolumeClaim '{name}' exists and does not belong to job")
            await world.client.delete(resources.PERSISTENT_VOLUME_CLAIMS, name, NAMESPACE)
            await starts(world)

    asyncio.run(main())


def test_a_claim_that_does_not_exist_is_waited_for() -> None:
    async def main() -> None:
        async with bench() as world:
            await world.submit(volumes=[{"mountPath": "/data", "volumeClaimName": "data"}])
            await waits(world, "ClaimMissing", "pvc data is not found")
            claim = {"accessModes": ["ReadWriteOnce"], "resources": {"requests": {"storage": "1Gi"}}}
            document = {"metadata": {"name": "data", "namespace": NAMESPACE}, "spec": claim}
            await world.client.create(resources.PERSISTENT_VOLUME_CLAIMS.untyped, document)
            await starts(world)

    asyncio.run(main())


@pytest.mark.usefixtures("unguarded")
def test_a_queue_that_does_not_exist_is_waited_for() -> None:
    async def main() -> None:
        async with bench() as world:
            await world.submit(queue="later")
            await waits(world, "QueueMissing", "queue 'later' of job default/train does not exist")
            await world.client.create(resources.QUEUES.untyped, {"metadata": {"name": "later"}, "spec": {"weight": 1}})
            await starts(world)

    asyncio.run(main())


@pytest.mark.usefixtures("unguarded")
def test_a_queue_that_was_closed_in_the_meantime_is_waited_for() -> None:
    async def main() -> None:
        async with bench() as world:
            await make_queue(world, "shut")
            await until(lambda: is_state(world, "shut", "Open"))
            await order(world, "CloseQueue", "shut")
            await until(lambda: is_state(world, "shut", "Closed"))
            await world.submit(queue="shut")
            await waits(world, "QueueClosed", "queue 'shut' of job default/train is Closed")
            await order(world, "OpenQueue", "shut")
            await starts(world)

    asyncio.run(main())


def test_secrets_that_cannot_be_read_are_told_and_tried_again() -> None:
    async def main() -> None:
        async with bench() as world:
            world.wire.forbidden = "secrets"
            await world.submit(plugins={"ssh": []})
            await waits(world, "Forbidden", 'cannot touch resource "secrets"')
            world.wire.forbidden = ""
            await starts(world)

    asyncio.run(main())


# Edits and deletions at bad moments


def test_a_job_edited_while_it_restarts_comes_back_as_edited() -> None:
    async def main() -> None:
        async with bench() as world:
            await world.started(replicas=1)
            await world.command("RestartJob")
            task = [{"op": "replace", "path": "/spec/tasks/0/replicas", "value": 2}]
            await world.client.patch(resources.JOBS.untyped, "train", task, NAMESPACE, kind=PatchKind.JSON)
            await world.reaches("Pending")
            await starts(world)
            assert (await world.job()).status.retry_count == 1

    asyncio.run(main())


def test_a_podgroup_edited_by_hand_is_what_the_job_says_again() -> None:
    async def main() -> None:
        async with bench() as world:
            job = await world.started()
            group = f"train-{job.metadata.uid}"
            edit = {"spec": {"minMember": 7, "queue": "elsewhere", "minTaskMember": {"worker": 5}}}
            await world.client.patch(resources.PODGROUPS, group, edit, NAMESPACE)

            async def restored() -> bool:
                spec = (await world.client.get(resources.PODGROUPS, group, NAMESPACE)).spec
                return (spec.min_member, spec.queue, spec.min_task_member) == (2, "default", {"worker": 2})

            await until(restored)

    asyncio.run(main())


def test_a_job_deleted_in_the_middle_of_its_start_is_forgotten() -> None:
    async def main() -> None:
        async with bench() as world:
            await world.submit(replicas=50, plugins={"svc": []})
            await world.admit()
            await world.client.delete(resources.JOBS, "train", NAMESPACE, propagation="Background")
            await rests(world)

    asyncio.run(main())
