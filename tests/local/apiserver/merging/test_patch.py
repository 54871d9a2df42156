from __future__ import annotations

import contextlib
import copy
from typing import Any

import pytest
from hypothesis import given, strategies as st

from volcano.local.apiserver.faults import BadRequest, PatchError, Unprocessable
from volcano.local.apiserver.merging.patch import MAX_OPERATIONS, json_patch, merge_patch

JSON = st.recursive(
    st.none() | st.booleans() | st.integers(-5, 5) | st.text("ab~/-0", max_size=3),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text("ab~/", max_size=2), inner, max_size=3),
    max_leaves=8,
)


@pytest.mark.parametrize(
    ("document", "patch", "result"),
    [
        ({"a": "b"}, {"a": "c"}, {"a": "c"}),
        ({"a": "b"}, {"b": "c"}, {"a": "b", "b": "c"}),
        ({"a": "b", "b": 1}, {"a": None}, {"b": 1}),
        ({"a": ["b"]}, {"a": "c"}, {"a": "c"}),
        ({"a": {"b": "c"}}, {"a": {"b": "d", "c": None}}, {"a": {"b": "d"}}),
        ({"a": [{"b": "c"}]}, {"a": [1]}, {"a": [1]}),
        ({"e": None}, {"a": 1}, {"e": None, "a": 1}),
        ({}, {"a": {"bb": {"ccc": None}}}, {"a": {"bb": {}}}),
        ({"a": "foo"}, "bar", "bar"),
        ([1, 2], {"a": "b", "c": None}, {"a": "b"}),
    ],
)
def test_a_merge_patch_follows_its_rfc(document: Any, patch: Any, result: Any) -> None:
    before = copy.deepcopy(document)
    assert merge_patch(document, patch) == result
    assert document == before


@pytest.mark.parametrize(
    ("document", "operations", "result"),
    [
        ({"a": 1}, [{"op": "add", "path": "/b", "value": [2]}], {"a": 1, "b": [2]}),
        ({"a": [1, 3]}, [{"op": "add", "path": "/a/1", "value": 2}], {"a": [1, 2, 3]}),
        ({"a": [1]}, [{"op": "add", "path": "/a/-", "value": 2}], {"a": [1, 2]}),
        ({"a": [1, 2]}, [{"op": "remove", "path": "/a/0"}], {"a": [2]}),
        ({"a/b": {"~": 1}}, [{"op": "replace", "path": "/a~1b/~0", "value": 2}], {"a/b": {"~": 2}}),
        ({"a": {"b": 1}, "c": {}}, [{"op": "move", "from": "/a/b", "path": "/c/d"}], {"a": {}, "c": {"d": 1}}),
        ({"a": {"b": 1}}, [{"op": "copy", "from": "/a", "path": "/c"}], {"a": {"b": 1}, "c": {"b": 1}}),
        ({"a": 1}, [{"op": "test", "path": "/a", "value": 1.0}], {"a": 1}),
        ({"a": 1}, [{"op": "test", "path": "/b", "value": None}], {"a": 1}),
        ({"a": 1}, [{"op": "replace", "path": "", "value": {"b": 2}}], {"b": 2}),
        # Where Kubernetes is more lenient than the RFC:
        ({}, [{"op": "replace", "path": "/a", "value": 1}], {"a": 1}),
        ({}, [{"op": "copy", "from": "/a", "path": "/b"}], {"b": None}),
        ({}, [{"op": "add", "path": "/a"}], {"a": None}),
        ({}, [{"op": "add", "path": "x/a", "value": 1}], {"a": 1}),
        ({"a": [1, 2]}, [{"op": "remove", "path": "/a/-1"}], {"a": [1]}),
    ],
)
def test_a_json_patch_follows_its_rfc(document: Any, operations: Any, result: Any) -> None:
    before = copy.deepcopy(document)
    assert json_patch(document, operations) == result
    assert document == before


@pytest.mark.parametrize(
    ("operations", "status", "message"),
    [
        ({"op": "add"}, 400, "a JSON patch is a list"),
        (["add"], 400, "operation 0 is not an object"),
        ([{"op": "append", "path": "/a"}], 422, "unknown op 'append'"),
        ([{"op": "add", "value": 1}], 422, "has no 'path'"),
        ([{"op": "add", "path": "a", "value": 1}], 422, "must be empty or start with '/'"),
        ([{"op": "remove", "path": "/x"}], 422, "missing path: '/x'"),
        ([{"op": "replace", "path": "/x/y", "value": 1}], 422, "missing path: '/x/y'"),
        ([{"op": "add", "path": "/list/7", "value": 1}], 422, "out of bounds"),
        ([{"op": "add", "path": "/list/one", "value": 1}], 422, "no list index"),
        ([{"op": "add", "path": "/text/x", "value": 1}], 422, "missing path"),
        ([{"op": "move", "from": "/map", "path": "/map/b"}], 422, "into itself"),
        ([{"op": "test", "path": "/text", "value": "u"}], 422, "testing path /text failed"),
        ([{"op": "test", "path": "/true", "value": 1}], 422, "testing path /true failed"),
        ([{"op": "test", "path": "/a", "value": 1}] * (MAX_OPERATIONS + 1), 413, "maximum operations"),
    ],
)
def test_a_json_patch_that_does_not_fit_is_refused(operations: Any, status: int, message: str) -> None:
    document = {"list": [1], "text": "t", "map": {}, "true": True}
    with pytest.raises(PatchError) as refusal:
        json_patch(document, operations)
    assert refusal.value.status == status
    assert message in str([refusal.value.message, *refusal.value.causes])
    assert document == {"list": [1], "text": "t", "map": {}, "true": True}


OPERATIONS = st.fixed_dictionaries(
    {"op": st.sampled_from(["add", "remove", "replace", "move", "copy", "test"])},
    optional={"path": st.text("/ab~0-1", max_size=5), "from": st.text("/ab~0-1", max_size=5), "value": JSON},
)


@given(JSON, st.lists(OPERATIONS, max_size=4))
def test_a_json_patch_works_or_is_refused_and_never_touches_its_input(document: Any, operations: Any) -> None:
    before = copy.deepcopy(document)
    with contextlib.suppress(BadRequest, Unprocessable):
        json_patch(document, operations)
    assert document == before


@given(JSON, JSON)
def test_merging_twice_changes_nothing_more(document: Any, patch: Any) -> None:
    once = merge_patch(document, patch)
    assert merge_patch(once, patch) == once
