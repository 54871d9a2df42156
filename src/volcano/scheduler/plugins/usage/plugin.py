"""usage: hot nodes are refused, cooler ones preferred. What was just placed counts by estimate (estimate, shadow).

Measurements come from cluster/usage.py; without fresh ones a node is neither refused nor preferred.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Final

import msgspec
import numpy as np
from numpy.typing import NDArray

from volcano.api import duration, quantity
from volcano.scheduler.cluster.nodes import Rows
from volcano.scheduler.cluster.profiles import Profile
from volcano.scheduler.cluster.resources import CPU, MEMORY
from volcano.scheduler.cluster.tasks import Status, Task
from volcano.scheduler.cluster.usage import NodeUsage
from volcano.scheduler.framework.plugin import Plugin, Scores
from volcano.scheduler.framework.reasons import FITS, Codes, Refusal
from volcano.scheduler.framework.session import Session
from volcano.scheduler.plugins.usage import estimate
from volcano.scheduler.plugins.usage.estimate import Estimator, Floats
from volcano.scheduler.plugins.usage.shadow import Shadow

FRESH_SECONDS: Final = 300.0
DEFAULT_INTERVAL_SECONDS: Final = 30.0
HOT_CPU: Final = Refusal("usage", "the CPU load of the node exceeds the upper limit.", resolvable=False)
HOT_MEMORY: Final = Refusal("usage", "the memory load of the node exceeds the upper limit.", resolvable=False)
_PLACED: Final = frozenset({Status.ALLOCATED, Status.BINDING, Status.BOUND})


class Thresholds(msgspec.Struct, frozen=True):
    """Percent; 80 where they are outside 0 to 100."""

    cpu: int = 80
    mem: int = 80


class Arguments(msgspec.Struct, frozen=True):
    weight: int = msgspec.field(default=5, name="usage.weight")
    cpu_weight: int = msgspec.field(default=1, name="cpu.weight")
    memory_weight: int = msgspec.field(default=1, name="memory.weight")
    thresholds: Thresholds = Thresholds()
    estimator: Estimator = Estimator()


class Usage(Plugin):
    name = "usage"
    Arguments = Arguments

    def open(self, session: Session) -> None:
        given: Arguments = self.arguments
        self._weight = given.weight if given.weight >= 0 else 5
        self._cpu_weight = given.cpu_weight if given.cpu_weight >= 0 else 1
        self._memory_weight = given.memory_weight if given.memory_weight >= 0 else 1
        self._estimator = _checked(given.estimator)
        self._best_effort = (_milli_cpu(given.estimator.be_cpu), _memory_bytes(given.estimator.be_mem))
        self._read_measurements(session)
        self._shadow = Shadow(self.nodes.capacity)
        self._estimates: dict[int, tuple[float, float, float, float]] = {}
        self._warm_up(session)

    def filter(self, profile: Profile, rows: Rows) -> Codes:
        code = self.session.refusals.code
        codes = np.full(len(rows), FITS, dtype=np.int32)
        fresh, cpu, memory = self._fresh[rows.index], self._cpu[rows.index], self._memory[rows.index]
        codes[fresh & (memory > _percent(self.arguments.thresholds.mem))] = code(HOT_MEMORY)
        codes[fresh & (cpu > _percent(self.arguments.thresholds.cpu))] = code(HOT_CPU)
        return codes

    def score(self, profile: Profile, rows: Rows) -> Scores:
        cpu, memory = self._load(profile, rows)
        scores = estimate.node_score(cpu, memory, self._cpu_weight, self._memory_weight, self._weight)
        return np.where(self._fresh[rows.index], scores, 0.0)

    def allocated(self, tasks: Sequence[Task]) -> None:
        for task in tasks:
            self._add(task)

    def deallocated(self, tasks: Sequence[Task]) -> None:
        for task in tasks:
            self._shadow.remove(task)

    # Load

    def _load(self, profile: Profile, rows: Rows) -> tuple[Floats, Floats]:
        """Utilisation of CPU and memory, 0 to 1, with `rows.extra` further replicas on each row."""
        cpu, memory = self._shadow.cpu[rows.index], self._shadow.memory[rows.index]
        if rows.extra is not None:
            for level in range(int(rows.extra.max(initial=0))):  # each one is estimated by the load that it finds
                more_cpu, more_memory = self._estimate(profile, *self._utilisation(rows.index, cpu, memory))
                more = rows.extra > level
                cpu, memory = cpu + np.where(more, more_cpu, 0.0), memory + np.where(more, more_memory, 0.0)
        return self._utilisation(rows.index, cpu, memory)

    def _utilisation(self, index: NDArray[np.intp], cpu: Floats, memory: Floats) -> tuple[Floats, Floats]:
        offered = self.nodes.allocatable
        return (
            estimate.utilisation(self._cpu[index], cpu, offered[index, CPU]),
            estimate.utilisation(self._memory[index], memory, offered[index, MEMORY]),
        )

    def _estimate(self, profile: Profile, cpu: Floats, memory: Floats) -> tuple[Floats, Floats]:
        """What one such pod will use where the load is this."""
        load = estimate.combined(cpu, memory, self._cpu_weight, self._memory_weight)
        calm_cpu, calm_memory, risky_cpu, risky_memory = self._estimates_of(profile)
        risky = load >= self._estimator.risk_threshold
        return np.where(risky, risky_cpu, calm_cpu), np.where(risky, risky_memory, calm_memory)

    def _estimates_of(self, profile: Profile) -> tuple[float, float, float, float]:
        found = self._estimates.get(profile.id)
        if found is None:
            calm, risky = (self._pod(profile, factor) for factor in (1.0, self._estimator.risk_factor))
            found = self._estimates[profile.id] = (*calm, *risky)
        return found

    def _pod(self, profile: Profile, factor: float) -> tuple[float, float]:
        if profile.best_effort:
            return self._best_effort[0] * factor, self._best_effort[1] * factor
        ratios = self._estimator.request_ratio, self._estimator.burst_ratio
        cpu_limit, memory_limit = estimate.pod_limits(profile.pod)
        cpu = estimate.pod_estimate(float(profile.request[CPU]), cpu_limit, *ratios, factor)
        return cpu, estimate.pod_estimate(float(profile.request[MEMORY]), memory_limit, *ratios, factor)

    def _add(self, task: Task) -> None:
        rows = Rows(self.nodes, np.array([task.node], dtype=np.intp))
        cpu, memory = self._estimate(task.profile, *self._load(task.profile, rows))
        self._shadow.add(task, float(cpu[0]), float(memory[0]))

    # A session begins

    def _read_measurements(self, session: Session) -> None:
        capacity = self.nodes.capacity
        self._cpu: Floats = np.zeros(capacity)
        self._memory: Floats = np.zeros(capacity)
        self._fresh: NDArray[np.bool_] = np.zeros(capacity, dtype=np.bool_)
        for name, measured in session.cluster.index(NodeUsage).by_node.items():
            row = self.nodes.row_of.get(name)
            if row is not None:
                self._cpu[row], self._memory[row] = measured.cpu_percent, measured.memory_percent
                self._fresh[row] = session.now - measured.at <= FRESH_SECONDS

    def _warm_up(self, session: Session) -> None:
        """Pods that were placed so lately that no measurement can show them. They only matter where there is one."""
        interval = metrics_interval(session)
        for row in np.flatnonzero(self._fresh).tolist():
            for task in self.nodes.tasks[row].values():
                if is_unmeasured(task, session.now, interval):
                    self._add(task)


def is_unmeasured(task: Task, now: float, interval_seconds: float) -> bool:
    """Whether the task has a node, and no monitor can have seen it there yet."""
    if not task.node_name:
        return False
    if task.status in _PLACED:
        return True
    started = task.pod.status.start_time
    return task.status is Status.RUNNING and (started is None or now - started.timestamp() < interval_seconds)


def metrics_interval(session: Session) -> float:
    try:
        return duration.parse_seconds(session.conf.metrics.get("interval", ""))
    except duration.DurationError:
        return DEFAULT_INTERVAL_SECONDS


def _percent(value: int) -> int:
    return value if 0 <= value <= 100 else 80


def _checked(given: Estimator) -> Estimator:
    """With the defaults where a number is out of its range."""
    usual = Estimator()
    ratio, burst, threshold = (
        value if 0 <= value <= 1 else default
        for value, default in (
            (given.request_ratio, usual.request_ratio),
            (given.burst_ratio, usual.burst_ratio),
            (given.risk_threshold, usual.risk_threshold),
        )
    )
    factor = given.risk_factor if given.risk_factor >= 1 else usual.risk_factor
    return Estimator(ratio, burst, threshold, factor)


def _milli_cpu(value: Any) -> float:
    return _amount(value, quantity.milli, 1, 250.0)


def _memory_bytes(value: Any) -> float:
    return _amount(value, quantity.units, 1 << 20, float(200 << 20))


def _amount(value: Any, parse: Any, unit: int, default: float) -> float:
    """A plain number counts in `unit`s; a text is a quantity."""
    if isinstance(value, int):
        return float(value * unit) if value >= 0 else default
    try:
        amount = parse(value)
    except quantity.QuantityError:
        return default
    return float(amount) if amount >= 0 else default
