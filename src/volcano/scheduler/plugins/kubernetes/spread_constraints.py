"""What a pod's topology spread constraints say, and those that Kubernetes adds for pods of services and workloads."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final

import msgspec

from volcano.api import keys
from volcano.api.meta import LabelSelector, LabelSelectorRequirement
from volcano.scheduler.cluster.profiles import Profile
from volcano.scheduler.cluster.selectors import selects

if TYPE_CHECKING:
    from volcano.api.core import Pod, TopologySpreadConstraint
    from volcano.scheduler.cluster.cluster import Cluster

DO_NOT_SCHEDULE: Final = "DoNotSchedule"
SCHEDULE_ANYWAY: Final = "ScheduleAnyway"
SYSTEM_DEFAULTS: Final = ((keys.HOSTNAME, 3), (keys.ZONE, 5))
"""Key and maximal skew of the soft constraints of a pod that has none, if a service or a workload selects it."""

OWNERS: Final = {
    "ReplicationController": "replicationcontrollers",
    "ReplicaSet": "replicasets",
    "StatefulSet": "statefulsets",
}


@dataclass(frozen=True, slots=True)
class Constraint:
    topology_key: str
    max_skew: int
    selector: LabelSelector | None
    namespace: str
    min_domains: int = 1
    honors_affinity: bool = True
    honors_taints: bool = False
    signature: bytes = b""
    """Whom it counts, as a value."""

    def counts(self, profile: Profile) -> bool:
        """An empty selector counts nobody."""
        selector = self.selector
        if selector is None or not (selector.match_labels or selector.match_expressions):
            return False
        return profile.pod.metadata.namespace == self.namespace and selects(selector, profile.labels)


@dataclass(frozen=True, slots=True)
class Constraints:
    hard: tuple[Constraint, ...] = ()
    soft: tuple[Constraint, ...] = ()
    is_default: bool = False
    """Not the pod's own: nodes without one of the labels compete too."""

    def __bool__(self) -> bool:
        return bool(self.hard or self.soft)


def constraints_of(cluster: Cluster, profile: Profile) -> Constraints:
    pod = profile.pod
    declared = pod.spec.topology_spread_constraints
    if declared:
        return Constraints(
            tuple(_constraint(c, pod) for c in declared if c.when_unsatisfiable == DO_NOT_SCHEDULE),
            tuple(_constraint(c, pod) for c in declared if c.when_unsatisfiable == SCHEDULE_ANYWAY),
        )
    selector = default_selector(cluster.objects, pod)
    if selector is None:
        return Constraints()
    namespace = pod.metadata.namespace
    signature = _signature(namespace, selector)
    soft = tuple(Constraint(key, skew, selector, namespace, signature=signature) for key, skew in SYSTEM_DEFAULTS)
    return Constraints(soft=soft, is_default=True)


def default_selector(objects: Mapping[str, Mapping[str, Any]], pod: Pod) -> LabelSelector | None:
    """All that services and the controlling workload select this pod by, together; None if nothing does."""
    labels: dict[str, str] = {}
    for service in objects["services"].values():
        wanted = service.spec.selector
        if (
            wanted
            and service.metadata.namespace == pod.metadata.namespace
            and wanted.items() <= pod.metadata.labels.items()
        ):
            labels.update(wanted)
    expressions: list[LabelSelectorRequirement] = []
    owner = next((owner for owner in pod.metadata.owner_references if owner.controller), None)
    if owner is not None and owner.kind in OWNERS:
        workload = objects[OWNERS[owner.kind]].get(f"{pod.metadata.namespace}/{owner.name}")
        selector = workload.spec.selector if workload is not None else None
        if isinstance(selector, LabelSelector):
            labels.update(selector.match_labels)
            expressions = selector.match_expressions
        elif selector:
            labels.update(selector)
    if not labels and not expressions:
        return None
    return LabelSelector(match_labels=labels, match_expressions=list(expressions))


def _constraint(source: TopologySpreadConstraint, pod: Pod) -> Constraint:
    selector = source.label_selector
    own = {key: pod.metadata.labels[key] for key in source.match_label_keys if key in pod.metadata.labels}
    if own and selector is not None:
        more = [LabelSelectorRequirement(key=key, operator="In", values=[value]) for key, value in own.items()]
        selector = LabelSelector(
            match_labels=selector.match_labels, match_expressions=[*selector.match_expressions, *more]
        )
    return Constraint(
        source.topology_key,
        source.max_skew,
        selector,
        pod.metadata.namespace,
        1 if source.min_domains is None else source.min_domains,
        honors_affinity=source.node_affinity_policy != "Ignore",
        honors_taints=source.node_taints_policy == "Honor",
        signature=_signature(pod.metadata.namespace, selector),
    )


def _signature(namespace: str, selector: LabelSelector | None) -> bytes:
    return msgspec.msgpack.encode((namespace, selector))
