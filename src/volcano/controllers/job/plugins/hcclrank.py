"""hcclrank: Ascend devices read the rank of their pod from an annotation."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from volcano.api import keys
from volcano.controllers.job.plugins.flags import Flags
from volcano.controllers.job.plugins.interface import JobPlugin
from volcano.controllers.job.policies import task_named

if TYPE_CHECKING:
    from volcano.api.meta import JsonObject
    from volcano.controllers.job.pods import Draft


class HcclRank(JobPlugin):
    name = "hcclrank"
    is_marked = False

    def __init__(self, arguments: Sequence[str] = ()) -> None:
        super().__init__(arguments)
        flags = Flags(arguments)
        self.master = flags.get("master", "master")
        self.worker = flags.get("worker", "worker")

    def shape(self, draft: Draft) -> None:
        annotations: JsonObject = draft.pod["metadata"].get("annotations") or {}
        if annotations.get(keys.HCCL_RANK_INDEX):
            return
        rank = first_value(draft.containers, keys.ENV_RANK) or self._rank(draft)
        if rank:
            draft.pod["metadata"]["annotations"] = {**annotations, keys.HCCL_RANK_INDEX: rank}

    def _rank(self, draft: Draft) -> str:
        if draft.task.name == self.master:
            return draft.index
        if draft.task.name == self.worker:
            master = task_named(draft.job, self.master)
            before = master.replicas if master else 0
            return draft.by_index(lambda index: str(before + index))
        return ""


def first_value(containers: Sequence[JsonObject], variable: str) -> str:
    """The first non-empty value of an environment variable in any container."""
    for container in containers:
        for entry in container.get("env") or []:
            if entry.get("name") == variable and entry.get("value"):
                value: str = entry["value"]
                return value
    return ""
