"""Repeated keys of configuration files: named with their lines, and the last one counts."""

from __future__ import annotations

import json

import pytest
import yaml

from volcano.api import yaml_text


@pytest.mark.parametrize(
    ("text", "remarks"),
    [
        ("a: 1\nb: {a: 1}\nc: [{a: 1}, {a: 2}]\n", []),
        ("a: 1\nb: 2\na: 3\n", ["line 3: the key 'a' is on line 1 already; the last one counts"]),
        ("x:\n- {b: 1, b: 2}\n", ["line 2: the key 'b' is on line 2 already; the last one counts"]),
        (
            "a: {c: 1,\n c: 2}\nb: 1\nb: 2\nb: 3\n",
            [
                "line 2: the key 'c' is on line 1 already; the last one counts",
                "line 4: the key 'b' is on line 3 already; the last one counts",
                "line 5: the key 'b' is on line 4 already; the last one counts",
            ],
        ),
        ("a: &x {b: 1,\n b: 2}\nc: *x\n", ["line 2: the key 'b' is on line 1 already; the last one counts"]),
        ("a: &x {b: 1}\nc:\n  <<: *x\n  b: 2\n", []),  # what a merge brings is there to be overridden
        ("1: a\n'1': b\n", []),  # a number and a text
    ],
)
def test_repeated_keys_are_named(text: str, remarks: list[str]) -> None:
    document, found = yaml_text.read(text)

    assert found == remarks
    assert document == yaml.safe_load(text)


@pytest.mark.parametrize("text", ["", "# nothing\n", "---\n", "null\n"])
def test_no_document_is_none(text: str) -> None:
    assert yaml_text.read(text) == (None, [])


@pytest.mark.parametrize("text", ["a: [", "a: 1\n---\nb: 2\n", "a: &x [*x]\nb: !!python/object:os.system x\n"])
def test_what_is_no_yaml_is_refused_as_ever(text: str) -> None:
    with pytest.raises(yaml.YAMLError):
        yaml_text.read(text)


@pytest.mark.parametrize(
    ("text", "remarks"),
    [
        ('{"a": 1, "b": {"a": 1}, "c": [{"a": 1}, {"a": "a"}]}', []),
        ('{"a": [],\n"b": {},\n"a": "{:"}', ["line 3: the key 'a' is on line 1 already; the last one counts"]),
        (
            '\n{"x": [{"q\\"": "q\\"",\n\t"q\\"": 2}], "x": 1}\n',
            [
                "line 3: the key 'q\"' is on line 2 already; the last one counts",
                "line 3: the key 'x' is on line 2 already; the last one counts",
            ],
        ),
        ('{"\\u0061": 1, "a": 2}', ["line 1: the key 'a' is on line 1 already; the last one counts"]),
        ('"{"', []),
    ],
)
def test_repeated_keys_of_json_are_named(text: str, remarks: list[str]) -> None:
    json.loads(text)  # it is JSON, as it must be

    assert yaml_text.repeated_in_json(text) == remarks
