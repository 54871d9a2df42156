"""Lets commands that run in a test's process meet a server there."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import AbstractAsyncContextManager
from typing import Any

import pytest

from volcano.cli import connection


def reach(monkeypatch: pytest.MonkeyPatch, connected: Callable[[str, str], AbstractAsyncContextManager[Any]]) -> None:
    """Commands get their client from `connected` (master, kubeconfig), on an event loop: servers here take one."""

    def reached(master: str, kubeconfig: str, *, loop: bool) -> tuple[AbstractAsyncContextManager[Any], bool]:
        return connected(master, kubeconfig), True

    monkeypatch.setattr(connection, "reach", reached)
