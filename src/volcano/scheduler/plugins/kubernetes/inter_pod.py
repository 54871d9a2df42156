"""Inter-pod affinity: required terms filter, preferred ones score, and so do the terms of pods that are there already.

pod_terms.py knows whom a term means, cluster/census.py counts them per topology domain.
"""

from __future__ import annotations

from collections.abc import Hashable, Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from volcano.scheduler.cluster.census import Census, DomainCounts, Kind
from volcano.scheduler.cluster.nodes import Column, Index, Mask, NodeTable, Rows
from volcano.scheduler.cluster.profiles import Profile
from volcano.scheduler.plugins.kubernetes.pod_terms import PodTerm, PodTerms, TermBook
from volcano.scheduler.plugins.kubernetes.resources import NODE_SCORE_MAX

if TYPE_CHECKING:
    from volcano.scheduler.cluster.cluster import Cluster


@dataclass(frozen=True, slots=True)
class Verdicts:
    """Per row, which of the three rules refuses."""

    affinity: Mask
    anti_affinity: Mask
    existing: Mask


@dataclass(slots=True)
class _Counts:
    """What one profile looks at: kinds with the label key of their domains."""

    near: list[tuple[Kind, str]]
    """Pods that all required affinity terms mean, per term's key."""
    apart: list[tuple[Kind, str, bool]]
    """Per required anti-affinity term: whom it means, and whether it means the profile itself."""
    rejecting: list[tuple[Kind, str]]
    """Pods whose own required anti-affinity means this profile."""
    liked: list[tuple[Kind, str, int]]
    """Pods that preferred terms mean, with the weight."""
    attracting: list[tuple[Kind, str]]
    """The weights of preferred terms of pods that mean this profile."""
    is_own_kind: bool
    """All its required affinity terms mean the profile itself: the first of a series may go anywhere."""
    seen: tuple[int, ...] = ()
    """Versions of the kinds at the last look, for `affected`."""

    def pairs(self) -> Iterator[tuple[Kind, str]]:
        yield from self.near
        yield from ((kind, key) for kind, key, _ in self.apart)
        yield from self.rejecting
        yield from ((kind, key) for kind, key, _ in self.liked)
        yield from self.attracting


