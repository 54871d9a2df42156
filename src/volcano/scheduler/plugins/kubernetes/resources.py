"""Kubernetes' resource scores: least allocated, most allocated, balanced allocation. Integers, truncated as there."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

import numpy as np

from volcano.scheduler.cluster.nodes import Column, Mask, Rows
from volcano.scheduler.cluster.profiles import Profile
from volcano.scheduler.cluster.resources import CPU, MEMORY, FloatVector

NODE_SCORE_MAX = 100
Part = Callable[[Column, Column], Column]
_CPU_MEMORY = {CPU, MEMORY}


def least_allocated(profile: Profile, rows: Rows, weights: Mapping[int, int]) -> Column:
    """Prefers the larger free share after placing the pod."""
    return _weighted(profile, rows, weights, lambda capacity, wanted: np.maximum(capacity - wanted, 0))


def most_allocated(profile: Profile, rows: Rows, weights: Mapping[int, int]) -> Column:
    """Prefers the smaller free share after placing the pod."""
    return _weighted(profile, rows, weights, lambda capacity, wanted: np.minimum(wanted, capacity))


def balanced_allocation(profile: Profile, rows: Rows, dimensions: Sequence[int]) -> Column | None:
    """Prefers nodes whose resources the pod brings to more equal shares of use; None if it asks for none of them."""
    relevant = [d for d in dimensions if d in (CPU, MEMORY) or profile.request[d] > 0]
    if not any(profile.request[d] > 0 for d in relevant):
        return None
    if relevant == [CPU, MEMORY] and rows.offer_cpu_memory:
        return _bent(_even_gain(profile, rows))
    before, after, counted = [], [], []
    for dimension in relevant:
        capacity = rows.reported(dimension)
        offers = capacity > 0
        used = rows.requested(dimension)
        divisor = np.where(offers, capacity, 1)
        before.append(np.minimum(used / divisor, 1.0))
        after.append(np.minimum((used + int(profile.request[dimension])) / divisor, 1.0))
        counted.append(offers)
    return _bent(_balance(after, counted) - _balance(before, counted))


def _bent(gain: Column) -> Column:
    """From -100…100 to 0…100; halves are truncated."""
    half = NODE_SCORE_MAX // 2
    return np.asarray(half + ((half + gain) / 2).astype(np.int64))


def _even_gain(profile: Profile, rows: Rows) -> Column:
    """By how much the pod raises `_balance`, of CPU and memory where all nodes offer both: half their difference."""
    capacity, used = rows.reported_cpu_memory(), rows.requested_cpu_memory()
    fractions = np.empty((2, *used.shape))
    np.divide(used, capacity, out=fractions[0])
    np.divide(used + profile.request[: MEMORY + 1, None], capacity, out=fractions[1])
    np.minimum(fractions, 1.0, out=fractions)
    deviation = np.abs(fractions[:, CPU] - fractions[:, MEMORY]) / 2
    balance = ((1 - deviation) * NODE_SCORE_MAX).astype(np.int64)
    return np.asarray(balance[1] - balance[0])


def _balance(fractions: list[FloatVector], counted: list[Mask]) -> Column:
    """100 less the deviation between the shares; of two shares it is half their difference."""
    number = np.sum(counted, axis=0)
    largest = np.max([np.where(offers, part, -1.0) for part, offers in zip(fractions, counted, strict=True)], axis=0)
    least = np.min([np.where(offers, part, 2.0) for part, offers in zip(fractions, counted, strict=True)], axis=0)
    deviation = np.where(number == 2, (largest - least) / 2, 0.0)
    if len(fractions) > 2:
        mean = np.sum([np.where(o, f, 0.0) for f, o in zip(fractions, counted, strict=True)], axis=0)
        mean = mean / np.maximum(number, 1)
        squares = np.zeros(len(mean))
        for fraction, offers in zip(fractions, counted, strict=True):
            squares += np.where(offers, (fraction - mean) ** 2, 0.0)
        deviation = np.where(number > 2, np.sqrt(squares / np.maximum(number, 1)), deviation)
    return np.asarray((1 - deviation) * NODE_SCORE_MAX).astype(np.int64)


def _weighted(profile: Profile, rows: Rows, weights: Mapping[int, int], part: Part) -> Column:
    if weights.keys() == _CPU_MEMORY and rows.offer_cpu_memory:
        capacity = rows.reported_cpu_memory()
        wanted = rows.nonzero_cpu_memory() + profile.nonzero[:, None]
        shares = part(capacity, wanted) * NODE_SCORE_MAX // capacity
        whole = shares[CPU] * weights[CPU] + shares[MEMORY] * weights[MEMORY]
        return np.asarray(whole // max(weights[CPU] + weights[MEMORY], 1))
    total: Column | int = 0
    divisor: Column | int = 0
    for dimension, weight in weights.items():
        if dimension in (CPU, MEMORY):
            wanted = rows.nonzero(dimension) + (profile.milli_cpu_scored, profile.memory_scored)[dimension]
        elif profile.request[dimension] > 0:
            wanted = rows.requested(dimension) + int(profile.request[dimension])
        else:
            continue
        capacity = rows.reported(dimension)
        offers = capacity > 0
        share = part(capacity, wanted) * NODE_SCORE_MAX // np.where(offers, capacity, 1)
        total = total + np.where(offers, share * weight, 0)
        divisor = divisor + np.where(offers, weight, 0)
    return np.asarray(total // np.maximum(divisor, 1))
