"""A Dask cluster: the scheduler in this process, each worker a job of one member, so that it can come and go alone.

with VolcanoCluster(n_workers=4, cpu=2) as cluster, Client(cluster) as client: ...
"""

from __future__ import annotations

from typing import Any, Unpack

from distributed import Scheduler
from distributed.deploy.spec import ProcessInterface, SpecCluster

from volcano.sdk import AsyncClient, Options
from volcano.sdk.executor import own_address

LABEL = "volcano.sh/dask-cluster"


class VolcanoWorker(ProcessInterface):
    """The job of one worker."""

    def __init__(self, scheduler: str, name: object, client: AsyncClient, threads: int, options: Options) -> None:
        super().__init__(scheduler=scheduler, name=name)
        self._command = ["-m", "distributed.cli.dask_worker", scheduler, "--name", str(name)]
        self._command += ["--nthreads", str(threads), "--no-nanny", "--no-dashboard"]
        self._client = client
        self._options = options
        self._job: Any = None

    async def start(self) -> None:
        place = (await self._client.connection()).place
        words = [place.python(self._options), *self._command]
        self._job = await self._client.submit(words, **self._options)
        await super().start()

    async def close(self) -> None:
        if self._job is not None:
            await self._job.delete()
        await super().close()


class VolcanoCluster(SpecCluster):
    """Workers on the cluster of a `volcano.Client`; `scale` and `adapt` as in every Dask cluster.

    `host` is where workers reach the scheduler in this program: known in local mode and in a pod. `options` are those
    of `Client.submit` and hold for each worker.
    """

    def __init__(
        self,
        n_workers: int = 0,
        *,
        kubeconfig: str = "",
        host: str = "",
        threads_per_worker: int = 1,
        asynchronous: bool = False,
        **options: Unpack[Options],
    ) -> None:
        self._client = AsyncClient(kubeconfig)
        settings = {"client": self._client, "threads": threads_per_worker, "options": options}
        worker = {"cls": VolcanoWorker, "options": settings}
        super().__init__(
            scheduler={"cls": Scheduler, "options": {"host": host, "dashboard_address": None}},
            worker=worker,
            workers=dict.fromkeys(range(n_workers), worker),
            asynchronous=asynchronous,
            name="volcano",
        )

    async def _start(self) -> None:
        listening = self.scheduler_spec["options"]
        if not listening["host"]:
            place = (await self._client.connection()).place
            listening["host"] = "127.0.0.1" if place.local else own_address()
        await super()._start()

    async def _close(self) -> None:
        await super()._close()
        await self._client.close()
