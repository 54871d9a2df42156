"""The schema engine prunes, defaults and validates like Kubernetes, and says so in its words."""

from __future__ import annotations

import copy
from typing import Any

import pytest

from volcano.api import schema
from volcano.api.schema import SchemaError

STRING = {"type": "string"}
INTEGER = {"type": "integer"}


def spec(**properties: Any) -> dict[str, Any]:
    return {"type": "object", "properties": {"spec": {"type": "object", "properties": properties}}}


def clean(node: dict[str, Any], document: Any) -> tuple[Any, list[str]]:
    document = copy.deepcopy(document)
    unknown = schema.compile(node, root=False).clean(document)
    return document, unknown


def faults(node: dict[str, Any], document: Any) -> list[str]:
    return [str(error) for error in schema.compile(node, root=False).validate(document)]


@pytest.mark.parametrize(
    ("node", "value", "expected"),
    [
        (INTEGER, "1", 'spec.x: Invalid value: "string": spec.x in body must be of type integer: "string"'),
        (INTEGER, 1.5, 'spec.x: Invalid value: "number": spec.x in body must be of type integer: "number"'),
        (INTEGER, True, 'spec.x: Invalid value: "boolean": spec.x in body must be of type integer: "boolean"'),
        (STRING, 1, 'spec.x: Invalid value: "integer": spec.x in body must be of type string: "integer"'),
        (STRING, [], 'spec.x: Invalid value: "array": spec.x in body must be of type string: "array"'),
        ({"type": "boolean"}, 0, 'spec.x: Invalid value: "integer": spec.x in body must be of type boolean: "integer"'),
        (
            {"type": "object", "properties": {}},
            "a",
            'spec.x: Invalid value: "string": spec.x in body must be of type object: "string"',
        ),
        (
            {"type": "array", "items": STRING},
            {},
            'spec.x: Invalid value: "object": spec.x in body must be of type array: "object"',
        ),
        (
            {**INTEGER, "minimum": 0},
            -1,
            "spec.x: Invalid value: -1: spec.x in body should be greater than or equal to 0",
        ),
        (
            {**INTEGER, "minimum": 0, "exclusiveMinimum": True},
            0,
            "spec.x: Invalid value: 0: spec.x in body should be greater than 0",
        ),
        (
            {**INTEGER, "maximum": 65535},
            65536,
            "spec.x: Invalid value: 65536: spec.x in body should be less than or equal to 65535",
        ),
        (
            {**INTEGER, "multipleOf": 5},
            7,
            "spec.x: Invalid value: 7: spec.x in body should be a multiple of 5",
        ),
        (
            {**STRING, "minLength": 1},
            "",
            'spec.x: Invalid value: "": spec.x in body should be at least 1 chars long',
        ),
        ({**STRING, "maxLength": 3}, "abcd", "spec.x: Too long: may not be more than 3 bytes"),
        (
            {**STRING, "pattern": "^[a-z]+$"},
            "A",
            "spec.x: Invalid value: \"A\": spec.x in body should match '^[a-z]+$'",
        ),
        (
            {**STRING, "enum": ["a", "b"]},
            "x",
            'spec.x: Unsupported value: "x": supported values: "a", "b"',
        ),
        (
            {**STRING, "format": "date-time"},
            "soon",
            'spec.x: Invalid value: "soon": spec.x in body must be of type date-time: "soon"',
        ),
        (
            {"type": "array", "items": STRING, "minItems": 1},
            [],
            "spec.x: Invalid value: 0: spec.x in body should have at least 1 items",
        ),
        (
            {"type": "array", "items": STRING, "maxItems": 1},
            ["a", "b"],
            "spec.x: Too many: 2: must have at most 1 items",
        ),
        (
            {"type": "array", "items": STRING, "x-kubernetes-list-type": "set"},
            ["a", "b", "a"],
            'spec.x[2]: Duplicate value: "a"',
        ),
        (
            {
                "type": "array",
                "items": {"type": "object", "properties": {"name": STRING, "v": INTEGER}},
                "x-kubernetes-list-type": "map",
                "x-kubernetes-list-map-keys": ["name"],
            },
            [{"name": "a", "v": 1}, {"name": "a", "v": 2}],
            'spec.x[1]: Duplicate value: {"name":"a"}',
        ),
        (
            {"type": "object", "required": ["name"], "properties": {"name": STRING}},
            {},
            "spec.x.name: Required value",
        ),
        (
            {"type": "object", "additionalProperties": INTEGER},
            {"cpu": "1"},
            'spec.x.cpu: Invalid value: "string": spec.x.cpu in body must be of type integer: "string"',
        ),
        (
            {"type": "array", "items": {"type": "object", "properties": {"n": {**INTEGER, "minimum": 0}}}},
            [{"n": 0}, {"n": -1}],
            "spec.x[1].n: Invalid value: -1: spec.x[1].n in body should be greater than or equal to 0",
        ),
        (
            {"x-kubernetes-int-or-string": True},
            [],
            'spec.x: Invalid value: "array": spec.x in body must be of type integer,string: "array"',
        ),
        (
            {"type": "object", "properties": {}, "minProperties": 1},
            {},
            "spec.x: Invalid value: 0: spec.x in body should have at least 1 properties",
        ),
    ],
)
def test_a_wrong_value_is_reported_in_kubernetes_words(node: dict[str, Any], value: Any, expected: str) -> None:
    assert faults(spec(x=node), {"spec": {"x": value}}) == [expected]


