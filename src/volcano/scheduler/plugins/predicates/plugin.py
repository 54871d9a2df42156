"""predicates: a node must be willing (taints), wanted (selectors), free (ports, pod number) and in the right company.

The rules are Kubernetes' and live in plugins/kubernetes/; room for resources is the engine's own question.
"""

from __future__ import annotations

from typing import Any

import msgspec
import numpy as np

from volcano.scheduler.cluster.census import Census
from volcano.scheduler.cluster.nodes import Index, Mask, Rows
from volcano.scheduler.cluster.profiles import Profile
from volcano.scheduler.cluster.resources import PODS
from volcano.scheduler.framework.plugin import Plugin
from volcano.scheduler.framework.reasons import FITS, Codes
from volcano.scheduler.framework.session import Session
from volcano.scheduler.plugins.kubernetes import node_terms, ports, taints
from volcano.scheduler.plugins.kubernetes.inter_pod import InterPodAffinity
from volcano.scheduler.plugins.kubernetes.spread import TopologySpread
from volcano.scheduler.plugins.predicates import verdict as refusals
from volcano.scheduler.plugins.predicates.verdict import Verdict


def _argument(name: str, default: Any = True) -> Any:
    return msgspec.field(default=default, name=name)


class Arguments(msgspec.Struct, frozen=True):
    node_affinity: bool = _argument("predicate.NodeAffinityEnable")
    node_ports: bool = _argument("predicate.NodePortsEnable")
    taints: bool = _argument("predicate.TaintTolerationEnable")
    pod_affinity: bool = _argument("predicate.PodAffinityEnable")
    volume_limits: bool = _argument("predicate.NodeVolumeLimitsEnable")
    volume_zone: bool = _argument("predicate.VolumeZoneEnable")
    topology_spread: bool = _argument("predicate.PodTopologySpreadEnable")
    volume_binding: bool = _argument("predicate.VolumeBindingEnable")
    cache: bool = _argument("predicate.CacheEnable", default=False)
    """Accepted: verdicts are always kept per profile."""
    resource_claims: bool = _argument("predicate.DynamicResourceAllocationEnable")
    bind_timeout_seconds: int = _argument("volumebinding.bindTimeoutSeconds", default=600)
    volume_weight: int = _argument("volumebinding.weight", default=1)
    volume_shape: list[dict[str, int]] = _argument("volumebinding.shape", default=[])
    claim_timeout_seconds: int = _argument("dynamicresources.filterTimeoutSeconds", default=10)


class Predicates(Plugin):
    name = "predicates"
    Arguments = Arguments
    watches = ("namespaces",)

    def open(self, session: Session) -> None:
        arguments: Arguments = self.arguments
        self._settled: dict[int, Codes] = {}
        """Per profile, the verdicts on all rows of the table that nothing within a session changes."""
        cluster = session.cluster
        self._inter_pod = InterPodAffinity(cluster, preferred=False) if arguments.pod_affinity else None
        self._spread = TopologySpread(cluster, hard=True) if arguments.topology_spread else None
        cluster.index(Census).begin()

    def filter(self, profile: Profile, rows: Rows) -> Codes:
        settled = self._settled.get(profile.id)
        if settled is None:
            settled = self._settled[profile.id] = self._settle(profile)
        verdict = Verdict(self.session.refusals, settled[rows.index])
        verdict.refuse(rows.pod_count() >= rows.reported(PODS), refusals.POD_NUMBER)
        if profile.ports and self.arguments.node_ports:
            verdict.refuse(ports.taken(self.session.cluster, profile, rows), refusals.PORTS)
        self._judge_company(profile, rows, verdict)
        return verdict.codes

    def couples_nodes(self, profile: Profile) -> bool:
        if self._spread is not None and self._spread.applies(profile):
            return True
        return self._inter_pod is not None and self._inter_pod.couples(profile)

    def affected(self, profile: Profile, changed: Index) -> Index | None:
        more = changed[:0]
        for part in (self._inter_pod, self._spread):
            rows = part.affected(profile, changed) if part is not None else changed[:0]
            if rows is None:
                return None
            more = rows if not len(more) else np.union1d(more, rows)
        return more

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
