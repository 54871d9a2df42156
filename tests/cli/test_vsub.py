"""vsub: which flags win, what the script says, and what is refused before anything is sent."""

from __future__ import annotations

import subprocess
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import pytest
import yaml

from tests.cli.reaching import reach
from volcano.cli import program
from volcano.cli.slurm.vsub import generated_name, vsub
from volcano.cli.statuses import DONE, FAILED, USAGE


@pytest.fixture(autouse=True)
def nowhere(monkeypatch: pytest.MonkeyPatch) -> None:
    @asynccontextmanager
    async def connected(master: str, kubeconfig: str) -> AsyncIterator[None]:
        yield None

    reach(monkeypatch, connected)


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


@pytest.mark.parametrize("mem", ["100", "100M", "100m", "102400K", "100Mi"])
def test_memory_without_a_unit_is_in_megabytes_as_in_slurm(mem: str, capsys: pytest.CaptureFixture[str]) -> None:
    job = submitted(capsys, "-n", "x", "--mem", mem, "-c", "true")

    resources = job["spec"]["tasks"][0]["template"]["spec"]["containers"][0]["resources"]
    assert (resources["requests"]["memory"], resources["limits"]["memory"]) == ("100Mi", "100Mi")


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
        ([], FAILED, "vsub: job name cannot be left blank: give one with -n/--name"),
        (["-n", "x", "-c", "true", "--ntasks", "0"], USAGE, "0 is not in the range x>=1"),
        (["-n", "x", "-c", "'open"], USAGE, "No closing quotation"),
        (["-n", "x", "-c", "true", "--env", "A"], USAGE, "write NAME=VALUE"),
        (["-n", "x", "-c", "true", "--retries", "-1"], USAGE, "'--retries'"),
        (["-n", "x", "-c", "true", "-R", "cpu"], FAILED, "expected <resource>=<value>"),  # as the Go Volcano has it
        (["-n", "x", "-c", "true", "-a", "5-2"], USAGE, "invalid array '5-2'"),
        (["-n", "x", "-c", "true", "--time", "foo"], USAGE, "invalid time 'foo'"),
        (["-n", "x", "-c", "true", "-d", "someday:y"], USAGE, "invalid dependency"),
        (["nowhere.sh"], USAGE, "nowhere.sh: No such file"),
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


@pytest.mark.parametrize(
    ("directive", "message"),
    [
        ("--ntasks=abc", "'abc' is not a valid integer"),
        ("--ntasks=0", "0 is not in the range x>=1"),
        ("--mem=4Q", "memory: "),
        ("--time soon", "invalid time 'soon'"),
        ("--gres=gpu:1", "There is no option --gres here: ask for devices by their resource: --requests"),
    ],
)
def test_what_is_wrong_in_a_script_is_told_with_file_and_line(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], directive: str, message: str
) -> None:
    path = tmp_path / "s.sh"
    path.write_text(f"#!/bin/sh\n#VSUB --name a\n#VSUB {directive}\n")

    assert program.run(vsub, "vsub", ["--dry-run", str(path)]) == USAGE

    said = capsys.readouterr().err
    assert f"Error: {path}, line 3: " in said
    assert message in said


@pytest.mark.parametrize(
    ("words", "instead"),
    [
        (["-o", "out.txt"], "There is no option -o here: output is in the log of each pod"),
        (["--output=out.txt"], "vcctl job logs NAME"),
        (["--error", "e"], "vcctl job logs NAME"),
        (["--mail-type", "END"], "vcctl wait job/NAME"),
        (["--wrap", "echo"], "--command 'sh -c …'"),
    ],
)
def test_options_of_slurm_are_told_with_what_to_use(
    words: list[str], instead: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert program.run(vsub, "vsub", [*words, "-n", "x", "-c", "true"]) == USAGE
    assert instead in capsys.readouterr().err


def test_lines_for_slurm_are_warned_of_once(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = tmp_path / "s.sh"
    path.write_text("#!/bin/sh\n#SBATCH --ntasks=4\n#SBATCH --mem=1G\necho\n#SBATCH --late\n")

    assert program.run(vsub, "vsub", ["--dry-run", str(path)]) == DONE

    said = capsys.readouterr()
    assert said.err == f"Warning: {path}, line 2: lines #SBATCH are not read: write #VSUB instead\n"
    assert yaml.safe_load(said.out)["spec"]["tasks"][0]["replicas"] == 1


def environment_of(job: dict[str, Any], index: int) -> dict[str, str]:
    """The variables of Slurm that a member's script finds."""
    [task] = job["spec"]["tasks"]
    command = task["template"]["spec"]["containers"][0]["command"]
    told = subprocess.run(command, env={"VC_TASK_INDEX": str(index)}, capture_output=True, text=True, check=True)
    pairs = (line.partition("=") for line in told.stdout.splitlines())
    return {name.removeprefix("SLURM_"): value for name, _, value in pairs if name.startswith("SLURM_")}


def test_the_variables_of_slurm_are_true(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = tmp_path / "s.sh"
    path.write_text("#!/bin/sh\nexec /usr/bin/env\n")
    gang = submitted(capsys, "-J", "train", "--ntasks", "3", "-p", "ml", "--cpus-per-task", "2", str(path))
    array = submitted(capsys, "-J", "parts", "-a", "4,1,9", "--cpus-per-task", "500m", str(path))

    assert environment_of(gang, 2) == {
        "JOB_NAME": "train",
        "JOB_ID": "train",
        "NTASKS": "3",
        "PROCID": "2",
        "JOB_PARTITION": "ml",
        "CPUS_PER_TASK": "2",
    }
    assert environment_of(array, 2) == {
        "JOB_NAME": "parts",
        "JOB_ID": "parts_9",
        "NTASKS": "1",
        "PROCID": "0",
        "ARRAY_JOB_ID": "parts",
        "ARRAY_TASK_ID": "9",
        "ARRAY_TASK_COUNT": "3",
        "ARRAY_TASK_MIN": "1",
        "ARRAY_TASK_MAX": "9",
    }


def test_a_script_and_a_command_exclude_each_other(script: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert program.run(vsub, "vsub", ["-c", "true", script]) == USAGE
    assert "both a command and a script" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("path", "start"),
    [("/a/Train_it.sh", "train-it-"), ("9lives.py", "job-9lives-"), ("-", "job-"), ("___.sh", "job-")],
)
def test_names_of_scripts_become_names_of_jobs(path: str, start: str) -> None:
    name = generated_name(path)

    assert name.startswith(start)
    assert name != generated_name(path)
