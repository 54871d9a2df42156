"""The scheduler's Prometheus metrics: upstream's names, labels and buckets, fed from decisions and effects."""

from __future__ import annotations

import time
from collections.abc import Mapping
from typing import Any

from volcano.api.core import Pod
from volcano.http.metrics import Family, Gauge, Registry
from volcano.scheduler.framework.decisions import Decisions


def exponential(low: float, high: float, count: int) -> tuple[float, ...]:
    """`count` bounds from `low` to `high`, each the same factor above the one before."""
    factor = (high / low) ** (1 / (count - 1))
    return tuple(low * factor**i for i in range(count))


_CYCLE = exponential(1, 5000, 20)
_JOB = exponential(100, 120000, 30)
_PLUGIN = exponential(0.1, 100, 15)
_ACTION = exponential(1, 2000, 20)
_TASK = exponential(50, 60000, 30)
_STAGE = exponential(0.1, 500, 20)

_QUEUE_FAMILIES = {
    "allocated": "What pods of a queue hold",
    "request": "What the jobs of a queue ask for",
    "deserved": "What a queue may keep while others want more",
    "inqueue": "What admitted jobs of a queue still claim",
    "capacity": "spec.capability of a queue",
    "real_capacity": "What a queue can reach, given what others are guaranteed",
}


class Metrics:
    """All metrics of one scheduler, in a registry of its own."""

    def __init__(self) -> None:
        registry = self.registry = Registry("volcano_")
        self.cycle = registry.histogram("e2e_scheduling_latency_milliseconds", "Duration of a cycle", _CYCLE)
        self.open_session = registry.histogram("open_session_duration_milliseconds", "Opening a session", _CYCLE)
        self.plugin = registry.histograms(
            "plugin_scheduling_latency_milliseconds", "Plugin hooks", "plugin", "OnSession", buckets=_PLUGIN
        )
        self.action = registry.histograms(
            "action_scheduling_latency_milliseconds", "Duration of an action", "action", buckets=_ACTION
        )
        self.stage = registry.histograms(
            "scheduling_stage_duration_milliseconds", "Duration of a stage", "stage", buckets=_STAGE
        )
        self.task = registry.histograms(
            "task_scheduling_latency_milliseconds", "Time since a pod was created", "stage", buckets=_TASK
        )
        self.job = registry.histogram(
            "e2e_job_scheduling_latency_milliseconds", "Time from a job's creation to its placement", _JOB
        )
        self.attempts = registry.counters("schedule_attempts_total", "Attempts by their result", "result")
        self.evictions = registry.counters(
            "eviction_transactions_total", "Committed statements with evictions", "action"
        )
        self.retries = registry.counters("job_retry_counts", "Cycles in which a job was not ready", "job_id")
        self.unready_jobs = registry.gauge("unschedule_job_count", "Jobs that are not ready")
        self.reloads = registry.counters("configuration_reloads_total", "Configuration files read", "outcome")
        self.outbox = registry.gauge("bind_queue_length", "Binds and evictions that wait to be sent")
        self._gauges: dict[str, Family[Gauge]] = {}
        self._register_gauges()

    def _register_gauges(self) -> None:
        for name, help_text, labels in (
            ("unschedule_task_count", "Members that a job lacks to be ready", ("job_id",)),
            ("job_share", "Largest share of any resource of the cluster that a job has, 0 to 1", ("job_ns", "job_id")),
            ("queue_share", "Allocated by deserved of the resource that a queue has most of", ("queue_name",)),
            ("queue_weight", "spec.weight of a queue", ("queue_name",)),
            ("queue_overused", "1 when a queue has what it deserves and gets no more, else 0", ("queue_name",)),
        ):
            self._gauges[name] = self.registry.gauges(name, help_text, *labels)
        for family, meaning in _QUEUE_FAMILIES.items():
            for unit, amount, labels in (
                ("milli_cpu", "thousandths of a CPU", ("queue_name",)),
                ("memory_bytes", "bytes of memory", ("queue_name",)),
                ("scalar_resources", "thousandths of other resources", ("queue_name", "resource")),
            ):
                name = f"queue_{family}_{unit}"
                self._gauges[name] = self.registry.gauges(name, f"{meaning}, in {amount}", *labels)

    def cycled(self, decisions: Decisions, seconds: float) -> None:
        """One cycle is over."""
        self.cycle.observe(seconds * 1000)
        self._timed(decisions.timings)
        for action, count in decisions.transactions.items():
            self.evictions.labels(action).inc(count)
        for (name, labels), value in decisions.gauges.items():
            if name in self._gauges:
                self._gauges[name].labels(*labels).set(value)
        self.unready_jobs.set(len(decisions.reasons))
        for key in decisions.reasons:
            self.retries.labels(key.rpartition("/")[2]).inc()
        if decisions.committed:
            self.attempts.labels("scheduled").inc(len(decisions.committed))
        if decisions.pods:
            self.attempts.labels("unschedulable").inc(len(decisions.pods))

    def _timed(self, timings: Mapping[str, float]) -> None:
        """Seconds by `open/`, `open/PLUGIN`, `action/NAME` and `close/PLUGIN`."""
        for name, seconds in timings.items():
            kind, _, subject = name.partition("/")
            if kind == "action":
                self.action.labels(subject).observe(seconds * 1000)
            elif kind == "open" and not subject:
                self.open_session.observe(seconds * 1000)
            elif kind in ("open", "close"):
                self.plugin.labels(subject, f"OnSession{kind.capitalize()}").observe(seconds * 1000)

    def bound(self, milliseconds: float, pod: Pod | None) -> None:
        """A bind was accepted."""
        self.stage.labels("Bind").observe(milliseconds)
        self._since_creation("Bound", pod)

    def watched(self, pod: Pod) -> None:
        self._since_creation("Watched", pod)

    def job_gone(self, namespace: str, name: str) -> None:
        """Drop the series of a job that exists no more."""
        self.retries.remove(name)
        self._gauges["unschedule_task_count"].remove(name)
        self._gauges["job_share"].remove(namespace, name)

    def queue_gone(self, name: str) -> None:
        for family, gauges in self._gauges.items():
            if family.startswith("queue_") and not family.endswith("scalar_resources"):
                gauges.remove(name)

    def _since_creation(self, stage: str, pod: Any) -> None:
        if pod is not None and pod.metadata.creation_timestamp is not None:
            elapsed = time.time() - pod.metadata.creation_timestamp.timestamp()
            self.task.labels(stage).observe(max(elapsed, 0.0) * 1000)
