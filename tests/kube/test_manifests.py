"""Manifests are read as kubectl reads them, and errors say where."""

from __future__ import annotations

from pathlib import Path

import pytest

from volcano.kube.manifests import ManifestError, load, load_paths, parse_scalar

POD = "apiVersion: v1\nkind: Pod\nmetadata: {name: a}\n"


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("y", True),
        ("On", True),
        ("no", False),
        ("True", True),
        ("tRue", "tRue"),
        ("~", None),
        ("", None),
        ("2020-01-01", "2020-01-01"),
        ("12:30:45", "12:30:45"),
        ("010", 8),
        ("08", 8),
        ("0o17", 15),
        ("0x1F", 31),
        ("-0b11", -3),
        ("1_000", 1000),
        ("1e3", 1000),
        ("1.5", 1.5),
        (".5", 0.5),
        ("1.2.3", "1.2.3"),
        ("18446744073709551615", 18446744073709551615),
        ("100m", "100m"),
        ("-", "-"),
        ("+5", 5),
    ],
)
def test_unquoted_scalars_mean_what_they_mean_to_kubectl(text: str, value: object) -> None:
    parsed = parse_scalar(text)
    assert (parsed, type(parsed)) == (value, type(value))


def test_quoted_and_tagged_scalars_are_text() -> None:
    [document] = load(POD + "spec: {a: 'y', b: \"5\", c: !!str no, y: 1, 5: x}\n")
    assert document["spec"] == {"a": "y", "b": "5", "c": "no", "true": 1, "5": "x"}


def test_lists_documents_and_empty_documents_become_one_list() -> None:
    text = f"---\n---\n{POD}---\napiVersion: v1\nkind: PodList\nitems: [{{metadata: {{name: b}}}}]\n---\n"
    assert [(pod["kind"], pod["metadata"]["name"]) for pod in load(text)] == [("Pod", "a"), ("Pod", "b")]


def test_anchors_and_merge_keys_work() -> None:
    [document] = load(POD + "base: &base {x: 1, y1: 2}\nspec: {<<: *base, x: 3}\n")
    assert document["spec"] == {"x": 3, "y1": 2}


def test_streams_of_json_are_read() -> None:
    text = '{"apiVersion": "v1", "kind": "Pod"}\n{"apiVersion": "v1", "kind": "Node"}'
    assert [document["kind"] for document in load(text)] == ["Pod", "Node"]
    assert load("{apiVersion: v1, kind: Pod}") == [{"apiVersion": "v1", "kind": "Pod"}]


@pytest.mark.parametrize(
    ("text", "message"),
    [
        (POD + "---\n- 1\n", "f.yaml: document 2, line 5: expected an object with apiVersion and kind, got a list"),
        ("kind: Pod\n", "f.yaml: document 1, line 1: apiVersion is not set"),
        (POD + "---\nkind: [\n", "f.yaml: document 2, line 6: not valid YAML: did not find expected node content"),
        (POD + "spec:\n  a: 1\n  a: 2\n", "f.yaml: document 1, line 6: the key 'a' occurs twice in one object"),
        (POD + "a: &a [*a]\n", "f.yaml: document 1, line 4: an alias refers to the object that contains it"),
        (POD + "a: .inf\n", "f.yaml: document 1, line 4: .inf cannot be expressed in JSON"),
        ("apiVersion: v1\nkind: List\nitems: [3]\n", "items[0]: expected an object, got a number"),
        ('{"apiVersion": "v1", "kind": "Pod", "kind": "Pod"}', "f.yaml: the key 'kind' occurs twice in one object"),
    ],
)
def test_errors_say_where_and_what(text: str, message: str) -> None:
    with pytest.raises(ManifestError) as caught:
        load(text, "f.yaml")
    assert message in str(caught.value)


def test_folders_and_standard_input(tmp_path: Path) -> None:
    (tmp_path / "a.yaml").write_text(POD)
    (tmp_path / "ignored.txt").write_text("nonsense")
    assert len(load_paths([tmp_path, "-"], standard_input=POD)) == 2
    with pytest.raises(ManifestError, match="No such file"):
        load_paths([tmp_path / "missing.yaml"])


def test_aliases_that_stand_for_billions_of_values_are_refused() -> None:
    lines = ["a: &a [x, x, x, x, x, x, x, x, x, x]"]
    lines += [
        f"{name}: &{name} [{', '.join([f'*{of}'] * 10)}]" for of, name in zip("abcdefghi", "bcdefghij", strict=True)
    ]
    with pytest.raises(ManifestError, match="document 2, line 5: aliases stand for more than 100000 values"):
        load(POD + "\n".join(["---", *lines]))
    assert load(POD + "data: {one: &x [1, 2], two: [*x, *x]}\n")[0]["data"]["two"] == [[1, 2], [1, 2]]
