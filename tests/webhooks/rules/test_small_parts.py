"""The parts rules are made of: patches, names, graphs, cron expressions, decoding."""

from __future__ import annotations

import copy

import pytest
from hypothesis import given, strategies as st

from volcano.api.batch import Job
from volcano.local.apiserver.merging.patch import json_patch
from volcano.webhooks.rules import names
from volcano.webhooks.rules.decode import MalformedObject, decoded
from volcano.webhooks.rules.edits import Edits
from volcano.webhooks.rules.graphs import topological_order

TOKENS = st.sampled_from(["spec", "metadata", "annotations", "a/b", "c~d", "x"])
DOCUMENTS = st.recursive(st.integers(), lambda inner: st.dictionaries(TOKENS, inner, max_size=3), max_leaves=6)


@given(st.dictionaries(TOKENS, DOCUMENTS, max_size=3), st.lists(TOKENS, min_size=1, max_size=3), st.integers())
def test_the_patch_says_what_was_done_to_the_document(document, path, value):
    parent = document
    for token in path[:-1]:
        parent = parent.get(token, {}) if isinstance(parent, dict) else None
    if not isinstance(parent, dict):
        return
    before = copy.deepcopy(document)
    edits = Edits(document)

    edits.add(value, *path)

    assert document == before
    assert json_patch(document, edits.operations) == edits.document


@pytest.mark.parametrize(
    ("check", "good", "bad"),
    [
        (
            names.qualified_name,
            ["a", "A.b_c-1", "example.com/x"],
            ["", "-a", "a/b/c", "/x", "x/", "n" * 64, "UP.com/x"],
        ),
        (names.dns_label, ["a", "a-1"], ["", "A", "a.b", "-a", "a" * 64]),
        (names.subdomain, ["a.b-c.d"], ["", "a..b", "A", "a" * 254]),
        (names.label_value, ["", "A_1.b"], ["-a", "a" * 64, "a/b"]),
        (names.port_name, ["http", "a-1"], ["", "80", "a--b", "-a", "p" * 16, "A"]),
    ],
)
def test_names(check, good, bad):
    assert [name for name in good if check(name)] == []
    assert [name for name in bad if not check(name)] == []


def test_an_order_exists_unless_there_is_a_circle_or_a_gap():
    assert topological_order({"c": ["a", "b"], "b": ["a"], "a": []}) == ["a", "b", "c"]
    assert topological_order({"a": ["a"]}) is None
    assert topological_order({"a": ["b"], "b": ["a"], "c": []}) is None
    assert topological_order({"a": ["nobody"]}) is None


def test_nulls_count_as_absent():
    assert decoded({"spec": {"plugins": None, "tasks": None}}, Job).spec.tasks == []


def test_a_wrong_type_is_told_with_its_path():
    with pytest.raises(MalformedObject) as told:
        decoded({"spec": {"tasks": [{"replicas": "x"}]}}, Job)

    assert told.value.cause.field == "spec.tasks[0].replicas"
