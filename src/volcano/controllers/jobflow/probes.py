"""What a step waits for: its targets to complete, or the probes it declares to succeed on them.

Pure. Phases of tasks are read from the jobs; what only pods can answer becomes a `Question`, asked by prober.py.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from volcano.api.phases import COMPLETED

if TYPE_CHECKING:
    from volcano.api.batch import Job, TaskSpec
    from volcano.api.flow import Flow, JobFlowStatus, Probe

RUNNING: Final = "Running"
SUCCEEDED: Final = "Succeeded"
_HAVE_BEEN: Final = {"Pending": (), RUNNING: (SUCCEEDED,)}
"""Phases that pods have gone through when they are in a later one."""


@dataclass(frozen=True, slots=True)
class Question:
    """Something to ask of every pod of a job's task (of all tasks when it names none)."""

    job: str
    task: str
    port: int
    path: str | None = None
    """To GET over HTTP; None: a connection is enough."""
    header: tuple[str, str] | None = None


class Gate:
    """The dependencies of one step."""

    def __init__(self, step: Flow, targets: Sequence[str], jobs: Mapping[str, Job], status: JobFlowStatus) -> None:
        self._probe = step.depends_on.probe if step.depends_on is not None else None
        self._targets = {name: jobs.get(name) for name in targets}
        self._over = {name for name, job in self._targets.items() if _completed(name, job, status)}

    def is_open(self, answered: Collection[Question]) -> bool:
        probe = self._probe
        if probe is None or not _asks(probe):
            return len(self._over) == len(self._targets)
        if any(job is None for name, job in self._targets.items() if name not in self._over):
            return False
        if self.unknown_tasks():
            return False
        phases = (self._in_phase(wanted.task_name, wanted.phase) for wanted in probe.task_status_list)
        return all(phases) and all(question in answered for question in self.questions())

    def questions(self) -> list[Question]:
        """What to ask of the pods of targets that have started and not completed."""
        return list(self._questions(self._probe)) if self._probe is not None else []

    def unknown_tasks(self) -> list[str]:
        """Tasks that the probe names and none of the targets has, once all targets are there to see."""
        if self._probe is None or any(job is None for job in self._targets.values()):
            return []
        lists = (self._probe.http_get_list, self._probe.tcp_socket_list, self._probe.task_status_list)
        named = {entry.task_name for entries in lists for entry in entries if entry.task_name}
        known = {task.name for job in self._targets.values() if job is not None for task in job.spec.tasks}
        return sorted(named - known)

    def _questions(self, probe: Probe) -> Iterator[Question]:
        for request in probe.http_get_list:
            named = request.http_header
            header = (named.name, named.value) if named.name else None
            for name in self._jobs_with(request.task_name):
                yield Question(name, request.task_name, request.port, request.path or "/", header)
        for socket in probe.tcp_socket_list:
            for name in self._jobs_with(socket.task_name):
                yield Question(name, socket.task_name, socket.port)

    def _jobs_with(self, task: str) -> Iterator[str]:
        """Targets with a task of this name that can still be asked."""
        for name, job in self._targets.items():
            if job is not None and name not in self._over and (not task or _tasks_named(job, task)):
                yield name

    def _in_phase(self, task: str, phase: str) -> bool:
        """All pods of the task are in `phase`, or were and have got on."""
        for name, job in self._targets.items():
            if job is None or (name in self._over and phase in _HAVE_BEEN):
                continue
            for spec in _tasks_named(job, task):
                counted = job.status.task_status_count.get(spec.name)
                phases = counted.phase if counted is not None else {}
                if sum(phases.get(one, 0) for one in (phase, *_HAVE_BEEN.get(phase, ()))) < spec.replicas:
                    return False
        return True


def _tasks_named(job: Job, task: str) -> list[TaskSpec]:
    return [spec for spec in job.spec.tasks if not task or spec.name == task]


def _asks(probe: Probe) -> bool:
    return bool(probe.http_get_list or probe.tcp_socket_list or probe.task_status_list)


def _completed(name: str, job: Job | None, status: JobFlowStatus) -> bool:
    """Completed now, or known to have completed before it was removed."""
    return job.status.state.phase == COMPLETED if job is not None else name in status.completed_jobs
