"""The hypernode controller: follows its ConfigMap, discovers what that asks for, and counts nodes.

`labels.py` and `ufm.py` build the domains, `documents.py` says what to write, `counts.py` counts.
"""

from __future__ import annotations

import base64
import binascii
import logging
import os
from typing import Final

import msgspec

from volcano.api import keys, resources
from volcano.api.meta import JsonObject
from volcano.api.topology import HyperNode
from volcano.controllers.fanout import each
from volcano.controllers.hypernode import config as configuration, labels, ufm
from volcano.controllers.hypernode.config import LABEL, Config, ConfigProblem, Discovery
from volcano.controllers.hypernode.counts import Census
from volcano.controllers.hypernode.documents import Changes, changes
from volcano.controllers.hypernode.ufm_client import Account, UfmUnavailable, fetch_ports
from volcano.controllers.notes import WARNING
from volcano.controllers.runtime import Context, Waits
from volcano.controllers.views import NODE_VIEWS, NodeView
from volcano.kube.errors import AlreadyExists, Forbidden, NotFound
from volcano.kube.informer import Callbacks
from volcano.kube.workqueue import WorkQueue

log = logging.getLogger(__name__)

CONFIG: Final = "config"
COUNT: Final = "count"
DOCUMENTS: Final = resources.HYPERNODES.untyped
CONFIGMAPS: Final = resources.CONFIGMAPS.untyped
SETTLE_SECONDS: Final = 0.05
"""Nodes come and go in crowds: look once the crowd is through."""


