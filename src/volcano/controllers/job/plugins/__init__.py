"""Job plugins: the list of those we ship, and the plugins of one job in their fixed order.

Others come from the entry points `volcano.job_plugins` (read by controller.py, handed in here).
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING

from volcano.controllers.job.plan import Reference
from volcano.controllers.job.plugins.interface import JobPlugin, PluginError, marker

if TYPE_CHECKING:
    from volcano.api.batch import Job

Factory = Callable[[Sequence[str]], JobPlugin]


class UnknownPlugin(PluginError):
    """A job asks for a plugin that nobody ships."""


class Plugins:
    """All known job plugins, by name."""

    def __init__(self, factories: Mapping[str, Factory]) -> None:
        self._factories = dict(factories)

    def of(self, job: Job) -> list[JobPlugin]:
        """Sorted by name, but hcclrank last: it reads the rank that pytorch writes."""
        return [self._make(name, job) for name in sorted(job.spec.plugins, key=_order)]

    def leftovers(self, job: Job) -> list[Reference]:
        """What the job's plugins leave behind; a plugin that is no longer shipped does not keep a job from ending."""
        return [reference for plugin in self._known(job) for reference in plugin.leftovers(job)]

    def markers(self, job: Job) -> dict[str, str]:
        """What the job's status says of plugins whose objects are there."""
        return {marker(plugin): plugin.name for plugin in self._known(job) if plugin.is_marked}

    def _known(self, job: Job) -> list[JobPlugin]:
        return [self._make(name, job) for name in sorted(job.spec.plugins) if name in self._factories]

    def _make(self, name: str, job: Job) -> JobPlugin:
        factory = self._factories.get(name)
        if factory is None:
            raise UnknownPlugin(f"failed to get plugin {name}")
        return factory(job.spec.plugins[name] or ())


def builtin_plugins() -> Plugins:
    return Plugins(builtin_factories())


def builtin_factories() -> dict[str, Factory]:
    from volcano.controllers.job.plugins.env import Env
    from volcano.controllers.job.plugins.hcclrank import HcclRank
    from volcano.controllers.job.plugins.mpi import Mpi
    from volcano.controllers.job.plugins.pytorch import PyTorch
    from volcano.controllers.job.plugins.ray import Ray
    from volcano.controllers.job.plugins.ssh import Ssh
    from volcano.controllers.job.plugins.svc import Svc
    from volcano.controllers.job.plugins.tensorflow import TensorFlow

    return {plugin.name: plugin for plugin in (Env, HcclRank, Mpi, PyTorch, Ray, Ssh, Svc, TensorFlow)}


def _order(name: str) -> tuple[bool, str]:
    return name == "hcclrank", name
