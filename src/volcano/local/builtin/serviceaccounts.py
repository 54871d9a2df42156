"""The service account controller: every namespace has a `default` account and the cluster's root certificate.

Neighbours: `main` knows the certificate from the connection it uses itself.
"""

from __future__ import annotations

from typing import Any

from volcano.api.meta import JsonObject
from volcano.api.resource import Resource
from volcano.api.resources import CONFIGMAPS, SERVICE_ACCOUNTS
from volcano.kube.client import Client
from volcano.kube.errors import AlreadyExists, Forbidden, NotFound
from volcano.kube.informer import Callbacks, Informer
from volcano.local.builtin.controller import Controller
from volcano.local.builtin.world import World

ACCOUNT = "default"
ROOT_CERTIFICATE = "kube-root-ca.crt"


class ServiceAccountController(Controller):
    name = "serviceaccount"

    def __init__(self, client: Client, world: World, namespaces: Informer[JsonObject], authority: str) -> None:
        super().__init__(client, world)
        self._namespaces = namespaces
        self._authority = authority

    def connect(self) -> None:
        self._namespaces.add_handler(Callbacks(self._seen, lambda _old, new: self._seen(new)))
        for resource, name in ((SERVICE_ACCOUNTS, ACCOUNT), (CONFIGMAPS, ROOT_CERTIFICATE)):
            self.world.heads(resource).add_handler(Callbacks(delete=self._again(name)))

    def _seen(self, namespace: JsonObject) -> None:
        if "deletionTimestamp" not in namespace["metadata"]:
            self.queue.add(namespace["metadata"]["name"])

    def _again(self, name: str) -> Any:
        def deleted(obj: Any) -> None:
            if obj.metadata.name == name:
                self.queue.add(obj.metadata.namespace)

        return deleted

    async def reconcile(self, key: str) -> float | None:
        namespace = self._namespaces.store.get(key)
        if namespace is None or "deletionTimestamp" in namespace["metadata"]:
            return None
        account: JsonObject = {"apiVersion": "v1", "kind": "ServiceAccount", "metadata": _named(ACCOUNT, key)}
        await self._ensure(SERVICE_ACCOUNTS, account)
        if self._authority:
            certificate = {
                "apiVersion": "v1",
                "kind": "ConfigMap",
                "metadata": _named(ROOT_CERTIFICATE, key),
                "data": {"ca.crt": self._authority},
            }
            await self._ensure(CONFIGMAPS, certificate)
        return None

    async def _ensure(self, resource: Resource[Any], wanted: JsonObject) -> None:
        metadata = wanted["metadata"]
        if f"{metadata['namespace']}/{metadata['name']}" in self.world.heads(resource).store:
            return
        try:
            await self.client.create(resource.untyped, wanted)
        except (AlreadyExists, NotFound, Forbidden):
            return  # it is there already, or the namespace is on its way out


def _named(name: str, namespace: str) -> JsonObject:
    return {"name": name, "namespace": namespace}
