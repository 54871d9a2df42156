"""Flows with the real controllers and API server: the diamond with all kinds of probes, and what can go wrong."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

from tests.controllers.bench import NAMESPACE, SLEEPER, Bench, bench
from tests.waiting import until
from volcano.api import keys, resources
from volcano.api.flow import JobFlow
from volcano.kube.errors import NotFound


async def make_template(world: Bench, name: str, **spec: Any) -> None:
    task = {"name": "server", "replicas": 1, "template": {"spec": SLEEPER}}
    document = {
        "apiVersion": "flow.volcano.sh/v1alpha1",
        "kind": "JobTemplate",
        "metadata": {"name": name, "namespace": NAMESPACE},
        "spec": {"tasks": [task], **spec},
    }
    await world.client.create(resources.JOB_TEMPLATES.untyped, document)


async def make_flow(world: Bench, *steps: dict[str, Any], **spec: Any) -> None:
    document = {
        "apiVersion": "flow.volcano.sh/v1alpha1",
        "kind": "JobFlow",
        "metadata": {"name": "f", "namespace": NAMESPACE},
        "spec": {"flows": list(steps), **spec},
    }
    await world.client.create(resources.JOB_FLOWS.untyped, document)


def after(name: str, *targets: str, **probe: Any) -> dict[str, Any]:
    return {"name": name, "dependsOn": {"targets": list(targets), **({"probe": probe} if probe else {})}}


async def jobs(world: Bench) -> set[str]:
    return {job.metadata.name for job in (await world.client.list(resources.JOBS, NAMESPACE)).items}


async def has_jobs(world: Bench, *names: str) -> bool:
    return await jobs(world) == {f"f-{name}" for name in names}


async def flow(world: Bench) -> JobFlow:
    return await world.client.get(resources.JOB_FLOWS, "f", NAMESPACE)


async def is_phase(world: Bench, phase: str) -> bool:
    return (await flow(world)).status.state.phase == phase


async def run(world: Bench, name: str) -> None:
    """The pods of a step's job run, on this machine."""
    await world.admit(f"f-{name}")
    await until(lambda: world.has_pods(1, f"f-{name}"))
    for pod in await world.pods(f"f-{name}"):
        status = {"phase": "Running", "podIP": "127.0.0.1"}
        await world.client.patch(resources.PODS, pod, {"status": status}, NAMESPACE, subresource="status")
    await world.reaches("Running", f"f-{name}")


async def finish(world: Bench, name: str, phase: str = "Succeeded") -> None:
    await world.set_phases(phase, f"f-{name}")
    await world.reaches("Completed" if phase == "Succeeded" else "Failed", f"f-{name}")


async def told(world: Bench, words: str) -> bool:
    return any(words in event.message for event in (await world.client.list(resources.EVENTS, NAMESPACE)).items)


@asynccontextmanager
async def listening(answer: str) -> AsyncIterator[tuple[int, dict[str, str]]]:
    """A server that answers with the status in `state`."""
    state = {"status": answer, "request": ""}

    async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        request = await reader.read(1000)
        state["request"] = request.decode() or state["request"]
        writer.write(f"HTTP/1.1 {state['status']}\r\ncontent-length: 0\r\n\r\n".encode())
        await writer.drain()
        writer.close()

    server = await asyncio.start_server(serve, "127.0.0.1", 0)
    async with server:
        yield server.sockets[0].getsockname()[1], state


def test_a_diamond_with_probes_of_every_kind() -> None:
    async def main() -> None:
        async with bench() as world, listening("503 busy") as (port, web), listening("200 OK") as (open_port, _):
            for name in "abcde":
                await make_template(world, name)
            header = {"name": "X-Probe", "value": "yes"}
            await make_flow(
                world,
                {"name": "a"},
                after(
                    "b", "a", httpGetList=[{"taskName": "server", "path": "/up", "port": port, "httpHeader": header}]
                ),
                after("c", "a", tcpSocketList=[{"taskName": "server", "port": open_port}]),
                after("d", "a", taskStatusList=[{"taskName": "server", "phase": "Running"}]),
                after("e", "b", "c", "d"),
            )
            await until(lambda: has_jobs(world, "a"))
            await run(world, "a")
            await until(lambda: has_jobs(world, "a", "c", "d"))
            await until(lambda: is_phase(world, "Running"))
            assert "GET /up" in web["request"]
            assert "X-Probe: yes" in web["request"]
            web["status"] = "204 up"
            await until(lambda: has_jobs(world, "a", "b", "c", "d"))
            for name in "bcd":
                await run(world, name)
            for name in "abcd":
                await finish(world, name)
            await until(lambda: has_jobs(world, *"abcde"))
            await run(world, "e")
            await finish(world, "e")
            await until(lambda: is_phase(world, "Succeed"))
            status = (await flow(world)).status
            assert status.completed_jobs == [f"f-{name}" for name in "abcde"]
            assert [entry.state for entry in status.job_status_list[0].running_histories][-1] == "Completed"
            template = await world.client.get(resources.JOB_TEMPLATES, "a", NAMESPACE)
            assert template.status.job_depends_on_list == ["f-a"]

    asyncio.run(main())


