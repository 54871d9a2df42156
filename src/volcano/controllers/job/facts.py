"""What a step may know beside the job, its pods and its podgroup.

Filled by controller.py from its informers, by `vcctl schedule` from files.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

from msgspec import Struct, field

from volcano.controllers.job.plugins import Plugins, builtin_plugins

if TYPE_CHECKING:
    from volcano.controllers.job.after import Hold


class Facts(Struct, frozen=True, gc=False, kw_only=True):
    priorities: Mapping[str, int] = field(default_factory=dict)
    """Value of each PriorityClass."""
    queue_exists: bool = True
    queue_closed: str = ""
    """The state in which the queue takes no new groups; "" while it does."""
    home_queue: str = ""
    """The queue that the job's namespace names for those who wish none."""
    has_credit: bool = False
    """The scheduler has let in the job's podgroup before it is there."""
    forwards: bool = False
    """The queue extends to other clusters: pods are made for forwarding."""
    hold: Hold | None = None
    """What the job waits for before it starts."""
    plugins: Plugins = field(default_factory=builtin_plugins)
