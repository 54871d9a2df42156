"""pods/exec, pods/attach and pods/portforward: a connection passed through, unseen, to the node that runs the pod.

`logs.py` does the same for logs. They are WebSockets; ports are also forwarded over the SPDY streams of older clients.
"""

from __future__ import annotations

import asyncio
import ssl
from typing import TYPE_CHECKING, Any, cast

from volcano.http.message import Response, format_target
from volcano.local.apiserver import status

if TYPE_CHECKING:
    from collections.abc import Sequence

    from volcano.local.apiserver.call import Call
    from volcano.local.apiserver.certificates import Pki
    from volcano.local.apiserver.verbs.writes import Writes

CONNECT_SECONDS = 5.0
ANSWER_BYTES = 64 * 1024
_PASSED_ON = {"command": "command", "stdin": "input", "stdout": "output", "stderr": "error", "tty": "tty"}
"""Parameters, and what kubelets call them."""
_VERSION = "x-stream-protocol-version"
_ASKED = ("sec-websocket-key", "sec-websocket-version", "sec-websocket-protocol", _VERSION)
_ANSWERED = ("sec-websocket-accept", "sec-websocket-protocol", _VERSION)
_WEBSOCKET, _SPDY = "websocket", "SPDY/3.1"


class Commands:
    """Opens the connection to the node, and joins it with the caller's."""

    def __init__(self, writes: Writes, pki: Pki | None) -> None:
        self._writes = writes
        self._pki = pki

    async def run(self, call: Call) -> Response:
        pod = self._writes.existing(call).document()
        container = container_of(call, pod)
        query = [(_PASSED_ON[key], value) for key, value in call.request.query if key in _PASSED_ON]
        return await self._joined(call, pod, format_target(f"/exec/{call.namespace}/{call.name}/{container}", query))

    async def attach(self, call: Call) -> Response:
        pod = self._writes.existing(call).document()
        container = container_of(call, pod)
        query = [(_PASSED_ON[key], value) for key, value in call.request.query if key in _PASSED_ON]
        return await self._joined(call, pod, format_target(f"/attach/{call.namespace}/{call.name}/{container}", query))

    async def forward(self, call: Call) -> Response:
        pod = self._writes.existing(call).document()
        query = [("port", value) for value in call.request.params("ports")]
        target = format_target(f"/portForward/{call.namespace}/{call.name}", query)
        return await self._joined(call, pod, target, (_WEBSOCKET, _SPDY))

    async def _joined(
        self, call: Call, pod: dict[str, Any], target: str, served: Sequence[str] = (_WEBSOCKET,)
    ) -> Response:
        headers = call.request.headers
        node = pod["spec"].get("nodeName")
        if not node:
            raise status.bad_request(f"pod {call.name} does not have a host assigned")
        address = self._address(node)
        asked = headers.get("upgrade", "").lower()
        upgrade = next((name for name in served if name.lower() == asked), None)
        if upgrade is None:
            raise status.bad_request(f"Upgrade request required: this is streamed over {' or '.join(served)}")
        passed_on = {"upgrade": upgrade} | {key: headers[key] for key in _ASKED if key in headers}
        far = await self._connect(node, address, target, passed_on)
        code, answered = await far.answer()
        if code != 101:
            far.close()
            raise status.StatusError(code, "BadRequest" if code == 400 else "NotFound", far.text())
        passed_back = {"upgrade": upgrade, "connection": "Upgrade"}
        passed_back |= {key: answered[key] for key in _ANSWERED if key in answered}
        return Response(101, passed_back, upgrade=far.join)

    async def _connect(self, node: str, address: tuple[str, int], target: str, headers: dict[str, str]) -> _Far:
        host, port = address
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
        context.check_hostname, context.verify_mode = False, ssl.CERT_NONE  # a node's certificate is its own
        if self._pki is not None:
            context.load_cert_chain(self._pki.certificate("admin"), self._pki.key("admin"))
        loop = asyncio.get_running_loop()
        try:
            async with asyncio.timeout(CONNECT_SECONDS):
                _, far = await loop.create_connection(_Far, host, port, ssl=context)
        except (OSError, TimeoutError) as error:
            why = f"node {node} does not answer at {host}:{port}: {error}"
            raise status.StatusError(502, "InternalError", why) from error
        lines = [f"GET {target} HTTP/1.1", f"host: {host}:{port}", "connection: Upgrade"]
        lines += [f"{key}: {value}" for key, value in headers.items()]
        far.send("\r\n".join([*lines, "", ""]).encode("latin-1"))
        return far

    def _address(self, node: str) -> tuple[str, int]:
        entry = self._writes.store.get("nodes", node)
        found = (entry.document().get("status") or {}) if entry is not None else {}
        port = ((found.get("daemonEndpoints") or {}).get("kubeletEndpoint") or {}).get("Port")
        addresses = {item.get("type"): item.get("address") for item in found.get("addresses") or ()}
        host = addresses.get("InternalIP") or addresses.get("Hostname")
        if not port or not host:
            why = f'node "{node}" runs no commands: it is simulated, or its status names no kubelet port'
            raise status.StatusError(501, "NotImplemented", why)
        return host, int(port)


