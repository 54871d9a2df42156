"""What a kubelet serves: logs, commands in containers, usage, health. HTTPS, for the cluster's own.

Neighbours: `logs` reads, `exec` runs, `attach` hears, `forward` joins ports, `usage` measures; `agent` knows the pods;
`main` listens.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable
from datetime import UTC, datetime

import msgspec

from volcano.http.message import Request, Response
from volcano.http.websocket import accept
from volcano.local.node import forward, streams
from volcano.local.node.agent import NodeAgent
from volcano.local.node.attach import AttachSession, Typing
from volcano.local.node.channels import choose_protocol
from volcano.local.node.exec import PROTOCOLS, Command, ExecSession
from volcano.local.node.listeners import LOOPBACK, answering
from volcano.local.node.logs import LogOptions, log_files, read_log, spoken
from volcano.local.node.runtime import Run
from volcano.local.node.supervisor.documents import ContainerPlan, ContainerReport
from volcano.local.node.usage import Meter

_TEXT = {"content-type": "text/plain; charset=utf-8"}


class Endpoint:
    """`handle` answers one request. Without `is_trusted` nobody gets logs."""

    def __init__(self, agent: NodeAgent, is_trusted: Callable[[Request], bool]) -> None:
        self._agent = agent
        self._is_trusted = is_trusted
        self._meter = Meter()

    async def handle(self, request: Request) -> Response:
        parts = request.path.strip("/").split("/")
        if request.method not in ("GET", "HEAD") and not (request.method == "POST" and parts[0] == "portForward"):
            return _text(405, f"{request.method} is not allowed: the node serves GET only")
        if parts == ["healthz"]:
            return _text(200, "ok")
        if not self._is_trusted(request):
            return _text(401, "Unauthorized: show a client certificate of the cluster")
        if parts == ["stats", "summary"]:
            summary = await self._meter.summary(self._agent.identity.name, self._agent.runtime.runs)
            return Response(200, {"content-type": "application/json"}, msgspec.json.encode(summary))
        if len(parts) == 4 and parts[0] == "containerLogs":
            return self._logs(request, *parts[1:])
        if len(parts) == 4 and parts[0] == "exec":
            return self._exec(request, *parts[1:])
        if len(parts) == 4 and parts[0] == "attach":
            return self._attach(request, *parts[1:])
        if len(parts) == 3 and parts[0] == "portForward":
            return self._forward(request, *parts[1:])
        return _text(404, f"{request.path} is not served by this node")

    def _logs(self, request: Request, namespace: str, name: str, container: str) -> Response:
        pod = self._agent.pod(namespace, name)
        if pod is None:
            return _text(404, f'pod "{name}" in namespace "{namespace}" is not on this node')
        run = self._agent.runtime.runs.get(pod["metadata"]["uid"])
        if run is None:
            return self._no_run(pod, name, container)
        state = run.report["containers"].get(container)
        if state is None:
            return _text(404, f'container "{container}" is not in pod "{name}"')
        options = parse_options(request, time.time())
        number = state["restarts"] - (1 if options.previous else 0)
        folder = self._agent.runtime.layout.pod(pod["metadata"]["uid"]).logs
        if options.previous and (number < 0 or not log_files(folder, container, number)):
            return _text(400, f'previous terminated container "{container}" in pod "{name}" not found')
        if state["state"] == "waiting" and not options.follow:
            return _text(400, f'container "{container}" in pod "{name}" is waiting to start: PodInitializing')
        return Response(
            200, dict(_TEXT), read_log(folder, container, number, options, _is_running(run, container, number))
        )

    def _exec(self, request: Request, namespace: str, name: str, container: str) -> Response:
        """Take over the connection and run a command in the container."""
        found = self._running(namespace, name, container)
        if isinstance(found, Response):
            return found
        plan, state = found[1], found[2]
        argv = request.params("command")
        if not argv:
            return _text(400, "you must specify at least 1 command for the container")
        stdin, tty = request.flag("input"), request.flag("tty")
        command = Command(argv, plan, state["pid"], stdin, tty)
        return _taken_over(request, "exec", lambda transport, rest: ExecSession(command, transport, rest))

    def _attach(self, request: Request, namespace: str, name: str, container: str) -> Response:
        """Take over the connection and pass on what the container writes, and what it reads if it does."""
        found = self._running(namespace, name, container)
        if isinstance(found, Response):
            return found
        run, plan, state = found
        layout = self._agent.runtime.layout.pod(run.plan["uid"])
        folder, pipe = layout.logs, layout.input(container)
        number = state["restarts"]
        is_running = _is_running(run, container, number)

        terminal = layout.terminal(container) if plan.get("tty") and request.flag("tty") else None

        def typed() -> None:
            if plan.get("input") == "once" and not plan.get("tty"):  # a terminal waits for the next who types
                pipe.unlink(missing_ok=True)
                run.wake()

        def attached(transport: asyncio.Transport, rest: bytes) -> AttachSession:
            typing = Typing(pipe, typed) if request.flag("input") and plan.get("input") else None
            spoken_words = spoken(folder, container, number, is_running, soon=terminal is not None)
            return AttachSession(spoken_words, typing, terminal, transport, rest)

        return _taken_over(request, "attach", attached)

    def _running(
        self, namespace: str, name: str, container: str
    ) -> tuple[Run, ContainerPlan, ContainerReport] | Response:
        """A container that runs, or the answer that it does not."""
        pod = self._agent.pod(namespace, name)
        run = self._agent.runtime.runs.get(pod["metadata"]["uid"]) if pod is not None else None
        if run is None:
            return _text(404, f'pod "{name}" in namespace "{namespace}" does not run on this node')
        plan = next((item for item in (*run.plan["init"], *run.plan["containers"]) if item["name"] == container), None)
        state = run.report["containers"].get(container)
        if plan is None or state is None or state["state"] != "running":
            return _text(400, f'container "{container}" in pod "{name}" is not running')
        return run, plan, state

    def _forward(self, request: Request, namespace: str, name: str) -> Response:
        """Take over the connection and join it with ports of the pod."""
        pod = self._agent.pod(namespace, name)
        run = self._agent.runtime.runs.get(pod["metadata"]["uid"]) if pod is not None else None
        if run is None or run.report["finished"]:
            return _text(404, f'pod "{name}" in namespace "{namespace}" does not run on this node')
        hosts = list(dict.fromkeys(filter(None, (run.plan["address"], LOOPBACK))))

        def addresses(port: int) -> list[str]:
            return answering(hosts, port, run.processes)

        if request.headers.get("upgrade", "").lower() == streams.UPGRADE.lower():
            agreed = {"upgrade": streams.UPGRADE, "connection": "Upgrade", streams.VERSION_HEADER: streams.PROTOCOL}
            return Response(101, agreed, upgrade=streams.stream_session(addresses, is_tunnelled=False))
        offered, key = request.headers.get("sec-websocket-protocol"), request.headers.get("sec-websocket-key")
        protocol = choose_protocol(offered, (streams.TUNNEL, *forward.PROTOCOLS)) if offered else ""
        if not key or protocol is None:
            return _text(
                400,
                f"ports are forwarded over WebSockets with the protocol {streams.TUNNEL} or {forward.PROTOCOLS[0]}, "
                f"or over {streams.UPGRADE}",
            )
        if protocol == streams.TUNNEL:
            return Response(101, _agreed(key, protocol), upgrade=streams.stream_session(addresses, is_tunnelled=True))
        try:
            ports = forward.parse_ports(request.params("port"))
        except ValueError as error:
            return _text(400, str(error))
        return Response(
            101,
            _agreed(key, protocol),
            upgrade=lambda transport, rest: forward.ForwardSession(addresses, ports, transport, rest),
        )

    def _no_run(self, pod: dict[str, object], name: str, container: str) -> Response:
        phase = (pod.get("status") or {}).get("phase")  # type: ignore[attr-defined]
        if phase == "Pending":
            return _text(400, f'container "{container}" in pod "{name}" is waiting to start: ContainerCreating')
        return _text(200, "")


def _taken_over(
    request: Request, what: str, session: Callable[[asyncio.Transport, bytes], asyncio.BaseProtocol]
) -> Response:
    """The answer that makes the connection one of channels."""
    protocol = choose_protocol(request.headers.get("sec-websocket-protocol", ""), PROTOCOLS)
    key = request.headers.get("sec-websocket-key")
    if not key or protocol is None:
        return _text(400, f"{what} is served over WebSockets with one of the protocols {', '.join(PROTOCOLS)}")
    return Response(101, _agreed(key, protocol), upgrade=session)


def _agreed(key: str, protocol: str) -> dict[str, str]:
    """The headers that turn a connection into a WebSocket."""
    chosen = {"sec-websocket-protocol": protocol} if protocol else {}
    return {"upgrade": "websocket", "connection": "Upgrade", "sec-websocket-accept": accept(key), **chosen}


def _is_running(run: Run, container: str, number: int) -> Callable[[], bool]:
    """Whether this run of the container may still write."""

    def check() -> bool:
        state = run.report["containers"][container]
        return not run.report["finished"] and state["restarts"] == number and state["state"] != "terminated"

    return check


def parse_options(request: Request, now: float) -> LogOptions:
    """The log options of a request's query."""
    since = request.param("sinceTime") or ""
    seconds = request.param("sinceSeconds")
    if seconds:
        since = datetime.fromtimestamp(now - int(seconds), UTC).strftime("%Y-%m-%dT%H:%M:%S.%fZ")
    return LogOptions(
        follow=request.flag("follow"),
        previous=request.flag("previous"),
        timestamps=request.flag("timestamps"),
        tail_lines=_number(request.param("tailLines")),
        limit_bytes=_number(request.param("limitBytes")),
        since=since,
    )


def _number(text: str | None) -> int | None:
    return int(text) if text and text.isdigit() else None


def _text(status: int, text: str) -> Response:
    return Response(status, dict(_TEXT), text.encode() + b"\n" if status != 200 else text.encode())
