"""predicates: a node must be willing (taints), wanted (selectors), free (ports, pod number) and in the right company.

The rules are Kubernetes' and live in plugins/kubernetes/; room for resources is the engine's own question.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np

from volcano.scheduler.cluster.census import Census
from volcano.scheduler.cluster.nodes import Column, Index, Mask, Rows
from volcano.scheduler.cluster.profiles import Profile
from volcano.scheduler.cluster.resources import PODS
from volcano.scheduler.cluster.tasks import NO_NODE, Task
from volcano.scheduler.framework.decisions import Settlement
from volcano.scheduler.framework.plugin import Plugin, ScoreTerm
from volcano.scheduler.framework.reasons import FITS, Codes, Reason
from volcano.scheduler.framework.session import Session
from volcano.scheduler.plugins.kubernetes import coupling, node_terms, ports, taints
from volcano.scheduler.plugins.kubernetes.claims.booking import Decided
from volcano.scheduler.plugins.kubernetes.claims.extended import ExtendedResources
from volcano.scheduler.plugins.kubernetes.inter_pod import InterPodAffinity
from volcano.scheduler.plugins.kubernetes.spread import TopologySpread
from volcano.scheduler.plugins.predicates import verdict as refusals
from volcano.scheduler.plugins.predicates.arguments import Arguments
from volcano.scheduler.plugins.predicates.claims import ClaimRules
from volcano.scheduler.plugins.predicates.verdict import Verdict
from volcano.scheduler.plugins.predicates.volumes import VolumeRules

if TYPE_CHECKING:
    from volcano.scheduler.cluster.cluster import Cluster


class Predicates(Plugin):
    name = "predicates"
    Arguments = Arguments
    judges_by_queue = False
    watches = (
        "namespaces",
        "persistentvolumeclaims",
        "persistentvolumes",
        "storageclasses",
        "csinodes",
        "csidrivers",
        "csistoragecapacities",
        "volumeattachments",
        "resourceclaims",
        "resourceslices",
        "deviceclasses",
        "devicetaintrules",
    )

    @classmethod
    def prepare(cls, cluster: Cluster) -> None:
        cluster.index(ExtendedResources).refresh(cluster.index(Decided))

    def open(self, session: Session) -> None:
        arguments: Arguments = self.arguments
        self._settled: dict[int, Codes] = {}
        """Per profile, the verdicts on all rows of the table that nothing within a session changes."""
        cluster = session.cluster
        self._inter_pod = InterPodAffinity(cluster, preferred=False) if arguments.pod_affinity else None
        self._spread = TopologySpread(cluster, hard=True) if arguments.topology_spread else None
        self._volumes = VolumeRules(cluster, arguments)
        self._claims = ClaimRules(cluster)
        self._couplings = (self._inter_pod, self._spread, self._volumes, self._claims)
        self._leaving = self._evicted_before(session)
        cluster.index(Census).begin()

    def _evicted_before(self, session: Session) -> Column | None:
        """By row, pods that earlier cycles evicted and that are still there: their places are free for who waits."""
        if not session.cluster.evicting:
            return None
        leaving = np.zeros(session.nodes.capacity, dtype=np.int64)
        for uid in session.cluster.evicting:
            task = session.cluster.tasks.get(uid)
            if task is not None and task.node != NO_NODE:
                leaving[task.node] += 1
        return leaving

    def pre_filter(self, task: Task) -> Reason | None:
        return self._volumes.objection(task) or self._claims.objection(task)

    def filter(self, profile: Profile, rows: Rows) -> Codes:
        settled = self._settled.get(profile.id)
        if settled is None:
            settled = self._settled[profile.id] = self._settle(profile)
        verdict = Verdict(self.session.refusals, settled[rows.index])
        staying = rows.pod_count()
        if self._leaving is not None and not profile.best_effort:  # those who ask for nothing cannot wait for a place
            staying = staying - self._leaving[rows.index]
        verdict.refuse(staying >= rows.reported(PODS), refusals.POD_NUMBER)
        if profile.ports and self.arguments.node_ports:
            verdict.refuse(ports.taken(self.session.cluster, profile, rows), refusals.PORTS)
        self._judge_company(profile, rows, verdict)
        self._volumes.judge(profile, rows, verdict)
        self._claims.judge(profile, rows, verdict)
        return verdict.codes

    def score_terms(self, profile: Profile) -> Sequence[ScoreTerm]:
        return self._claims.score_terms(profile)

    def couples_nodes(self, profile: Profile) -> bool:
        return coupling.couples(self._couplings, profile)

    def affected(self, profile: Profile, changed: Index) -> Index | None:
        return coupling.affected(self._couplings, profile, changed)

    def allocated(self, tasks: Sequence[Task]) -> Reason | None:
        return self._volumes.promise(tasks) or self._claims.promise(tasks)

    def deallocated(self, tasks: Sequence[Task]) -> None:
        self._volumes.release(tasks)
        self._claims.release(tasks)

    def bind_claims(self, task: Task) -> Sequence[Settlement]:
        return (*self._volumes.decide(task), *self._claims.decide(task))

    def _settle(self, profile: Profile) -> Codes:
        """What node objects alone decide."""
        nodes, spec = self.nodes, profile.pod.spec
        verdict = Verdict(self.session.refusals, np.full(nodes.capacity, FITS, dtype=np.int32))
        if nodes.unschedulable.any() and not taints.tolerated(spec.tolerations, taints.UNSCHEDULABLE):
            verdict.refuse(nodes.unschedulable, refusals.UNSCHEDULABLE)
        wanted: Mask | None = node_terms.required(nodes, profile.pod) if self.arguments.node_affinity else None
        if wanted is not None:
            verdict.refuse(~wanted, refusals.NODE_AFFINITY)
        if self.arguments.taints:
            verdict.refuse(taints.repelled(nodes, spec.tolerations), refusals.TAINTS)
        return verdict.codes

    def _judge_company(self, profile: Profile, rows: Rows, verdict: Verdict) -> None:
        """Which other pods are on the node or near it."""
        company = self._inter_pod.verdicts(profile, rows) if self._inter_pod is not None else None
        if company is not None:
            verdict.refuse(company.affinity, refusals.POD_AFFINITY)
            verdict.refuse(company.anti_affinity, refusals.POD_ANTI_AFFINITY)
            verdict.refuse(company.existing, refusals.EXISTING_ANTI_AFFINITY)
        if self._spread is not None and self._spread.applies(profile):
            verdict.refuse(self._spread.unlabelled(profile, rows), refusals.SPREAD_LABEL)
            verdict.refuse(self._spread.skewed(profile, rows), refusals.SPREAD)
