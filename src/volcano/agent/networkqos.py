"""Keeps the traffic of a node's pods shaped as the configuration wants it, round by round.

`bandwidth` decides, `shaper` carries out.
"""

from __future__ import annotations

import logging
import sys
import threading
from collections.abc import Sequence
from typing import Final

from volcano.agent import bandwidth
from volcano.agent.configuration import Configuration
from volcano.agent.keeper import Keeper
from volcano.agent.shaper import Shaper, ShapingError
from volcano.agent.telling import Trouble
from volcano.api import keys
from volcano.api.core.nodes import Node
from volcano.api.core.pods import Pod

log = logging.getLogger(__name__)

FEATURE: Final = "NetworkQoS"
_FAILED: Final = "NetworkQoSFailed"
_RESET: Final = [sys.executable, "-m", "volcano.agent.networkcommand", "reset"]
_BY_OTHERS: Final = "network QoS leaves this pod alone: it has bandwidth annotations, which the CNI's plug-in follows"


class NetworkQos:
    def __init__(self, shaper: Shaper, keeper: Keeper) -> None:
        self._shaper, self._keeper = shaper, keeper
        self._on = False
        self._lock = threading.Lock()
        """Commands of an interrupted round may still run when the agent stops."""

    def start(self) -> None:
        """Lift what an agent may have left behind that ended together with its keeper."""
        with self._lock:
            try:
                self._shaper.reset()
            except ShapingError as problem:
                log.warning("network QoS: %s", problem)

    def follow(self, node: Node, pods: Sequence[Pod], configuration: Configuration) -> list[Trouble]:
        """Blocks while commands run. What fails is tried again in the next round."""
        with self._lock:
            try:
                problems = self._follow(node, pods, configuration)
            except (ShapingError, ValueError) as problem:
                problems = [str(problem)]
            found = [Trouble(_FAILED, f"network QoS: {problem}") for problem in problems]
            skipped = filter(bandwidth.shaped_by_others, pods) if self._on else ()
            return found + [Trouble("NetworkQoSSkipped", _BY_OTHERS, pod) for pod in skipped]

    def stop(self) -> None:
        """Shape nothing any more."""
        with self._lock:
            try:
                self._stop()
            except ShapingError as problem:
                log.error("network QoS: %s", problem)

    def _follow(self, node: Node, pods: Sequence[Pod], configuration: Configuration) -> list[str]:
        rules = configuration.network_qos_config
        if not rules.enable or not configuration.colocated:
            self._stop()
            return []
        rate = node.metadata.annotations.get(keys.NETWORK_BANDWIDTH_RATE, "")
        limits = bandwidth.limits_of(rate, rules)
        if not self._on:
            self._keeper.remember(FEATURE, {"command": _RESET})
            self._on = True
        if self._shaper.limits() != limits:
            self._shaper.shape(limits)
        return self._shaper.classify(bandwidth.senders(pods))

    def _stop(self) -> None:
        if self._on:
            self._shaper.reset()
            self._keeper.forget(FEATURE)
            self._on = False
