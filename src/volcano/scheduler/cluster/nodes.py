"""Nodes as rows of arrays: what they offer, what is taken, and which rows changed.

Amounts are int64 columns (one per dimension, contiguous); `Rows` is the view that plugins' node hooks read.
"""

from __future__ import annotations

from array import array
from collections.abc import Callable, Iterable
from typing import TYPE_CHECKING, Final

import msgspec
import numpy as np
from numpy.typing import NDArray

from volcano.scheduler.cluster.resources import CPU, MEMORY, Dimensions, Vector

if TYPE_CHECKING:
    from volcano.api.core import Node, Taint
    from volcano.scheduler.cluster.profiles import Profile
    from volcano.scheduler.cluster.tasks import Task

Index = NDArray[np.intp]
Column = NDArray[np.int64]
Mask = NDArray[np.bool_]

_AMOUNTS: Final = ("allocatable", "reported", "idle", "future", "used", "releasing", "pipelined", "requested")


class ChangeLog:
    """Which rows changed, in order; readers keep a cursor. Old entries are dropped, late readers then start over."""

    def __init__(self, keep: int = 1 << 16) -> None:
        self._rows = array("q")
        self._base = 0
        self._keep = keep
        self.taker: Profile | None = None
        """Set if the last change is that one pod, of this profile, came to use its row, and nothing else."""

    @property
    def cursor(self) -> int:
        return self._base + len(self._rows)

    def add(self, row: int, taker: Profile | None = None) -> None:
        self._rows.append(row)
        self.taker = taker

    def extend(self, rows: Iterable[int]) -> None:
        self._rows.extend(rows)
        self.taker = None

    def since(self, cursor: int) -> Index | None:
        """The rows that changed after `cursor`, some perhaps twice, or None when that is no longer known."""
        start = cursor - self._base
        if start < 0:
            return None
        if start == len(self._rows):
            return _NO_ROWS
        rows: Index = np.frombuffer(self._rows[start:], dtype=np.intp)
        return rows if len(rows) < _WORTH_SORTING else np.unique(rows)

    def trim(self) -> None:
        surplus = len(self._rows) - self._keep
        if surplus > 0:
            del self._rows[:surplus]
            self._base += surplus


_NO_ROWS: Index = np.empty(0, dtype=np.intp)
_WORTH_SORTING: Final = 1024
"""From so many changes on it pays to find out which rows are the same."""


class LabelColumns:
    """Node labels as interned integers, one column per label key that anybody asked for."""

    def __init__(self, nodes: NodeTable) -> None:
        self._nodes = nodes
        self._columns: dict[str, NDArray[np.int32]] = {}
        self._codes: dict[str, dict[str, int]] = {}
        self._unique: dict[str, bool] = {}

    def column(self, key: str) -> NDArray[np.int32]:
        """The value's code per row of the whole table, -1 where the label is absent."""
        column = self._columns.get(key)
        if column is None:
            column = self._columns[key] = np.full(self._nodes.capacity, -1, dtype=np.int32)
            self._codes[key] = {}
            for row, node in enumerate(self._nodes.objects):
                if node is not None:
                    self._set(key, row, node)
        return column

    def code(self, key: str, value: str) -> int:
        """The code of a value, -2 (no row has it) if unknown."""
        self.column(key)
        return self._codes[key].get(value, -2)

    def values(self, key: str) -> list[str]:
        """Values by code."""
        self.column(key)
        return list(self._codes[key])

    def is_unique(self, key: str) -> bool:
        """Whether no two nodes share a value of this label."""
        unique = self._unique.get(key)
        if unique is None:
            column = self.column(key)
            present = column[column >= 0]
            unique = self._unique[key] = len(np.unique(present)) == len(present)
        return unique

    def refresh(self, row: int, node: Node | None) -> None:
        self._unique.clear()
        for key, column in self._columns.items():
            column[row] = -1
            if node is not None:
                self._set(key, row, node)

    def grow(self, capacity: int) -> None:
        for key, column in self._columns.items():
            longer = np.full(capacity, -1, dtype=np.int32)
            longer[: len(column)] = column
            self._columns[key] = longer

    def _set(self, key: str, row: int, node: Node) -> None:
        value = node.metadata.labels.get(key)
        if value is not None:
            codes = self._codes[key]
            self._columns[key][row] = codes.setdefault(value, len(codes))