@pytest.mark.parametrize(
    ("node", "value"),
    [
        (INTEGER, 1),
        (INTEGER, 2.0),
        ({"type": "number"}, 1.5),
        ({"type": "number"}, 1),
        ({**STRING, "nullable": True}, None),
        ({**STRING, "pattern": "b"}, "abc"),
        ({**STRING, "pattern": r"^[[:alpha:]]+\z"}, "abc"),
        ({**STRING, "format": "date-time"}, "2026-01-02T03:04:05.123+01:00"),
        ({**STRING, "format": "of our own"}, "anything"),
        ({"x-kubernetes-int-or-string": True, "anyOf": [INTEGER, STRING]}, "50%"),
        ({"x-kubernetes-int-or-string": True, "anyOf": [INTEGER, STRING]}, 5),
        ({"type": "array", "items": {"type": "object", "properties": {}}, "x-kubernetes-list-type": "map"}, [{}]),
        ({}, {"anything": ["goes"]}),
    ],
)
def test_a_right_value_passes(node: dict[str, Any], value: Any) -> None:
    assert faults(spec(x=node), {"spec": {"x": value}}) == []


def test_a_pattern_does_not_accept_a_newline_at_the_end() -> None:
    assert faults({**STRING, "pattern": "^a$"}, "a\n") != []


def test_everything_wrong_is_reported_at_once() -> None:
    node = spec(a=INTEGER, b={"type": "array", "items": INTEGER})

    assert [fault.partition(":")[0] for fault in faults(node, {"spec": {"a": "x", "b": [1, "2", "3"]}})] == [
        "spec.a",
        "spec.b[1]",
        "spec.b[2]",
    ]


@pytest.mark.parametrize(
    ("junction", "good", "bad"),
    [
        ({"allOf": [{"minimum": 1}, {"maximum": 3}]}, 2, 4),
        ({"anyOf": [{"maximum": 1}, {"minimum": 3}]}, 3, 2),
        ({"oneOf": [{"minimum": 1}, {"minimum": 3}]}, 2, 4),
        ({"not": {"enum": [2]}}, 1, 2),
    ],
)
def test_junctions(junction: dict[str, Any], good: int, bad: int) -> None:
    assert faults({**INTEGER, **junction}, good) == []
    assert len(faults({**INTEGER, **junction}, bad)) == 1


def test_required_in_a_junction() -> None:
    node = {
        "type": "object",
        "properties": {"a": STRING, "b": STRING},
        "oneOf": [{"required": ["a"]}, {"required": ["b"]}],
    }

    assert faults(node, {"a": ""}) == []
    assert len(faults(node, {})) == len(faults(node, {"a": "", "b": ""})) == 1


def test_unknown_fields_are_dropped_and_named() -> None:
    node = spec(x=STRING, list={"type": "array", "items": {"type": "object", "properties": {"a": STRING}}})
    document = {"spec": {"x": "", "y": 1, "list": [{"a": "1"}, {"b": {}}]}, "other": 1}

    assert clean(node, document) == (
        {"spec": {"x": "", "list": [{"a": "1"}, {}]}},
        ["spec.y", "spec.list[1].b", "other"],
    )


def test_a_place_may_keep_what_it_does_not_know() -> None:
    node = spec(x={"type": "object", "x-kubernetes-preserve-unknown-fields": True, "properties": {"a": INTEGER}})

    assert clean(node, {"spec": {"x": {"b": {"c": None}}}}) == ({"spec": {"x": {"b": {"c": None}}}}, [])
    assert len(faults(node, {"spec": {"x": {"a": "1", "b": 1}}})) == 1


def test_defaults_fill_gaps_of_objects_that_exist() -> None:
    node = spec(
        n={**INTEGER, "default": 3},
        inner={"type": "object", "properties": {"mode": {**STRING, "default": "hard"}}},
        made={"type": "object", "default": {}, "properties": {"deep": {**INTEGER, "default": 7}}},
    )

    assert clean(node, {}) == ({}, [])
    assert clean(node, {"spec": {}}) == ({"spec": {"n": 3, "made": {"deep": 7}}}, [])
    assert clean(node, {"spec": {"n": 0, "inner": {}}})[0] == {
        "spec": {"n": 0, "inner": {"mode": "hard"}, "made": {"deep": 7}}
    }


