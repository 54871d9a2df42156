"""The lines that the pods of a job write, each with the pod it comes from."""

from __future__ import annotations

import asyncio
from contextlib import aclosing
from dataclasses import dataclass
from typing import TYPE_CHECKING, NamedTuple

from volcano.api import keys
from volcano.jobs.phases import FINISHED, phase_of
from volcano.jobs.watching import PAUSE_SECONDS, snapshots, states

if TYPE_CHECKING:
    from collections.abc import AsyncGenerator, Iterable

    from volcano.api.meta import JsonObject
    from volcano.kube.client import Client

AHEAD = 1000
"""Lines held for a reader that is slower than the pods."""


class Line(NamedTuple):
    """A line of a pod's log; or with `trouble`, why the pod's log cannot be read."""

    pod: str
    text: str
    trouble: bool = False


@dataclass(frozen=True)
class Choice:
    """Which part of the logs. Without a container, the first of each pod."""

    container: str | None = None
    tail: int | None = None
    since_seconds: int | None = None
    previous: bool = False


EVERYTHING = Choice()


def members(job: str) -> str:
    """The selector of a job's pods."""
    return f"{keys.JOB_NAME}={job}"


async def written(client: Client, namespace: str, job: str, choice: Choice = EVERYTHING) -> AsyncGenerator[Line, None]:
    """What has been written, pod after pod in order of their names."""
    for pod in sorted(await _pods(client, namespace, job), key=_name):
        if not _has_begun(pod):
            yield Line(_name(pod), "has not started yet", trouble=True)
            continue
        async for line in pod_lines(client, pod, choice, follow=False):
            yield line


async def followed(client: Client, namespace: str, job: str, choice: Choice = EVERYTHING) -> AsyncGenerator[Line, None]:
    """Lines of all pods as they are written, also of pods that start later, until the job has finished."""
    arriving: asyncio.Queue[Line | None] = asyncio.Queue(AHEAD)

    async def follow() -> None:
        try:
            await _follow(client, namespace, job, choice, arriving)
        finally:
            await arriving.put(None)

    work = asyncio.create_task(follow())
    try:
        while (line := await arriving.get()) is not None:
            yield line
        await work
    finally:
        work.cancel()


async def _follow(
    client: Client, namespace: str, job: str, choice: Choice, arriving: asyncio.Queue[Line | None]
) -> None:
    readers: dict[str, asyncio.Task[None]] = {}

    async def read(pod: JsonObject) -> None:
        async for line in pod_lines(client, pod, choice, follow=True):
            await arriving.put(line)

    def begin(pods: Iterable[JsonObject]) -> None:
        for pod in pods:
            uid = pod["metadata"]["uid"]
            if uid not in readers and _has_begun(pod):
                readers[uid] = asyncio.create_task(read(pod))

    async def discover() -> None:
        async for pods in snapshots(client, PODS, namespace, members(job)):
            begin(pods.values())

    from volcano.api.resources import PODS

    begin(await _pods(client, namespace, job))
    discovery = asyncio.create_task(discover())
    try:
        await _end_of(client, namespace, job)
        begin(await _pods(client, namespace, job))
        await asyncio.gather(*readers.values())
    finally:
        for task in (discovery, *readers.values()):
            task.cancel()
        await asyncio.gather(discovery, *readers.values(), return_exceptions=True)


async def _end_of(client: Client, namespace: str, job: str) -> None:
    from volcano.api.resources import JOBS

    async with aclosing(states(client, JOBS, job, namespace)) as found:
        async for document in found:
            if phase_of(document) in FINISHED:
                return


async def _pods(client: Client, namespace: str, job: str) -> list[JsonObject]:
    from volcano.api.resources import PODS

    return (await client.list(PODS.untyped, namespace, members(job))).items


async def pod_lines(client: Client, pod: JsonObject, choice: Choice, *, follow: bool) -> AsyncGenerator[Line, None]:
    """The lines of a pod. A stream that breaks off is taken up again where it can be told which lines were read."""
    from volcano.http.client import ConnectFailed
    from volcano.kube.errors import ApiError

    name, read = _name(pod), 0
    resumable = follow and choice.tail is None and choice.since_seconds is None
    while True:
        known = read
        try:
            async with aclosing(_stream(client, pod, choice, follow=follow)) as lines:
                async for text in lines:
                    if known:
                        known -= 1
                    else:
                        read += 1
                        yield Line(name, text)
            return
        except ApiError as error:
            yield Line(name, str(error), trouble=True)
            return
        except OSError as error:
            if not resumable or isinstance(error, ConnectFailed):
                raise
        await asyncio.sleep(PAUSE_SECONDS)


async def _stream(client: Client, pod: JsonObject, choice: Choice, *, follow: bool) -> AsyncGenerator[str, None]:
    """The lines that one request gives."""
    chunks = client.logs(
        pod["metadata"]["namespace"],
        _name(pod),
        container=choice.container or pod["spec"]["containers"][0]["name"],
        follow=follow,
        previous=choice.previous,
        tail_lines=choice.tail,
        since_seconds=choice.since_seconds,
    )
    rest = b""
    async with aclosing(chunks):
        async for chunk in chunks:
            *lines, rest = (rest + chunk).split(b"\n")
            for line in lines:
                yield line.decode(errors="replace")
    if rest:
        yield rest.decode(errors="replace")


def _has_begun(pod: JsonObject) -> bool:
    """Whether a container of the pod runs or ran, so that there is a log."""
    status = pod.get("status") or {}
    statuses = [*(status.get("initContainerStatuses") or ()), *(status.get("containerStatuses") or ())]
    if not statuses:
        return status.get("phase") not in (None, "", "Pending")
    return any(
        (each.get("state") or {}).keys() & {"running", "terminated"} or each.get("restartCount") for each in statuses
    )


def _name(pod: JsonObject) -> str:
    return str(pod["metadata"]["name"])
