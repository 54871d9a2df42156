"""The verdict on nodes while one filter after another is asked: the first refusal stays, unless a final one follows."""

from __future__ import annotations

from typing import Final

import numpy as np

from volcano.scheduler.cluster.nodes import Mask
from volcano.scheduler.framework.reasons import FITS, Codes, Refusal, Refusals, Stage

PLUGIN: Final = "predicates"

UNSCHEDULABLE: Final = Refusal(PLUGIN, "node(s) were unschedulable", resolvable=False)
NODE_AFFINITY: Final = Refusal(PLUGIN, "node(s) didn't match Pod's node affinity/selector", resolvable=False)
TAINTS: Final = Refusal(PLUGIN, "node(s) had untolerated taint(s)", resolvable=False)
POD_NUMBER: Final = Refusal(PLUGIN, "node(s) pod number exceeded")
PORTS: Final = Refusal(PLUGIN, "node(s) didn't have free ports for the requested pod ports")
POD_AFFINITY: Final = Refusal(PLUGIN, "node(s) didn't match pod affinity rules", resolvable=False)
POD_ANTI_AFFINITY: Final = Refusal(PLUGIN, "node(s) didn't match pod anti-affinity rules")
EXISTING_ANTI_AFFINITY: Final = Refusal(PLUGIN, "node(s) didn't satisfy existing pods anti-affinity rules")
SPREAD_LABEL: Final = Refusal(
    PLUGIN, "node(s) didn't match pod topology spread constraints (missing required label)", resolvable=False
)
SPREAD: Final = Refusal(PLUGIN, "node(s) didn't match pod topology spread constraints")
NO_VOLUME: Final = Refusal(
    PLUGIN,
    "node(s) unavailable due to one or more pvc(s) bound to non-existent pv(s)",
    resolvable=False,
    stage=Stage.VOLUME,
)
VOLUME_NODE: Final = Refusal(
    PLUGIN, "node(s) didn't match PersistentVolume's node affinity", resolvable=False, stage=Stage.VOLUME
)
NOTHING_TO_BIND: Final = Refusal(
    PLUGIN, "node(s) didn't find available persistent volumes to bind", resolvable=False, stage=Stage.VOLUME
)
NO_SPACE: Final = Refusal(PLUGIN, "node(s) did not have enough free storage", resolvable=False, stage=Stage.VOLUME)
VOLUME_ZONE: Final = Refusal(PLUGIN, "node(s) had no available volume zone", resolvable=False, stage=Stage.VOLUME)
VOLUME_LIMIT: Final = Refusal(PLUGIN, "node(s) exceed max volume count", stage=Stage.VOLUME)


class Verdict:
    """`refuse` where a mask says so. A refusal that evictions cannot resolve replaces one that they could."""

    def __init__(self, refusals: Refusals, codes: Codes) -> None:
        self._refusals = refusals
        self.codes = codes

    def is_open(self, position: int) -> bool:
        return bool(self.codes[position] == FITS)

    def refuse(self, where: Mask, refusal: Refusal) -> None:
        if not np.count_nonzero(where):
            return
        code = self._refusals.code(refusal)
        open_to_it = self.codes == FITS
        if not refusal.resolvable:
            open_to_it |= ~self._refusals.unresolvable(self.codes)
        self.codes[where & open_to_it] = np.int32(code)
