"""vcctl apply: manifests without objects, and kinds that nobody knows."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.cli.conftest import Terminal
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


QUEUE = "apiVersion: scheduling.volcano.sh/v1beta1\nkind: Queue\n"


def test_a_new_object_is_judged_unless_it_names_another_new_one(vcctl: Terminal, tmp_path: Path) -> None:
    manifest = tmp_path / "m.yaml"
    good, bad = f"{QUEUE}metadata: {{name: good}}\n", f"{QUEUE}metadata: {{name: bad}}\nspec: {{weight: many}}\n"
    manifest.write_text(f"{good}---\n{bad}")

    assert vcctl("diff", "-f", str(manifest)) == FAILED
    assert vcctl.out.startswith("+ queue/good\n")
    assert vcctl.err.startswith("queue/bad would be refused: ")
    assert "spec.weight" in vcctl.err

    manifest.write_text(f"{good}---\n{bad}  parent: good\n".replace("spec: {weight: many}", "spec:\n  weight: many"))

    assert vcctl("diff", "-f", str(manifest)) == NO
    assert vcctl.out.count("+ queue/") == 2
