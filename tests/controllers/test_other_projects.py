"""What other projects send works unchanged: their objects, their reads, their updates."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest

from tests.controllers.bench import NAMESPACE, SLEEPER, Bench, bench
from tests.waiting import until
from volcano.api import keys, resources
from volcano.api.phases import JOB_PHASES
from volcano.kube.client import PatchKind
from volcano.kube.errors import AlreadyExists

JsonObject = dict[str, Any]
PHASES_TORCHX_KNOWS = {*JOB_PHASES} - {"Completing"}


def requests(cpu: str) -> JsonObject:
    return {"containers": [{"name": "c", "image": "busybox", "resources": {"requests": {"cpu": cpu}}}]}


async def make_pod(world: Bench, name: str, *, labels: Any = None, **annotations: str) -> None:
    meta = {"name": name, "namespace": NAMESPACE, "annotations": annotations, "labels": labels or {}}
    spec = {**requests("1"), "schedulerName": "volcano"}
    await world.client.create(resources.PODS.untyped, {"metadata": meta, "spec": spec})


async def make_group(world: Bench, name: str, *, status: JsonObject | None = None, **spec: Any) -> JsonObject:
    document: JsonObject = {
        "apiVersion": "scheduling.volcano.sh/v1beta1",
        "kind": "PodGroup",
        "metadata": {"name": name, "namespace": NAMESPACE},
        "spec": spec,
    }
    if status is not None:
        document["status"] = status
    return await world.client.create(resources.PODGROUPS.untyped, document)


async def groups(world: Bench) -> dict[str, Any]:
    return {group.metadata.name: group for group in (await world.client.list(resources.PODGROUPS, NAMESPACE)).items}


async def stays_alone(world: Bench, name: str) -> None:
    """Pods that name a group get no other."""
    await asyncio.sleep(0.2)
    assert (await groups(world)).keys() == {name}


def test_torchx_jobs() -> None:
    """One task per replica, no gang size at the job; then the status, the pods' names and the hosts are read."""
    tasks = [
        {
            "name": f"trainer-{index}",
            "replicas": 1,
            "maxRetry": 2,
            "minAvailable": (index == 0 and 1) or 0,
            "template": {"spec": SLEEPER},
            "policies": [{"event": event, "action": "RestartJob"} for event in ("PodEvicted", "PodFailed")],
        }
        for index in range(2)
    ]
    document = {
        "apiVersion": "batch.volcano.sh/v1alpha1",
        "kind": "Job",
        "metadata": {"name": "app", "namespace": NAMESPACE},
        "spec": {
            "schedulerName": "volcano",
            "queue": "default",
            "tasks": tasks,
            "maxRetry": 2,
            "plugins": {"svc": ["--publish-not-ready-addresses"], "env": []},
        },
    }

    async def main() -> None:
        async with bench() as world:
            made = await world.client.create(resources.JOBS.untyped, document)
            assert made["spec"]["minAvailable"] == 1
            with pytest.raises(AlreadyExists):
                await world.client.create(resources.JOBS.untyped, document)
            await world.admit("app")
            await until(lambda: world.has_pods(2, "app"))
            assert set(await world.pods("app")) == {"app-trainer-0-0", "app-trainer-1-0"}
            await world.set_phases("Running", "app")
            job = await world.reaches("Running", "app")
            assert job.status.state.phase in PHASES_TORCHX_KNOWS

            async def counted() -> bool:
                counts = (await world.job("app")).status.task_status_count
                return {name: next(iter(one.phase), "") for name, one in counts.items()} == {
                    "trainer-0": "Running",
                    "trainer-1": "Running",
                }

            await until(counted)
            hosts = await world.client.get(resources.CONFIGMAPS.untyped, "app-svc", NAMESPACE)
            assert hosts["data"]["VC_TRAINER_0_HOSTS"] == "app-trainer-0-0.app"

    asyncio.run(main())


def test_spark_s_driver_and_executors_share_the_group_that_spark_made() -> None:
    async def main() -> None:
        async with bench() as world:
            await make_group(world, "spark-1-podgroup", minMember=1, queue="default", minResources={"cpu": "2"})
            for name in ("spark-1-driver", "spark-1-exec-1"):
                await make_pod(world, name, **{keys.GROUP_NAME: "spark-1-podgroup"})
            await stays_alone(world, "spark-1-podgroup")

    asyncio.run(main())


def test_spark_operator_says_the_phase_itself_and_changes_the_members_only() -> None:
    async def main() -> None:
        async with bench() as world:
            group = await make_group(
                world,
                "spark-app-pg",
                status={"phase": "Pending"},
                minMember=1,
                minResources={"cpu": "3", "memory": "3Gi"},
                queue="default",
            )
            await make_pod(world, "driver", **{keys.GROUP_NAME: "spark-app-pg"})
            group["spec"]["minMember"] = 2
            updated = await world.client.update(resources.PODGROUPS.untyped, group)
            assert (updated["spec"]["minMember"], updated["spec"]["minResources"]["memory"]) == (2, "3Gi")
            await stays_alone(world, "spark-app-pg")
            await world.client.delete(resources.PODGROUPS, "spark-app-pg", NAMESPACE)
            assert await groups(world) == {}

    asyncio.run(main())


def test_kubeflow_trainer_applies_its_group_again_and_again() -> None:
    document = {
        "apiVersion": "scheduling.volcano.sh/v1beta1",
        "kind": "PodGroup",
        "metadata": {"name": "train", "namespace": NAMESPACE},
        "spec": {
            "minMember": 3,
            "minResources": {"cpu": "3", "nvidia.com/gpu": "3"},
            "queue": "default",
            "networkTopology": {"mode": "hard", "highestTierAllowed": 1},
        },
    }

    async def main() -> None:
        async with bench() as world:
            first = await world.client.apply(resources.PODGROUPS.untyped, document, field_manager="trainer")
            again = await world.client.apply(resources.PODGROUPS.untyped, document, field_manager="trainer")
            assert first["metadata"]["resourceVersion"] == again["metadata"]["resourceVersion"]
            await make_pod(world, "train-node-0", **{keys.GROUP_NAME: "train"})
            await stays_alone(world, "train")

    asyncio.run(main())


