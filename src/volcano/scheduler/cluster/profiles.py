"""Profiles: the interned signature of everything that decides where a pod may go and how nodes rank for it.

Ten thousand replicas are one profile; filters and scores are computed per profile, never per pod.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Final

import msgspec
import numpy as np

from volcano.api import keys
from volcano.scheduler.cluster.requests import host_ports, nonzero_request, pod_request
from volcano.scheduler.cluster.resources import EPSILON, PODS, Dimensions, Vector, pad

if TYPE_CHECKING:
    from volcano.api.core import Pod, Volume
    from volcano.api.meta import LabelSelector

IRRELEVANT_ANNOTATIONS: Final = frozenset(
    {
        keys.GROUP_NAME,
        keys.VOLCANO_GROUP_NAME,
        keys.JOB_NAME,
        keys.JOB_VERSION,
        keys.QUEUE_NAME,
        keys.TASK_INDEX,
        keys.TASK_PRIORITY,
        keys.TASK_SPEC,
        keys.TEMPLATE_UID,
        keys.GPU_INDEX,
        keys.PREDICATE_TIME,
        keys.VGPU_NODE,
        keys.VGPU_TIME,
        keys.VGPU_IDS,
        keys.DEVICES_TO_ALLOCATE,
        keys.DEVICE_BIND_PHASE,
        keys.DEVICE_BIND_TIME,
        "predicate-time",
        "kubernetes.io/config.seen",
        "kubernetes.io/config.hash",
        keys.LAST_APPLIED,
        "kubectl.kubernetes.io/default-container",
        "kubectl.kubernetes.io/restartedAt",
    }
)
"""Annotations that differ between replicas or never matter for placement. Any other one is part of the signature:

