"""The synchronous twins: each method sends that of its asynchronous sibling through the portal, and nothing else."""

from __future__ import annotations

from collections.abc import Callable, Coroutine, Iterable, Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any, TypeVar, Unpack

from volcano.jobs.logs import Line
from volcano.sdk.client import AsyncClient, Labels
from volcano.sdk.cron import AsyncCronJob
from volcano.sdk.flow import AsyncFlowRun, Flow
from volcano.sdk.job import AsyncJob, Until
from volcano.sdk.options import Options
from volcano.sdk.portal import Portal
from volcano.sdk.status import Phase, Status

if TYPE_CHECKING:
    from volcano.api.batch import Job as JobObject
    from volcano.api.meta import JsonObject
    from volcano.sdk.connection import Connection
    from volcano.sdk.executor import Executor
    from volcano.sdk.planning import Plan

T = TypeVar("T")


class Job:
    """A handle on one job; see `AsyncJob` for what its methods do."""

    def __init__(self, job: AsyncJob, portal: Portal) -> None:
        self.asynchronous = job
        self.portal = portal

    @property
    def name(self) -> str:
        return self.asynchronous.name

    @property
    def namespace(self) -> str:
        return self.asynchronous.namespace

    def __repr__(self) -> str:
        return repr(self.asynchronous)

    def __rich__(self) -> Any:
        from volcano.sdk.views import job_table

        return job_table([self.document()])

    def _repr_html_(self) -> str:
        from volcano.sdk.views import job_html

        return job_html([self.document()])

    def document(self) -> JsonObject:
        return self.portal.run(self.asynchronous.document())

    def status(self) -> Status:
        return self.portal.run(self.asynchronous.status())

    def members(self) -> list[JsonObject]:
        return self.portal.run(self.asynchronous.members())

    def events(self) -> list[JsonObject]:
        return self.portal.run(self.asynchronous.events())

    def why_pending(self) -> JsonObject | None:
        return self.portal.run(self.asynchronous.why_pending())

    def logs(self, member: int | None = None, *, follow: bool = False, tail: int | None = None) -> Iterator[Line]:
        return self.portal.iterate(self.asynchronous.logs(member, follow=follow, tail=tail))

    def wait(self, timeout: float | None = None, *, until: Until = "finished", patient: bool = False) -> Status:
        return self.portal.run(self.asynchronous.wait(timeout, until=until, patient=patient))

    def result(self, timeout: float | None = None) -> Any:
        return self.portal.run(self.asynchronous.result(timeout))

    def suspend(self) -> None:
        self.portal.run(self.asynchronous.suspend())

    def resume(self) -> None:
        self.portal.run(self.asynchronous.resume())

    def cancel(self) -> None:
        self.portal.run(self.asynchronous.cancel())

    def delete(self) -> None:
        self.portal.run(self.asynchronous.delete())

    def scale(self, nodes: int) -> None:
        self.portal.run(self.asynchronous.scale(nodes))

    @contextmanager
    def edit(self) -> Iterator[JobObject]:
        editing = self.asynchronous.edit()
        job = self.portal.run(_entered(editing))
        yield job  # an exception in the block leaves the job as it was
        self.portal.run(_left(editing))


class FlowRun:
    """A handle on a flow; see `AsyncFlowRun`."""

    def __init__(self, run: AsyncFlowRun, portal: Portal) -> None:
        self.asynchronous = run
        self.portal = portal

    @property
    def name(self) -> str:
        return self.asynchronous.name

    def __repr__(self) -> str:
        return repr(self.asynchronous)

    def __getitem__(self, step: str) -> Job:
        return Job(self.asynchronous[step], self.portal)

    def phase(self) -> str:
        return self.portal.run(self.asynchronous.phase())

    def wait(self, timeout: float | None = None) -> None:
        self.portal.run(self.asynchronous.wait(timeout))

    def delete(self) -> None:
        self.portal.run(self.asynchronous.delete())


