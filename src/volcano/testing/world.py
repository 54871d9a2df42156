"""A small world and its scheduler: objects in, decisions out, no cluster and no clock."""

from __future__ import annotations

import random
from collections.abc import Iterable
from typing import TYPE_CHECKING, Any

from volcano.api.core import Node, Pod, PriorityClass
from volcano.api.scheduling import Queue
from volcano.scheduler import engine
from volcano.scheduler.cluster.cluster import Cluster
from volcano.scheduler.cluster.ingest import ADDED, DELETED, MODIFIED, Ingest
from volcano.scheduler.framework import conf as conf_file, registry as registries
from volcano.scheduler.framework.conf import Conf
from volcano.scheduler.framework.options import Options
from volcano.testing.builders import Gang, queue

if TYPE_CHECKING:
    from volcano.scheduler.framework.decisions import Decisions
    from volcano.scheduler.framework.registry import Registry
    from volcano.scheduler.framework.session import Session


class World:
    """`World(nodes=[node("n1")], jobs=[gang("train", pods=3, cpu=1)]).cycle()` decides where the pods go.

    A queue `default` is there unless queues are given. `conf` is the text of a scheduler configuration.
    """

    def __init__(
        self,
        *,
        nodes: Iterable[Node] = (),
        jobs: Iterable[Gang] = (),
        pods: Iterable[Pod] = (),
        queues: Iterable[Queue] | None = None,
        priority_classes: Iterable[PriorityClass] = (),
        conf: str | Conf = conf_file.DEFAULT_CONF,
        options: Options | None = None,
        registry: Registry | None = None,
        seed: int = 0,
        now: float = 0.0,
    ) -> None:
        self.registry = registry or registries.built_in()
        self.conf = conf if isinstance(conf, Conf) else conf_file.parse(conf, self.registry.actions)
        self.options = options or Options()
        self.now = now
        self.rng = random.Random(seed)
        self.cluster = Cluster(self.options.default_queue)
        self.ingest = Ingest(self.cluster)
        for plural, objects in (
            ("queues", [queue("default")] if queues is None else queues),
            ("priorityclasses", priority_classes),
            ("nodes", nodes),
        ):
            self.add(plural, *objects)
        for job in jobs:
            self.add_gang(job)
        self.add("pods", *pods)

    def add(self, plural: str, *objects: Any) -> None:
        for source in objects:
            self.ingest.apply(ADDED, plural, source)

    def update(self, plural: str, *objects: Any) -> None:
        for source in objects:
            self.ingest.apply(MODIFIED, plural, source)

    def remove(self, plural: str, *objects: Any) -> None:
        for source in objects:
            self.ingest.apply(DELETED, plural, source)

    def add_gang(self, job: Gang) -> None:
        self.add("podgroups", job.pod_group)
        self.add("pods", *job.pods)

    def cycle(self) -> Decisions:
        return engine.cycle(self.cluster, self.conf, self.options, self.now, self.rng, registry=self.registry)

    def session(self) -> Session:
        """An open session, to ask hooks; `restore()` it if it changed anything."""
        return engine.open_session(self.cluster, self.conf, self.options, self.now, self.rng, self.registry)
