"""An action: pods that run longer than their annotation `example.com/max-hours` says are evicted."""

from volcano.scheduler.cluster.tasks import Status
from volcano.scheduler.framework.action import Action


class TimeLimit(Action):
    name = "time-limit"

    def execute(self, session):
        running = [
            task for job in session.jobs.values() for task in job.tasks.values() if task.status is Status.RUNNING
        ]
        statement = session.statement()
        statement.evict([task for task in running if hours(task.pod, session.now) > allowed(task.pod)], self.name)
        statement.commit()


def hours(pod, now):
    started = pod.status.start_time
    return (now - started.timestamp()) / 3600 if started else 0.0


def allowed(pod):
    return float(pod.metadata.annotations.get("example.com/max-hours", "inf"))
