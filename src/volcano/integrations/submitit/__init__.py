"""submitit on Volcano: `submitit.AutoExecutor(folder, cluster="volcano")`, found by submitit through entry points."""

from __future__ import annotations

from volcano.integrations.submitit.environment import VolcanoJobEnvironment
from volcano.integrations.submitit.executor import VolcanoExecutor, VolcanoJob

__all__ = ["VolcanoExecutor", "VolcanoJob", "VolcanoJobEnvironment"]