class _Far(asyncio.Protocol):
    """The connection to the node: first its answer, then bytes for the caller."""

    def __init__(self) -> None:
        self._head: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        self._bytes = b""
        self._near: asyncio.Transport | None = None

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self._transport = cast(asyncio.Transport, transport)

    def data_received(self, data: bytes) -> None:
        if self._near is not None:
            self._near.write(data)
            return
        self._bytes += data
        if (b"\r\n\r\n" in self._bytes or len(self._bytes) > ANSWER_BYTES) and not self._head.done():
            self._head.set_result(None)

    def connection_lost(self, exc: Exception | None) -> None:
        if not self._head.done():
            self._head.set_result(None)
        if self._near is not None:
            self._near.close()

    def pause_writing(self) -> None:
        if self._near is not None and not self._near.is_closing():
            self._near.pause_reading()

    def resume_writing(self) -> None:
        if self._near is not None and not self._near.is_closing():
            self._near.resume_reading()

    def send(self, data: bytes) -> None:
        self._transport.write(data)

    def close(self) -> None:
        self._transport.close()

    def pause(self) -> None:
        if not self._transport.is_closing():
            self._transport.pause_reading()

    def resume(self) -> None:
        if not self._transport.is_closing():
            self._transport.resume_reading()

    async def answer(self) -> tuple[int, dict[str, str]]:
        """The status and the headers of the node's answer."""
        async with asyncio.timeout(CONNECT_SECONDS):
            await self._head
        head, _, self._bytes = self._bytes.partition(b"\r\n\r\n")
        first, *lines = head.decode("latin-1").split("\r\n")
        words = first.split(" ")
        code = int(words[1]) if len(words) > 1 and words[1].isdigit() else 502
        return code, {name.strip().lower(): value.strip() for name, _, value in (line.partition(":") for line in lines)}

    def text(self) -> str:
        return self._bytes.decode(errors="replace").strip()

    def join(self, near: asyncio.Transport, rest: bytes) -> asyncio.BaseProtocol:
        """From now on whatever comes from one side goes to the other."""
        self._near = near
        if rest:
            self.send(rest)
        if self._bytes:
            near.write(self._bytes)
        return _Near(near, self)


class _Near(asyncio.Protocol):
    """The caller's connection after the upgrade."""

    def __init__(self, transport: asyncio.Transport, far: _Far) -> None:
        self._transport = transport
        self._far = far

    def data_received(self, data: bytes) -> None:
        self._far.send(data)

    def connection_lost(self, exc: Exception | None) -> None:
        self._far.close()

    def pause_writing(self) -> None:
        self._far.pause()

    def resume_writing(self) -> None:
        self._far.resume()


def container_of(call: Call, pod: dict[str, object]) -> str:
    """The container that the caller names, or the only one."""
    spec = cast("dict[str, list[dict[str, str]]]", pod["spec"])
    own = [item["name"] for item in spec.get("containers") or ()]
    asked = call.request.param("container")
    if asked:
        if asked not in (*own, *(item["name"] for item in spec.get("initContainers") or ())):
            raise status.bad_request(f"container {asked} is not valid for pod {call.name}")
        return asked
    if len(own) == 1:
        return own[0]
    raise status.bad_request(
        f"a container name must be specified for pod {call.name}, choose one of: [{' '.join(own)}]"
    )
