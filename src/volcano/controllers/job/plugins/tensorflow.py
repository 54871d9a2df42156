"""tensorflow: every container learns the cluster and its own role from `TF_CONFIG`."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import msgspec

from volcano.api import keys
from volcano.api.meta import JsonObject
from volcano.controllers.job.plugins.flags import Flags
from volcano.controllers.job.plugins.hosts import host, indices
from volcano.controllers.job.plugins.interface import JobPlugin
from volcano.controllers.job.policies import task_named

if TYPE_CHECKING:
    from volcano.api.batch import Job
    from volcano.controllers.job.pods import Draft

_ROLES = ("ps", "worker", "chief", "evaluator")


class TensorFlow(JobPlugin):
    name = "tensorflow"

    def __init__(self, arguments: Sequence[str] = ()) -> None:
        super().__init__(arguments)
        flags = Flags(arguments)
        self.port = flags.get("port", 2222)
        self.task_of_role = {role: flags.get(role, role) for role in _ROLES}

    def shape(self, draft: Draft) -> None:
        tasks = draft.job.spec.tasks
        if len(tasks) == 1 and tasks[0].replicas == 1:
            return  # not distributed
        cluster = msgspec.json.encode(self._cluster(draft.job)).decode()
        role = msgspec.json.encode(self._role(draft.task.name)).decode()
        # the index is a number inside a JSON text inside the pod: the gap goes where the digits go
        config = f'{{"cluster":{cluster},"task":{{"type":{role},"index":{draft.index}}}}}'
        draft.add_env(draft.containers, {"name": keys.ENV_TF_CONFIG, "value": config})

    def _cluster(self, job: Job) -> JsonObject:
        cluster: JsonObject = {}
        for role, name in self.task_of_role.items():
            task = task_named(job, name)
            if task is not None and task.replicas > 0:
                cluster[role] = [f"{host(job, task, index)}:{self.port}" for index in indices(task)]
        return cluster

    def _role(self, task: str) -> str:
        for role, name in self.task_of_role.items():
            if name == task:
                return role
        return task
