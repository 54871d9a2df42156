"""The asynchronous client: submit work, find jobs, wait for many. `sync.Client` is its twin."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, Callable, Iterable, Mapping
from contextlib import aclosing, suppress
from typing import TYPE_CHECKING, Any, TypeVar, Unpack

from volcano.api.meta import JsonObject
from volcano.api.resources import CRON_JOBS, JOB_FLOWS, JOB_TEMPLATES, JOBS, SECRETS, Resource
from volcano.jobs.watching import snapshots
from volcano.kube.errors import AlreadyExists, ApiError, BadRequest, Forbidden, Invalid, NotFound
from volcano.sdk.connection import Connection, connect
from volcano.sdk.cron import AsyncCronJob, cron_job
from volcano.sdk.errors import NameTaken, Rejected, WrongArgument
from volcano.sdk.flow import AsyncFlowRun, Flow, plan_flow
from volcano.sdk.functions import Call
from volcano.sdk.job import AsyncJob
from volcano.sdk.options import Options
from volcano.sdk.planning import Plan, plan, plan_map, secret_name
from volcano.sdk.remarks import Remarks
from volcano.sdk.status import Phase, status_of

if TYPE_CHECKING:
    from volcano.kube.client import Client as ApiClient

T = TypeVar("T")

Labels = Mapping[str, str] | str
"""Labels that a job must bear, or a selector as kubectl has it."""


class AsyncClient:
    """One cluster: that of a kubeconfig, the one this runs in, or the local mode of this machine, started on demand.

    `local` takes this machine's own even where another is configured. Connects when it is first used.
    """

    def __init__(self, kubeconfig: str = "", *, context: str = "", namespace: str = "", local: bool = False) -> None:
        self._kubeconfig = str(kubeconfig)
        self._context = context
        self._namespace = namespace
        self._local = local
        self.remarks = Remarks()
        self._connecting: asyncio.Task[Connection] | None = None

    def __repr__(self) -> str:
        if self._connecting is None or not self._connecting.done() or _has_failed(self._connecting):
            return "<Client, not connected>"
        there = self._connecting.result()
        return f"<Client of {there.server}, namespace {there.place.namespace}>"

    async def __aenter__(self) -> AsyncClient:
        return self

    async def __aexit__(self, *_: object) -> None:
        await self.close()

    async def close(self) -> None:
        """Close the connections. Jobs go on."""
        if self._connecting is not None:
            with suppress(Exception):
                await (await self._connecting).api.close()

    async def connection(self) -> Connection:
        """The API client of `volcano.kube`, for all that is not about jobs, and where members run."""
        if self._connecting is None or _has_failed(self._connecting):
            self._connecting = asyncio.create_task(
                connect(
                    self._kubeconfig,
                    self._context,
                    local=self._local,
                    namespace=self._namespace,
                    on_warning=self.remarks.hear,
                )
            )
        return await asyncio.shield(self._connecting)

    # Submitting

    async def submit(self, work: Any, *args: Any, **options: Unpack[Options]) -> AsyncJob:
        """Start a job: for a function, a command (text or words), a script (Path), a manifest, or a whole Job.

        Functions and commands get `args`; `options` are those of `Options`.
        """
        there = await self.connection()
        return await self.create(plan(work, args, options, there.place))

    async def map(self, function: Callable[..., Any], *items: Iterable[Any], **options: Unpack[Options]) -> AsyncJob:
        """Start one job with a member for each item, as `map` pairs them; its result is the list of results."""
        calls: list[Call] = [(args, {}) for args in zip(*items, strict=False)]
        there = await self.connection()
        return await self.create(plan_map(function, calls, options, there.place))

    async def run(self, flow: Flow) -> AsyncFlowRun:
        """Start a flow."""
        there = await self.connection()
        planned = plan_flow(flow, there.place)
        with self.remarks:
            async with _AllOrNothing(there.api) as made:
                run = await made.create(JOB_FLOWS, planned.flow)
                owner = _owner(JOB_FLOWS, run)
                for step in planned.plans.values():
                    if (secret := step.secret()) is not None:
                        await made.create(SECRETS, _owned(secret, owner))
                for template in planned.templates:
                    await made.create(JOB_TEMPLATES, _owned(template, owner))
        head = run["metadata"]
        return AsyncFlowRun(there.api, head["name"], head["namespace"], list(planned.plans))

    async def schedule(
        self, schedule: str, work: Any, *args: Any, time_zone: str = "", **options: Unpack[Options]
    ) -> AsyncCronJob:
        """Start a job at each time that matches cron's five fields."""
        there = await self.connection()
        made = plan(work, args, options, there.place)
        with self.remarks:
            await self._create_with_files(there.api, CRON_JOBS, cron_job(schedule, made, time_zone), made)
        return AsyncCronJob(there.api, made.name, made.namespace)

    async def create(self, made: Plan) -> AsyncJob:
        """Start what was planned."""
        there = await self.connection()
        with self.remarks:
            await self._create_with_files(there.api, JOBS, made.job, made)
        return AsyncJob(there.api, made.name, made.namespace)

    async def _create_with_files(
        self, api: ApiClient, resource: Resource[Any], document: JsonObject, made: Plan
    ) -> None:
        """The files first, so that no member waits for them; they go when their owner goes."""
        secret = made.secret()
        try:
            async with _AllOrNothing(api) as creation:
                if secret is not None:
                    await creation.create(SECRETS, secret)
                owner = _owner(resource, await creation.create(resource, document))
        except AlreadyExists as error:
            raise await _taken(api, resource, made, error) from error
        if secret is not None:
            patch = {"metadata": {"ownerReferences": [owner]}}
            await api.patch(SECRETS.untyped, secret_name(made.name), patch, made.namespace)

    # Finding

    async def job(self, name: str, namespace: str = "") -> AsyncJob:
        """A handle on a job that exists, or raises NoSuchJob."""
        there = await self.connection()
        handle = AsyncJob(there.api, name, namespace or there.place.namespace)
        await handle.document()
        return handle

    async def jobs(
        self, labels: Labels = "", *, namespace: str = "", queue: str = "", phase: Phase | None = None
    ) -> list[AsyncJob]:
        """Handles on all jobs that match."""
        there = await self.connection()
        return [
            AsyncJob(there.api, document["metadata"]["name"], document["metadata"]["namespace"])
            for document in await self.documents(labels, namespace=namespace, queue=queue, phase=phase)
        ]

    async def documents(
        self, labels: Labels = "", *, namespace: str = "", queue: str = "", phase: Phase | None = None
    ) -> list[JsonObject]:
        """The jobs that match as whole objects: one request, however many they are."""
        there = await self.connection()
        listing = await there.api.list(JOBS.untyped, namespace or there.place.namespace, _selector(labels) or None)
        return [
            document
            for document in listing.items
            if (not queue or document["spec"].get("queue") == queue)
            and (phase is None or status_of(document).phase is phase)
        ]

    async def cancel(self, labels: Labels, *, namespace: str = "") -> list[AsyncJob]:
        """End all jobs that match and have not finished; those are returned."""
        if not labels:
            raise WrongArgument("say which jobs to cancel: labels={...}")
        found = [one for one in await self.documents(labels, namespace=namespace) if not status_of(one).finished]
        there = await self.connection()
        handles = [AsyncJob(there.api, one["metadata"]["name"], one["metadata"]["namespace"]) for one in found]
        await asyncio.gather(*(handle.cancel() for handle in handles))
        return handles

    async def as_completed(self, jobs: Iterable[AsyncJob]) -> AsyncGenerator[AsyncJob, None]:
        """The jobs in the order in which they finish; one watch per namespace, however many they are."""
        waiting = {(job.namespace, job.name): job for job in jobs}
        finished: asyncio.Queue[AsyncJob | BaseException] = asyncio.Queue()
        api = (await self.connection()).api

        async def watch(namespace: str) -> None:
            try:
                async with aclosing(snapshots(api, JOBS, namespace)) as snapshot:
                    async for found in snapshot:
                        for key in [one for one in waiting if one[0] == namespace]:
                            if key not in found or status_of(found[key]).finished:
                                finished.put_nowait(waiting.pop(key))
            except ApiError as error:
                finished.put_nowait(error)

        count = len(waiting)
        watches = [asyncio.create_task(watch(namespace)) for namespace in {key[0] for key in waiting}]
        try:
            for _ in range(count):
                found = await finished.get()
                if isinstance(found, BaseException):
                    raise found
                yield found
        finally:
            for task in watches:
                task.cancel()
            await asyncio.gather(*watches, return_exceptions=True)


