"""Rights that a daemon lacks, as they show in what is refused."""

from __future__ import annotations

import asyncio

import msgspec
import pytest

from volcano.api.resources import PODGROUPS, PODS
from volcano.http.message import Request, Response
from volcano.kube.client import Client
from volcano.kube.errors import Forbidden
from volcano.kube.rights import FORGOTTEN_SECONDS, Rights
from volcano.kube.transport import InProcessTransport

BINDING = {"target": {"kind": "Node", "name": "n1"}}
MAY_NOT = 'pods "p" is forbidden: User "s" cannot create resource "pods/binding" in API group "" in the namespace "a"'
ENDING = 'pods "p" is forbidden: unable to create new content in namespace a because it is being terminated'


def answer(message: str) -> Response:
    if not message:
        return Response(201, {}, b'{"kind":"Status","status":"Success"}')
    return Response(403, {}, msgspec.json.encode({"kind": "Status", "reason": "Forbidden", "message": message}))


class Place:
    def __init__(self) -> None:
        self.now = 0.0
        self.says = ""
        self.rights = Rights(lambda: self.now)
        self._client = self.rights.noting(Client(InProcessTransport(self._handle)))

    async def _handle(self, _request: Request) -> Response:
        return answer(self.says)

    def bind(self, namespace: str, says: str) -> None:
        self.says = says
        path = PODS.path(namespace, "p", "binding")
        self._ask(self._client.raw("POST", path, (), msgspec.json.encode(BINDING)), says)

    def patch(self, says: str) -> None:
        self.says = says
        self._ask(self._client.raw("PATCH", PODGROUPS.path("a", "g", "status"), (), b"{}"), says)

    def get(self, says: str) -> None:
        self.says = says
        self._ask(self._client.raw("GET", PODS.path("a", "p")), says)

    def _ask(self, request: object, says: str) -> None:
        async def main() -> None:
            await request  # type: ignore[misc]

        if says:
            with pytest.raises(Forbidden):
                asyncio.run(main())
        else:
            asyncio.run(main())


def test_a_write_that_is_denied_is_told_until_one_of_its_kind_passes() -> None:
    place = Place()
    assert place.rights.problem() is None
    place.bind("a", MAY_NOT)
    assert place.rights.problem() == f"lacks a right: {MAY_NOT}"
    place.patch("")
    assert place.rights.problem() is not None
    place.bind("b", "")
    assert place.rights.problem() is None


def test_what_admission_refuses_and_what_is_read_are_no_matter_of_rights() -> None:
    place = Place()
    place.bind("a", ENDING)
    place.get(MAY_NOT)
    assert place.rights.problem() is None


def test_what_is_not_tried_again_is_forgotten() -> None:
    place = Place()
    place.bind("a", MAY_NOT)
    place.now = FORGOTTEN_SECONDS + 1
    assert place.rights.problem() is None
