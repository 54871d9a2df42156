"""A conversation made of random requests, the same for the same seed, whatever the server answers."""

from __future__ import annotations

import random
from typing import TYPE_CHECKING, Any

from tests.differential.session import JSON_PATCH, STRATEGIC, TABLE

if TYPE_CHECKING:
    from tests.differential.session import Session

MAPS = "/api/v1/namespaces/{ns}/configmaps"
PODS = "/api/v1/namespaces/{ns}/pods"
DEPLOYMENTS = "/apis/apps/v1/namespaces/{ns}/deployments"
NAMES = ("a", "b", "c")
MANAGERS = ("one", "two")
OTHER_UID = "d0d7d54e-7a0b-4b4e-9d0b-3a6a9f6c1f11"

Document = dict[str, Any]


class Walk:
    """Draws requests about few objects, so that they meet."""

    def __init__(self, seed: int, session: Session) -> None:
        self._draw = random.Random(seed)
        self._session = session
        self._seen: dict[str, Document] = {}

    async def run(self, steps: int) -> None:
        start = (await self._session.unrecorded("GET", MAPS))["metadata.resourceVersion"]
        moves = (
            *(self._create, self._update, self._merge, self._merge, self._json, self._strategic, self._apply),
            *(self._apply, self._apply, self._delete, self._finalize, self._list, self._status),
        )
        for _ in range(steps):
            await self._draw.choice(moves)()
        await self._settle(start)

    async def _settle(self, start: str) -> None:
        """What all of it left behind, and what a watch tells of it."""
        found = await self._session.get(MAPS)
        await self._session.get(DEPLOYMENTS)
        await self._session.get(PODS)
        if found["metadata.resourceVersion"] == start:
            return
        async with self._session.watch(MAPS, resourceVersion=start, timeoutSeconds=1) as watch:
            await watch.end()

    # --- requests -------------------------------------------------------------------------------------------------

    async def _create(self) -> None:
        path, name = self._target()
        await self._keep(path, name, "POST", self._object(path, name), **self._options())

    async def _update(self) -> None:
        path, name = self._target()
        document = self._object(path, name)
        if (seen := self._seen.get(f"{path}/{name}")) and self._draw.random() < 0.7:
            document["metadata"]["resourceVersion"] = seen["metadata"]["resourceVersion"]
        await self._keep(f"{path}/{name}", name, "PUT", document, **self._options())

    async def _merge(self) -> None:
        path, name = self._target()
        await self._keep(f"{path}/{name}", name, "PATCH", self._change(path), kind=None, **self._options())

    async def _strategic(self) -> None:
        path, name = self._target()
        body = self._change(path)
        if path != MAPS and self._draw.random() < 0.5:
            containers = [self._container(), {"name": "c2", "$patch": "delete"}][: self._draw.randint(1, 2)]
            spec: Document = {"containers": containers}
            body = {"spec": spec if path == PODS else {"template": {"spec": spec}}}
        await self._keep(f"{path}/{name}", name, "PATCH", body, kind=STRATEGIC, **self._options())

    async def _json(self) -> None:
        path, name = self._target()
        field = self._draw.choice(("/metadata/labels", "/metadata/labels/x", "/data/k", "/spec/replicas", "/data"))
        value: Any = {"x": "9"} if field.endswith(("labels", "data")) else 3 if field.endswith("replicas") else "9"
        op = self._draw.choice(("add", "replace", "remove", "test"))
        operation = {"op": op, "path": field} | ({} if op == "remove" else {"value": value})
        await self._keep(f"{path}/{name}", name, "PATCH", [operation], kind=JSON_PATCH, **self._options())

    async def _apply(self) -> None:
        path, name = self._target(pods=False)
        document = self._object(path, name)
        kind = "ConfigMap" if path == MAPS else "Deployment"
        document |= {"apiVersion": "v1" if path == MAPS else "apps/v1", "kind": kind}
        force = {"force": "true"} if self._draw.random() < 0.3 else {}
        manager = self._draw.choice(MANAGERS)
        reply = await self._session.apply(f"{path}/{name}", document, manager, **force)
        self._remember(f"{path}/{name}", reply.status, reply.body)

    async def _delete(self) -> None:
        path, name = self._target()
        options: Document = {}
        if self._draw.random() < 0.3:
            options["propagationPolicy"] = self._draw.choice(("Foreground", "Background", "Orphan"))
        if self._draw.random() < 0.3:
            options["gracePeriodSeconds"] = self._draw.choice((0, 5))
        if self._draw.random() < 0.1:
            options["preconditions"] = {"uid": OTHER_UID}
        await self._session.delete(f"{path}/{name}", options or None)

    async def _finalize(self) -> None:
        path, name = self._target()
        finalizers = self._draw.choice((None, ["x.io/a"], ["x.io/a", "x.io/b"]))
        await self._keep(f"{path}/{name}", name, "PATCH", {"metadata": {"finalizers": finalizers}}, kind=None)

    async def _status(self) -> None:
        path, name = self._draw.choice((PODS, DEPLOYMENTS)), self._draw.choice(NAMES)
        status: Document = {"replicas": self._draw.randint(0, 3)}
        if path == PODS:
            status = {"phase": self._draw.choice(("Running", "Succeeded")), "podIP": "10.0.0.1"}
        await self._keep(f"{path}/{name}/status", name, "PATCH", {"status": status}, kind=None)

    async def _list(self) -> None:
        path, _ = self._target()
        query: Document = {"limit": self._draw.choice((0, 1, 2))}
        if self._draw.random() < 0.5:
            query["labelSelector"] = self._draw.choice(("x=1", "x!=1", "x in (1,2)", "!x", "y"))
        if self._draw.random() < 0.3:
            query["fieldSelector"] = self._draw.choice(("metadata.name=a", "metadata.name!=a"))
        accept = TABLE if self._draw.random() < 0.2 else "application/json"
        await self._session.get(path, accept=accept, **query)

    # --- what they are about --------------------------------------------------------------------------------------

    def _target(self, *, pods: bool = True) -> tuple[str, str]:
        path = self._draw.choice((MAPS, MAPS, DEPLOYMENTS, PODS) if pods else (MAPS, DEPLOYMENTS))
        return path, self._draw.choice(NAMES)

    def _options(self) -> Document:
        options: Document = {}
        if self._draw.random() < 0.3:
            options["fieldManager"] = self._draw.choice(MANAGERS)
        if self._draw.random() < 0.1:
            options["dryRun"] = "All"
        if self._draw.random() < 0.2:
            options["fieldValidation"] = self._draw.choice(("Strict", "Ignore"))
        return options

    def _object(self, path: str, name: str) -> Document:
        metadata: Document = {"name": name}
        if self._draw.random() < 0.6:
            metadata["labels"] = self._labels()
        if path == MAPS:
            return {"metadata": metadata, "data": self._data()}
        containers = [self._container()]
        if self._draw.random() < 0.3:
            containers.append({"name": "c2", "image": "y"})
        if path == PODS:
            return {"metadata": metadata, "spec": {"containers": containers, "nodeName": "n"}}
        labels = {"app": name}
        template = {"metadata": {"labels": labels}, "spec": {"containers": containers}}
        spec: Document = {"selector": {"matchLabels": labels}, "template": template}
        if self._draw.random() < 0.5:
            spec["replicas"] = self._draw.randint(0, 3)
        return {"metadata": metadata, "spec": spec}

    def _change(self, path: str) -> Document:
        if self._draw.random() < 0.4:
            return {"metadata": {"labels": self._draw.choice((None, self._labels(), {"x": None}))}}
        if path == MAPS:
            return {"data": self._draw.choice((None, self._data(), {"k": None}))}
        if path == PODS:
            return {"spec": {"activeDeadlineSeconds": self._draw.choice((10, 60))}}
        return {"spec": {"replicas": self._draw.randint(-1, 3)}}

    def _labels(self) -> Document:
        return {self._draw.choice("xy"): self._draw.choice("12") for _ in range(2)}

    def _data(self) -> Document:
        return {self._draw.choice("klm"): self._draw.choice("vw") for _ in range(self._draw.randint(0, 2))}

    def _container(self) -> Document:
        container: Document = {"name": "c", "image": self._draw.choice(("x", "y:1"))}
        if self._draw.random() < 0.4:
            container["env"] = [{"name": self._draw.choice("AB"), "value": self._draw.choice("12")}]
        return container

    # --- bookkeeping ----------------------------------------------------------------------------------------------

    async def _keep(self, path: str, name: str, method: str, body: Any, kind: str | None = "", **query: Any) -> None:
        media = {"": "application/json", None: "application/merge-patch+json"}.get(kind, kind)
        reply = await self._session.call(method, path, body, kind=str(media), **query)
        key = path.removesuffix("/status")
        self._remember(key if method != "POST" else f"{path}/{name}", reply.status, reply.body)

    def _remember(self, key: str, status: int, body: Any) -> None:
        if status < 300 and isinstance(body, dict) and "resourceVersion" in body.get("metadata", {}):
            self._seen[key] = body


def walk(seed: int, steps: int) -> Any:
    """The conversation of `seed`."""

    async def conversation(session: Session) -> None:
        await Walk(seed, session).run(steps)

    return conversation
