"""Terms about other pods: which pods a term of (anti-)affinity means, by namespace and labels.

inter_pod.py counts them. Terms are values: two equal ones, of whatever profiles, are counted once.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING

import msgspec

from volcano.api import keys
from volcano.scheduler.cluster.profiles import Profile
from volcano.scheduler.cluster.selectors import selects

if TYPE_CHECKING:
    from volcano.api.core import PodAffinityTerm
    from volcano.api.meta import LabelSelector
    from volcano.scheduler.cluster.cluster import Cluster


@dataclass(frozen=True, slots=True)
class PodTerm:
    topology_key: str
    namespaces: frozenset[str]
    namespace_selector: LabelSelector | None
    selector: LabelSelector | None
    weight: int = 0
    """What it is worth where it is only preferred; negative for anti-affinity."""
    signature: bytes = b""
    """Which pods it means, as a value."""

    def means(self, profile: Profile, namespace_labels: Mapping[str, str]) -> bool:
        """Whether pods of this profile are meant; `namespace_labels` are those of the profile's namespace."""
        namespace = profile.pod.metadata.namespace
        if namespace not in self.namespaces and not (
            self.namespace_selector is not None and selects(self.namespace_selector, namespace_labels)
        ):
            return False
        return selects(self.selector, profile.labels)


@dataclass(frozen=True, slots=True)
class PodTerms:
    """All terms of one profile."""

    affinity: tuple[PodTerm, ...] = ()
    anti_affinity: tuple[PodTerm, ...] = ()
    preferred: tuple[PodTerm, ...] = ()


NO_TERMS = PodTerms()


class TermBook:
    """The parsed terms of every profile, and the labels of namespaces: one for a cluster."""

    def __init__(self, cluster: Cluster) -> None:
        self._cluster = cluster
        self._terms: dict[int, PodTerms] = {}
        self._keys: dict[tuple[int, bool], tuple[int, int, dict[str, None]]] = {}

    def of(self, profile: Profile) -> PodTerms:
        if not profile.has_pod_terms:
            return NO_TERMS
        terms = self._terms.get(profile.id)
        if terms is None:
            terms = self._terms[profile.id] = _parse(profile)
        return terms

    def means(self, term: PodTerm, profile: Profile) -> bool:
        return term.means(profile, self.namespace_labels(profile.pod.metadata.namespace))

    def keys_about(self, profile: Profile, *, preferred: bool) -> list[str]:
        """Label keys of the (preferred or anti-affinity) terms of any known profile that mean this one."""
        known = self._cluster.profiles.with_pod_terms
        looked_at, version, keys = self._keys.get((profile.id, preferred), (0, self.version, {}))
        if version != self.version:
            looked_at, keys = 0, {}
        for other in known[looked_at:]:
            terms = self.of(other)
            for term in terms.preferred if preferred else terms.anti_affinity:
                if term.topology_key not in keys and self.means(term, profile):
                    keys[term.topology_key] = None
        self._keys[profile.id, preferred] = len(known), self.version, keys
        return list(keys)

    def namespace_labels(self, name: str) -> Mapping[str, str]:
        """A namespace that is not known has the one label that Kubernetes gives to all of them."""
        found = self._cluster.objects["namespaces"].get(name)
        return found.metadata.labels if found is not None else {keys.NAMESPACE_NAME: name}

    @property
    def version(self) -> int:
        """Changes whenever the labels of namespaces may have changed."""
        return self._cluster.object_versions["namespaces"]


def _parse(profile: Profile) -> PodTerms:
    affinity = profile.pod.spec.affinity
    namespace = profile.pod.metadata.namespace
    toward = affinity.pod_affinity if affinity else None
    away = affinity.pod_anti_affinity if affinity else None
    preferred: list[PodTerm] = []
    for side, sign in ((toward, 1), (away, -1)):
        weighted = side.preferred_during_scheduling_ignored_during_execution if side else ()
        preferred += [_term(term.pod_affinity_term, namespace, sign * term.weight) for term in weighted]
    return PodTerms(
        _required(toward.required_during_scheduling_ignored_during_execution if toward else (), namespace),
        _required(away.required_during_scheduling_ignored_during_execution if away else (), namespace),
        tuple(term for term in preferred if term.weight),
    )


def _required(terms: Iterable[PodAffinityTerm], namespace: str) -> tuple[PodTerm, ...]:
    return tuple(_term(term, namespace) for term in terms)


def _term(source: PodAffinityTerm, namespace: str, weight: int = 0) -> PodTerm:
    """The owner's namespace counts where the term names none in any way."""
    names = frozenset(source.namespaces)
    if not names and source.namespace_selector is None:
        names = frozenset((namespace,))
    signature = msgspec.msgpack.encode((sorted(names), source.namespace_selector, source.label_selector))
    return PodTerm(source.topology_key, names, source.namespace_selector, source.label_selector, weight, signature)
