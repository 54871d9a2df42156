"""What a rule allows, and what a list of rules covers."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given, strategies as st

from volcano.local.apiserver.access.rbac.rules import Question, Rule, describe, missing

WORDS = st.lists(st.sampled_from(["a", "b", "*"]), min_size=1, max_size=2)
RULES = st.fixed_dictionaries(
    {"verbs": WORDS, "apiGroups": WORDS, "resources": st.lists(st.sampled_from(["x", "x/s", "*/s", "*"]), min_size=1)},
    optional={"resourceNames": st.lists(st.sampled_from(["n", "m"]), min_size=1, max_size=2)},
)


def rule(verbs: str, resources: str, group: str = "", **more: Any) -> dict[str, Any]:
    return {"verbs": verbs.split(), "apiGroups": [group], "resources": resources.split(), **more}


@pytest.mark.parametrize(
    ("document", "question", "allowed"),
    [
        (rule("get list", "pods"), Question("get", "", "pods", name="a"), True),
        (rule("get", "pods"), Question("list", "", "pods"), False),
        (rule("get", "pods"), Question("get", "apps", "pods"), False),
        (rule("get", "pods"), Question("get", "", "pods", "log"), False),
        (rule("get", "pods/log"), Question("get", "", "pods", "log"), True),
        (rule("update", "*/scale", "apps"), Question("update", "apps", "deployments", "scale"), True),
        (rule("update", "*/scale", "apps"), Question("update", "apps", "deployments"), False),
        (rule("*", "*", "*"), Question("escalate", "any", "thing", "sub"), True),
        (rule("get", "pods", resourceNames=["a"]), Question("get", "", "pods", name="a"), True),
        (rule("get", "pods", resourceNames=["a"]), Question("list", "", "pods"), False),
        ({"verbs": ["get"], "nonResourceURLs": ["/healthz/*"]}, Question("get", path="/healthz/ping"), True),
        ({"verbs": ["get"], "nonResourceURLs": ["/healthz"]}, Question("get", path="/healthz/ping"), False),
        ({"verbs": ["get"], "nonResourceURLs": ["*"]}, Question("post", path="/x"), False),
    ],
)
def test_a_rule_allows_what_it_names(document: dict[str, Any], question: Question, allowed: bool) -> None:
    assert Rule(document).allows(question) is allowed


@given(RULES)
def test_every_rule_covers_itself(document: dict[str, Any]) -> None:
    assert missing([Rule(document)], [document]) == []


@given(st.lists(RULES, max_size=3), RULES, st.sampled_from(["a", "b"]), st.sampled_from(["x", "x/s"]))
def test_what_is_covered_allows_nothing_new(
    owned: list[dict[str, Any]], wanted: dict[str, Any], word: str, resource: str
) -> None:
    plural, _, subresource = resource.partition("/")
    question = Question(word, word, plural, subresource, name="n")
    rules = [Rule(item) for item in owned]
    if not missing(rules, [wanted]) and Rule(wanted).allows(question):
        assert any(item.allows(question) for item in rules)


def test_what_is_missing_is_described_resource_by_resource() -> None:
    lacking = missing(
        [Rule(rule("get", "pods"))],
        [rule("get list watch", "pods secrets"), {"verbs": ["get"], "nonResourceURLs": ["/x"]}],
    )

    assert describe(lacking) == [
        '{APIGroups:[""], Resources:["pods"], Verbs:["list" "watch"]}',
        '{APIGroups:[""], Resources:["secrets"], Verbs:["get" "list" "watch"]}',
        '{NonResourceURLs:["/x"], Verbs:["get"]}',
    ]
