"""mpi: the master's containers get the hosts of all workers, every container the SSH port."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from volcano.api import keys
from volcano.controllers.job.plugins.flags import Flags
from volcano.controllers.job.plugins.hosts import hosts
from volcano.controllers.job.plugins.interface import JobPlugin
from volcano.controllers.job.plugins.ports import expose
from volcano.controllers.job.policies import task_named

if TYPE_CHECKING:
    from volcano.controllers.job.pods import Draft

PORT_NAME = "mpijob-port"


class Mpi(JobPlugin):
    name = "mpi"

    def __init__(self, arguments: Sequence[str] = ()) -> None:
        super().__init__(arguments)
        flags = Flags(arguments)
        self.master = flags.get("master", "master")
        self.worker = flags.get("worker", "worker")
        self.port = flags.get("port", 22)

    def shape(self, draft: Draft) -> None:
        if draft.task.name == self.master:
            workers = task_named(draft.job, self.worker)
            if workers is None:
                return
            variable = {"name": keys.ENV_MPI_HOST, "value": ",".join(hosts(draft.job, workers))}
            draft.add_env(draft.all_containers, variable)
        for container in draft.all_containers:
            expose(container, PORT_NAME, self.port)
