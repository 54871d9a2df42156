"""Adding container ports that plugins need, unless the container exposes the number already."""

from __future__ import annotations

from volcano.api.meta import JsonObject


def expose(container: JsonObject, name: str, port: int) -> None:
    ports: list[JsonObject] = container.get("ports") or []
    if all(existing.get("containerPort") != port for existing in ports):
        container["ports"] = [*ports, {"name": name, "containerPort": port}]