class InterPodAffinity:
    """For one session. Give `required=False` or `preferred=False` to leave one half out."""

    def __init__(self, cluster: Cluster, *, required: bool = True, preferred: bool = True) -> None:
        self._cluster = cluster
        self._nodes: NodeTable = cluster.nodes
        self._required = required
        self._preferred = preferred
        self._book = cluster.index(TermBook)
        self._census = cluster.index(Census) if cluster.profiles.with_pod_terms else None
        self._by_profile: dict[int, _Counts | None] = {}

    # Filter

    def verdicts(self, profile: Profile, rows: Rows) -> Verdicts | None:
        """None if nothing can refuse."""
        counts = self._counts(profile)
        if counts is None or not (counts.near or counts.apart or counts.rejecting):
            return None
        nothing = np.zeros(len(rows), dtype=np.bool_)
        verdicts = Verdicts(nothing, nothing.copy(), nothing.copy())
        if counts.near:
            verdicts.affinity[:] = self._is_far(counts, rows)
        for kind, key, self_match in counts.apart:
            there = self._domain(kind, key).at(rows.index)
            if rows.extra is not None and self_match:
                there = there + rows.extra * (self._codes(key)[rows.index] >= 0)
            np.logical_or(verdicts.anti_affinity, there > 0, out=verdicts.anti_affinity)
        for kind, key in counts.rejecting:
            np.logical_or(verdicts.existing, self._domain(kind, key).at(rows.index) > 0, out=verdicts.existing)
        return verdicts

    def _is_far(self, counts: _Counts, rows: Rows) -> Mask:
        domains = [(self._domain(kind, key), key) for kind, key in counts.near]
        unlabelled = np.zeros(len(rows), dtype=np.bool_)
        lonely = np.zeros(len(rows), dtype=np.bool_)
        for domain, key in domains:
            unlabelled |= self._codes(key)[rows.index] < 0
            lonely |= domain.at(rows.index) <= 0
        if counts.is_own_kind and all(domain.is_empty for domain, _ in domains):
            return unlabelled
        return unlabelled | lonely

    # Score

    def scores(self, profile: Profile) -> bool:
        """Whether preferred terms, its own or others', may ever count for this profile."""
        counts = self._counts(profile)
        return counts is not None and bool(counts.liked or counts.attracting)

    def raw(self, profile: Profile, rows: Rows) -> Column:
        counts = self._counts(profile)
        total = np.zeros(len(rows), dtype=np.int64)
        if counts is None:
            return total
        for kind, key, weight in counts.liked:
            total += weight * self._domain(kind, key).at(rows.index)
        for kind, key in counts.attracting:
            total += self._domain(kind, key).at(rows.index)
        return total

    # Coupling

    def couples(self, profile: Profile) -> bool:
        """Whether placing such a pod changes the verdict or the score of other nodes for the next one."""
        terms = self._book.of(profile)
        if self._required:
            if any(self._book.means(term, profile) for term in terms.affinity):
                return True
            if any(self._book.means(t, profile) and not self._is_single(t.topology_key) for t in terms.anti_affinity):
                return True
        return self._preferred and any(self._book.means(term, profile) for term in terms.preferred)

    def affected(self, profile: Profile, changed: Index) -> Index | None:
        """Rows in the domains of the changed ones; nothing if no count that matters has moved."""
        counts = self._counts(profile)
        if counts is None:
            return changed[:0]
        versions = tuple(kind.version for kind, _ in counts.pairs())
        if versions == counts.seen:
            return changed[:0]
        counts.seen = versions
        if counts.near:
            return None
        rows: list[Index] = []
        for key in {key for _, key in counts.pairs() if not self._is_single(key)}:
            codes = self._codes(key)
            touched = codes[changed]
            rows.append(np.flatnonzero(np.isin(codes, touched[touched >= 0])))
        return np.unique(np.concatenate(rows)) if rows else changed[:0]

    # Inside

    def _counts(self, profile: Profile) -> _Counts | None:
        if self._census is None:
            return None
        try:
            return self._by_profile[profile.id]
        except KeyError:
            counts = self._by_profile[profile.id] = self._prepare(self._census, profile)
            return counts

    def _prepare(self, census: Census, profile: Profile) -> _Counts | None:
        terms = self._book.of(profile)
        counts = _Counts([], [], [], [], [], is_own_kind=all(self._book.means(t, profile) for t in terms.affinity))
        if self._required:
            self._prepare_required(census, profile, terms, counts)
        if self._preferred:
            counts.liked = [(self._meant(census, term), term.topology_key, term.weight) for term in terms.preferred]
            counts.attracting = [
                (self._carrying(census, profile, key, preferred=True), key)
                for key in self._book.keys_about(profile, preferred=True)
            ]
        counts.seen = tuple(kind.version for kind, _ in counts.pairs())
        return counts if counts.seen else None

    def _prepare_required(self, census: Census, profile: Profile, terms: PodTerms, counts: _Counts) -> None:
        if terms.affinity:
            book, wanted = self._book, terms.affinity
            signature = tuple(sorted(term.signature for term in wanted))
            kind = census.kind(
                ("near", signature, book.version), lambda other: int(all(book.means(term, other) for term in wanted))
            )
            counts.near = [(kind, term.topology_key) for term in wanted]
        counts.apart = [
            (self._meant(census, term), term.topology_key, self._book.means(term, profile))
            for term in terms.anti_affinity
        ]
        counts.rejecting = [
            (self._carrying(census, profile, key, preferred=False), key)
            for key in self._book.keys_about(profile, preferred=False)
        ]

    def _meant(self, census: Census, term: PodTerm) -> Kind:
        book = self._book
        return census.kind(("meant", term.signature, book.version), lambda other: int(book.means(term, other)))

    def _carrying(self, census: Census, profile: Profile, key: str, *, preferred: bool) -> Kind:
        """Pods with terms that mean `profile` and are about the domains of `key`."""
        book, meta = self._book, profile.pod.metadata
        name: Hashable = (
            "carrying",
            preferred,
            key,
            meta.namespace,
            frozenset(profile.labels.items()),
            book.version,
        )

        def weigh(other: Profile) -> int:
            terms = book.of(other).preferred if preferred else book.of(other).anti_affinity
            about = [term for term in terms if term.topology_key == key and book.means(term, profile)]
            return sum(term.weight for term in about) if preferred else len(about)

        return census.kind(name, weigh)

    def _domain(self, kind: Kind, key: str) -> DomainCounts:
        assert self._census is not None, "whoever has a kind has it from the census"
        return self._census.domains(kind, key)

    def _codes(self, key: str) -> NDArray[np.int32]:
        return self._nodes.labels.column(key)

    def _is_single(self, key: str) -> bool:
        """Whether each node is a domain of its own, as with the host name."""
        return self._nodes.labels.is_unique(key)


def normalize(raw: Column, feasible: Mask) -> Column:
    """0 for the worst of the nodes that compete, 100 for the best."""
    if not feasible.any():
        return np.zeros(len(raw), dtype=np.int64)
    least, largest = int(raw[feasible].min()), int(raw[feasible].max())
    if least == largest:
        return np.zeros(len(raw), dtype=np.int64)
    return np.asarray(NODE_SCORE_MAX * ((raw - least) / (largest - least))).astype(np.int64)
