"""A handle on one job, asynchronous. `sync` has its twin; `client` makes both."""

from __future__ import annotations

import asyncio
from contextlib import aclosing, asynccontextmanager, suppress
from typing import TYPE_CHECKING, Any, Literal

from volcano.api import batch, bus, keys
from volcano.api.resources import EVENTS, JOBS, PODS
from volcano.jobs import events as happened, logs as job_logs
from volcano.jobs.control import send_command
from volcano.jobs.watching import states
from volcano.kube.errors import ApiError, Conflict, NotFound
from volcano.sdk import hopeless, inside, results
from volcano.sdk.documents import Typed
from volcano.sdk.errors import Cancelled, JobError, NoSuchJob, ResultLost, WaitTimeout, WrongArgument
from volcano.sdk.planning import VALUE, VALUES
from volcano.sdk.status import Phase, Status, members_of, status_of, trouble, worst_of

if TYPE_CHECKING:
    from collections.abc import AsyncGenerator, AsyncIterator, Generator

    from volcano.api.meta import JsonObject
    from volcano.kube.client import Client
Until = Literal["finished", "running"]

RESUME_SECONDS = 30.0
"""So long `resume` waits for the controller to begin."""
HOPELESS_AFTER_SECONDS = 1.0
"""For so long a job may wait before it is asked whether it ever will start."""
WRITES = 5
"""So often a change is made anew upon what others have written."""
AT_ONCE = 16
"""Logs that are read at the same time."""


