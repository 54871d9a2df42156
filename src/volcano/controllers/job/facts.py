"""What a step may know beside the job, its pods and its podgroup.

Filled by controller.py from its informers, by `vcctl schedule` from files.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from volcano.controllers.job.plugins import Plugins, builtin_plugins


@dataclass(frozen=True, slots=True)
class Facts:
    priorities: Mapping[str, int] = field(default_factory=dict)
    """Value of each PriorityClass."""
    queue_exists: bool = True
    forwards: bool = False
    """The queue extends to other clusters: pods are made for forwarding."""
    plugins: Plugins = field(default_factory=builtin_plugins)
