from __future__ import annotations

import pytest
from hypothesis import given, strategies as st

from volcano.local.apiserver.faults import SelectorError
from volcano.local.apiserver.verbs.selectors import parse_field_selector, parse_label_selector, supported_fields


@pytest.mark.parametrize(
    ("text", "labels", "matches"),
    [
        ("", {}, True),
        ("a=b", {"a": "b"}, True),
        ("a==b", {"a": "c"}, False),
        ("a=", {"a": ""}, True),
        ("a=", {}, False),
        ("a!=b", {}, True),
        ("a in (b, c)", {"a": "c"}, True),
        ("a in (b,)", {"a": ""}, True),
        ("a notin (b)", {}, True),
        ("a notin (b)", {"a": "b"}, False),
        ("a", {"a": "anything"}, True),
        ("!a", {"a": ""}, False),
        ("volcano.sh/job-name=x,!b", {"volcano.sh/job-name": "x"}, True),
        ("n>3", {"n": "4"}, True),
        ("n<3", {"n": "words"}, False),
        ("in in (in)", {"in": "in"}, True),
    ],
)
def test_a_label_selector_matches(text: str, labels: dict[str, str], *, matches: bool) -> None:
    assert parse_label_selector(text).matches(labels) is matches


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("a b", "unable to parse requirement: found 'b', expected: in, notin, =, ==, !=, gt, lt"),
        ("a in", "unable to parse requirement: found '' expected: '('"),
        ("a,,b", "found ',', expected: identifier after ','"),
        ("a=b=c", "found '=', expected: ',' or 'end of string'"),
        ("=a", "found '=', expected: !, identifier, or 'end of string'"),
        ("a in (b", "found '', expected: ',' or ')'"),
        ("-a", "name part must consist of alphanumeric characters"),
        ("a=" + "x" * 64, "must be no more than 63 characters"),
        ("UP/a", "prefix part a lowercase RFC 1123 subdomain"),
        ("n>x", "the value must be an integer"),
    ],
)
def test_a_bad_label_selector_is_refused_in_kubernetes_words(text: str, message: str) -> None:
    with pytest.raises(SelectorError) as refusal:
        parse_label_selector(text)
    assert message in refusal.value.message
    assert refusal.value.status == 400


@given(st.text(alphabet="ab=!,()< >in.-/", max_size=24))
def test_label_selectors_are_parsed_or_refused_and_print_what_they_mean(text: str) -> None:
    try:
        selector = parse_label_selector(text)
    except SelectorError:
        return
    again = parse_label_selector(str(selector))
    for labels in ({}, {"a": "b"}, {"b": "", "a": "ab"}):
        assert again.matches(labels) == selector.matches(labels)


def test_field_selectors_compare_the_text_of_fields() -> None:
    pod = {"metadata": {"name": "a,b"}, "spec": {"nodeName": "n1"}, "status": {"phase": "Running"}}
    assert parse_field_selector(r"metadata.name=a\,b,spec.nodeName==n1,status.phase!=Failed").matches(pod)
    assert parse_field_selector("spec.hostNetwork=false").matches(pod)
    assert not parse_field_selector("spec.nodeName=").matches(pod)
    assert parse_field_selector("spec.nodeName=").matches({"spec": {}})


def test_field_selectors_know_the_fields_of_a_resource() -> None:
    assert parse_field_selector("metadata.name=x", supported_fields("", "pods")).exact("metadata.name") == "x"
    assert parse_field_selector(
        "spec.queue=q", supported_fields("batch.volcano.sh", "jobs", [".spec.queue"])
    ).requirements
    with pytest.raises(SelectorError, match=r"field label not supported: spec\.image"):
        parse_field_selector("spec.image=x", supported_fields("", "pods"))


def test_the_source_of_an_event_is_its_component() -> None:
    by_source = parse_field_selector("source=vc-scheduler")
    assert by_source.matches({"source": {"component": "vc-scheduler"}})
    assert by_source.matches({"reportingComponent": "vc-scheduler"})


@pytest.mark.parametrize("text", ["a", "a=b=c", "a=b\\c", "=="])
def test_a_field_selector_that_cannot_be_understood_says_so(text: str) -> None:
    if text == "==":
        assert parse_field_selector(text).requirements[0].path == ""
        return
    with pytest.raises(SelectorError, match="invalid selector"):
        parse_field_selector(text)
