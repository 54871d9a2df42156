"""Dask on Volcano: `VolcanoCluster`, whose workers are jobs."""

from __future__ import annotations

from volcano.integrations.dask.cluster import VolcanoCluster

__all__ = ["VolcanoCluster"]
