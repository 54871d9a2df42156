"""Resource arithmetic: names are interned as dimensions, amounts are exact int64 vectors.

Nodes, profiles, jobs and queues keep such vectors; shares and water levels (plugins) are float vectors of that shape.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from volcano.api import quantity

Vector = NDArray[np.int64]
FloatVector = NDArray[np.float64]
AnyVector = NDArray[Any]

CPU: Final = 0
MEMORY: Final = 1
PODS: Final = 2

EPSILON: Final = 0.1
"""Two amounts closer than this are equal. Integers never are, so it only matters for computed (float) amounts."""

LARGEST: Final = 1 << 50
"""Amounts are clamped to this, so that sums over any real cluster stay exact and absurd quantities cannot overflow."""

_BYTES = ("memory", "ephemeral-storage")
_NATIVE_DOMAIN = "kubernetes.io/"


def is_counted(name: str) -> bool:
    """Whether the scheduler accounts a resource of this name (object counts and unknown native names are dropped)."""
    if name in ("cpu", "memory", "pods", "ephemeral-storage"):
        return True
    if name.startswith("count/"):
        return False
    if name.startswith(("hugepages-", "attachable-volumes-")) or _NATIVE_DOMAIN in name:
        return True
    return "/" in name and not name.startswith("requests.")


def unit_scale(name: str) -> int:
    """How many stored units one unit of the resource has: milli-CPU, bytes, pods, milli-units of everything else."""
    if name in _BYTES or name == "pods" or name.startswith(("hugepages-", "attachable-volumes-")):
        return 1
    return 1000


class Dimensions:
    """The interned resource names of one cluster. Vectors have `width` places; a place beyond the names is zero."""

    def __init__(self, width: int = 8) -> None:
        self.names: list[str] = ["cpu", "memory", "pods"]
        self.width = width
        self.ignored: set[str] = set()
        self._index = {name: position for position, name in enumerate(self.names)}
        self._on_widen: list[Callable[[int], None]] = []

    def on_widen(self, callback: Callable[[int], None]) -> None:
        """Call `callback(new_width)` when vectors must grow; only ingest interns names, so never within a cycle."""
        self._on_widen.append(callback)

    def __len__(self) -> int:
        return len(self.names)

    def find(self, name: str) -> int | None:
        return self._index.get(name)

    def intern(self, name: str) -> int:
        position = self._index.get(name)
        if position is not None:
            return position
        position = len(self.names)
        self.names.append(name)
        self._index[name] = position
        if position >= self.width:
            self.width *= 2
            for callback in self._on_widen:
                callback(self.width)
        return position

    def zeros(self) -> Vector:
        return np.zeros(self.width, dtype=np.int64)

    def amount(self, name: str, value: quantity.Quantity | str | int | float) -> int:
        """`value` in stored units, rounded up as Kubernetes does, clamped to a range in which sums are exact."""
        units = quantity.units(value) if unit_scale(name) == 1 else quantity.milli(value)
        return max(-LARGEST, min(units, LARGEST))

    def amounts(self, resources: Mapping[str, Any] | None) -> dict[int, int]:
        """The counted entries of a resource list, by dimension; presence is kept even where the amount is zero."""
        return {
            self.intern(name): self.amount(name, value)
            for name, value in (resources or {}).items()
            if is_counted(name) and name not in self.ignored
        }

    def vector(self, resources: Mapping[str, Any] | None) -> Vector:
        amounts = self.amounts(resources)  # may widen, so it comes before the vector is made
        return self.from_amounts(amounts)

    def knows(self, resources: Mapping[str, Any]) -> bool:
        """Whether `vector` of these would intern no name: within a cycle it must not."""
        return all(name in self._index for name in resources if is_counted(name) and name not in self.ignored)

    def from_amounts(self, amounts: Mapping[int, int]) -> Vector:
        vector = self.zeros()
        for dimension, amount in amounts.items():
            vector[dimension] = amount
        return vector

    def mask(self, dimensions: Iterable[int]) -> NDArray[np.bool_]:
        mask = np.zeros(self.width, dtype=np.bool_)
        mask[list(dimensions)] = True
        return mask

    def describe(self, vector: AnyVector) -> dict[str, str]:
        """The non-zero amounts as a Kubernetes resource list."""
        return {name: render(name, int(vector[i])) for i, name in enumerate(self.names) if vector[i]}


def render(name: str, amount: int) -> str:
    """One stored amount as a canonical quantity: `1500` milli-CPU is "1500m", `2000` is "2"."""
    if unit_scale(name) == 1:
        return str(amount)
    return str(amount // 1000) if amount % 1000 == 0 else f"{amount}m"


def readable(name: str, amount: float) -> str:
    """One stored amount as people write it: 900Gi of memory, 1500m of CPU."""
    return quantity.readable(name, render(name, int(amount)))


def pad(vector: Vector, width: int) -> Vector:
    """`vector` with zeros appended up to `width`."""
    if len(vector) >= width:
        return vector
    wider = np.zeros(width, dtype=vector.dtype)
    wider[: len(vector)] = vector
    return wider


def fits(request: AnyVector, room: AnyVector) -> bool:
    """request ≤ room in every dimension, with the slack of EPSILON; a dimension not requested never refuses,

    except CPU and memory: an over-committed node (negative room) refuses everybody.
    """
    excess = request - room
    relevant = request != 0
    relevant[CPU] = relevant[MEMORY] = True
    return not bool((excess[relevant] >= EPSILON).any())


def exceeding(request: AnyVector, used: AnyVector, limit: AnyVector) -> list[int]:
    """The requested dimensions (pods aside) in which `used` goes beyond `limit`; strict, as quota checks are."""
    over = (request > 0) & (used > limit)
    over[PODS] = False
    found: list[int] = over.nonzero()[0].tolist()
    return found


def is_empty(vector: AnyVector) -> bool:
    """Nothing but (perhaps) pods is requested."""
    return not any(amount >= EPSILON for dimension, amount in enumerate(vector) if dimension != PODS)


def share(part: float, whole: float) -> float:
    """part / whole; of nothing, everything is taken unless nothing is wanted."""
    if whole == 0:
        return 0.0 if part == 0 else 1.0
    return part / whole


def shares(part: AnyVector, whole: AnyVector) -> FloatVector:
    """Element-wise `share`."""
    with np.errstate(divide="ignore", invalid="ignore"):
        ratio = np.asarray(part / whole, dtype=np.float64)
    return np.where(whole == 0, np.where(part == 0, 0.0, 1.0), ratio)
