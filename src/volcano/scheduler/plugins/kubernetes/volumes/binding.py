"""Volume binding: nodes where every claim of a pod can be had, and the promise of it while the pod is being placed.

claims.py says in which state claims are, matching.py which volumes suit them where.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Final

import numpy as np
from numpy.typing import NDArray

from volcano.api import keys
from volcano.scheduler.cluster.nodes import Index, Mask, Rows
from volcano.scheduler.cluster.profiles import Profile
from volcano.scheduler.cluster.tasks import Task
from volcano.scheduler.framework.decisions import ClaimBinding
from volcano.scheduler.plugins.kubernetes.volumes import matching
from volcano.scheduler.plugins.kubernetes.volumes.claims import (
    VOLUMES,
    PodClaims,
    claim_names,
    claims_of,
)

if TYPE_CHECKING:
    from volcano.api.core import PersistentVolumeClaim
    from volcano.scheduler.cluster.cluster import Cluster

FITS: Final = 0
NO_VOLUME: Final = 1
WRONG_NODE: Final = 2
NOTHING_TO_BIND: Final = 3
NO_SPACE: Final = 4
Verdict = NDArray[np.int8]
"""Per row of the node table, one of the above."""


@dataclass(slots=True)
class Promise:
    """What a claim will get, and the tasks that count on it."""

    claim: str
    node: str
    volume: str
    tasks: set[str] = field(default_factory=set)


class Promises:
    """Volumes promised by decisions that the API server does not show yet: one for a cluster."""

    def __init__(self, cluster: Cluster) -> None:
        self._cluster = cluster
        self.decided: dict[str, Promise] = {}

    def refresh(self) -> None:
        """Forget what has come true, and what nobody waits for any more."""
        for key, promise in list(self.decided.items()):
            if not any(self._waits(uid) for uid in promise.tasks):
                del self.decided[key]

    def _waits(self, uid: str) -> bool:
        task = self._cluster.tasks.get(uid)
        return task is not None and task.node_name != "" and not task.pod.spec.node_name


class VolumeBinding:
    """For one session."""

    def __init__(self, cluster: Cluster) -> None:
        self._cluster = cluster
        self._book = cluster.index(Promises)
        self._book.refresh()
        self._promises: dict[str, Promise] = {
            key: Promise(key, promise.node, promise.volume, set(promise.tasks))
            for key, promise in self._book.decided.items()
        }
        self._version = 0
        self._verdicts: dict[int, tuple[int, Verdict]] = {}
        self._seen: dict[int, int] = {}

    def applies(self, profile: Profile) -> bool:
        return any(True for _ in claim_names(profile.pod))

    def problem(self, task: Task) -> str:
        """Why the pod's claims keep it from every node."""
        return claims_of(self._cluster, task.pod).problem if self.applies(task.profile) else ""

    def couples(self, profile: Profile) -> bool:
        """Whether the next pod of the kind finds other volumes than this one."""
        return self.applies(profile) and bool(self._claims(profile).delayed)

    def affected(self, profile: Profile, changed: Index) -> Index | None:
        if not self.couples(profile) or self._seen.get(profile.id, 0) == self._version:
            return changed[:0]
        self._seen[profile.id] = self._version
        return None

    def verdict(self, profile: Profile, rows: Rows) -> Verdict:
        version, verdict = self._verdicts.get(profile.id, (-1, None))
        if verdict is None or version != self._version:
            verdict = self._judge(profile)
            self._verdicts[profile.id] = self._version, verdict
        found: Verdict = verdict[rows.index]
        return found

    # Promises

    def promise(self, task: Task) -> str:
        """Reserve what the task's claims need on its node; a text says why that cannot be done."""
        waiting = self._claims(task.profile).delayed
        if not waiting:
            return ""
        fresh = []
        for claim in waiting:
            promise = self._promises.get(claim.metadata.key)
            if promise is None:
                fresh.append(claim)
            elif promise.node != task.node_name:
                return f"claim {claim.metadata.key} is promised to a pod on node {promise.node}"
        for match in matching.match(self._cluster, fresh, self._taken()):
            volume = match.volume_at(task.node)
            if volume is None and not match.provisioned[task.node] and not self._is_selected(match.claim, task):
                self.release(task)
                return f"claim {match.claim.metadata.key} finds no volume on node {task.node_name}"
            name = volume.metadata.name if volume is not None else ""
            key = match.claim.metadata.key
            self._promises[key] = Promise(key, task.node_name, name)
        for claim in waiting:
            self._promises[claim.metadata.key].tasks.add(task.uid)
        self._version += 1
        return ""

    def release(self, task: Task) -> None:
        for key in [key for key, promise in self._promises.items() if task.uid in promise.tasks or not promise.tasks]:
            promise = self._promises[key]
            promise.tasks.discard(task.uid)
            if not promise.tasks:
                del self._promises[key]
            self._version += 1

    def decide(self, task: Task) -> Sequence[ClaimBinding]:
        """The pod is bound: what has to be written before, and is promised until it shows."""
        bindings = []
        for key, promise in self._promises.items():
            if task.uid in promise.tasks:
                kept = self._book.decided.setdefault(key, Promise(key, promise.node, promise.volume))
                kept.tasks.add(task.uid)
                bindings.append(ClaimBinding(key, promise.volume, promise.node))
        return bindings

    # Inside

    def _claims(self, profile: Profile) -> PodClaims:
        return claims_of(self._cluster, profile.pod)

    def _taken(self) -> set[str]:
        return {promise.volume for promise in self._promises.values() if promise.volume}

    def _is_selected(self, claim: PersistentVolumeClaim, task: Task) -> bool:
        return claim.metadata.annotations.get(keys.SELECTED_NODE) == task.node_name

    def _judge(self, profile: Profile) -> Verdict:
        nodes = self._cluster.nodes
        verdict: Verdict = np.zeros(nodes.capacity, dtype=np.int8)
        claims = self._claims(profile)
        volumes = self._cluster.objects[VOLUMES]
        for claim in claims.bound:
            volume = volumes.get(claim.spec.volume_name)
            if volume is None:
                verdict[verdict == FITS] = NO_VOLUME
            else:
                verdict[(verdict == FITS) & ~matching.volume_rows(nodes, volume)] = WRONG_NODE
        fresh = []
        for claim in claims.delayed:
            promise = self._promises.get(claim.metadata.key)
            selected = promise.node if promise is not None else claim.metadata.annotations.get(keys.SELECTED_NODE)
            if selected is None:
                fresh.append(claim)
            else:
                verdict[(verdict == FITS) & ~self._only(selected)] = NOTHING_TO_BIND
        for match in matching.match(self._cluster, fresh, self._taken()):
            verdict[(verdict == FITS) & match.too_small & ~match.served] = NO_SPACE
            verdict[(verdict == FITS) & ~match.served] = NOTHING_TO_BIND
        return verdict

    def _only(self, node: str) -> Mask:
        rows = np.zeros(self._cluster.nodes.capacity, dtype=np.bool_)
        row = self._cluster.nodes.row_of.get(node)
        if row is not None:
            rows[row] = True
        return rows
