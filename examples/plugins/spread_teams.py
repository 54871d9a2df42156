"""spread-teams: pods of one team rather go to nodes where the team has few pods yet."""

from __future__ import annotations

import numpy as np

from volcano.scheduler.cluster.nodes import Rows
from volcano.scheduler.cluster.profiles import Profile
from volcano.scheduler.framework.plugin import Plugin, Scores


class SpreadTeams(Plugin):
    name = "spread-teams"

    def score(self, profile: Profile, rows: Rows) -> Scores:
        team = profile.labels.get("team")
        on_node = (self.nodes.tasks[row].values() for row in rows.index)
        members = np.array([sum(task.pod.metadata.labels.get("team") == team for task in tasks) for tasks in on_node])
        if rows.extra is not None:  # of its own replicas, so many are placed there in the same step
            members = members + rows.extra
        return -10.0 * members
