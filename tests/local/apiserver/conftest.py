"""The merge rules of a few kinds, as the published schemas describe them; and a loop for tests that are coroutines."""

from __future__ import annotations

import asyncio
import inspect
from typing import Any

import pytest

from volcano.local.apiserver.merging.shapes import Shape, Shapes

MERGED_BY_NAME = {
    "x-kubernetes-patch-strategy": "merge",
    "x-kubernetes-patch-merge-key": "name",
    "x-kubernetes-list-type": "map",
    "x-kubernetes-list-map-keys": ["name"],
}
DEFINITIONS: dict[str, Any] = {
    "io.k8s.apimachinery.pkg.apis.meta.v1.ObjectMeta": {
        "properties": {
            "labels": {"type": "object", "additionalProperties": {"type": "string"}},
            "finalizers": {
                "type": "array",
                "items": {"type": "string"},
                "x-kubernetes-list-type": "set",
                "x-kubernetes-patch-strategy": "merge",
            },
        }
    },
    "Container": {
        "properties": {
            "args": {"type": "array", "x-kubernetes-list-type": "atomic"},
            "ports": {
                "type": "array",
                "items": {"$ref": "#/$defs/Port"},
                "x-kubernetes-patch-strategy": "merge",
                "x-kubernetes-patch-merge-key": "containerPort",
                "x-kubernetes-list-type": "map",
                "x-kubernetes-list-map-keys": ["containerPort", "protocol"],
            },
        }
    },
    "Port": {"properties": {"containerPort": {"type": "integer"}, "protocol": {"type": "string", "default": "TCP"}}},
    "Selector": {"type": "object", "x-kubernetes-map-type": "atomic"},
    "Spec": {
        "properties": {
            "containers": {"type": "array", "items": {"$ref": "#/$defs/Container"}, **MERGED_BY_NAME},
            "volumes": {"type": "array", "items": {}, **MERGED_BY_NAME},
            "tolerations": {"type": "array", "items": {}, "x-kubernetes-list-type": "atomic"},
            "selector": {"allOf": [{"$ref": "#/$defs/Selector"}]},
            "strategy": {"type": "object"},
        }
    },
    "Thing": {"properties": {"spec": {"$ref": "#/$defs/Spec"}}},
}


@pytest.fixture(scope="session")
def thing() -> Shape:
    return Shapes(DEFINITIONS).root({"$ref": "#/$defs/Thing"})


def pytest_pyfunc_call(pyfuncitem: pytest.Function) -> bool | None:
    """Run a coroutine test on an event loop of its own."""
    if not inspect.iscoroutinefunction(pyfuncitem.obj):
        return None
    wanted = inspect.signature(pyfuncitem.obj).parameters
    arguments = {name: value for name, value in pyfuncitem.funcargs.items() if name in wanted}
    asyncio.run(asyncio.wait_for(pyfuncitem.obj(**arguments), 250))
    return True
