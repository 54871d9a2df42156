"""What the job controller counts, under upstream's names."""

from __future__ import annotations

from typing import TYPE_CHECKING

from volcano.controllers.job.vocabulary import Phase
from volcano.http.metrics import Registry

if TYPE_CHECKING:
    from volcano.api.batch import Job, JobStatus
    from volcano.controllers.views import PodView

LATENCY_BUCKETS = tuple(50.0 * (60_000.0 / 50.0) ** (step / 29) for step in range(30))


class JobMetrics:
    def __init__(self, registry: Registry) -> None:
        labels = ("job_name", "queue_name")
        self._ended = {
            Phase.COMPLETED: registry.counters(
                "volcano_job_completed_phase_count", "Times a job became Completed.", *labels
            ),
            Phase.FAILED: registry.counters("volcano_job_failed_phase_count", "Times a job became Failed.", *labels),
        }
        self._latency = registry.histogram(
            "volcano_controller_job_to_pod_creation_latency_milliseconds",
            "Milliseconds from a job's creation to that of each of its pods.",
            LATENCY_BUCKETS,
        )

    def entered(self, job: Job, status: JobStatus | None) -> None:
        """`job` got this status."""
        if status is None or status.state.phase == job.status.state.phase:
            return
        for phase, family in self._ended.items():
            if status.state.phase == phase:
                family.labels(job.metadata.key, job.spec.queue).inc()

    def removed(self, job: Job) -> None:
        for family in self._ended.values():
            family.remove(job.metadata.key, job.spec.queue)

    def pod_seen(self, job: Job | None, pod: PodView) -> None:
        if job is None or job.metadata.creation_timestamp is None or pod.metadata.creation_timestamp is None:
            return
        waited = pod.metadata.creation_timestamp - job.metadata.creation_timestamp
        self._latency.observe(waited.total_seconds() * 1000)
