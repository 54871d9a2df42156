"""Weighted max-min fairness by water filling: nobody gets more than asked for, the rest is shared by weight.

All amounts are float arrays of queues × dimensions.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from volcano.scheduler.cluster.resources import EPSILON, PODS, FloatVector

Table = NDArray[np.float64]


def fill(total: FloatVector, weights: Sequence[int], request: Table, guarantee: Table, ceiling: Table) -> Table:
    """What each queue deserves: at least its guarantee, at most its ceiling and (the guarantee aside) its request.

    In each round the queues that want more share what is left by weight; what they cannot use goes to the next round.
    """
    weight = np.asarray(weights, dtype=np.float64)
    deserved = np.zeros_like(request)
    open_to_more = np.ones(len(weight), dtype=np.bool_)
    remaining = total.copy()
    while True:
        together = weight[open_to_more].sum()
        if together == 0:
            return deserved
        before = deserved[open_to_more]
        share = (weight[open_to_more] / together)[:, None]
        after = np.minimum(before + remaining * share, ceiling[open_to_more])
        after = np.maximum(np.minimum(after, request[open_to_more]), guarantee[open_to_more])
        met = ((request[open_to_more] - after) < EPSILON).all(axis=1) | (after == before).all(axis=1)
        deserved[open_to_more] = after
        open_to_more[np.flatnonzero(open_to_more)[met]] = False
        left = np.maximum(remaining - (after - before).sum(axis=0), 0.0)
        if _is_used_up(left) or (left == remaining).all():
            return deserved
        remaining = left


def _is_used_up(amounts: FloatVector) -> bool:
    rest = amounts.copy()
    rest[PODS] = 0.0
    return not bool((rest >= EPSILON).any())
