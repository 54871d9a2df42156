"""Every command of vcctl and the Slurm-like programs, on both kinds of cluster, from one set of transcripts."""

from __future__ import annotations

import importlib
import os
import pty
import signal
import subprocess
import sysconfig
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import TYPE_CHECKING

import click
import pytest
import yaml

from tests.kube_cluster import control_plane, transcript
from tests.kube_cluster.programs import READY_SECONDS
from tests.waiting import SECONDS
from volcano.cli import connection, program
from volcano.cli.main import vcctl
from volcano.cli.slurm import PROGRAMS
from volcano.cli.statuses import DONE, FAILED, INTERRUPTED

if TYPE_CHECKING:
    from tests.kube_cluster.sites import Site

pytestmark = pytest.mark.xdist_group("clusters")

TRANSCRIPTS = sorted(Path(__file__).parent.glob("transcripts/*.txt"))
ELSEWHERE = {"vcctl local up", "vcctl local down"}
"""Tried in tests/e2e."""


def command_of(name: str) -> click.Command:
    return vcctl if name == "vcctl" else getattr(importlib.import_module(f"volcano.cli.slurm.{name}"), name)


@pytest.mark.parametrize("path", TRANSCRIPTS, ids=lambda path: path.stem)
def test_transcript(
    path: Path,
    site: Site,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    monkeypatch.setenv("KUBECONFIG", str(site.kubectl.kubeconfig))
    monkeypatch.setenv("VOLCANO_HOME", str(tmp_path))
    monkeypatch.chdir(tmp_path)
    text = path.read_text().replace("$NS", site.namespace)
    for step in transcript.steps(text, tmp_path):
        deadline = time.monotonic() + (SECONDS if step.is_repeated else 0.0)
        while not is_so(step, *(answer := answered(step, capsys))):
            assert time.monotonic() < deadline, f"{path.name}:{step.line}: {' '.join(step.words)}: {answer}"
            time.sleep(0.1)


def answered(step: transcript.Step, capsys: pytest.CaptureFixture[str]) -> tuple[int, str, str]:
    """Exit status, standard output and standard error of the command."""
    capsys.readouterr()
    status = program.run(command_of(step.words[0]), step.words[0], step.words[1:])
    shown = capsys.readouterr()
    return status, shown.out, shown.err


def is_so(step: transcript.Step, status: int, out: str, err: str) -> bool:
    return status == step.status and transcript.matches(step.out, out) and transcript.matches(step.err, err)


def test_every_command_has_a_transcript() -> None:
    tried = set().union(*(transcript.commands(path.read_text()) for path in TRANSCRIPTS)) | ELSEWHERE

    assert set(leaves(vcctl, "vcctl")) | set(PROGRAMS) <= tried


def leaves(command: click.Command, name: str) -> list[str]:
    if not isinstance(command, click.Group):
        return [name]
    context = click.Context(command)
    inner = [(verb, command.get_command(context, verb)) for verb in command.list_commands(context)]
    return [leaf for verb, found in inner if found is not None for leaf in leaves(found, f"{name} {verb}")]


def test_a_right_that_is_missing_is_named(
    site: Site, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    site.kubectl("create", "serviceaccount", "guest")
    token = site.kubectl("create", "token", "guest").out.strip()
    kubeconfig = yaml.safe_load(site.kubectl.kubeconfig.read_text())
    for user in kubeconfig["users"]:
        user["user"] = {"token": token}
    monkeypatch.setenv("KUBECONFIG", str(tmp_path / "kubeconfig"))
    (tmp_path / "kubeconfig").write_text(yaml.safe_dump(kubeconfig))

    assert program.run(vcctl, "vcctl", ["job", "list", "-n", site.namespace]) == FAILED

    told = capsys.readouterr().err
    assert 'cannot list resource "jobs" in API group "batch.volcano.sh"' in told
    assert f'in the namespace "{site.namespace}"' in told
    assert "ask for a Role with that verb on that resource" in told


def test_commands_outwait_a_restart_of_the_api_server(
    site: Site, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    if site.members is None:
        pytest.skip("the API server of local mode cannot be killed by itself")
    monkeypatch.setenv("KUBECONFIG", str(site.kubectl.kubeconfig))
    monkeypatch.setattr(connection, "PATIENCE_SECONDS", READY_SECONDS)
    size = ("-R", "cpu=100m", "-L", "")
    site.vcctl("job", "run", "through", "-n", site.namespace, *size, "--", "sleep", "5")

    site.members.programs.restart("kube-apiserver")

    with ThreadPoolExecutor(1) as pool:
        back = pool.submit(control_plane.await_api, site.members.programs, site.members.address)
        assert program.run(vcctl, "vcctl", ["wait", "through", "-n", site.namespace]) == DONE
        back.result()
    assert capsys.readouterr().out == "job/through Completed\n"


def test_top_is_drawn_again_and_again_on_a_terminal(site: Site) -> None:
    ours, theirs = pty.openpty()
    words = [f"{sysconfig.get_path('scripts')}/vcctl", "top", "queues", "--interval", "0.2"]
    environment = {**os.environ, "KUBECONFIG": str(site.kubectl.kubeconfig), "TERM": "xterm", "COLUMNS": "120"}
    with subprocess.Popen(words, stdin=theirs, stdout=theirs, stderr=theirs, env=environment) as watching:
        shown = b""
        while shown.count(b"queues") < 3:
            shown += os.read(ours, 4096)
        watching.send_signal(signal.SIGINT)

        assert watching.wait(60) == INTERRUPTED
    assert b"default" in shown
    os.close(ours)
    os.close(theirs)