class CronJob:
    """A handle on a schedule; see `AsyncCronJob`."""

    def __init__(self, cron_job: AsyncCronJob, portal: Portal) -> None:
        self.asynchronous = cron_job
        self.portal = portal

    @property
    def name(self) -> str:
        return self.asynchronous.name

    def __repr__(self) -> str:
        return repr(self.asynchronous)

    def jobs(self) -> list[Job]:
        return [Job(job, self.portal) for job in self.portal.run(self.asynchronous.jobs())]

    def suspend(self) -> None:
        self.portal.run(self.asynchronous.suspend())

    def resume(self) -> None:
        self.portal.run(self.asynchronous.resume())

    def delete(self) -> None:
        self.portal.run(self.asynchronous.delete())


class Client:
    """A cluster, for synchronous code; see `AsyncClient`.

    print(Client().submit(work, nodes=4).result())
    """

    def __init__(self, kubeconfig: str = "", *, context: str = "", namespace: str = "", local: bool = False) -> None:
        self.asynchronous = AsyncClient(kubeconfig, context=context, namespace=namespace, local=local)
        self.asynchronous.remarks.wait_for_twin = True
        self.portal = Portal()

    def __repr__(self) -> str:
        return repr(self.asynchronous)

    def __enter__(self) -> Client:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        """Close the connections and end the client's thread. Jobs go on."""
        self.portal.run(self.asynchronous.close())
        self.portal.close()

    def submit(self, work: Any, *args: Any, **options: Unpack[Options]) -> Job:
        return self._job(self._submitted(self.asynchronous.submit(work, *args, **options)))

    def map(self, function: Callable[..., Any], *items: Iterable[Any], **options: Unpack[Options]) -> Job:
        return self._job(self._submitted(self.asynchronous.map(function, *items, **options)))

    def run(self, flow: Flow) -> FlowRun:
        return FlowRun(self._submitted(self.asynchronous.run(flow)), self.portal)

    def schedule(
        self, schedule: str, work: Any, *args: Any, time_zone: str = "", **options: Unpack[Options]
    ) -> CronJob:
        submitting = self.asynchronous.schedule(schedule, work, *args, time_zone=time_zone, **options)
        return CronJob(self._submitted(submitting), self.portal)

    def executor(self, workers: int, *, host: str = "", **options: Unpack[Options]) -> Executor:
        """Workers that stay warm, as `concurrent.futures` has it; see `Executor`."""
        from volcano.sdk.executor import Executor

        return Executor(self, workers, options, host=host)

    def create(self, made: Plan) -> Job:
        return self._job(self._submitted(self.asynchronous.create(made)))

    def connection(self) -> Connection:
        return self.portal.run(self.asynchronous.connection())

    def job(self, name: str, namespace: str = "") -> Job:
        return self._job(self.portal.run(self.asynchronous.job(name, namespace)))

    def jobs(self, labels: Labels = "", *, namespace: str = "", queue: str = "", phase: Phase | None = None) -> JobList:
        found = self.portal.run(self.asynchronous.jobs(labels, namespace=namespace, queue=queue, phase=phase))
        return JobList(map(self._job, found))

    def documents(
        self, labels: Labels = "", *, namespace: str = "", queue: str = "", phase: Phase | None = None
    ) -> list[JsonObject]:
        return self.portal.run(self.asynchronous.documents(labels, namespace=namespace, queue=queue, phase=phase))

    def cancel(self, labels: Labels, *, namespace: str = "") -> JobList:
        return JobList(map(self._job, self.portal.run(self.asynchronous.cancel(labels, namespace=namespace))))

    def as_completed(self, jobs: Iterable[Job]) -> Iterator[Job]:
        by_core = {job.asynchronous: job for job in jobs}
        for finished in self.portal.iterate(self.asynchronous.as_completed(by_core)):
            yield by_core[finished]

    def _submitted(self, submitting: Coroutine[Any, Any, T]) -> T:
        """Warnings are given here, in the thread of the caller, at whose line they point."""
        try:
            return self.portal.run(submitting)
        finally:
            self.asynchronous.remarks.tell()

    def _job(self, job: AsyncJob) -> Job:
        return Job(job, self.portal)


class JobList(list[Job]):
    """Jobs, shown as a table where tables are shown."""

    def __rich__(self) -> Any:
        from volcano.sdk.views import job_table

        return job_table([job.document() for job in self])

    def _repr_html_(self) -> str:
        from volcano.sdk.views import job_html

        return job_html([job.document() for job in self])


async def _entered(context: Any) -> Any:
    return await context.__aenter__()


async def _left(context: Any) -> None:
    await context.__aexit__(None, None, None)