class NodeTable:
    """All nodes. A row is stable while its node exists; freed rows are used again."""

    allocatable: Vector
    """Offered to pods, oversubscription included; `reported` is what the node itself says."""
    reported: Vector
    idle: Vector
    future: Vector
    """Idle once what is leaving has left and what is promised has arrived; may be negative."""
    used: Vector
    releasing: Vector
    pipelined: Vector
    requested: Vector
    """As Kubernetes' own scorers count: pipelined pods are in, pods evicted in this cycle are out."""

    def __init__(self, dimensions: Dimensions, capacity: int = 16) -> None:
        self.dimensions = dimensions
        self.capacity = capacity
        self.names: list[str] = [""] * capacity
        self.objects: list[Node | None] = [None] * capacity
        self.tasks: list[dict[str, Task]] = [{} for _ in range(capacity)]
        self.row_of: dict[str, int] = {}
        for name in _AMOUNTS:
            setattr(self, name, np.zeros((capacity, dimensions.width), dtype=np.int64, order="F"))
        self.nonzero: Vector = np.zeros((capacity, 2), dtype=np.int64, order="F")
        """Milli-CPU and bytes with a minimum per container, for scoring."""
        self.pod_count: Column = np.zeros(capacity, dtype=np.int64)
        self.unschedulable: Mask = np.zeros(capacity, dtype=np.bool_)
        self.taint_set: NDArray[np.int32] = np.zeros(capacity, dtype=np.int32)
        """Per row, the index into `taint_sets`; 0 is no taints."""
        self.taint_sets: list[tuple[Taint, ...]] = [()]
        self.labels = LabelColumns(self)
        self.changes = ChangeLog()
        """Rows whose accounting changed."""
        self.object_changes = ChangeLog()
        """Rows whose Node object changed (labels, taints, images), appeared or vanished."""
        self._offers_cpu_memory: tuple[int, bool] = (-1, False)
        self._free = list(range(capacity - 1, -1, -1))
        self._taint_codes: dict[tuple[Taint, ...], int] = {(): 0}
        self._on_grow: list[Callable[[int], None]] = []
        dimensions.on_widen(self._widen)

    def __len__(self) -> int:
        return len(self.row_of)

    @property
    def active(self) -> Index:
        """The rows in use, in order of arrival."""
        return np.fromiter(self.row_of.values(), dtype=np.intp, count=len(self.row_of))

    def on_grow(self, callback: Callable[[int], None]) -> None:
        """Call `callback(new_capacity)` when the table gets longer, for columns that others keep beside it."""
        self._on_grow.append(callback)

    def put(self, node: Node, allocatable: Vector, reported: Vector) -> int:
        """Insert or replace a node's object and offer; what is taken stays. Returns its row."""
        name = node.metadata.name
        row = self.row_of.get(name)
        if row is None:
            if not self._free:
                self._grow()
            row = self._free.pop()
            self.row_of[name] = row
            self.names[row] = name
        self.objects[row] = node
        self.idle[row] += allocatable - self.allocatable[row]
        self.future[row] += allocatable - self.allocatable[row]
        self.allocatable[row] = allocatable
        self.reported[row] = reported
        self.unschedulable[row] = node.spec.unschedulable
        self.taint_set[row] = self._taint_code(tuple(node.spec.taints))
        self.labels.refresh(row, node)
        self._touch_object(row)
        return row

    def remove(self, name: str) -> dict[str, Task]:
        """Forget a node; returns the tasks that were on it."""
        row = self.row_of.pop(name)
        tasks, self.tasks[row] = self.tasks[row], {}
        for column in _AMOUNTS:
            getattr(self, column)[row] = 0
        self.nonzero[row] = 0
        self.pod_count[row] = 0
        self.unschedulable[row] = False
        self.taint_set[row] = 0
        self.names[row] = ""
        self.objects[row] = None
        self.labels.refresh(row, None)
        self._touch_object(row)
        self._free.append(row)
        return tasks

    def clear(self, dimension: int) -> None:
        """The resource is not counted any more."""
        for name in _AMOUNTS:
            getattr(self, name)[:, dimension] = 0

    def future_idle(self, rows: Index) -> Vector:
        """The rows of `future`, all dimensions."""
        future: Vector = self.future[rows]
        return future

    @property
    def offers_cpu_memory(self) -> bool:
        """Whether every node does."""
        cursor, offers = self._offers_cpu_memory
        if cursor != self.object_changes.cursor:
            offers = bool((self.reported[self.active, : MEMORY + 1] > 0).all())
            self._offers_cpu_memory = self.object_changes.cursor, offers
        return offers

    def total(self) -> NDArray[np.float64]:
        """All that the cluster offers. A float: a sum of absurd quantities must not overflow."""
        total: NDArray[np.float64] = self.allocatable.sum(axis=0, dtype=np.float64)
        return total

    def _taint_code(self, taints: tuple[Taint, ...]) -> int:
        if any(taint.time_added for taint in taints):  # when it was added decides nothing, and differs on every node
            taints = tuple(msgspec.structs.replace(taint, time_added=None) for taint in taints)
        code = self._taint_codes.get(taints)
        if code is None:
            code = self._taint_codes[taints] = len(self.taint_sets)
            self.taint_sets.append(taints)
        return code

    def _touch_object(self, row: int) -> None:
        self.changes.add(row)
        self.object_changes.add(row)

    def _grow(self) -> None:
        old, new = self.capacity, self.capacity * 2
        for name in _AMOUNTS:
            longer = np.zeros((new, self.dimensions.width), dtype=np.int64, order="F")
            longer[:old] = getattr(self, name)
            setattr(self, name, longer)
        self.nonzero = np.concatenate([self.nonzero, np.zeros((old, 2), dtype=np.int64)]).copy(order="F")
        self.pod_count = np.concatenate([self.pod_count, np.zeros(old, dtype=np.int64)])
        self.unschedulable = np.concatenate([self.unschedulable, np.zeros(old, dtype=np.bool_)])
        self.taint_set = np.concatenate([self.taint_set, np.zeros(old, dtype=np.int32)])
        self.names += [""] * old
        self.objects += [None] * old
        self.tasks += [{} for _ in range(old)]
        self.capacity = new
        self.labels.grow(new)
        self._free = list(range(new - 1, old - 1, -1))
        for callback in self._on_grow:
            callback(new)

    def _widen(self, width: int) -> None:
        for name in _AMOUNTS:
            column = getattr(self, name)
            wider = np.zeros((self.capacity, width), dtype=np.int64, order="F")
            wider[:, : column.shape[1]] = column
            setattr(self, name, wider)


