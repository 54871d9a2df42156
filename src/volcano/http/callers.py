"""Who may ask: handlers for callers whose certificate was verified, whatever TLS let through."""

from __future__ import annotations

from collections.abc import Container

from volcano.http.message import Handler, Request, Response


def for_known_callers(handler: Handler, *, but_for: Container[str] = ()) -> Handler:
    """`handler` for those who showed a certificate; the first part of a path that is in `but_for` is for everybody."""

    async def handle(request: Request) -> Response:
        part = request.path.strip("/").partition("/")[0]
        if request.peer.common_name is None and part not in but_for:
            refusal = f"{request.path} is for callers with a client certificate\n"
            return Response(401, {"content-type": "text/plain; charset=utf-8"}, refusal.encode())
        return await handler(request)

    return handle
