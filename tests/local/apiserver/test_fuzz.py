"""Documents that are JSON and make no sense: read or refused with a 4xx, in bounded time, and what is stored stays.

`tests/fuzz` sends bytes to the parsers; here every input gets beyond them. FUZZ_EXAMPLES says how many each gets.
"""

from __future__ import annotations

import json
import os
from functools import partial
from typing import Any

import pytest
from hypothesis import given, settings, strategies as st

from tests.local.apiserver.api import APPLY, CONFIGMAPS, JSON_PATCH, MERGE, STRATEGIC, api, configmap
from volcano.api.resources import PODS
from volcano.local.apiserver.catalog.kinds import Kinds
from volcano.local.apiserver.catalog.registry import Registry
from volcano.local.apiserver.faults import PatchError
from volcano.local.apiserver.merging import patch
from volcano.local.apiserver.merging.apply import apply_patch
from volcano.local.apiserver.merging.managers import Managers
from volcano.local.apiserver.merging.ownership import keep_account, key_of
from volcano.local.apiserver.merging.patch import json_patch, merge_patch
from volcano.local.apiserver.merging.shapes import shape_of
from volcano.local.apiserver.merging.strategic import strategic_patch

FEW = settings(max_examples=int(os.environ.get("FUZZ_EXAMPLES", "60")))
INFO = Registry.standard().get(PODS)
NAMES = st.sampled_from(
    ["metadata", "spec", "containers", "name", "env", "ports", "labels", "$patch", "$retainKeys", "finalizers", "x"]
)
JSON = st.recursive(
    st.none() | st.booleans() | st.integers(-3, 3) | st.text(max_size=4) | st.sampled_from(["delete", "replace", "a"]),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(NAMES | st.text(max_size=3), inner, max_size=4),
    max_leaves=12,
)
FIELDS = st.recursive(
    st.just({}),
    lambda inner: st.dictionaries(
        st.sampled_from([".", "f:spec", "f:x", 'k:{"name":"a"}', "k:{", "v:1"]) | NAMES, inner
    ),
)
ENTRIES = st.fixed_dictionaries(
    {"manager": NAMES, "operation": st.sampled_from(["Apply", "Update"]), "apiVersion": st.just("v1")},
    optional={"fieldsType": st.just("FieldsV1"), "fieldsV1": FIELDS | JSON, "time": st.text(max_size=3)},
)
POD: dict[str, Any] = {
    "apiVersion": "v1",
    "kind": "Pod",
    "metadata": {"name": "a", "labels": {"x": "y"}, "finalizers": ["f/g"]},
    "spec": {"containers": [{"name": "a", "env": [{"name": "A", "value": "1"}], "ports": [{"containerPort": 1}]}]},
}


@FEW
@given(JSON)
def test_merge_and_strategic_patches(body: Any) -> None:
    before = json.dumps(POD)
    refused_or_read(lambda: merge_patch(POD, body))
    refused_or_read(lambda: strategic_patch(POD, body, shape_of(INFO)))
    assert json.dumps(POD) == before


@FEW
@given(
    st.lists(
        st.dictionaries(
            st.sampled_from(["op", "path", "from", "value"]),
            st.sampled_from(["add", "copy", "move", "test", "remove", "", "/", "/spec", "/metadata/labels/x", "/-1"])
            | JSON,
        )
        | JSON,
        max_size=4,
    )
    | JSON
)
def test_json_patches(operations: Any) -> None:
    before = json.dumps(POD)
    refused_or_read(lambda: json_patch(POD, operations))
    assert json.dumps(POD) == before


@FEW
@given(st.dictionaries(NAMES, JSON, max_size=3), st.lists(ENTRIES, max_size=3) | JSON)
def test_applied_configurations_and_managers(applied: dict[str, Any], entries: Any) -> None:
    configuration = {**applied, "apiVersion": "v1", "kind": "Pod", "metadata": {"name": "a"}}
    live = {**POD, "metadata": {**POD["metadata"], "managedFields": Managers.sent(entries).entries()}}
    for force in (False, True):
        apply = partial(apply_patch, live, configuration, "m", shape_of(INFO), force=force, now="2026-01-01T00:00:00Z")
        refused_or_read(apply)
    new = {**POD, "metadata": {**POD["metadata"], "managedFields": entries}}
    keep_account(live, new, key_of("m", "v1", ""), shape_of(INFO), "2026-01-01T00:00:00Z", ())


@FEW
@given(JSON)
def test_kinds(document: Any) -> None:
    kinds = Kinds()
    if isinstance(document, dict):
        document.setdefault("metadata", {})
        compiled = kinds.check(INFO, document)
        assert isinstance(compiled, list)
        if not compiled:
            kinds.bring_into_form(INFO, document)


def refused_or_read(read: Any) -> None:
    status = 400
    try:
        read()
    except PatchError as error:
        status = error.status
    assert 400 <= status < 500


@pytest.mark.parametrize("kind", [MERGE, STRATEGIC, JSON_PATCH, APPLY, "application/json"])
async def test_nobody_digs_too_deep(kind: str) -> None:
    body = b'{"a":' * 5000 + b"1" + b"}" * 5000
    async with api() as call:
        await call.made(CONFIGMAPS, configmap("a"))
        method, path = ("POST", CONFIGMAPS) if kind == "application/json" else ("PATCH", f"{CONFIGMAPS}/a")
        answer = await call(method, path, body, kind, fieldManager="m")
        assert answer.status == 400


def test_a_patch_cannot_grow_an_object_without_end() -> None:
    doubling = [{"op": "copy", "from": "/a", "path": f"/a/{number}"} for number in range(64)]
    with pytest.raises(PatchError) as refusal:
        json_patch({"a": {"x": "y" * 1000}}, doubling)
    assert refusal.value.status == 422
    assert str(patch.MAX_COPIED_BYTES) in str(refusal.value.causes)
