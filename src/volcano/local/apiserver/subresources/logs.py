"""pods/log: the answer of the node that runs the pod, passed on as it comes."""

from __future__ import annotations

from contextlib import AsyncExitStack
from typing import TYPE_CHECKING

from volcano.api.meta import JsonObject
from volcano.http.message import Response, format_target
from volcano.local.apiserver import status

if TYPE_CHECKING:
    from collections.abc import AsyncIterator

    from volcano.http.exchange import StreamingResponse
    from volcano.local.apiserver.call import Call
    from volcano.local.apiserver.certificates import Pki
    from volcano.local.apiserver.storage.store import Store
    from volcano.local.apiserver.verbs.writes import Writes

_PASSED_ON = frozenset(
    {"follow", "previous", "tailLines", "limitBytes", "sinceSeconds", "sinceTime", "timestamps", "stream"}
)
_TEXT = {"content-type": "text/plain", "cache-control": "no-cache, private"}


class Logs:
    """Finds the node of a pod and asks it, with the server's client certificate."""

    def __init__(self, writes: Writes, pki: Pki | None) -> None:
        self._writes = writes
        self._store: Store = writes.store
        self._pki = pki

    async def get(self, call: Call) -> Response:
        pod = self._writes.existing(call).document()
        container = _container(call, pod)
        _check_options(call)
        node = pod["spec"].get("nodeName")
        if not node:
            return Response(204, dict(_TEXT), b"")
        host, port = self._endpoint(call, node)
        query = [(key, value) for key, value in call.request.query if key in _PASSED_ON]
        target = format_target(f"/containerLogs/{call.namespace}/{call.name}/{container}", query)
        return await self._ask(call, host, port, target)

    async def _ask(self, call: Call, host: str, port: int, target: str) -> Response:
        from volcano.http.client import Endpoint, HttpClient, HttpError
        from volcano.http.tls import client_context

        certificate = (self._pki.certificate("admin"), self._pki.key("admin")) if self._pki else (None, None)
        # A node's serving certificate is its own, as with kubelets: the address comes from the cluster's store.
        context = client_context(certificate=certificate[0], key=certificate[1], verify=False)
        stack = AsyncExitStack()
        try:
            client = HttpClient(Endpoint(host, port, context), connect_seconds=5.0)
            stack.push_async_callback(client.close)
            answer = await stack.enter_async_context(client.stream("GET", target))
            if answer.status != 200:
                text = (await answer.read()).decode(errors="replace").strip()
                raise status.StatusError(answer.status, "BadRequest" if answer.status == 400 else "NotFound", text)
        except HttpError as error:
            await stack.aclose()
            raise status.StatusError(
                502, "InternalError", f"node of pod {call.name} does not answer at {host}:{port}: {error}"
            ) from error
        except BaseException:
            await stack.aclose()
            raise
        return Response(200, dict(_TEXT), _Relay(stack, answer))

    def _endpoint(self, call: Call, node: str) -> tuple[str, int]:
        entry = self._store.get("nodes", node)
        if entry is None:
            raise status.StatusError(
                404, "NotFound", f'node "{node}" of pod "{call.name}" is gone: its logs went with it'
            )
        found = entry.document().get("status") or {}
        port = ((found.get("daemonEndpoints") or {}).get("kubeletEndpoint") or {}).get("Port")
        addresses = {item.get("type"): item.get("address") for item in found.get("addresses") or ()}
        host = addresses.get("InternalIP") or addresses.get("Hostname") or addresses.get("ExternalIP")
        if not port or not host:
            raise status.StatusError(
                501,
                "NotImplemented",
                f'node "{node}" serves no logs: it is simulated, or its status names no kubelet port',
            )
        return host, int(port)


class _Relay:
    """The node's chunks; closing it closes the connection to the node."""

    def __init__(self, stack: AsyncExitStack, answer: StreamingResponse) -> None:
        self._stack = stack
        self._chunks = aiter(answer)

    def __aiter__(self) -> AsyncIterator[bytes]:
        return self

    async def __anext__(self) -> bytes:
        try:
            return await anext(self._chunks)
        except BaseException:
            await self.aclose()
            raise

    async def aclose(self) -> None:
        await self._stack.aclose()


def _check_options(call: Call) -> None:
    causes = []
    for name, least in (("tailLines", 0), ("sinceSeconds", 1), ("limitBytes", 1)):
        text = call.request.param(name)
        if not text:
            continue
        try:
            number = int(text)
        except ValueError:
            raise status.bad_request(f'strconv.ParseInt: parsing "{text}": invalid syntax') from None
        if number < least:
            bound = "greater than or equal to 0" if least == 0 else "greater than 0"
            causes.append(status.cause(name, f"Invalid value: {number}: must be {bound}"))
    if call.request.param("sinceSeconds") and call.request.param("sinceTime"):
        text = "Forbidden: at most one of `sinceTime` or `sinceSeconds` may be specified"
        causes.append(status.cause("[]", text, "FieldValueForbidden"))
    if causes:
        texts = [f"{cause['field']}: {cause['message']}" for cause in causes]
        listing = texts[0] if len(texts) == 1 else f"[{', '.join(texts)}]"
        message = f'PodLogOptions "{call.name}" is invalid: {listing}'
        details = {"name": call.name, "kind": "PodLogOptions"}
        raise status.StatusError(422, "Invalid", message, causes, details)


def _container(call: Call, pod: JsonObject) -> str:
    names = [item["name"] for section in ("initContainers", "containers") for item in pod["spec"].get(section) or ()]
    asked = call.request.param("container")
    if asked:
        if asked not in names:
            raise status.bad_request(f"container {asked} is not valid for pod {call.name}")
        return asked
    own = [item["name"] for item in pod["spec"].get("containers") or ()]
    if len(own) == 1:
        return str(own[0])
    raise status.bad_request(
        f"a container name must be specified for pod {call.name}, choose one of: [{' '.join(own)}]"
    )
