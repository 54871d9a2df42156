"""Pods that end as soon as they are made, such as those that need an image: how long to wait before the next. Pure.

Kubernetes leaves this to the kubelet, which tries such a pod again more and more rarely. A pod that fails here stays
failed, and a controller that replaced it at once would make pods as fast as it can, for ever.
Neighbours: `scaling`, `placing` and `ordinals` decide what is replaced.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence

from volcano.local.builtin.views import PodView
from volcano.local.times import seconds_since_epoch

EARLY_SECONDS = 10.0
"""A pod that has ended so soon was never of use."""
LONGEST_SECONDS = 300.0


def spared(pods: Sequence[PodView], outdated: Collection[str], now: float) -> dict[str, float]:
    """Uids of failed pods that keep their place for so many seconds yet. Those of an old template do not."""
    waits = {
        pod.metadata.uid: EARLY_SECONDS - (now - _made_at(pod))
        for pod in pods
        if ended_early(pod) and pod.metadata.uid not in outdated
    }
    return {uid: min(seconds, EARLY_SECONDS) for uid, seconds in waits.items() if seconds > 0}


def seconds_to_next(pods: Sequence[PodView], replicas: int, now: float) -> float:
    """Until an owner that keeps its failed pods may make more: 10 s, doubling with each `replicas` that failed."""
    early = [pod for pod in pods if ended_early(pod)]
    if not early:
        return 0.0
    rounds = (len(early) - 1) // max(replicas, 1)
    delay = min(EARLY_SECONDS * 2.0 ** min(rounds, 10), LONGEST_SECONDS)
    return max(0.0, min(max(map(_made_at, early)) + delay - now, delay))  # a clock set back makes them no more


def ended_early(pod: PodView) -> bool:
    """Whether it has failed by itself within its first seconds."""
    made = pod.metadata.creation_timestamp
    if pod.status.phase != "Failed" or pod.metadata.deletion_timestamp is not None or not made:
        return False
    changes = [condition.last_transition_time or "" for condition in pod.status.conditions]
    return seconds_since_epoch(max(changes, default="") or made) - _made_at(pod) < EARLY_SECONDS


def _made_at(pod: PodView) -> float:
    return seconds_since_epoch(pod.metadata.creation_timestamp or "")
