"""vsub: which flags win, what the script says, and what is refused before anything is sent."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import pytest
import yaml

from volcano.cli import connection, program
from volcano.cli.slurm.vsub import generated_name, vsub
from volcano.cli.statuses import DONE, FAILED, USAGE


@pytest.fixture(autouse=True)
def nowhere(monkeypatch: pytest.MonkeyPatch) -> None:
    @asynccontextmanager
    async def connected(master: str, kubeconfig: str) -> AsyncIterator[None]:
        yield None

    monkeypatch.setattr(connection, "connected", connected)


@pytest.fixture
def script(tmp_path: Path) -> str:
    path = tmp_path / "Train_it.sh"
    path.write_text("#!/bin/sh\n#VSUB --queue ml --ntasks 4 -t 10\n#VSUB --env A=1\necho\n")
    return str(path)


def submitted(capsys: pytest.CaptureFixture[str], *words: str) -> dict[str, Any]:
    assert program.run(vsub, "vsub", ["--dry-run", *words]) == DONE
    return yaml.safe_load(capsys.readouterr().out)


def test_the_command_line_wins_over_the_script(script: str, capsys: pytest.CaptureFixture[str]) -> None:
    job = submitted(capsys, "-q", "mine", "--env", "B=2", script, "--queue", "of-the-script")

    [task] = job["spec"]["tasks"]
    container = task["template"]["spec"]["containers"][0]
    assert (job["spec"]["queue"], task["replicas"], job["spec"]["minAvailable"]) == ("mine", 4, 4)
    assert container["env"] == [{"name": "A", "value": "1"}, {"name": "B", "value": "2"}]
    assert container["command"][-2:] == ["--queue", "of-the-script"]
    assert job["spec"]["plugins"] == {"env": [], "svc": []}


def test_a_command_is_split_as_a_shell_does_and_starts_with_one_pod(capsys: pytest.CaptureFixture[str]) -> None:
    job = submitted(capsys, "-n", "x", "-r", "3", "-c", "python -c 'print(1)'")

    assert job["spec"]["tasks"][0]["template"]["spec"]["containers"][0]["command"] == ["python", "-c", "print(1)"]
    assert job["spec"]["minAvailable"] == 1


def test_defaults_come_from_the_environment(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("VOLCANO_DEFAULT_JOB_NAMESPACE", "team")
    monkeypatch.setenv("VOLCANO_DEFAULT_IMAGE", "python:3")
    monkeypatch.setenv("VOLCANO_SCHEDULER_NAME", "other")

    job = submitted(capsys, "-n", "x", "-c", "true")

    assert job["metadata"]["namespace"] == "team"
    assert job["spec"]["schedulerName"] == "other"
    assert job["spec"]["tasks"][0]["template"]["spec"]["containers"][0]["image"] == "python:3"


@pytest.mark.parametrize(
    ("words", "status", "message"),
    [
        ([], FAILED, "job name cannot be left blank"),
        (["-n", "x", "-c", "'open"], FAILED, "No closing quotation"),
        (["-n", "x", "-c", "true", "--env", "A"], FAILED, "write NAME=VALUE"),
        (["-n", "x", "-c", "true", "--retries", "-1"], USAGE, "'--retries'"),
        (["-n", "x", "-c", "true", "-R", "cpu"], FAILED, "expected <resource>=<value>"),
    ],
)
def test_what_cannot_be_submitted(
    words: list[str], status: int, message: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert program.run(vsub, "vsub", words) == status
    assert message in capsys.readouterr().err


def test_a_quote_without_its_end_is_named_with_its_line(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = tmp_path / "quoted.sh"
    path.write_text("#!/bin/sh\n#VSUB --name 'train\n")
    assert program.run(vsub, "vsub", [str(path)]) == USAGE
    assert f"Error: {path}, line 2: No closing quotation" in capsys.readouterr().err


def test_a_script_and_a_command_exclude_each_other(script: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert program.run(vsub, "vsub", ["-c", "true", script]) == FAILED
    assert "both a command and a script" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("path", "start"),
    [("/a/Train_it.sh", "train-it-"), ("9lives.py", "job-9lives-"), ("-", "job-"), ("___.sh", "job-")],
)
def test_names_of_scripts_become_names_of_jobs(path: str, start: str) -> None:
    name = generated_name(path)

    assert name.startswith(start)
    assert name != generated_name(path)