class Rows:
    """Some rows of the node table, as node hooks see them.

    `extra[i]` replicas of the very profile in question are assumed on row i on top of what is there: bulk placement
    asks for the verdict and the score of the next replica this way. Hooks that read amounts through this view get it
    for free.
    """

    __slots__ = ("_nodes", "_pipelined", "_profile", "_reported", "extra", "index")

    def __init__(
        self,
        nodes: NodeTable,
        index: Index,
        *,
        extra: Column | None = None,
        profile: Profile | None = None,
        pipelined: bool = False,
    ) -> None:
        self._nodes = nodes
        self.index = index
        self.extra = extra
        self._profile = profile
        self._pipelined = pipelined
        self._reported: Vector | None = None

    def __len__(self) -> int:
        return len(self.index)

    def allocatable(self, dimension: int) -> Column:
        return _column(self._nodes.allocatable, self.index, dimension)

    def reported(self, dimension: int) -> Column:
        return _column(self._nodes.reported, self.index, dimension)

    def idle(self, dimension: int) -> Column:
        return self._assume(self._nodes.idle, dimension, 0 if self._pipelined else -1)

    def used(self, dimension: int) -> Column:
        return self._assume(self._nodes.used, dimension, 0 if self._pipelined else 1)

    def pipelined(self, dimension: int) -> Column:
        return self._assume(self._nodes.pipelined, dimension, 1 if self._pipelined else 0)

    def releasing(self, dimension: int) -> Column:
        return _column(self._nodes.releasing, self.index, dimension)

    def future_idle(self, dimension: int) -> Column:
        return self._assume(self._nodes.future, dimension, -1)

    def requested(self, dimension: int) -> Column:
        return self._assume(self._nodes.requested, dimension, 1)

    def nonzero(self, dimension: int) -> Column:
        """Requested milli-CPU or bytes with the scorers' minimum per container."""
        column = _column(self._nodes.nonzero, self.index, dimension)
        if self.extra is None or self._profile is None:
            return column
        each = self._profile.milli_cpu_scored if dimension == CPU else self._profile.memory_scored
        return column + self.extra * each

    # CPU and memory at once, a column of the result per row: most scores are about just these two, and asking twice
    # takes twice the time.

    @property
    def offer_cpu_memory(self) -> bool:
        """Whether all of them do."""
        return self._nodes.offers_cpu_memory

    def reported_cpu_memory(self) -> Vector:
        if self._reported is None:
            self._reported = _cpu_memory(self._nodes.reported, self.index)
        return self._reported

    def requested_cpu_memory(self) -> Vector:
        amounts = _cpu_memory(self._nodes.requested, self.index)
        if self.extra is None or self._profile is None:
            return amounts
        return amounts + self.extra * self._profile.request[: MEMORY + 1, None]

    def nonzero_cpu_memory(self) -> Vector:
        amounts = _cpu_memory(self._nodes.nonzero, self.index)
        if self.extra is None or self._profile is None:
            return amounts
        return amounts + self.extra * self._profile.nonzero[:, None]

    def pod_count(self) -> Column:
        column: Column = self._nodes.pod_count[self.index]
        return column if self.extra is None else column + self.extra

    def _assume(self, columns: Vector, dimension: int, sign: int) -> Column:
        column = _column(columns, self.index, dimension)
        if self.extra is None or self._profile is None or sign == 0:
            return column
        return column + self.extra * (sign * int(self._profile.request[dimension]))


def _column(amounts: Vector, index: Index, dimension: int) -> Column:
    """First the column, which is contiguous, then its rows: a third of the time of both at once."""
    column: Column = amounts[:, dimension][index]
    return column


def _cpu_memory(amounts: Vector, index: Index) -> Vector:
    return amounts.T[: MEMORY + 1].take(index, axis=1)
