"""The name under which Snakemake looks for `--executor volcano`; the code is in `volcano.integrations.snakemake`."""

from __future__ import annotations

from volcano.integrations.snakemake.executor import VolcanoExecutor
from volcano.integrations.snakemake.settings import COMMON_SETTINGS, ExecutorSettings

common_settings = COMMON_SETTINGS
Executor = VolcanoExecutor

__all__ = ["Executor", "ExecutorSettings", "common_settings"]
