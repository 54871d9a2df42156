"""Airflow on Volcano: `VolcanoOperator` submits, and waits in the triggerer if it is deferrable."""

from __future__ import annotations

from volcano.integrations.airflow.operator import VolcanoOperator
from volcano.integrations.airflow.trigger import VolcanoTrigger

__all__ = ["VolcanoOperator", "VolcanoTrigger"]