def test_the_mpi_operator_overwrites_the_whole_specification() -> None:
    async def main() -> None:
        async with bench() as world:
            group = await make_group(world, "mpi", minMember=3, queue="default", priorityClassName="high")
            group["spec"] = {"minMember": 4, "queue": "default", "minResources": {"cpu": "4"}}
            updated = await world.client.update(resources.PODGROUPS.untyped, group)
            assert updated["spec"]["minMember"] == 4
            assert "priorityClassName" not in updated["spec"]
            for name in ("mpi-launcher", "mpi-worker-0"):
                await make_pod(world, name, **{keys.GROUP_NAME: "mpi"})
            await stays_alone(world, "mpi")

    asyncio.run(main())


def test_kuberay_asks_for_nothing_at_the_end() -> None:
    async def main() -> None:
        async with bench() as world:
            pending = {"phase": "Pending"}
            await make_group(world, "ray-r-pg", status=pending, minMember=3, minResources={"cpu": "3"}, queue="default")
            annotations = {keys.GROUP_NAME: "ray-r-pg", keys.TASK_SPEC: "head-group"}
            await make_pod(world, "r-head", **annotations)
            end = {"spec": {"minMember": 0, "minResources": None}}
            updated = await world.client.patch(resources.PODGROUPS.untyped, "ray-r-pg", end, NAMESPACE)
            assert updated["spec"].get("minMember", 0) == 0
            assert not updated["spec"].get("minResources")
            await stays_alone(world, "ray-r-pg")

    asyncio.run(main())


def test_leader_worker_set_names_the_queue_on_the_group_s_annotations() -> None:
    async def main() -> None:
        async with bench() as world:
            queue = {"metadata": {"name": "ml"}, "spec": {"weight": 1, "parent": "root"}}
            await world.client.create(resources.QUEUES.untyped, queue)
            document = {
                "apiVersion": "scheduling.volcano.sh/v1beta1",
                "kind": "PodGroup",
                "metadata": {
                    "name": "lws-0-7c",
                    "namespace": NAMESPACE,
                    "annotations": {keys.POD_QUEUE_NAME: "ml"},
                },
                "spec": {"minMember": 3, "queue": "ml", "minResources": {"cpu": "3"}},
            }
            await world.client.create(resources.PODGROUPS.untyped, document)
            for index in range(3):
                await make_pod(world, f"lws-0-{index}", **{keys.GROUP_NAME: "lws-0-7c", keys.POD_QUEUE_NAME: "ml"})
            await stays_alone(world, "lws-0-7c")
            assert (await groups(world))["lws-0-7c"].spec.queue == "ml"

    asyncio.run(main())


def test_airflow_s_pods_get_a_group_in_the_queue_they_name() -> None:
    async def main() -> None:
        async with bench() as world:
            queue = {"metadata": {"name": "etl"}, "spec": {"weight": 1, "parent": "root"}}
            await world.client.create(resources.QUEUES.untyped, queue)
            await make_pod(world, "task-a", **{keys.POD_QUEUE_NAME: "etl"})

            async def grouped() -> bool:
                return [group.spec.queue for group in (await groups(world)).values()] == ["etl"]

            await until(grouped)

    asyncio.run(main())


def test_argo_and_prefect_follow_the_phase_and_find_the_pods_by_label() -> None:
    """Success and failure are conditions on `status.state.phase` of the document as it is."""

    async def main() -> None:
        async with bench() as world:
            await world.started("step", replicas=1)
            await world.set_phases("Succeeded", "step")
            await world.reaches("Completed", "step")
            document = await world.client.get(resources.JOBS.untyped, "step", NAMESPACE)
            assert document["status"]["state"]["phase"] == "Completed"
            selected = await world.client.list(resources.PODS, NAMESPACE, label_selector="volcano.sh/job-name=step")
            assert [pod.metadata.name for pod in selected.items] == ["step-worker-0"]

    asyncio.run(main())


def test_a_pod_that_knows_only_the_other_key_joins_its_group() -> None:
    async def main() -> None:
        async with bench() as world:
            await make_group(world, "grove", minMember=1, queue="default")
            await make_pod(world, "grove-0", **{keys.VOLCANO_GROUP_NAME: "grove"})

            async def joined() -> bool:
                pod = await world.client.get(resources.PODS, "grove-0", NAMESPACE)
                return pod.metadata.annotations.get(keys.GROUP_NAME) == "grove"

            await until(joined)
            await stays_alone(world, "grove")

            async def told() -> bool:
                events = (await world.client.list(resources.EVENTS, NAMESPACE)).items
                return any(event.reason == "GroupNameTakenOver" for event in events)

            await until(told)

    asyncio.run(main())


def test_ray_s_group_follows_the_cluster_s_size() -> None:
    async def main() -> None:
        async with bench() as world:
            await make_group(world, "ray-a-pg", minMember=3, minResources={"cpu": "3"}, queue="default")
            for members in (5, 2):
                body = {"spec": {"minMember": members, "minResources": {"cpu": str(members)}}}
                await world.client.patch(resources.PODGROUPS, "ray-a-pg", body, NAMESPACE, kind=PatchKind.MERGE)
            group = (await groups(world))["ray-a-pg"]
            assert (group.spec.min_member, group.spec.min_resources) == (2, {"cpu": "2"})

    asyncio.run(main())
