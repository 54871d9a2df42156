"""What Slurm's users try first: states, users, members of arrays; and output that cannot show every letter."""

from __future__ import annotations

import asyncio
import os
import subprocess
import sysconfig
from collections.abc import Callable
from pathlib import Path

import click
import pytest

from tests.cli.conftest import Terminal
from volcano.api.resources import JOBS, PODGROUPS
from volcano.cli import program
from volcano.cli.slurm.vcancel import vcancel
from volcano.cli.slurm.vjobs import vjobs
from volcano.cli.statuses import DONE, FAILED, USAGE

Run = Callable[[click.Command, str], int]


@pytest.fixture
def run(vcctl: Terminal, capsys: pytest.CaptureFixture[str]) -> Run:
    """Runs a program with a line of words; what it prints is in `vcctl.out` and `vcctl.err`."""

    def ran(command: click.Command, words: str) -> int:
        capsys.readouterr()
        status = program.run(command, command.name or "", words.split())
        vcctl.out, vcctl.err = capsys.readouterr()
        return status

    vcctl("queue", "create", "default")
    vcctl("job", "run", "train")
    return ran


@pytest.mark.parametrize(
    ("states", "is_shown"),
    [("PD", True), ("pending", True), ("R,PD", True), ("R", False), ("cd,CANCELLED", False), ("all", True)],
)
def test_jobs_are_chosen_by_their_state(run: Run, vcctl: Terminal, states: str, is_shown: bool) -> None:
    assert run(vjobs, f"--states {states} -o name") == DONE
    assert (vcctl.out == "job/train\n") == is_shown


@pytest.mark.parametrize(
    ("command", "words", "said"),
    [
        (vjobs, "-t XX", "'XX' is no state: use PD, R"),
        (vjobs, "-u me", "There is no option -u here: jobs know no user"),
        (vjobs, "--format=%i", "There is no option --format here: use --output"),
        (vjobs, "--nme x", "No such option '--nme'."),
        (vcancel, "--user me", "There is no option --user here: name the jobs"),
        (vcancel, "queue/train", "'queue/train' is a queue: name a job"),
    ],
)
def test_what_is_not_there_is_told_with_what_is(
    run: Run, vcctl: Terminal, command: click.Command, words: str, said: str
) -> None:
    assert run(command, words) == USAGE
    assert said in vcctl.err


def test_wide_tables_say_in_a_sentence_why_a_job_waits(run: Run, vcctl: Terminal) -> None:
    refused = {"type": "Unschedulable", "status": "True", "reason": "ClusterOverused", "message": "50 cpu are too many"}

    async def refuse() -> None:
        async with vcctl.connected() as client:
            status = {"phase": "Pending", "conditions": [refused]}
            await client.create(PODGROUPS.untyped, {"metadata": {"name": "train"}, "status": status}, "default")

    asyncio.run(refuse())
    for words in ("job list -o wide", "job view train -o wide"):
        assert vcctl(*words.split()) == DONE
        assert vcctl.out.split("\n")[1].endswith("ClusterOverused   50 cpu are too many")
    for words in ("-o wide", "train -o wide"):
        assert run(vjobs, words) == DONE
        assert vcctl.out.split("\n")[1].endswith("ClusterOverused   50 cpu are too many")


def test_names_are_taken_as_they_are_printed(run: Run, vcctl: Terminal) -> None:
    assert run(vjobs, "job/train -o name") == DONE
    assert run(vcancel, vcctl.out) == DONE
    assert vcctl.out == "cancel job train successfully\n"
    assert vcctl.stored(JOBS) == []


def test_a_member_of_an_array_is_no_job(run: Run, vcctl: Terminal) -> None:
    assert run(vcancel, "train_3") == FAILED
    assert "the members of an array are pods: train is the job" in vcctl.err
    assert len(vcctl.stored(JOBS)) == 1


def test_letters_that_the_locale_does_not_have_are_no_fault() -> None:
    vcctl = Path(sysconfig.get_path("scripts"), "vcctl")
    environment = {**os.environ, "PYTHONUTF8": "1", "PYTHONIOENCODING": "latin-1"}
    done = subprocess.run([vcctl, "jöb→"], env=environment, capture_output=True, timeout=120, check=False)
    assert done.returncode == USAGE
    assert b"No such command 'j\xf6b?'" in done.stderr


def test_nobody_listening_is_no_fault(tmp_path: Path) -> None:
    vcctl = Path(sysconfig.get_path("scripts"), "vcctl")
    done = subprocess.run(
        ["sh", "-c", f"'{vcctl}' version >&-"], capture_output=True, timeout=120, check=False, cwd=tmp_path
    )
    assert (done.returncode, done.stderr) == (0, b"")
