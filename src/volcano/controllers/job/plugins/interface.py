"""What a job plugin is: it shapes the pods of each task, and may keep objects beside the job.

Implemented by the modules of this folder and by entry points of users; called by pods.py, sync.py and kill.py.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from volcano.controllers.job.plan import Attachment, Reference

if TYPE_CHECKING:
    from volcano.api.batch import Job
    from volcano.controllers.job.pods import Draft

MARKER_PREFIX = "plugin-"


class PluginError(ValueError):
    """A plugin cannot do for this job what it is there for; the message says why."""


class JobPlugin:
    """Base of all job plugins. `arguments` are the strings a user wrote under `spec.plugins.<name>`."""

    name: str = ""
    is_marked: bool = True
    """Leave `plugin-<name>` in status.controlledResources once the attachments are there."""

    def __init__(self, arguments: Sequence[str] = ()) -> None:
        self.arguments = tuple(arguments)

    def attachments(self, job: Job) -> Sequence[Attachment]:
        """Objects to keep beside the job, made when it starts."""
        return ()

    def refreshed(self, job: Job) -> Sequence[Attachment]:
        """Those of the attachments whose contents follow edits of the job."""
        return ()

    def leftovers(self, job: Job) -> Sequence[Reference]:
        """What to delete when the job's pods are taken away."""
        return ()

    def shape(self, draft: Draft) -> None:
        """Edit the pod of one task."""


def marker(plugin: JobPlugin) -> str:
    return f"{MARKER_PREFIX}{plugin.name}"
