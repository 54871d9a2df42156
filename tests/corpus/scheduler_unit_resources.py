"""Recorded calls of resource arithmetic and of the accounts of queues, answered by our vectors and accounts.

An adapter takes a recorded call and gives (ours, recorded).
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from tests.corpus.loader import Record
from volcano.api.meta import ObjectMeta
from volcano.api.scheduling import Queue as QueueObject
from volcano.scheduler.cluster import requests
from volcano.scheduler.cluster.queues import Queue
from volcano.scheduler.cluster.resources import CPU, MEMORY, Dimensions, FloatVector, fits, unit_scale
from volcano.scheduler.plugins.capacity import accounts, reclaim
from volcano.scheduler.plugins.capacity.accounts import Account
from volcano.scheduler.plugins.capacity.plugin import _within_share

Amounts = dict[str, float]
Answer = tuple[Any, Any]

INFINITE = -1


def raw(recorded: Amounts | None, dimensions: Dimensions) -> FloatVector:
    """The recorded numbers as they are, by dimension."""
    amounts = {dimensions.intern(name): value for name, value in (recorded or {}).items() if name != "maxTaskNum"}
    vector = np.zeros(dimensions.width)
    for dimension, value in amounts.items():
        vector[dimension] = value
    return vector


def stored(recorded: Amounts | None, dimensions: Dimensions) -> dict[int, int]:
    """The recorded amounts in our units: its own are thousandths for everything but memory and pods."""
    amounts = {}
    for name, value in (recorded or {}).items():
        if name != "maxTaskNum":
            scale = 1.0 if name in ("cpu", "memory", "pods") else unit_scale(name) / 1000
            amounts[dimensions.intern(name)] = round(value * scale)
    return amounts


def shown(vector: Any, dimensions: Dimensions) -> Amounts:
    """Our amounts in recorded form, zeros left out."""
    found = {}
    for dimension, name in enumerate(dimensions.names):
        scale = 1.0 if name in ("cpu", "memory", "pods") else 1000 / unit_scale(name)
        if vector[dimension]:
            found[name] = float(vector[dimension]) * scale
    return found


def without_zeros(recorded: Amounts | None) -> Amounts:
    return {name: value for name, value in (recorded or {}).items() if value and name != "maxTaskNum"}


def account_with(dimensions: Dimensions, deserved: Amounts | None, allocated: Amounts | None) -> Account:
    queue = Queue(QueueObject(metadata=ObjectMeta(name="q")), dimensions)
    share, held = (raw(part, dimensions) for part in (deserved, allocated))
    queue.deserved = {dimensions.intern(name): round(v) for name, v in (deserved or {}).items() if name != "maxTaskNum"}
    unlimited = np.full(dimensions.width, np.inf)
    guarantee, request, inqueue, elastic = (np.zeros(dimensions.width) for _ in range(4))
    account = Account(queue, unlimited, guarantee, share, unlimited, held, request, inqueue, elastic)
    account.chain = [account]
    return account


def _combined(call: Record, combine: Callable[[dict[int, int], dict[int, int]], None]) -> Answer:
    dimensions = Dimensions(width=32)
    total, more = (_named(call["args"][name], dimensions) for name in ("receiver", "rr"))
    combine(total, more)
    return _names(total, dimensions), without_zeros(call["argsAfter"]["receiver"])


def _named(recorded: Amounts, dimensions: Dimensions) -> dict[int, int]:
    return {dimensions.intern(name): round(value) for name, value in recorded.items() if name != "maxTaskNum"}


def _names(amounts: dict[int, int], dimensions: Dimensions) -> Amounts:
    return {dimensions.names[dimension]: amount for dimension, amount in amounts.items() if amount}


def _add_scalar(call: Record) -> Answer:
    call = {**call, "args": {**call["args"], "rr": {call["args"]["name"]: call["args"]["quantity"]}}}
    return _combined(call, requests._add)


def _less_equal(call: Record) -> Answer:
    args = call["args"]
    dimensions = Dimensions(width=32)
    left, right = raw(args["receiver"], dimensions), raw(args["rr"], dimensions)
    if args["defaultValue"] == INFINITE:
        _fill_absent(right, args["rr"], dimensions)
    return fits(left, right), call["want"][0]


def _fill_absent(limit: FloatVector, recorded: Amounts, dimensions: Dimensions) -> None:
    for dimension, name in enumerate(dimensions.names):
        if name not in recorded and dimension not in (CPU, MEMORY):
            limit[dimension] = np.inf


def _clamped(call: Record) -> Answer:
    """A queue's share is cut to its limit; a resource that the limit does not name is unknown to it, not zero."""
    args = call["args"]
    if args["defaultValue"] != INFINITE or 0.0 in (args["rr"].get(name) for name in args["receiver"]):
        pytest.skip("limits that a resource is absent from, or of which there is none, do not cut")
    dimensions = Dimensions(width=32)
    amounts, limit = (raw(args[name], dimensions) for name in ("receiver", "rr"))
    return _recorded(accounts._clamp(amounts, limit), dimensions), without_zeros(call["want"])


def _recorded(vector: FloatVector, dimensions: Dimensions) -> Amounts:
    return {name: float(vector[d]) for d, name in enumerate(dimensions.names) if vector[d]}


def _within(call: Record) -> Answer:
    """Whether a claim stays within a share: there the claim is in what the queue holds already, here it comes extra."""
    args = call["args"]
    if args["req"] is None:
        pytest.skip("claims always have a request")
    dimensions = Dimensions(width=32)
    request = raw(args["req"], dimensions)
    for name in ("receiver", "rr"):
        raw(args[name], dimensions)
    account = account_with(dimensions, args["rr"], args["receiver"])
    account.allocated -= request
    return _within_share(account, request), call["want"][0]


def _exceeds(call: Record) -> Answer:
    args = call["args"]
    dimensions = Dimensions(width=32)
    request, holds = raw(args["req"], dimensions), raw(args["receiver"], dimensions)
    account = account_with(dimensions, args["rr"], args["receiver"])
    return reclaim.exceeds_share(account, holds, request), call["want"][0]


def _in_common(call: Record) -> Answer:
    args = call["args"]
    dimensions = Dimensions(width=32)
    left, right = raw(args["r1"], dimensions), raw(args["r2"], dimensions)
    common = reclaim._named(left) & reclaim._named(right)
    common[dimensions.intern("pods")] = False
    return sorted(dimensions.names[d] for d in np.flatnonzero(common)), sorted(call["want"])


def _share(call: Record) -> Answer:
    recorded = call["args"]["attr"]
    dimensions = Dimensions(width=32)
    for name in ("deserved", "allocated"):
        raw(recorded[name], dimensions)
    account = account_with(dimensions, recorded["deserved"], recorded["allocated"])
    account.settle()
    want = (call.get("argsAfter") or call["args"])["attr"]["share"]
    return account.share, pytest.approx(want)


ADAPTERS: dict[str, Callable[[Record], Answer]] = {
    "Resource.Add": lambda call: _combined(call, requests._add),
    "Resource.AddScalar": _add_scalar,
    "Resource.SetMaxResource": lambda call: _combined(call, requests._raise_to),
    "Resource.LessEqualWithResourcesName": _less_equal,
    "Resource.MinDimensionResource": _clamped,
    "Resource.LessEqualPartlyWithDimensionZeroFiltered": _within,
    "Resource.GreaterPartlyWithRelevantDimensions": _exceeds,
    "IntersectionWithIgnoredScalarResources": _in_common,
    "updateQueueAttrShare": _share,
}
