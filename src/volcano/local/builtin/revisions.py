"""The history of a set's template: a ControllerRevision for each, which `kubectl rollout history` and `undo` read.

Pure but for `Revisions`, which writes. Neighbours: `owners` keeps one for stateful sets and daemon sets.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from volcano.api import keys
from volcano.api.meta import JsonObject
from volcano.api.resources import CONTROLLER_REVISIONS
from volcano.kube.client import Client
from volcano.kube.errors import AlreadyExists, NotFound

HISTORY_LIMIT = 10


def revision_of(owner: JsonObject, kind: str, template_hash: str, number: int) -> JsonObject:
    """The revision that remembers the present template of `owner`."""
    meta, spec = owner["metadata"], owner["spec"]
    reference = {"apiVersion": "apps/v1", "kind": kind, "name": meta["name"], "uid": meta["uid"]}
    labels = (spec["template"].get("metadata") or {}).get("labels") or {}
    return {
        "apiVersion": "apps/v1",
        "kind": "ControllerRevision",
        "metadata": {
            "name": f"{meta['name']}-{template_hash}",
            "namespace": meta["namespace"],
            "labels": {**labels, keys.CONTROLLER_REVISION_HASH: template_hash},
            "annotations": meta.get("annotations") or {},
            "ownerReferences": [{**reference, "controller": True, "blockOwnerDeletion": True}],
        },
        "data": {"spec": {"template": {**spec["template"], "$patch": "replace"}}},
        "revision": number,
    }


def superfluous(owner: JsonObject, known: Sequence[JsonObject]) -> list[str]:
    """Names of the oldest revisions beyond what the owner keeps besides the newest."""
    limit = owner["spec"].get("revisionHistoryLimit")
    status = owner.get("status") or {}
    live = {status.get("currentRevision"), status.get("updateRevision")}
    newest_first = sorted(known, key=lambda revision: -int(revision["revision"]))[1:]
    old = [item["metadata"]["name"] for item in newest_first if item["metadata"]["name"] not in live]
    return old[HISTORY_LIMIT if limit is None else int(limit) :]


class Revisions:
    """Writes revisions when templates change. A template that comes back becomes the newest again."""

    def __init__(self, client: Client, kind: str) -> None:
        self._client = client
        self._kind = kind
        self._noted: dict[str, str] = {}

    async def note(self, owner: JsonObject, template_hash: str) -> None:
        uid, namespace = owner["metadata"]["uid"], owner["metadata"]["namespace"]
        if self._noted.get(uid) == template_hash:
            return
        known = await self._known(uid, namespace)
        newest = max((int(item["revision"]) for item in known), default=0)
        wanted = revision_of(owner, self._kind, template_hash, newest + 1)
        name = wanted["metadata"]["name"]
        same = next((item for item in known if item["metadata"]["name"] == name), None)
        if same is None:
            await self._create(wanted)
            known.append(wanted)
        elif int(same["revision"]) != newest:
            await self._client.patch(CONTROLLER_REVISIONS, name, {"revision": newest + 1}, namespace)
            same["revision"] = newest + 1
        for old in superfluous(owner, known):
            await self._delete(old, namespace)
        self._noted[uid] = template_hash

    def forget(self, uid: str) -> None:
        self._noted.pop(uid, None)

    async def _known(self, uid: str, namespace: str) -> list[JsonObject]:
        listing = await self._client.list(CONTROLLER_REVISIONS.untyped, namespace)
        return [item for item in listing.items if uid in _owners(item)]

    async def _create(self, revision: JsonObject) -> None:
        try:
            await self._client.create(CONTROLLER_REVISIONS.untyped, revision)
        except AlreadyExists:
            return

    async def _delete(self, name: str, namespace: str) -> None:
        try:
            await self._client.delete(CONTROLLER_REVISIONS, name, namespace)
        except NotFound:
            return


def _owners(document: JsonObject) -> list[Any]:
    return [reference["uid"] for reference in document["metadata"].get("ownerReferences") or ()]
