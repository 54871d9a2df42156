"""vcctl apply: manifests without objects, and kinds that nobody knows."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.cli.conftest import Terminal
from volcano.cli.diff import differences, overlaid
from volcano.cli.statuses import FAILED, NO, UNREADABLE


@pytest.mark.parametrize("command", ["apply", "diff"])
def test_a_manifest_without_objects_is_objected_to(vcctl: Terminal, tmp_path: Path, command: str) -> None:
    empty = tmp_path / "empty.yaml"
    empty.write_text("# nothing yet\n---\n")

    assert vcctl(command, "-f", str(empty)) == UNREADABLE
    assert vcctl.err == f"Failed to {command}: no objects passed to {command}\n"


@pytest.mark.parametrize(
    ("version", "kind", "hint"),
    [
        ("batch.volcano.sh/v1alpha1", "Jobb", 'did you mean "Job"?'),
        ("scheduling.volcano.sh/v1", "Queue", "Queue exists in scheduling.volcano.sh/v1beta1; for another one use"),
        ("example.com/v1", "Jobb", "use kubectl apply"),
    ],
)
def test_an_unknown_kind_is_told_with_what_may_be_meant(
    vcctl: Terminal, tmp_path: Path, version: str, kind: str, hint: str
) -> None:
    manifest = tmp_path / "m.yaml"
    manifest.write_text(f"apiVersion: {version}\nkind: {kind}\nmetadata: {{name: x}}\n")

    assert vcctl("apply", "-f", str(manifest)) == UNREADABLE
    assert f"{version} {kind} is no kind that vcctl knows: {hint}" in vcctl.err


def test_lists_of_a_new_object_are_told_item_by_item() -> None:
    new = {"spec": {"tasks": [{"name": "w", "replicas": 3}, {"name": "v"}], "words": ["a", "b"]}}

    assert list(differences({}, new)) == [
        'spec.tasks[w].name: (none) -> "w"',
        "spec.tasks[w].replicas: (none) -> 3",
        'spec.tasks[v].name: (none) -> "v"',
        'spec.words: (none) -> ["a", "b"]',
    ]


QUEUE = "apiVersion: scheduling.volcano.sh/v1beta1\nkind: Queue\n"


def test_an_object_is_refused_for_its_own_faults_and_not_for_naming_a_new_one(vcctl: Terminal, tmp_path: Path) -> None:
    manifest = tmp_path / "m.yaml"
    good, bad = f"{QUEUE}metadata: {{name: good}}\n", f"{QUEUE}metadata: {{name: bad}}\nspec: {{weight: many}}\n"
    below = f"{QUEUE}metadata: {{name: below}}\nspec: {{parent: good}}\n"
    manifest.write_text(f"{bad}---\n{below}---\n{good}")

    assert vcctl("diff", "-f", str(manifest)) == FAILED
    assert vcctl.out.startswith("+ queue/good\n")
    assert vcctl.out.endswith('+ queue/below\n    spec.parent: (none) -> "good"\n')
    assert vcctl.err.startswith("queue/bad would be refused: ")
    assert "spec.weight" in vcctl.err

    manifest.write_text(f"{below}---\n{good}")
    assert vcctl("diff", "-f", str(manifest)) == NO


def test_a_changed_object_may_name_a_new_one(vcctl: Terminal, tmp_path: Path) -> None:
    manifest = tmp_path / "m.yaml"
    moved = f"{QUEUE}metadata: {{name: moved}}\nspec: {{weight: 2}}\n"
    manifest.write_text(moved)
    assert vcctl("apply", "-f", str(manifest)) == 0
    stays = f"{QUEUE}metadata: {{name: stays}}\n"
    manifest.write_text(f"{moved.replace('weight: 2', 'weight: 3, parent: new')}---\n{QUEUE}metadata: {{name: new}}\n")

    assert vcctl("diff", "-f", str(manifest)) == NO
    assert vcctl.err == ""
    assert vcctl.out == ('+ queue/new\n~ queue/moved\n    spec.parent: (none) -> "new"\n    spec.weight: 2 -> 3\n')

    manifest.write_text(f"{moved.replace('weight: 2', 'parent: nowhere')}---\n{stays}")
    assert vcctl("diff", "-f", str(manifest)) == FAILED
    assert "queue/moved would be refused" in vcctl.err


def test_what_is_said_lies_over_what_is_there() -> None:
    before = {"a": 1, "tasks": [{"name": "x", "n": 1, "m": 2}, {"name": "y"}], "l": [1, 2]}
    assert overlaid(before, {"tasks": [{"name": "x", "n": 5}], "l": [3]}) == {
        "a": 1,
        "tasks": [{"name": "x", "n": 5, "m": 2}],
        "l": [3],
    }
