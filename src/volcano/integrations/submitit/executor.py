"""submitit's executor: pickles and logs go through its folder, as on Slurm; the jobs are Volcano's.

On a cluster the folder must be on a volume that members mount under the same path (`volcano_template`).
"""

from __future__ import annotations

import shlex
import sys
from pathlib import Path
from typing import Any, TypeVar, cast

from submitit.core import core
from submitit.core.utils import JobPaths

from volcano.integrations.submitit.environment import JOB, NODES, TASKS
from volcano.sdk import Client, Options
from volcano.sdk.planning import fresh_name
from volcano.sdk.status import Phase, status_of

R = TypeVar("R")

STATES = {
    Phase.UNSEEN: "PENDING",
    Phase.PENDING: "PENDING",
    Phase.RUNNING: "RUNNING",
    Phase.RESTARTING: "REQUEUED",
    Phase.COMPLETING: "COMPLETING",
    Phase.COMPLETED: "COMPLETED",
    Phase.ABORTED: "CANCELLED",
    Phase.TERMINATED: "CANCELLED",
    Phase.FAILED: "FAILED",
}
"""Phases in Slurm's words, which submitit understands; the others are on their way to one of these."""
LABEL = "volcano.sh/submitted-by"
OWN = frozenset({"queue", "priority", "image", "template", "env", "memory", "cpu", "retries", "kubeconfig"})
"""Options of `volcano.sdk.Options` that can be given as `volcano_<option>`."""


class VolcanoInfoWatcher(core.InfoWatcher):
    """Asks for all jobs at once."""

    def __init__(self, delay_s: int = 10) -> None:
        super().__init__(delay_s)
        self.client: Client | None = None

    def update(self) -> None:
        self._num_calls += 1
        if self.client is None:
            self.client = Client()  # the job was unpickled in another program
        for document in self.client.documents({LABEL: "submitit"}):
            state = STATES.get(status_of(document).phase, "RUNNING")
            self._info_dict[document["metadata"]["name"]] = {"State": state}
        super().update()

    def _make_command(self) -> None:
        return None

    def get_state(self, job_id: str, mode: str = "standard") -> str:
        return str(self.get_info(job_id, mode).get("State", "UNKNOWN"))


class VolcanoJob(core.Job[R]):
    """A job as submitit shows it."""

    watcher = VolcanoInfoWatcher()

    def cancel(self, check: bool = True) -> None:
        client = self.watcher.client or Client()
        client.job(self.job_id).cancel()


class VolcanoExecutor(core.PicklingExecutor):
    """One job per submission, with `nodes` × `tasks_per_node` members that start together."""

    job_class = VolcanoJob

    def __init__(self, folder: Path | str, max_num_timeout: int = 3, python: str = sys.executable) -> None:
        super().__init__(folder, max_num_timeout=max_num_timeout)
        self._python = python

    @classmethod
    def name(cls) -> str:
        return "volcano"

    @classmethod
    def affinity(cls) -> int:
        """There, but only for who asks for it."""
        return 0

    @classmethod
    def _valid_parameters(cls) -> set[str]:
        return {*OWN, "name", "nodes", "tasks_per_node", "cpus_per_task", "gpus_per_node", "mem_gb", "timeout_min"}

    def _num_tasks(self) -> int:
        return int(self.parameters.get("nodes", 1)) * int(self.parameters.get("tasks_per_node", 1))

    @property
    def _submitit_command_str(self) -> str:
        return shlex.join([self._python, "-u", "-m", "submitit.core._submit", str(self.folder)])

    def _submit_command(self, command: str) -> VolcanoJob[Any]:
        given, tasks = self.parameters, self._num_tasks()
        client = VolcanoJob.watcher.client
        if client is None:
            client = VolcanoJob.watcher.client = Client(given.get("kubeconfig", ""))
        options = cast("Options", {name: given[name] for name in OWN & given.keys() - {"kubeconfig"}})
        name = fresh_name(given.get("name", "submitit"))
        options |= Options(name=name, nodes=tasks, labels={LABEL: "submitit"})
        options["env"] = {
            **options.get("env", {}),
            "SUBMITIT_EXECUTOR": self.name(),
            JOB: name,
            TASKS: str(tasks),
            NODES: str(given.get("nodes", 1)),
        }
        if "cpus_per_task" in given:
            options["cpu"] = given["cpus_per_task"]
        if "mem_gb" in given:
            options["memory"] = f"{given['mem_gb'] / given.get('tasks_per_node', 1):g}G"
        if given.get("gpus_per_node"):
            options["gpus"] = given["gpus_per_node"] // given.get("tasks_per_node", 1)
        if "timeout_min" in given:
            options["time_limit"] = given["timeout_min"] * 60
        folder = JobPaths(self.folder, job_id=name).folder
        folder.mkdir(parents=True, exist_ok=True)
        log = f"{shlex.quote(str(folder))}/{name}_${{VC_TASK_INDEX}}_log"
        client.submit(f"exec {command} > {log}.out 2> {log}.err", **options)
        return VolcanoJob(folder=self.folder, job_id=name, tasks=list(range(tasks)))

    def _make_submission_file_text(self, command: str, uid: str) -> str:
        raise NotImplementedError("jobs are submitted without a file")

    def _make_submission_command(self, submission_file_path: Path) -> list[str]:
        raise NotImplementedError("jobs are submitted without a command")

    @staticmethod
    def _get_job_id_from_submission_command(string: bytes | str) -> str:
        raise NotImplementedError("jobs are submitted without a command")
