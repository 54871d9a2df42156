"""A word to whoever submits commands to a cluster with simulated nodes: what lands there only pretends to run.

Neighbours: `volcano.local.node.simulated` pretends; the nodes it makes carry the label looked for here.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from volcano.api import keys

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    from volcano.local.apiserver.admission.chain import Attributes
    from volcano.local.apiserver.storage.store import Store

REMARK = (
    "this cluster has simulated nodes: a command that lands on one is not run, and its pod only pretends to, until it "
    f"is deleted or for as long as annotation {keys.SIMULATE_DURATION} says; for real nodes only, "
    f"give the pods a nodeSelector such as {keys.HOSTNAME}: local"
)
_ANNOTATIONS = (keys.SIMULATE, keys.SIMULATE_DURATION)


class SimulatedNodes:
    """Changes and refuses nothing."""

    def __init__(self, store: Store) -> None:
        self._nodes = store.collection("nodes")
        self._looked_at = -1
        self._are_some = False

    def mutate(self, attributes: Attributes) -> None:
        """Nothing."""

    def validate(self, attributes: Attributes) -> None:
        """Remark on new commands that may land on a simulated node, unless somebody has thought of where they go."""
        templates_of = _TEMPLATES.get(attributes.call.resource.qualified)
        if attributes.operation != "CREATE" or templates_of is None or attributes.call.subresource:
            return
        if self._look() and any(_is_unaware(template) for template in templates_of(attributes.document)):
            attributes.call.warnings.append(REMARK)

    def _look(self) -> bool:
        if self._nodes.changes != self._looked_at:
            labels = (entry.labels for entry in self._nodes.entries.values())
            self._are_some = any(each is not None and each.get(keys.SIMULATED) == "true" for each in labels)
            self._looked_at = self._nodes.changes
        return self._are_some


def _is_unaware(template: dict[str, Any]) -> bool:
    """Whether a pod so made runs a command wherever it is put."""
    spec, metadata = template.get("spec") or {}, template.get("metadata") or {}
    if spec.get("nodeName") or spec.get("nodeSelector") or (spec.get("affinity") or {}).get("nodeAffinity"):
        return False
    if not (metadata.get("annotations") or {}).keys().isdisjoint(_ANNOTATIONS):
        return False
    return any(container.get("command") for container in spec.get("containers") or ())


def _of_job(document: dict[str, Any]) -> Iterable[dict[str, Any]]:
    tasks = (document.get("spec") or {}).get("tasks") or ()
    return [task.get("template") or {} for task in tasks]


def _of_cron_job(document: dict[str, Any]) -> Iterable[dict[str, Any]]:
    return _of_job((document.get("spec") or {}).get("jobTemplate") or {})


def _of_workload(document: dict[str, Any]) -> Iterable[dict[str, Any]]:
    return [(document.get("spec") or {}).get("template") or {}]


def _of_pod(document: dict[str, Any]) -> Iterable[dict[str, Any]]:
    """A pod that somebody else stands for has been remarked on with its owner."""
    return () if (document.get("metadata") or {}).get("ownerReferences") else (document,)


_TEMPLATES: dict[str, Callable[[dict[str, Any]], Iterable[dict[str, Any]]]] = {
    "pods": _of_pod,
    "jobs.batch.volcano.sh": _of_job,
    "cronjobs.batch.volcano.sh": _of_cron_job,
    "jobtemplates.flow.volcano.sh": _of_job,
    "jobs.batch": _of_workload,
    "deployments.apps": _of_workload,
    "statefulsets.apps": _of_workload,
}
