"""What the clients have in common, with a loop (`client`) and without (`blocking`): requests as bytes, and limits."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from volcano.http.endpoint import Endpoint
from volcano.http.errors import ProtocolError
from volcano.http.message import Response

CONNECT_SECONDS = 10.0
TIMEOUT_SECONDS = 60.0
REPLAYABLE = frozenset({"GET", "HEAD", "PUT", "DELETE", "OPTIONS"})
"""What may be sent again when a kept connection turns out to be closed."""


def fixed_head(endpoint: Endpoint, headers: Sequence[tuple[str, str]]) -> bytes:
    """What follows the target in the head of every request."""
    lines = "".join(f"{name}: {value}\r\n" for name, value in headers)
    return f" HTTP/1.1\r\nhost: {endpoint.authority}\r\n{lines}".encode("latin-1")


def request_bytes(
    method: str, target: str, fixed: bytes, headers: Mapping[str, str] | None, body: bytes | None
) -> bytes:
    """A whole request."""
    head = f"{method} {target}".encode("ascii") + fixed
    if headers:
        head += "".join([f"{name}: {value}\r\n" for name, value in headers.items()]).encode("latin-1")
    if body is None:
        return head + b"\r\n"
    return b"%bcontent-length: %d\r\n\r\n%b" % (head, len(body), body)


def unpacked(response: Response) -> Response:
    """The same response, its body unpacked if it is gzip. Raises `ProtocolError` where it only says so."""
    if response.headers.get("content-encoding") != "gzip":
        return response
    import zlib

    headers = {name: value for name, value in response.headers.items() if name != "content-encoding"}
    try:
        body = zlib.decompress(response.content, wbits=31)
    except zlib.error as error:
        raise ProtocolError(f"the server's answer is not gzip, as it says: {error}") from error
    return Response(response.status, headers, body)