class _AllOrNothing:
    """Creates objects; when something goes wrong, those that were created are removed again."""

    def __init__(self, api: ApiClient) -> None:
        self._api = api
        self._made: list[tuple[Resource[Any], JsonObject]] = []

    async def __aenter__(self) -> _AllOrNothing:
        return self

    async def __aexit__(self, kind: type[BaseException] | None, *_: object) -> None:
        if kind is None:
            return
        for resource, document in self._made:
            with suppress(ApiError, OSError):
                await self._api.delete(resource, document["metadata"]["name"], document["metadata"]["namespace"])

    async def create(self, resource: Resource[Any], document: JsonObject) -> JsonObject:
        try:
            created = await self._api.create(resource.untyped, document, strict=True)
        except (BadRequest, Invalid, Forbidden) as error:
            raise _rejected(error) from error
        self._made.append((resource, created))
        return created


async def _taken(api: ApiClient, resource: Resource[Any], made: Plan, error: AlreadyExists) -> NameTaken:
    """What to tell when the name is in use: by an object of this kind, or by the files of one that is being removed."""
    name = f"{resource.singular} {made.namespace}/{made.name}"
    try:
        await api.get(resource.untyped, made.name, made.namespace)
    except NotFound:
        return NameTaken(
            f"the files of an earlier {name} are still being removed: submit again in a moment", details=error.details
        )
    return NameTaken(f"{name} already exists: give another name, or delete it first", details=error.details)


def _rejected(error: ApiError) -> Exception:
    """Refusals of admission; a caller without rights is told by the server which right is missing."""
    if isinstance(error, Forbidden) and "admission webhook" not in error.message and " cannot " in error.message:
        return error
    message = "\n".join([error.explained(), *(f"  {warning}" for warning in error.warnings)])
    return Rejected(message, [(cause.field, cause.message) for cause in error.causes])


def _owner(resource: Resource[Any], document: JsonObject) -> JsonObject:
    head = document["metadata"]
    return {
        "apiVersion": resource.api_version,
        "kind": resource.kind,
        "name": head["name"],
        "uid": head["uid"],
    }


def _owned(document: JsonObject, owner: JsonObject) -> JsonObject:
    return {**document, "metadata": {**document["metadata"], "ownerReferences": [owner]}}


def _selector(labels: Labels) -> str:
    return labels if isinstance(labels, str) else ",".join(f"{name}={value}" for name, value in labels.items())


def _has_failed(task: asyncio.Task[Any]) -> bool:
    return task.done() and (task.cancelled() or task.exception() is not None)
