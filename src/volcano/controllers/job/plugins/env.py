"""env: every container knows the index of its pod."""

from __future__ import annotations

from typing import TYPE_CHECKING

from volcano.api import keys
from volcano.controllers.job.plugins.interface import JobPlugin

if TYPE_CHECKING:
    from volcano.controllers.job.pods import Draft


class Env(JobPlugin):
    name = "env"

    def shape(self, draft: Draft) -> None:
        draft.add_env(
            draft.all_containers,
            {"name": keys.ENV_TASK_INDEX_LEGACY, "value": draft.index},
            {"name": keys.ENV_TASK_INDEX, "value": draft.index},
        )