def test_patches_reach_the_jobs() -> None:
    async def main() -> None:
        async with bench() as world:
            await make_template(world, "a", queue="default", maxRetry=5)
            patch = {"jobSpec": {"tasks": [{"name": "server", "replicas": 3}]}}
            await make_flow(world, {"name": "a", "patch": patch})
            await until(lambda: has_jobs(world, "a"))
            job = await world.job("f-a")
            assert (job.spec.tasks[0].replicas, job.spec.max_retry) == (3, 5)
            assert job.spec.tasks[0].template["spec"]["containers"]

    asyncio.run(main())


def test_jobs_of_a_flow_that_succeeded_go_where_they_are_not_retained() -> None:
    async def main() -> None:
        async with bench() as world:
            await make_template(world, "a")
            await make_flow(world, {"name": "a"}, jobRetainPolicy="delete")
            await until(lambda: has_jobs(world, "a"))
            await run(world, "a")
            await world.set_phases("Succeeded", "f-a")
            await until(lambda: has_jobs(world))

            async def noted() -> bool:
                return (await flow(world)).status.completed_jobs == ["f-a"]

            await until(noted)
            await asyncio.sleep(0.2)
            assert await has_jobs(world)

    asyncio.run(main())


def test_a_flow_fails_with_its_first_job() -> None:
    async def main() -> None:
        async with bench() as world:
            for name in "ab":
                await make_template(world, name)
            await make_flow(world, {"name": "a"}, after("b", "a"))
            await until(lambda: has_jobs(world, "a"))
            await run(world, "a")
            await finish(world, "a", "Failed")
            await until(lambda: is_phase(world, "Failed"))
            assert await has_jobs(world, "a")

    asyncio.run(main())


def test_a_missing_template_is_told_and_waited_for() -> None:
    async def main() -> None:
        async with bench() as world:
            await make_flow(world, {"name": "a"})
            await until(lambda: told(world, "jobtemplate 'a' does not exist"))
            await make_template(world, "a")
            await until(lambda: has_jobs(world, "a"))

    asyncio.run(main())


def test_a_job_of_somebody_else_does_not_pass_for_a_step() -> None:
    async def main() -> None:
        async with bench() as world:
            for name in "ab":
                await make_template(world, name)
            await world.submit("f-a", replicas=1)
            await make_flow(world, {"name": "a"}, after("b", "a"))
            await until(lambda: told(world, "job 'f-a' exists and does not belong to this flow"))
            await world.admit("f-a")
            await until(lambda: world.has_pods(1, "f-a"))
            await finish(world, "a")
            await asyncio.sleep(0.2)
            assert await has_jobs(world, "a")
            await world.client.delete(resources.JOBS, "f-a", NAMESPACE)

            async def ours() -> bool:
                try:
                    job = await world.job("f-a")
                except NotFound:
                    return False
                return keys.CREATED_BY_JOB_FLOW in job.metadata.labels

            await until(ours)

    asyncio.run(main())


def test_a_job_removed_by_hand_comes_back_at_once() -> None:
    async def main() -> None:
        async with bench() as world:
            await make_template(world, "a")
            await make_flow(world, {"name": "a"})
            await until(lambda: has_jobs(world, "a"))
            first = (await world.job("f-a")).metadata.uid
            await world.client.delete(resources.JOBS, "f-a", NAMESPACE)

            async def again() -> bool:
                return await has_jobs(world, "a") and (await world.job("f-a")).metadata.uid != first

            await until(again)

    asyncio.run(main())
