"""Floors: the same number of decisions by a bare NumPy loop that knows no plugins, queues, gangs or reasons."""

from __future__ import annotations

import time
from typing import Any

import numpy as np

CPU, MEMORY = 0, 1
ZONES = 10
REQUEST = np.array([500.0, 2**30])
VICTIMS = 20


def placing(nodes: int, pods: int) -> float:
    """Filter, four score terms, argmax, update of one row."""
    allocatable, used = _machines(nodes)
    began = time.process_time()
    scores = _score(allocatable, used)
    for _ in range(pods):
        _place(allocatable, used, scores, int(np.argmax(scores)))
    return time.process_time() - began


def placing_one(nodes: int, _running: int) -> float:
    """For one pod."""
    return placing(nodes, 1)


def placing_apart(nodes: int, pods: int, size: int = 100) -> float:
    """No two of a gang on one node."""
    allocatable, used = _machines(nodes)
    began = time.process_time()
    scores = _score(allocatable, used)
    for number in range(pods):
        if number % size == 0:
            taken = np.zeros(nodes, dtype=np.bool_)
        row = int(np.argmax(np.where(taken, -np.inf, scores)))
        taken[row] = True
        _place(allocatable, used, scores, row)
    return time.process_time() - began


def placing_evenly(nodes: int, pods: int, size: int = 250) -> float:
    """A gang's pods in the zones that have the fewest of them."""
    allocatable, used = _machines(nodes)
    zone = np.arange(nodes) % ZONES
    began = time.process_time()
    scores = _score(allocatable, used)
    for number in range(pods):
        if number % size == 0:
            members = np.zeros(ZONES, dtype=np.int64)
        allowed = members + 1 - members.min() <= 1
        row = int(np.argmax(np.where(allowed[zone], scores, -np.inf)))
        members[zone[row]] += 1
        _place(allocatable, used, scores, row)
    return time.process_time() - began


def making_room(nodes: int, _running: int) -> float:
    """Per pod of a gang of 500: the best node, its pods sorted by priority, the first one evicted."""
    allocatable, used = _machines(nodes)
    priorities = np.zeros((nodes, VICTIMS), dtype=np.int64)
    began = time.process_time()
    scores = _score(allocatable, used)
    for _ in range(500):
        row = int(np.argmax(scores))
        victim = int(np.argsort(priorities[row])[0])
        priorities[row, victim] = 100
        used[row] -= REQUEST
        _place(allocatable, used, scores, row)
    return time.process_time() - began


def _machines(nodes: int) -> tuple[Any, Any]:
    allocatable = np.tile(np.array([[32000.0, 128 * 2**30]]), (nodes, 1))
    return allocatable, np.zeros_like(allocatable)


def _place(allocatable: Any, used: Any, scores: Any, row: int) -> None:
    used[row] += REQUEST
    scores[row] = _score(allocatable[row : row + 1], used[row : row + 1])[0]


def _score(allocatable: Any, used: Any) -> Any:
    after = used + REQUEST
    fits = (after <= allocatable).all(axis=1)
    fraction = after / allocatable
    least = ((1 - fraction) * 100).mean(axis=1)
    balanced = (1 - np.abs(fraction[:, CPU] - fraction[:, MEMORY])) * 100
    packed = (fraction * 100).mean(axis=1)
    return np.where(fits, least + balanced + packed + 3.0, -np.inf)
