"""From a few wishes to a Job: what `vcctl job run`, `vsub` and the SDK submit. Pure."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from volcano.api import keys
from volcano.api.resource_names import is_extended
from volcano.jobs.defaults import IMAGE

if TYPE_CHECKING:
    from volcano.api.meta import JsonObject

__all__ = ["Wish", "job"]


@dataclass(frozen=True, kw_only=True)
class Wish:
    """One task of `replicas` equal pods. Empty values are left to the cluster's defaults."""

    name: str
    namespace: str = "default"
    image: str = IMAGE
    command: Sequence[str] = ()
    args: Sequence[str] = ()
    environment: Mapping[str, str] = field(default_factory=dict)
    working_dir: str = ""
    replicas: int = 1
    min_available: int = 1
    requests: Mapping[str, str] = field(default_factory=dict)
    limits: Mapping[str, str] = field(default_factory=dict)
    scheduler: str = keys.DEFAULT_SCHEDULER_NAME
    queue: str = ""
    priority_class: str = ""
    time_limit_seconds: int = 0
    """Each pod is ended when it has run for so long."""
    retries: int | None = None
    """How often the job starts again after a pod failed; without it, a failed pod only counts."""
    independent: bool = False
    """The pods work each for itself, as those of an array: one that failed starts again alone."""
    at_once: int = 0
    """How many pods may be there at a time that have not finished; 0 for all."""
    after: str = ""
    """Jobs to wait for, as the annotation of `keys.AFTER` has them."""
    annotations: Mapping[str, str] = field(default_factory=dict)
    labels: Mapping[str, str] = field(default_factory=dict)
    plugins: Mapping[str, Sequence[str]] = field(default_factory=dict)


def job(wish: Wish) -> JsonObject:
    """The Job document of a wish."""
    asked = _set(**{keys.AFTER: wish.after, keys.AT_ONCE: str(wish.at_once) if wish.at_once else ""})
    annotations = {**wish.annotations, **asked}
    metadata: JsonObject = {"name": wish.name, "namespace": wish.namespace}
    return {
        "apiVersion": "batch.volcano.sh/v1alpha1",
        "kind": "Job",
        "metadata": metadata | _set(labels=dict(wish.labels), annotations=annotations),
        "spec": _spec(wish),
    }


def _spec(wish: Wish) -> JsonObject:
    spec = _set(
        minAvailable=wish.min_available,
        schedulerName=wish.scheduler,
        queue=wish.queue,
        priorityClassName=wish.priority_class,
        plugins={name: list(arguments) for name, arguments in wish.plugins.items()},
    )
    if wish.retries is not None:
        spec["maxRetry"] = wish.retries + 1  # the restart that reaches it is the one that fails
        spec["policies"] = [{"event": "PodFailed", "action": "RestartPod" if wish.independent else "RestartJob"}]
    return spec | {"tasks": [_set(replicas=wish.replicas, template=_template(wish))]}


def _template(wish: Wish) -> JsonObject:
    container = _set(
        image=wish.image,
        name=wish.name,
        imagePullPolicy="IfNotPresent",
        command=list(wish.command),
        args=list(wish.args),
        workingDir=wish.working_dir,
        env=[{"name": name, "value": value} for name, value in wish.environment.items()],
        resources=_set(requests=dict(wish.requests), limits={**_counted(wish.requests), **wish.limits}),
    )
    spec = {"restartPolicy": "Never", "containers": [container]}
    return {
        "metadata": {"name": wish.name, "labels": {"job.volcano.sh": wish.name}},
        "spec": spec | _set(activeDeadlineSeconds=wish.time_limit_seconds),
    }


def _counted(requests: Mapping[str, str]) -> dict[str, str]:
    """Of devices and the like, Kubernetes wants a limit that is the request; its own names may be overcommitted."""
    return {name: amount for name, amount in requests.items() if is_extended(name)}


def _set(**fields: Any) -> JsonObject:
    """The fields that are not empty."""
    return {name: value for name, value in fields.items() if value}
