"""What a submitted function can know about its job: `submitit.JobEnvironment()`."""

from __future__ import annotations

import sys
from typing import ClassVar

from submitit.core.job_environment import JobEnvironment

from volcano.api import keys

JOB = "SUBMITIT_VOLCANO_JOB"
TASKS = "SUBMITIT_VOLCANO_TASKS"
NODES = "SUBMITIT_VOLCANO_NODES"
REQUEUE = 144
"""Exit status of a member that has left a checkpoint and wants to start again."""


class VolcanoJobEnvironment(JobEnvironment):
    """Each member is a node with one task."""

    _env: ClassVar[dict[str, str]] = {
        "job_id": JOB,
        "num_tasks": TASKS,
        "num_nodes": NODES,
        "node": keys.ENV_TASK_INDEX,
        "global_rank": keys.ENV_TASK_INDEX,
        "local_rank": "SUBMITIT_VOLCANO_LOCAL_RANK",
    }

    def _requeue(self, countdown: int) -> None:
        sys.exit(REQUEUE)
