"""Lines of etcd's watches are read as what they say."""

from __future__ import annotations

import base64
import json
from typing import Any

from tests.chaos.history import Change, Lost, prefix_of, told
from volcano.api.resources import JOBS, PODS


def kv(version: int, uid: str = "") -> dict[str, Any]:
    value = base64.b64encode(json.dumps({"metadata": {"name": "a", "uid": uid}}).encode()).decode()
    return {"key": "L3JlZ2lzdHJ5", "mod_revision": str(version), **({"value": value} if uid else {})}


def read(result: dict[str, Any]) -> list[Change | Lost]:
    return list(told(json.dumps({"result": result}).encode(), "pods", 5.0))


def test_a_change_has_the_version_of_its_write_and_of_what_is_gone_the_last_state() -> None:
    events = [{"kv": kv(7, "u1")}, {"type": "DELETE", "kv": kv(8), "prev_kv": kv(7, "u1")}]
    found = {"metadata": {"name": "a", "uid": "u1"}}
    assert read({"events": events}) == [Change(7, 5.0, "pods", False, found), Change(8, 5.0, "pods", True, found)]


def test_a_history_that_is_forgotten_is_told() -> None:
    assert read({"canceled": True, "compact_revision": "40"}) == [Lost(40)]
    assert read({"created": True}) == []


def test_keys_are_where_the_api_server_keeps_them() -> None:
    assert prefix_of(PODS, "default") == "/registry/pods/default/"
    assert prefix_of(JOBS, "default") == "/registry/batch.volcano.sh/jobs/default/"