class HyperNodeController:
    name = "hyperNode-controller"

    def __init__(self, context: Context, *, configmap: tuple[str, str] | None = None) -> None:
        self.workers = 2
        self.queue: WorkQueue[str] = WorkQueue(max_seconds=60.0)
        self._context = context
        self._client = context.client
        self._namespace, self._name = configmap or place_of_configmap()
        self._wanted: dict[str, Discovery] = {}
        informers = context.informers
        touched = Callbacks[JsonObject](self._configured, lambda _old, new: self._configured(new), self._configured)
        self._configmap = informers.one(CONFIGMAPS, self._name, self._namespace, touched)
        self._nodes = informers.of(NODE_VIEWS, Callbacks(self._node_seen, self._node_changed, self._node_seen))
        self._hypernodes = informers.of(
            DOCUMENTS, Callbacks(self._hypernode_seen, self._hypernode_changed, self._hypernode_gone)
        )
        self.queue.add(COUNT)

    async def reconcile(self, key: str) -> None:
        try:
            await self._reconcile(key)
        except (ConfigProblem, UfmUnavailable) as problem:
            self._tell("TopologyDiscoveryFailed", str(problem))
            if key != CONFIG:  # a Secret may come, UFM may come back; a configuration has to be changed
                raise Waits(str(problem)) from problem

    async def _reconcile(self, key: str) -> None:
        if key == CONFIG:
            self._configure()
        elif key == COUNT:
            await self._count()
        elif (discovery := self._wanted.get(key)) is not None:
            await self._discover(discovery)

    async def gave_up(self, key: str, error: Exception) -> None:
        """Tell, and try again now and then."""
        self._tell("TopologyDiscoveryFailed", str(error))
        self.queue.add_after(key, 60.0)

    def _tell(self, reason: str, problem: str) -> None:
        """Say on the ConfigMap what keeps the discovery from going on, or what is odd in it."""
        log.warning("%s: %s", self.name, problem)
        configmap = self._configmap.get(self._name, self._namespace)
        if configmap is not None:
            self._context.recorder.record(CONFIGMAPS, configmap, WARNING, reason, problem)

    # Discovery

    def _configure(self) -> None:
        """Without a ConfigMap nothing is discovered; a bad one leaves what was wanted before."""
        document = self._configmap.get(self._name, self._namespace)
        config, repeated = configuration.load(document, self._name) if document is not None else (Config(), [])
        wanted = configuration.enabled(config)
        for remark in repeated:
            self._tell("RepeatedKey", f"{configuration.KEY}: {remark}")
        self._wanted = wanted
        for source in wanted:
            self.queue.add(source)

    async def _discover(self, discovery: Discovery) -> None:
        if discovery.source == LABEL:
            found = self._from_labels(discovery)
        else:
            found = await self._from_ufm(discovery)
            self.queue.add_after(discovery.source, discovery.seconds_between_looks())
        await self._write(changes(discovery.source, found, self._hypernodes.store.values()))

    def _from_labels(self, discovery: Discovery) -> list[JsonObject]:
        types = configuration.label_levels(discovery)
        nodes = {name: node.metadata.labels for name, node in self._nodes.store.items()}
        for problem in labels.ambiguous(types, nodes):
            log.warning("%s: %s", self.name, problem)
        return labels.discover(types, nodes, self._hypernodes.store.values())

    async def _from_ufm(self, discovery: Discovery) -> list[JsonObject]:
        ports = await fetch_ports(discovery.config, await self._account(discovery))
        leaves = {name: _members(document) for name, document in self._hypernodes.store.items() if _is_leaf(name)}
        return ufm.discover(ports, leaves)

    async def _account(self, discovery: Discovery) -> Account:
        """What the Secret says: `username` and `password`, and the authority of UFM's certificate as `ca.crt`."""
        reference = discovery.credentials.secret_ref
        if not reference.name:
            raise ConfigProblem("UFM authentication credentials are not configured")
        namespace = reference.namespace or self._namespace
        place = f"secret {namespace}/{reference.name}"
        try:
            secret = await self._client.get(resources.SECRETS.untyped, reference.name, namespace)
        except NotFound:
            raise ConfigProblem(f"UFM credentials: {place} does not exist") from None
        except Forbidden as error:
            raise ConfigProblem(f"UFM credentials: {place} may not be read: {error.message}") from None
        data = secret.get("data") or {}
        try:
            decoded = (base64.b64decode(data.get(key) or "").decode() for key in ("username", "password", "ca.crt"))
            username, password, authority = decoded
        except (binascii.Error, UnicodeDecodeError):
            raise ConfigProblem(f"UFM credentials: {place} cannot be read") from None
        for key, value in (("username", username), ("password", password)):
            if not value:
                raise ConfigProblem(f"UFM authentication credentials are not configured: {place} has no {key}")
        return Account(username, password, authority)

    async def _write(self, wanted: Changes) -> None:
        async def create(document: JsonObject) -> None:
            try:
                await self._client.create(DOCUMENTS, document)
            except AlreadyExists:
                await self._check_discovered(document)

        async def patch(change: tuple[str, JsonObject]) -> None:
            await self._client.patch(DOCUMENTS, *change)

        async def delete(gone: tuple[str, str]) -> None:
            name, uid = gone
            try:
                await self._client.delete(DOCUMENTS, name, uid=uid or None)
            except NotFound:
                return

        failures = await each(wanted.create, create)
        failures += await each(list(wanted.patch.items()), patch)
        failures += await each(list(wanted.delete.items()), delete)
        if failures:
            raise failures[0]

    async def _check_discovered(self, document: JsonObject) -> None:
        """The watch may be behind what we created; what somebody else created is not ours to change."""
        name = document["metadata"]["name"]
        present = await self._client.get(DOCUMENTS, name)
        label = keys.NETWORK_TOPOLOGY_SOURCE
        if (present["metadata"].get("labels") or {}).get(label) != document["metadata"]["labels"][label]:
            raise ConfigProblem(f"hypernode {name!r} exists and was not discovered: delete or rename it")

    # Counting

    async def _count(self) -> None:
        """Write the counts that are not true any more."""
        seen = self._hypernodes.store
        hypernodes = {name: msgspec.convert(document, HyperNode, strict=False) for name, document in seen.items()}
        census = Census(hypernodes, {name: node.metadata.labels for name, node in self._nodes.store.items()})
        wrong = [
            (name, hypernode.metadata.uid, census.count(name))
            for name, hypernode in hypernodes.items()
            if census.count(name) != hypernode.status.node_count
        ]

        async def write(entry: tuple[str, str, int]) -> None:
            name, uid, count = entry
            body = {"metadata": {"uid": uid}, "status": {"nodeCount": count}}
            try:
                await self._client.patch(DOCUMENTS, name, body, subresource="status")
            except NotFound:
                return

        if failures := await each(wrong, write):
            raise failures[0]

    # What the watches tell

    def _configured(self, configmap: JsonObject) -> None:
        self.queue.add(CONFIG)

    def _node_seen(self, node: NodeView) -> None:
        self._look_again()

    def _node_changed(self, old: NodeView, new: NodeView) -> None:
        if old.metadata.labels != new.metadata.labels:
            self._look_again()

    def _hypernode_seen(self, document: JsonObject) -> None:
        """It may be one of ours, made when we knew other nodes than now."""
        self._look_again()

    def _hypernode_changed(self, old: JsonObject, new: JsonObject) -> None:
        """By others, or by us before we knew what we know now: then we took what it was before for right."""
        if old["spec"] != new["spec"] or old["metadata"].get("labels") != new["metadata"].get("labels"):
            self._look_again()
        elif _count_of(old) != _count_of(new):
            self.queue.add_after(COUNT, SETTLE_SECONDS)

    def _hypernode_gone(self, document: JsonObject) -> None:
        self._look_again()

    def _look_again(self) -> None:
        self.queue.add_after(COUNT, SETTLE_SECONDS)
        if LABEL in self._wanted:
            self.queue.add_after(LABEL, SETTLE_SECONDS)


def place_of_configmap() -> tuple[str, str]:
    """(namespace, name), as the Helm chart sets them."""
    namespace = os.environ.get("KUBE_POD_NAMESPACE") or "volcano-system"
    return namespace, f"{os.environ.get('HELM_RELEASE_NAME') or 'volcano'}-controller-configmap"


def _is_leaf(name: str) -> bool:
    return name.startswith(ufm.LEAF_PREFIX)


def _count_of(document: JsonObject) -> int | None:
    count: int | None = (document.get("status") or {}).get("nodeCount")
    return count


def _members(document: JsonObject) -> frozenset[str]:
    selectors = [member.get("selector") or {} for member in document["spec"].get("members") or []]
    return frozenset(selector["exactMatch"]["name"] for selector in selectors if "exactMatch" in selector)
