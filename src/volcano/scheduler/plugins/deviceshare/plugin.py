"""deviceshare: pods get shares of accelerators, by the card; what each gets is written onto it with its binding.

Families of devices (gpushare, vgpu, HAMi's Ascend) answer by device.py's protocol; ledger.py keeps who holds what.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import numpy as np

from volcano.scheduler.cluster.nodes import Index, Rows
from volcano.scheduler.cluster.profiles import Profile
from volcano.scheduler.cluster.tasks import Status, Task
from volcano.scheduler.framework.decisions import NodeLock, Settlement
from volcano.scheduler.framework.plugin import Plugin, Scores, ScoreTerm
from volcano.scheduler.framework.reasons import FITS, Codes, Reason, Refusal, Stage
from volcano.scheduler.framework.session import Session
from volcano.scheduler.plugins.deviceshare import config
from volcano.scheduler.plugins.deviceshare.config import Arguments, DeviceConfig
from volcano.scheduler.plugins.deviceshare.device import Family, Grant, Objection
from volcano.scheduler.plugins.deviceshare.ledger import DeviceLedger

Verdict = tuple[int, float]
"""Code and score."""


class DeviceShare(Plugin):
    name = "deviceshare"
    Arguments = Arguments

    @classmethod
    def watched(cls, arguments: Mapping[str, Any]) -> Iterable[str]:
        name = arguments.get("deviceshare.KnownGeometriesCMName", config.CONFIG_MAP)
        namespace = arguments.get("deviceshare.KnownGeometriesCMNamespace", config.CONFIG_NAMESPACE)
        return (f"configmaps/{namespace}/{name}",)

    def open(self, session: Session) -> None:
        arguments: Arguments = self.arguments
        for conflict in config.conflicts(arguments):
            session.warn(f"deviceshare: {conflict}")
        self._families: Sequence[Family] = tuple(config.families(arguments, self._config()))
        session.cluster.stop_counting(name for family in self._families for name in family.uncounted)
        self._ledger = session.cluster.index(DeviceLedger)
        self._ledger.begin(self._families)
        self._wanted: dict[int, Sequence[Family]] = {}
        """Families that a profile wants, by its id."""
        self._verdicts: dict[int, dict[int, Verdict]] = {}
        """By row, then profile."""

    def filter(self, profile: Profile, rows: Rows) -> Codes:
        if not self._families_of(profile):
            return np.zeros(len(rows), dtype=np.int32)
        return np.fromiter((self._judge(profile, row)[0] for row in rows.index.tolist()), np.int32, len(rows))

    def score_terms(self, profile: Profile) -> Sequence[ScoreTerm]:
        if self.arguments.weight <= 0 or not self._families_of(profile):
            return ()
        return (ScoreTerm(self._scores, weight=self.arguments.weight),)

    def couples_nodes(self, profile: Profile) -> bool:
        return bool(self._families_of(profile))  # each pod gets cards of its own: no two are placed at once

    def affected(self, profile: Profile, changed: Index) -> Index | None:
        return changed[:0]

    def allocated(self, tasks: Sequence[Task]) -> Reason | None:
        for task in tasks:
            if not self._families_of(task.profile):
                continue
            self._verdicts.pop(task.node, None)
            if task.status in (Status.ALLOCATED, Status.PIPELINED):
                objection = self._grant(task)
                if objection is not None:
                    return Reason(Stage.DEVICE, "NoDevices", blocker=task.node_name, message=objection.text)
            self._ledger.charge(task)  # also who was to be evicted, and stays
        return None

    def deallocated(self, tasks: Sequence[Task]) -> None:
        for task in tasks:
            if self._families_of(task.profile):
                self._verdicts.pop(task.node, None)
                self._ledger.release(task)
                if task.status in (Status.ALLOCATED, Status.PIPELINED):
                    self._ledger.grants.pop(task.uid, None)

    def bind_annotations(self, task: Task) -> Mapping[str, str]:
        return self._ledger.grants.get(task.uid, {}) if self._families_of(task.profile) else {}

    def bind_claims(self, task: Task) -> Sequence[Settlement]:
        if not self.arguments.node_lock:
            return ()
        locks = {family.lock for family in self._families_of(task.profile) if family.lock}
        return [NodeLock(task.node_name, lock) for lock in sorted(locks)]

    # Inside

    def _config(self) -> DeviceConfig:
        arguments: Arguments = self.arguments
        key = f"{arguments.config_namespace}/{arguments.config_map}"
        place = f"deviceshare: ConfigMap {key}, {config.DATA_KEY}"
        found = self.session.cluster.objects["configmaps"].get(key)
        text = found.data.get(config.DATA_KEY, "") if found is not None else ""
        try:
            devices, repeated = config.parse(text)
        except config.ConfigError as problem:
            self.session.warn(f"{place}: {problem}; built-in devices are used")
            return DeviceConfig()
        for remark in repeated:
            self.session.warn(f"{place}: {remark}")
        return devices

    def _families_of(self, profile: Profile) -> Sequence[Family]:
        found = self._wanted.get(profile.id)
        if found is None:
            found = tuple(family for family in self._families if family.wanted_by(profile.pod))
            self._wanted[profile.id] = found
        return found

    def _scores(self, profile: Profile, rows: Rows) -> Scores:
        return np.fromiter((self._judge(profile, row)[1] for row in rows.index.tolist()), np.float64, len(rows))

    def _judge(self, profile: Profile, row: int) -> Verdict:
        verdicts = self._verdicts.setdefault(row, {})
        verdict = verdicts.get(profile.id)
        if verdict is None:
            verdict = verdicts[profile.id] = self._ask(profile, row)
        return verdict

    def _ask(self, profile: Profile, row: int) -> Verdict:
        total = 0.0
        devices = self._ledger.at(row)
        for family in self._families_of(profile):
            offer = devices[family.name].offer(profile.pod) if family.name in devices else _none_of(family)
            if isinstance(offer, Objection):
                refusal = Refusal(self.name, offer.text, resolvable=offer.resolvable, stage=Stage.DEVICE)
                return self.session.refusals.code(refusal), 0.0
            total += offer.score
        return FITS, float(math.floor(total + 0.5))

    def _grant(self, task: Task) -> Objection | None:
        """Decide which devices the task gets on its node."""
        self._ledger.release(task)
        annotations: dict[str, str] = {}
        devices = self._ledger.at(task.node)
        for family in self._families_of(task.profile):
            offer = devices[family.name].offer(task.pod) if family.name in devices else _none_of(family)
            if isinstance(offer, Objection):
                return offer
            annotations |= {**offer.annotations, **family.stamps(task.node_name, self.session.now)}
        self._ledger.grants[task.uid] = annotations
        return None


def _none_of(family: Family) -> Grant | Objection:
    return Objection(f"node(s) had no {family.name} devices", resolvable=False)
