"""Names under which the pods of a job find each other: `hostname.subdomain`."""

from __future__ import annotations

from typing import TYPE_CHECKING

from volcano.controllers.job.pods import pod_name

if TYPE_CHECKING:
    from volcano.api.batch import Job, TaskSpec


def hostname(job: Job, task: TaskSpec, index: int) -> str:
    """The template's own hostname, else the pod's name."""
    own: str = (task.template.get("spec") or {}).get("hostname") or ""
    return own or pod_name(job, task, index)


def subdomain(job: Job, task: TaskSpec) -> str:
    own: str = (task.template.get("spec") or {}).get("subdomain") or ""
    return own or job.metadata.name


def host(job: Job, task: TaskSpec, index: int) -> str:
    return f"{hostname(job, task, index)}.{subdomain(job, task)}"


def hosts(job: Job, task: TaskSpec) -> list[str]:
    """One per replica; a template with its own hostname gives all its pods the same one."""
    own = (task.template.get("spec") or {}).get("hostname")
    return [host(job, task, index) for index in range(1 if own and task.replicas else task.replicas)]


def task_by_name(job: Job, name: str) -> TaskSpec | None:
    for task in job.spec.tasks:
        if task.name == name:
            return task
    return None