an annotation that we do not know may be read by somebody's plugin.
"""

ASSIGNED_DEVICES: Final = ("hami.io/", "huawei.com/Ascend")
"""Annotations that begin so name the devices that a pod has got."""


def _decides(annotation: str) -> bool:
    return annotation not in IRRELEVANT_ANNOTATIONS and not annotation.startswith(ASSIGNED_DEVICES)


def storage(pod: Pod) -> list[Volume]:
    """Volumes that exist apart from the pod. The others its node makes: scratch, configuration, the token that each pod

    gets under a name of its own.
    """
    return [
        volume
        for volume in pod.spec.volumes
        if volume.persistent_volume_claim is not None
        or volume.ephemeral is not None
        or volume.csi is not None
        or volume.iscsi is not None
        or volume.rbd is not None
        or volume.aws_elastic_block_store is not None
        or volume.gce_persistent_disk is not None
    ]


INSTANCE_LABELS: Final = frozenset(
    {
        keys.TASK_INDEX,
        keys.JOB_NAME,
        keys.POD_INDEX,
        keys.STATEFUL_SET_POD_NAME,
        keys.BATCH_JOB_COMPLETION_INDEX,
        keys.BATCH_JOB_NAME,
        keys.BATCH_CONTROLLER_UID,
        "controller-uid",
        "job-name",
        "pod-template-hash",
        "controller-revision-hash",
    }
)
"""Labels that name the instance: they decide nothing unless the selector of some pod asks for them."""


class Profile:
    """One signature. `pod` is an example of it, for plugins to read; never its name or labels of `INSTANCE_LABELS`."""

    __slots__ = (
        "amounts",
        "best_effort",
        "has_pod_terms",
        "id",
        "labels",
        "like",
        "memory_scored",
        "milli_cpu_scored",
        "nonzero",
        "pod",
        "ports",
        "queue",
        "request",
        "storage",
        "wanted",
    )

    def __init__(self, number: int, pod: Pod, queue: str, dimensions: Dimensions) -> None:
        self.id = number
        self.like = number
        """The id of the first profile from which only the queue tells this one apart."""
        self.pod = pod
        self.queue = queue
        self.labels = pod.metadata.labels
        amounts = pod_request(pod, dimensions)
        self.request: Vector = dimensions.from_amounts(amounts)
        self.wanted: tuple[int, ...] = tuple(sorted(d for d, amount in amounts.items() if amount > 0))
        """Dimensions with a request, `pods` among them."""
        self.amounts: tuple[tuple[int, int], ...] = tuple((d, amounts[d]) for d in self.wanted)
        """The request of each of them, as plain numbers."""
        self.best_effort = all(amount < EPSILON for d, amount in amounts.items() if d != PODS)
        self.milli_cpu_scored, self.memory_scored = nonzero_request(pod, dimensions)
        self.nonzero: Vector = np.array([self.milli_cpu_scored, self.memory_scored], dtype=np.int64)
        self.ports = tuple(host_ports(pod))
        self.storage = storage(pod)
        affinity = pod.spec.affinity
        self.has_pod_terms = affinity is not None and bool(affinity.pod_affinity or affinity.pod_anti_affinity)
        """It wants to be near other pods or away from them."""

    def __repr__(self) -> str:
        return f"Profile({self.id}, like {self.pod.metadata.key})"


class Profiles:
    """Interns signatures. Label keys that some selector of some pod names are part of them from then on."""

    def __init__(self, dimensions: Dimensions) -> None:
        self._dimensions = dimensions
        self._by_signature: dict[bytes, Profile] = {}
        self._likes: dict[bytes, int] = {}
        """The first profile of each signature without the queue."""
        self.with_pod_terms: list[Profile] = []
        self._watched: set[str] = set()
        self._encode = msgspec.msgpack.Encoder(order="sorted").encode
        dimensions.on_widen(self._widen)

    def __len__(self) -> int:
        return len(self._by_signature)

    def watch_labels(self, pod: Pod) -> bool:
        """Whether this pod's selectors name labels that tell replicas apart and did not count until now.

        They count from now on: all pods must be interned again.
        """
        fresh = (set(selected_labels(pod)) & INSTANCE_LABELS) - self._watched
        self._watched |= fresh
        return bool(fresh)

    def intern(self, pod: Pod, queue: str = "") -> Profile:
        signature = self._encode(self._parts(pod, queue))
        profile = self._by_signature.get(signature)
        if profile is None:
            profile = Profile(len(self._by_signature), pod, queue, self._dimensions)
            self._by_signature[signature] = profile
            profile.like = self._likes.setdefault(self._encode(self._parts(pod, "")), profile.id)
            if profile.has_pod_terms:
                self.with_pod_terms.append(profile)
        return profile

    def _parts(self, pod: Pod, queue: str) -> tuple[object, ...]:
        meta, spec = pod.metadata, pod.spec
        volumes = storage(pod) if spec.volumes else ()
        resized = [
            (status.name, status.resources, status.allocated_resources)
            for status in pod.status.container_statuses
            if status.resources is not None
        ]
        return (
            meta.namespace,
            queue,
            {k: v for k, v in meta.labels.items() if k not in INSTANCE_LABELS or k in self._watched},
            {k: v for k, v in meta.annotations.items() if _decides(k)},
            spec.node_selector,
            spec.affinity,
            spec.tolerations,
            spec.topology_spread_constraints,
            spec.overhead,
            spec.resources,
            volumes,
            meta.name if any(volume.ephemeral for volume in volumes) else None,  # their claims bear its name
            spec.resource_claims,
            [(made.name, made.resource_claim_name) for made in pod.status.resource_claim_statuses],
            spec.host_network,
            [(c.image, c.resources.requests, c.resources.claims, c.resources.limits, c.ports) for c in spec.containers],
            [
                (c.image, c.resources.requests, c.resources.claims, c.ports, c.restart_policy)
                for c in spec.init_containers
            ],
            resized,
            [condition.reason for condition in pod.status.conditions if condition.type == "PodResizePending"]
            if resized
            else (),
        )

    def clear(self, dimension: int) -> None:
        """The resource is not counted any more."""
        for profile in self._by_signature.values():
            profile.request[dimension] = 0
            profile.wanted = tuple(d for d in profile.wanted if d != dimension)
            profile.amounts = tuple(pair for pair in profile.amounts if pair[0] != dimension)
            profile.best_effort = all(d == PODS for d in profile.wanted)

    def _widen(self, width: int) -> None:
        for profile in self._by_signature.values():
            profile.request = pad(profile.request, width)


def selected_labels(pod: Pod) -> Iterator[str]:
    """Label keys by which the pod chooses other pods: to be near them, away from them, or evenly spread among them."""
    affinity = pod.spec.affinity
    for side in (affinity.pod_affinity, affinity.pod_anti_affinity) if affinity else ():
        if side is not None:
            preferred = side.preferred_during_scheduling_ignored_during_execution
            for term in side.required_during_scheduling_ignored_during_execution:
                yield from _keys(term.label_selector)
            for weighted in preferred:
                yield from _keys(weighted.pod_affinity_term.label_selector)
    for constraint in pod.spec.topology_spread_constraints:
        yield from _keys(constraint.label_selector)
        yield from constraint.match_label_keys


def _keys(selector: LabelSelector | None) -> Iterator[str]:
    if selector is not None:
        yield from selector.match_labels
        yield from (requirement.key for requirement in selector.match_expressions)
