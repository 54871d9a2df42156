"""Probes and lifecycle hooks of a container, from its spec to the plan its supervisor follows. Pure.

Neighbours: `plan` puts the result into container plans.
"""

from __future__ import annotations

from volcano.api.meta import JsonObject
from volcano.local.node.sources import PlanError
from volcano.local.node.supervisor.documents import ActionPlan, ProbeKind, ProbePlan

_KINDS: tuple[tuple[ProbeKind, str], ...] = (
    ("startup", "startupProbe"),
    ("readiness", "readinessProbe"),
    ("liveness", "livenessProbe"),
)


def probe_plans(container: JsonObject, address: str) -> dict[ProbeKind, ProbePlan]:
    """The probes of `container`, whose pod has `address`."""
    return {kind: _probe(container, container[key], address) for kind, key in _KINDS if container.get(key)}


def _probe(container: JsonObject, probe: JsonObject, address: str) -> ProbePlan:
    timeout = float(probe.get("timeoutSeconds") or 1)
    return {
        "action": action_plan(container, probe, address, timeout),
        "initial_delay": float(probe.get("initialDelaySeconds") or 0),
        "period": float(probe.get("periodSeconds") or 10),
        "timeout": timeout,
        "success_threshold": int(probe.get("successThreshold") or 1),
        "failure_threshold": int(probe.get("failureThreshold") or 3),
    }


def hook_plan(container: JsonObject, hook: str, address: str) -> ActionPlan | None:
    """The action of the container's `postStart` or `preStop` hook."""
    handler = (container.get("lifecycle") or {}).get(hook)
    return action_plan(container, handler, address, 30.0) if handler else None


def action_plan(container: JsonObject, handler: JsonObject, address: str, timeout: float) -> ActionPlan:
    """What a handler (exec, httpGet, tcpSocket, grpc, sleep) does; gRPC health is judged by whether the port opens."""
    action: ActionPlan = {
        "kind": "exec",
        "argv": [],
        "host": address,
        "port": 0,
        "path": "/",
        "scheme": "HTTP",
        "headers": [],
        "seconds": timeout,
    }
    if handler.get("exec") is not None:
        return {**action, "argv": list(handler["exec"].get("command") or ["true"])}
    if handler.get("sleep") is not None:
        return {**action, "kind": "sleep", "seconds": float(handler["sleep"].get("seconds") or 0)}
    if handler.get("httpGet") is not None:
        http = handler["httpGet"]
        return {
            **action,
            "kind": "http",
            "host": http.get("host") or address,
            "port": _port(container, http.get("port")),
            "path": http.get("path") or "/",
            "scheme": http.get("scheme") or "HTTP",
            "headers": [[header["name"], header.get("value") or ""] for header in http.get("httpHeaders") or []],
        }
    socket = handler.get("tcpSocket") or handler.get("grpc") or {}
    return {
        **action,
        "kind": "tcp",
        "host": socket.get("host") or address,
        "port": _port(container, socket.get("port")),
    }


def _port(container: JsonObject, port: int | str | None) -> int:
    """A port number, or that of the container's port with this name."""
    if isinstance(port, int) or (port and port.isdigit()):
        return int(port)
    for known in container.get("ports") or []:
        if known.get("name") == port:
            return int(known["containerPort"])
    raise PlanError(
        "CreateContainerConfigError",
        f"container {container['name']!r}: no port is named {port!r}: add it to ports or give its number",
        is_final=True,
    )
