"""vcctl config lint: which file, which key, which line."""

from __future__ import annotations

from pathlib import Path

import pytest

from volcano.cli.main import run
from volcano.cli.statuses import DONE, UNREADABLE

HEAD = "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: c}\n"
CONF = "actions: allocate\ntiers:\n- plugins: [{name: predicates}]\n"
KEY = "  volcano-scheduler.conf: |\n    actions: allocate\n    tiers: [{plugins: [{name: predicates}]}]\n"


@pytest.mark.parametrize(
    ("text", "told"),
    [
        pytest.param(
            f"{HEAD}data:\n{KEY}{KEY}",
            "document 1, line 8: the key 'volcano-scheduler.conf' occurs twice in one object",
            id="a key that occurs twice",
        ),
        pytest.param("", "the file is empty", id="an empty file"),
        pytest.param("# later\n", "the file is empty", id="a comment"),
        pytest.param(
            "apiVersion: batch/v1\nkind: Job\nmetadata: {name: j}\n",
            "this is a Job, not a scheduler configuration",
            id="a job",
        ),
        pytest.param(
            "apiVersion: networking.k8s.io/v1\nkind: Ingress\n",
            "this is an Ingress, not a scheduler configuration",
            id="an ingress",
        ),
        pytest.param("kind: Job\n", "document 1, line 1: apiVersion is not set", id="half a manifest"),
        pytest.param(HEAD, "the ConfigMap has no key that ends with .conf", id="a ConfigMap without data"),
        pytest.param(f"{HEAD}data: {{a.conf: ''}}\n", "a.conf: it is empty", id="an empty key"),
        pytest.param(
            f"{HEAD}data: {{a.conf: {{actions: allocate}}}}\n",
            "a.conf: it is not text: write `|` after the key",
            id="a key that is no text",
        ),
        pytest.param(
            f"{HEAD}data: {{a.conf: 'actions: alocate'}}\n",
            "a.conf: actions: there is no action 'alocate': did you mean 'allocate'?",
            id="an unknown action in a ConfigMap",
        ),
        pytest.param("actions: [", "scheduler configuration is not valid YAML: line 1", id="no YAML"),
        pytest.param("tiers: []\n", "actions: a name is missing", id="a configuration without actions"),
    ],
)
def test_what_is_no_configuration_is_named_with_its_file(
    text: str, told: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    good, bad = tmp_path / "good.conf", tmp_path / "bad.conf"
    good.write_text(CONF)
    bad.write_text(text)

    assert run(["config", "lint", str(good), str(bad)]) == UNREADABLE

    assert capsys.readouterr().err.startswith(f"Failed to check the configuration: {bad}: {told}")


def test_a_configuration_and_a_configmap_with_one_are_read(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    conf, configmap = tmp_path / "scheduler.conf", tmp_path / "map.yaml"
    conf.write_text(CONF)
    configmap.write_text(f"{HEAD}data:\n{KEY}")

    assert run(["config", "lint", str(conf), str(configmap)]) == DONE

    assert capsys.readouterr().out == (
        f"{conf}: nothing to remark\n{configmap}: volcano-scheduler.conf: nothing to remark\n"
    )
