"""Kubernetes events that decisions want recorded, as data."""

from __future__ import annotations

from dataclasses import dataclass

NORMAL = "Normal"
WARNING = "Warning"


@dataclass(frozen=True, slots=True)
class Note:
    """A Kubernetes event to record about the object at hand."""

    type: str
    reason: str
    message: str