def test_a_default_is_not_shared_between_objects() -> None:
    compiled = schema.compile(spec(labels={"type": "object", "default": {"a": {}}, "additionalProperties": True}))
    first: dict[str, Any] = {"spec": {}}
    second: dict[str, Any] = {"spec": {}}
    compiled.clean(first)
    compiled.clean(second)

    first["spec"]["labels"]["a"]["changed"] = 1

    assert second["spec"]["labels"] == {"a": {}}


def test_null_counts_as_absent_unless_it_is_allowed() -> None:
    node = spec(
        gone=STRING,
        filled={**INTEGER, "default": 3},
        kept={**STRING, "nullable": True, "default": "x"},
        map={"type": "object", "additionalProperties": STRING},
    )

    assert clean(node, {"spec": {"gone": None, "filled": None, "kept": None, "map": {"a": None, "b": "1"}}})[0] == {
        "spec": {"filled": 3, "kept": None, "map": {"b": "1"}}
    }


def test_cleaning_twice_changes_nothing() -> None:
    node = spec(a={**INTEGER, "default": 1}, b={"type": "object", "properties": {"c": {**STRING, "default": "d"}}})
    once, _ = clean(node, {"spec": {"b": {}, "z": 1}})

    assert clean(node, once) == (once, [])


def test_an_embedded_resource_keeps_its_identity() -> None:
    node = {"type": "object", "x-kubernetes-embedded-resource": True, "properties": {"spec": {"type": "object"}}}
    document = {"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "a"}, "x": 1}

    assert clean(node, document) == ({"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "a"}}, ["x"])


def test_definitions_may_refer_to_themselves() -> None:
    tree = {"type": "object", "properties": {"value": INTEGER, "left": {"$ref": "#/$defs/tree"}}}
    compiled = schema.compile({"$ref": "#/$defs/tree"}, {"tree": tree}.__getitem__, root=False)
    document = {"value": 1, "left": {"value": 2, "left": {"value": "x", "y": 1}}}

    assert compiled.clean(document) == ["left.left.y"]
    assert [error.path for error in compiled.validate(document)] == ["left.left.value"]


@pytest.mark.parametrize(
    ("rule", "good", "bad"),
    [
        ("has(self.a) || has(self.b)", [{"a": 1}, {"b": 1}], [{}]),
        ("(has(self.a) ? 1 : 0) + (has(self.b) ? 1 : 0) <= 1", [{}, {"a": 1}], [{"a": 1, "b": 1}]),
        ("!has(self.a) || has(self.a.b)", [{}, {"a": {"b": 1}}], [{"a": {}}]),
        ("has(self.a) == has(self.b)", [{}, {"a": 1, "b": 1}], [{"a": 1}]),
    ],
)
def test_rules_about_which_fields_are_present(rule: str, good: list[Any], bad: list[Any]) -> None:
    node = {
        "type": "object",
        "x-kubernetes-preserve-unknown-fields": True,
        "x-kubernetes-validations": [{"rule": rule, "message": "choose"}],
    }

    assert [faults(node, value) for value in good] == [[]] * len(good)
    assert [faults(node, value) for value in bad] == [['Invalid value: "object": choose']] * len(bad)


def test_a_rule_beyond_our_means_is_skipped() -> None:
    node = {"type": "object", "properties": {}, "x-kubernetes-validations": [{"rule": "self.a.startsWith('x')"}]}

    assert faults(node, {}) == []


def test_an_unusable_pattern_is_the_schemas_fault() -> None:
    with pytest.raises(SchemaError, match="not a usable regular expression"):
        schema.compile(spec(x={**STRING, "pattern": "("}), root=False).validate({"spec": {"x": ""}})


def test_fields_written_twice_are_found() -> None:
    body = b'{"spec":{"a":1,"a":2,"tasks":[{"b":1},{"c":1,"c":{}}]},"a":[]}'

    assert schema.duplicate_fields(body) == ["spec.a", "spec.tasks[1].c"]
    assert schema.duplicate_fields(b'{"a":{"b":1},"c":{"b":1}}') == []


def test_sentences() -> None:
    errors = schema.compile(spec(a=INTEGER, b=INTEGER), root=False).validate({"spec": {"a": "", "b": ""}})

    assert schema.invalid_message("Job.batch.volcano.sh", "j", errors[:1]) == (
        'Job.batch.volcano.sh "j" is invalid: '
        'spec.a: Invalid value: "string": spec.a in body must be of type integer: "string"'
    )
    assert schema.invalid_message("Job", "j", errors).startswith('Job "j" is invalid: [spec.a: ')
    assert schema.strict_message(["spec.x"], ["spec.y"]) == (
        'strict decoding error: duplicate field "spec.y", unknown field "spec.x"'
    )
