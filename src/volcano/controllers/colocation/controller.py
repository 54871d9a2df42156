"""The colocation configuration controller: annotates pods with the configuration that selects them.

`choice.py` decides. Pods are looked at again when their labels change and when a configuration does.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from volcano.api import keys, resources
from volcano.controllers.colocation.choice import annotations_for, choose
from volcano.controllers.runtime import Context
from volcano.controllers.views import POD_VIEWS, PodView
from volcano.kube.errors import NotFound
from volcano.kube.informer import Callbacks
from volcano.kube.workqueue import WorkQueue
from volcano.scheduler.cluster.selectors import selects

if TYPE_CHECKING:
    from volcano.api.config import ColocationConfiguration
    from volcano.api.meta import LabelSelector

SETTLE_SECONDS: Final = 1.0


class ColocationController:
    name = "colocation-config-controller"

    def __init__(self, context: Context, *, workers: int = 4) -> None:
        self.workers = workers
        self.queue: WorkQueue[str] = WorkQueue(max_seconds=60.0)
        self._context = context
        self._configurations = context.informers.of(
            resources.COLOCATION_CONFIGURATIONS,
            Callbacks(
                lambda one: self._selected_by(one.metadata.namespace, one.spec.selector),
                self._configuration_changed,
                lambda one: self._selected_by(one.metadata.namespace, one.spec.selector),
            ),
        )
        self._pods = context.informers.of(POD_VIEWS, Callbacks(self._pod_seen, self._pod_changed))

    async def reconcile(self, key: str) -> None:
        pod = self._pods.store.get(key)
        if pod is None:
            return
        meta = pod.metadata
        here = [one for one in self._configurations.store.values() if one.metadata.namespace == meta.namespace]
        change = annotations_for(choose(here, meta.labels), meta.annotations)
        if not change:
            return
        body = {"metadata": {"uid": meta.uid, "annotations": change}}
        try:
            await self._context.client.patch(POD_VIEWS, meta.name, body, meta.namespace)
        except NotFound:
            return

    async def gave_up(self, key: str, error: Exception) -> None:
        self.queue.add_after(key, 60.0)

    # What the watches tell

    def _pod_seen(self, pod: PodView) -> None:
        if self._configurations.store or annotations_for(None, pod.metadata.annotations):
            self.queue.add_after(pod.metadata.key, SETTLE_SECONDS)

    def _pod_changed(self, old: PodView, new: PodView) -> None:
        """Its annotations, too: until the watch showed what we wrote, we may have judged by older ones."""
        if old.metadata.labels != new.metadata.labels or _settings_in(old) != _settings_in(new):
            self._pod_seen(new)

    def _configuration_changed(self, old: ColocationConfiguration, new: ColocationConfiguration) -> None:
        if old.spec == new.spec:
            return
        for selector in (old.spec.selector, new.spec.selector):
            self._selected_by(new.metadata.namespace, selector)

    def _selected_by(self, namespace: str, selector: LabelSelector | None) -> None:
        for key, pod in self._pods.store.items():
            if pod.metadata.namespace == namespace and selects(selector, pod.metadata.labels):
                self.queue.add_after(key, SETTLE_SECONDS)


def _settings_in(pod: PodView) -> tuple[str | None, str | None]:
    annotations = pod.metadata.annotations
    return annotations.get(keys.COLOCATION_CONFIG_NAME), annotations.get(keys.COLOCATION_CONFIG)
