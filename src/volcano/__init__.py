"""Volcano, the batch scheduler for Kubernetes, in Python.

What programs need of it is here: `Client`, `AsyncClient` and whatever else `volcano.sdk` lists, loaded when asked for.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from volcano.sdk import *  # noqa: F403

__version__ = "0.1.0"


def __getattr__(name: str) -> Any:
    from importlib import import_module

    if not name.startswith("_"):
        sdk = import_module("volcano.sdk")
        if name in sdk.__all__:
            return getattr(sdk, name)
    raise AttributeError(f"module 'volcano' has no attribute {name!r}")
