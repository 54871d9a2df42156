"""What the server says about itself: discovery, OpenAPI and its version.

discovery.py and openapi.py make the documents; app.py asks here for paths that address no object.
"""

from __future__ import annotations

import platform
from typing import TYPE_CHECKING

import msgspec

from volcano.api import builtin_schemas
from volcano.http.message import Response
from volcano.local.apiserver.catalog import discovery
from volcano.local.apiserver.catalog.openapi import OpenApi
from volcano.local.apiserver.verbs.reads import respond

if TYPE_CHECKING:
    from volcano.api.meta import JsonObject
    from volcano.api.resource import Resource
    from volcano.http.message import Request
    from volcano.local.apiserver.catalog.registry import Registry

_OPENAPI = "/openapi/v3"
_OLD_OPENAPI = "/openapi/v2"
_OLD_PROTOBUF = "application/com.github.proto-openapi.spec.v2.v1.0+protobuf"


class Publisher:
    """The self-description of a server; documents are made when somebody asks."""

    def __init__(self, registry: Registry) -> None:
        self._registry = registry
        self._openapi: OpenApi | None = None

    def answer(self, request: Request) -> Response | None:
        """The answer to a discovery or OpenAPI request; None if it is neither."""
        headers, path = request.headers, request.path
        served = [info.resource for info in self._registry]
        known = headers.get("if-none-match")
        if path == _OPENAPI or path.startswith(_OPENAPI + "/"):
            answer = self._documents().respond(path, request.param("hash"), served, known)
        elif path == _OLD_OPENAPI:
            return _old_openapi(headers.get("accept", ""))
        else:
            answer = discovery.respond(path, headers.get("accept", ""), served, known)
        if answer is None:
            return None
        return Response(answer.status, {name.lower(): value for name, value in answer.headers.items()}, answer.body)

    def _documents(self) -> OpenApi:
        if self._openapi is None:
            self._openapi = OpenApi(builtin_schemas.load(), self._custom_schema)
        return self._openapi

    def _custom_schema(self, resource: Resource[object]) -> JsonObject | None:
        info = self._registry.find(resource.group, resource.version, resource.plural)
        if info is None:
            return None
        schema: JsonObject | None = (info.definition.get("schema") or {}).get("openAPIV3Schema")
        return schema


def _old_openapi(accept: str) -> Response:
    """The document of OpenAPI v2, which describes no kind: those are in v3.

    kubectl reads it about kinds that v3 does not have. Of this one it says that there is no such kind, and without one,
    that validation has to be turned off.
    """
    title, number = "Kubernetes", f"v{builtin_schemas.VERSION}.0"
    if "protobuf" in accept:
        body = _field(1, b"2.0") + _field(2, _field(1, title.encode()) + _field(2, number.encode()))
        return Response(200, {"content-type": _OLD_PROTOBUF, "vary": "Accept"}, body)
    return respond(
        200, msgspec.json.encode({"swagger": "2.0", "info": {"title": title, "version": number}, "paths": {}})
    )


def _field(number: int, value: bytes) -> bytes:
    """A field of a protobuf message: text, or a message, of less than 128 bytes."""
    return bytes((number << 3 | 2, len(value))) + value


def version() -> Response:
    """The Kubernetes version that the API is modelled on; "+" marks the build, so that version ranges include it."""
    major, minor = builtin_schemas.VERSION.split(".")
    return respond(
        200,
        msgspec.json.encode(
            {
                "major": major,
                "minor": minor,
                "gitVersion": f"v{builtin_schemas.VERSION}.0+volcano",
                "gitCommit": "",
                "gitTreeState": "clean",
                "buildDate": "1970-01-01T00:00:00Z",
                "goVersion": "",
                "compiler": platform.python_implementation(),
                "platform": f"{platform.system().lower()}/{platform.machine()}",
            }
        ),
    )
