"""Forms of output, trees and differences: pure parts of the commands."""

from __future__ import annotations

import json
from typing import Any

import click
import pytest

from volcano.cli.diff import differences
from volcano.cli.errors import CommandError
from volcano.cli.jsonpath import JsonPathError, compile_template
from volcano.cli.kinds import resource_and_name
from volcano.cli.output import OutputForm
from volcano.cli.queue_tree import branch, document, drawn
from volcano.cli.text import fitted

TWO = {"items": [{"name": "a", "labels": {"x": 1}}, {"name": "b", "labels": {}}]}


@pytest.mark.parametrize(
    ("template", "text"),
    [
        (".items[0].name", "a"),
        ("{.items[*].name}", "a b"),
        ('{range .items[*]}{.name}{"\\n"}{end}', "a\nb\n"),
        ("{range .items[*]}[{.name}: {.labels}]{end}!", '[a: {"x":1}][b: {}]!'),
        ('{.items[?(@.name=="b")].name}', "b"),
        ("{.none}", ""),
    ],
)
def test_jsonpath_templates(template: str, text: str) -> None:
    assert compile_template(template)(TWO) == text


@pytest.mark.parametrize("template", ["{range .items[*]}x", "x{end}", "{.a", "{.items[}"])
def test_what_is_no_jsonpath_template(template: str) -> None:
    with pytest.raises(JsonPathError):
        compile_template(template)


@pytest.mark.parametrize("form", ["xml", "jsonpath=TEMPLATE{", "jsonpath={range .a}"])
def test_unknown_forms_of_output_are_refused_before_anything_is_asked(form: str) -> None:
    with pytest.raises(click.BadParameter):
        OutputForm().convert(form, None, None)


def queue(name: str, parent: str = "", **spec: Any) -> dict[str, Any]:
    return {"metadata": {"name": name}, "spec": {"parent": parent, **spec}, "status": {"state": "Open"}}


def test_the_tree_of_queues() -> None:
    queues = [queue("ml", weight=3), queue("root"), queue("gpu", "ml", capability={"cpu": "4"}), queue("stray", "gone")]
    found = branch(queues, {"gpu": {"Running": 2, "Pending": 1}})

    assert [line[:10].rstrip() for line in drawn(found).splitlines()] == [
        "QUEUE",
        "root",
        "└─ ml",
        "   └─ gpu",
        "stray",
    ]
    assert "1 pending,2 running" in drawn(found)
    assert [each.name for each in branch(queues, {}, "ml")] == ["ml"]
    assert document(found[0])["queues"][0]["queues"][0]["capability"] == {"cpu": "4"}
    json.dumps(document(found[0]))


def test_differences_name_the_field() -> None:
    before = {"spec": {"weight": 1, "capability": {"cpu": "1"}}}
    after = {"spec": {"weight": 2, "capability": {"cpu": "1"}, "deserved": {"cpu": "1"}}}

    assert list(differences(before, after)) == ['spec.deserved.cpu: (none) -> "1"', "spec.weight: 1 -> 2"]
    assert list(differences(after, after)) == []


def test_differences_go_into_lists_of_what_has_names() -> None:
    def spec(*tasks: tuple[str, int]) -> dict[str, Any]:
        return {"tasks": [{"name": name, "replicas": replicas} for name, replicas in tasks]}

    assert list(differences(spec(("w", 2), ("v", 1)), spec(("w", 3), ("v", 1)))) == ["tasks[w].replicas: 2 -> 3"]
    assert list(differences(spec(("a", 1), ("b", 2)), spec(("b", 2), ("c", 3)))) == [
        'tasks[a]: {"name": "a", "replicas": 1} -> (none)',
        'tasks[c].name: (none) -> "c"',
        "tasks[c].replicas: (none) -> 3",
    ]
    assert list(differences(spec(("a", 1), ("b", 1)), spec(("b", 1), ("a", 1)))) == [
        'tasks, order: ["a", "b"] -> ["b", "a"]'
    ]
    assert list(differences({"l": [{"name": "a"}, {"name": "a"}]}, {"l": [{"name": "a"}]})) == [
        'l: [{"name": "a"}, {"name": "a"}] -> [{"name": "a"}]'
    ]


def test_kinds_have_many_names_and_near_ones_are_suggested() -> None:
    for text in ("train", "job/train", "vj/train", "Jobs/train", "vcjob/train"):
        resource, name = resource_and_name(text)
        assert (resource.group_resource, name) == ("jobs.batch.volcano.sh", "train")
    assert resource_and_name("pg/x")[0].kind == "PodGroup"
    with pytest.raises(CommandError, match="did you mean 'queue'"):
        resource_and_name("quue/x")
    with pytest.raises(CommandError, match="write KIND/NAME"):
        resource_and_name("job/")


def test_columns_are_wider_than_titles_and_values() -> None:
    assert fitted(("A", "Long"), [("xyz", 1)], beyond_title=2, beyond_value=4) == "A      Long  \nxyz    1     \n"
