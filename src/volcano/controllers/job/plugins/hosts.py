"""Names under which the pods of a job find each other: `hostname.subdomain`."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from volcano.controllers.job.plugins.interface import PluginError
from volcano.controllers.job.pods import pod_name

if TYPE_CHECKING:
    from volcano.api.batch import Job, TaskSpec

MOST_NAMED: Final = 50_000
"""More names than this do not fit into the megabyte that an object may have."""


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
    return [host(job, task, index) for index in (range(1) if own and task.replicas else indices(task))]


def indices(task: TaskSpec) -> range:
    """The replicas to name one by one, in an object that has to hold all the names."""
    if task.replicas > MOST_NAMED:
        raise PluginError(
            f"task {task.name!r} has {task.replicas} replicas: at most {MOST_NAMED} names fit into one object; "
            "lower replicas, or leave the plugin out"
        )
    return range(task.replicas)