class AsyncJob:
    """A job of the cluster, by its name. Nothing is remembered: every answer is what is there now."""

    def __init__(self, api: Client, name: str, namespace: str, *, expected: bool = False) -> None:
        self._api = api
        self.name = name
        self.namespace = namespace
        self._expected = expected
        """Whether the job may not be there yet: a step of a flow."""

    def __repr__(self) -> str:
        return f"<Job {self.namespace}/{self.name}>"

    def __await__(self) -> Generator[Any, None, Any]:
        return self.result().__await__()

    # Looking

    async def document(self) -> JsonObject:
        """The whole object, or raises NoSuchJob."""
        try:
            return await self._api.get(JOBS.untyped, self.name, self.namespace)
        except NotFound as error:
            raise NoSuchJob(error.message, details=error.details) from error

    async def status(self) -> Status:
        """What it is doing."""
        return status_of(await self.document())

    async def members(self) -> list[JsonObject]:
        """Its pods, as documents."""
        return (await self._api.list(PODS.untyped, self.namespace, job_logs.members(self.name))).items

    async def events(self) -> list[JsonObject]:
        """What happened to it, its podgroup and its members, oldest first."""
        found = (await self._api.list(EVENTS.untyped, self.namespace)).items
        return happened.in_order(one for one in found if happened.about(one, JOBS.kind, self.name))

    async def why_pending(self) -> JsonObject | None:
        """Why it waits, as `vcctl explain job` has it: stage, code, numbers, who is in the way. None if it need not."""
        from volcano.jobs.explain import Unexplained, explain, live_cycle

        document = await self.document()
        if status_of(document).phase not in (Phase.UNSEEN, Phase.PENDING, Phase.RESTARTING):
            return None
        if (held := hopeless.held(document)) is not None:
            return held
        try:
            found = explain(await live_cycle(self._api), "job", self.name, self.namespace)
        except Unexplained as error:
            return {"stage": "controller", "code": "NotSeenYet", "message": str(error)}
        reason: JsonObject | None = found["reason"]
        return reason

    async def logs(
        self, member: int | None = None, *, follow: bool = False, tail: int | None = None
    ) -> AsyncGenerator[job_logs.Line, None]:
        """Lines of all members or of one, with the pod that wrote each; with `follow` until the job has finished."""
        read = job_logs.followed if follow else job_logs.written
        only = members_of(await self.document())[member] if member is not None else None
        async with aclosing(read(self._api, self.namespace, self.name, job_logs.Choice(tail=tail))) as lines:
            async for line in lines:
                text = results.without_frames(line.text)
                if only in (None, line.pod) and (text or not line.text):
                    yield line._replace(text=text)

    # Waiting

    async def wait(
        self,
        timeout: float | None = None,  # noqa: ASYNC109
        *,
        until: Until = "finished",
        patient: bool = False,
    ) -> Status:
        """Wait for its end, or until it runs.

        Raises WaitTimeout; and, unless `patient`, Unschedulable where no node or queue can ever hold it.
        """
        try:
            async with asyncio.timeout(timeout):
                return await self._wait(until, patient=patient)
        except TimeoutError:
            reached = "finished" if until == "finished" else "started"
            raise WaitTimeout(f"{self.name} has not {reached} within {timeout:g} s: {await self._now()}") from None

    async def _wait(self, until: Until, *, patient: bool) -> Status:
        warden = None if patient else asyncio.create_task(self._until_hopeless())
        following = asyncio.create_task(self._follow(until))
        try:
            waiting = {following} if warden is None else {following, warden}
            await asyncio.wait(waiting, return_when=asyncio.FIRST_COMPLETED)
            if following.done():
                return following.result()
            assert warden is not None
            raise warden.result()
        finally:
            for task in filter(None, (warden, following)):
                task.cancel()
                with suppress(asyncio.CancelledError):
                    await task

    async def _follow(self, until: Until) -> Status:
        while True:
            seen = False
            async with aclosing(states(self._api, JOBS, self.name, self.namespace)) as documents:
                async for document in documents:
                    seen, status = True, status_of(document)
                    if status.finished or (until == "running" and status.phase is Phase.RUNNING):
                        return status
            if seen or not self._expected:
                raise Cancelled(f"{self.name} does not exist: it was removed, or never there", job=self.name)
            await asyncio.sleep(0.2)

    async def _until_hopeless(self) -> JobError:
        """Returns, if ever, with why the job cannot start in this cluster as it is."""
        while True:
            await asyncio.sleep(HOPELESS_AFTER_SECONDS)
            with suppress(ApiError):  # gone, or not ours to read: then there is nothing to say
                document = await self.document()
                if status_of(document).phase not in (Phase.UNSEEN, Phase.PENDING):
                    await asyncio.sleep(HOPELESS_AFTER_SECONDS * 10)
                elif (error := await hopeless.verdict(self._api, document)) is not None:
                    return error

    async def _now(self) -> str:
        """What it does, and what its newest warning says."""
        status = await self.status()
        warnings = [] if status.running else [one for one in await self.events() if one.get("type") == "Warning"]
        return f"{status}, {warnings[-1].get('message', '')}" if warnings else str(status)

    async def result(self, timeout: float | None = None) -> Any:  # noqa: ASYNC109
        """What the function returned, or the output of a command: a list in the order of members for gangs and arrays.

        Raises what the function raised, or a JobError that says what became of the job.
        """
        status = await self.wait(timeout)
        document = await self.document()
        returns = _returns(document)
        names = members_of(document)
        if not status.ok:
            raise await self._trouble(document, returns)
        logs = await self._read(names)
        if not returns:
            texts = [results.output(log) for log in logs]
            return texts if len(texts) > 1 else texts[0]
        values = [self._value(name, log) for name, log in zip(names, logs, strict=True)]
        return values if returns == VALUES else values[0]

    def _value(self, member: str, log: bytes) -> Any:
        packed = inside.unframed(log.split(b"\n"))
        if packed is None:
            raise ResultLost(f"{member} ended without a result in its log", job=self.name, log=results.tail(log))
        return results.value(packed)

    async def _trouble(self, document: JsonObject, returns: str) -> Exception:
        """Why the job did not complete: what its function raised, or else what its pods and events say."""
        pods = await self.members()
        worst = worst_of(pods)
        log = b""
        if worst is not None:
            with suppress(ResultLost):
                (log,) = await self._read([worst["metadata"]["name"]])
        if returns and (packed := inside.unframed(log.split(b"\n"))) is not None:
            try:
                results.value(packed)
            except Exception as error:  # noqa: BLE001 - the function's own, for the caller to see
                return error
        found = trouble(document, pods, await self.events(), results.tail(log))
        assert found is not None
        return found

    async def _read(self, members: list[str]) -> list[bytes]:
        gate = asyncio.Semaphore(AT_ONCE)

        async def one(member: str) -> bytes:
            async with gate:
                try:
                    return b"".join([chunk async for chunk in self._api.logs(self.namespace, member)])
                except NotFound:
                    raise ResultLost(f"{member} and its log are gone", job=self.name) from None

        return list(await asyncio.gather(*map(one, members)))

    # Steering

    async def suspend(self) -> None:
        """Take its members away and keep it, until `resume`."""
        await self._order(bus.ABORT_JOB)

    async def resume(self) -> None:
        """Go on after `suspend`: members start anew, finished ones stay. Returns when the controller has begun that."""
        await self._order(bus.RESUME_JOB)
        with suppress(TimeoutError):  # without a controller the job stays as it is, as `status` will say
            async with asyncio.timeout(RESUME_SECONDS):
                await self._left(Phase.ABORTING, Phase.ABORTED)

    async def cancel(self) -> None:
        """End it. What it wrote can still be read."""
        await self._order(bus.TERMINATE_JOB)

    async def delete(self) -> None:
        """Remove it, its members and their logs. Does nothing where it is gone."""
        with suppress(NotFound):
            await self._api.delete(JOBS, self.name, self.namespace, propagation="Background")

    async def scale(self, nodes: int) -> None:
        """Have `nodes` members in a gang; its minimum follows where it must."""
        document = await self.document()
        spec = document["spec"]
        if len(spec["tasks"]) != 1 or spec.get("minSuccess"):
            raise WrongArgument(f"{self.name} is no gang of equal members: only the number of nodes= can be changed")
        if nodes < 1:
            raise WrongArgument(f"nodes={nodes}: a job has at least one member")
        async with self._editing(document) as job:
            job.spec.tasks[0].replicas = nodes
            job.spec.min_available = min(job.spec.min_available, nodes)
            if job.spec.tasks[0].min_available is not None:
                job.spec.tasks[0].min_available = min(job.spec.tasks[0].min_available, nodes)

    @asynccontextmanager
    async def edit(self) -> AsyncIterator[batch.Job]:
        """The job as our type, written back at the end of the block; what the type does not know stays as it is."""
        async with self._editing(await self.document()) as job:
            yield job

    @asynccontextmanager
    async def _editing(self, document: JsonObject) -> AsyncIterator[batch.Job]:
        typed = Typed(batch.Job, document)
        yield typed.value
        for _ in range(WRITES):
            try:
                await self._api.update(JOBS.untyped, typed.document(upon=document))
            except Conflict as error:
                conflict = error  # a controller has written meanwhile
                document = await self.document()
            else:
                return
        raise conflict

    async def _left(self, *phases: Phase) -> None:
        """Wait until it is in none of these phases, or gone: an order is performed a moment after it is given."""
        async with aclosing(states(self._api, JOBS, self.name, self.namespace)) as documents:
            async for document in documents:
                if status_of(document).phase not in phases:
                    return

    async def _order(self, action: str) -> None:
        await send_command(self._api, JOBS, await self.document(), action, self.namespace)


def _returns(document: JsonObject) -> str:
    """VALUE or VALUES for a function; "" for what only writes."""
    for task in (document.get("spec") or {}).get("tasks") or ():
        metadata = (task.get("template") or {}).get("metadata") or {}
        found = (metadata.get("annotations") or {}).get(keys.RETURNS, "")
        if found in (VALUE, VALUES):
            return str(found)
    return ""
