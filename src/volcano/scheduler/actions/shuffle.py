"""shuffle: evict what plugins want moved; it is placed anew, somewhere better."""

from __future__ import annotations

from volcano.scheduler.cluster.tasks import Status
from volcano.scheduler.framework.action import Action
from volcano.scheduler.framework.session import Session


class Shuffle(Action):
    name = "shuffle"

    def execute(self, session: Session) -> None:
        running = [
            task for job in session.jobs.values() for task in job.tasks.values() if task.status is Status.RUNNING
        ]
        victims = session.hooks.union("victim_tasks", running)
        if victims:
            statement = session.statement()
            statement.evict(victims, self.name)
            statement.commit()
