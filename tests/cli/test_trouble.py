"""Clusters that cannot be reached, names that do not exist, shells that complete: one clear sentence, or silence."""

from __future__ import annotations

import os
import subprocess
import sysconfig
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

import click
import pytest

from tests.cli.conftest import Terminal
from tests.cli.reaching import reach
from tests.kube_cluster.programs import free_ports
from volcano.api.resources import COMMANDS, JOBS
from volcano.cli import completing, connection, main, program
from volcano.cli.errors import CommandError, told_plainly
from volcano.cli.slurm.vcancel import vcancel
from volcano.cli.statuses import DONE, FAILED, UNREADABLE, USAGE
from volcano.http.message import Peer
from volcano.kube.client import Client
from volcano.kube.transport import InProcessTransport
from volcano.local.apiserver.app import ApiServer
from volcano.local.layout import Layout
from volcano.local.node import shutdown

NOWHERE = "--master http://127.0.0.1:1"


def test_a_cluster_that_cannot_be_reached_is_told_in_one_sentence(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("KUBECONFIG", "/nowhere")
    monkeypatch.setattr(connection, "PATIENCE_SECONDS", 0.0)
    [port] = free_ports(1)

    assert main.run(["queue", "list", "--master", f"http://127.0.0.1:{port}"]) == FAILED

    told = capsys.readouterr().err
    assert told.startswith(f"Failed to queue list: cannot connect to http://127.0.0.1:{port}: ")
    assert told.count("\n") == 1


def test_no_cluster_at_all_is_told_with_what_to_do(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    for name in ("KUBECONFIG", "KUBERNETES_SERVICE_HOST"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.setenv("VOLCANO_HOME", str(tmp_path))

    assert main.run(["job", "list"]) == FAILED

    assert "start a local cluster with `vcctl local up`" in capsys.readouterr().err


def test_a_name_in_another_namespace_and_near_names_are_pointed_out(vcctl: Terminal) -> None:
    vcctl("queue", "create", "default")
    vcctl("job", "run", "train-1")
    assert vcctl("job", "run", "elsewhere", "-n", "kube-public") == DONE

    assert vcctl("job", "view", "train-2") == FAILED
    assert "did you mean 'train-1'?" in vcctl.err
    assert vcctl("job", "suspend", "elsewhere") == FAILED
    assert "there is one in namespace kube-public: choose it with --namespace" in vcctl.err


def test_a_name_that_does_not_exist_is_told_and_the_others_are_seen_to(
    vcctl: Terminal, capsys: pytest.CaptureFixture[str]
) -> None:
    vcctl("queue", "create", "default")
    for name in ("a", "b", "c", "d"):
        vcctl("job", "run", name)

    assert vcctl("job", "suspend", "a", "gone", "b") == FAILED
    assert sorted(one["target"]["name"] for one in vcctl.stored(COMMANDS)) == ["a", "b"]
    assert vcctl.err == 'Failed to job suspend: jobs.batch.volcano.sh "gone" not found\n'
    assert vcctl("job", "delete", "a", "gone", "b") == FAILED
    assert vcctl.out == "delete job a successfully\ndelete job b successfully\n"
    assert vcctl.err == 'Failed to job delete: jobs.batch.volcano.sh "gone" not found\n'
    assert program.run(vcancel, "vcancel", ["c", "gone", "d"]) == FAILED
    assert capsys.readouterr().err == 'vcancel: jobs.batch.volcano.sh "gone" not found\n'
    assert vcctl.stored(JOBS) == []
    assert vcctl("jobflow", "delete", "x", "y") == FAILED
    assert vcctl.err.count("not found") == 2


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (("logs", "x"), 'Failed to read logs: jobs.batch.volcano.sh "x" not found\n'),
        (("job", "logs", "x"), 'Failed to read logs: jobs.batch.volcano.sh "x" not found\n'),
        (("events", "foo/x"), "Failed to list events: there is no kind 'foo'"),
        (("job", "view", "x"), 'Failed to job view: jobs.batch.volcano.sh "x" not found\n'),
    ],
)
def test_what_failed_is_told_in_words(vcctl: Terminal, words: tuple[str, ...], said: str) -> None:
    assert vcctl(*words) != DONE
    assert vcctl.err.startswith(said)


@pytest.mark.parametrize(
    ("words", "status"),
    [
        (("explain", "foo", "x"), USAGE),
        (("wait", "foo/x"), USAGE),
        (("wait", "job/x", "--timeout", "soon"), USAGE),
        (("logs", "x", "--since", "soon"), USAGE),
        (("job", "run", "-f", "nowhere.yaml"), FAILED),  # as the Go Volcano has it
        (("queue", "operate", "default", "--action", "shut"), FAILED),
    ],
)
def test_a_command_line_that_is_wrong_has_its_own_status(vcctl: Terminal, words: tuple[str, ...], status: int) -> None:
    assert vcctl(*words) == status


def completed(words: list[str], function: object, incomplete: str) -> list[str]:
    """What a shell is offered after the words."""
    context = click.Context(main.vcctl, info_name="vcctl")
    command: click.Command = main.vcctl
    for word in words:
        assert isinstance(command, click.Group)
        found = command.get_command(context, word)
        assert found is not None
        command, context = found, click.Context(found, info_name=word, parent=context)
    return function(context, command.params[0], incomplete)  # type: ignore[operator]


def test_names_of_objects_are_completed(vcctl: Terminal) -> None:
    vcctl("queue", "create", "default")
    for name in ("train-1", "train-2", "other"):
        vcctl("job", "run", name)

    assert completed(["job", "view"], completing.names, "tr") == ["train-1", "train-2"]
    assert completed(["logs"], completing.names, "o") == ["other"]
    assert completed(["queue", "get"], completing.names, "d") == ["default"]
    assert completed(["wait"], completing.targets, "queue/d") == ["queue/default"]
    assert completed(["wait"], completing.targets, "o") == ["other"]
    assert completed(["wait"], completing.targets, "job") == ["job/", "jobflow/", "jobtemplate/"]
    assert completed(["job", "list"], completing.namespaces, "kube-p") == ["kube-public"]


def test_a_shell_hears_nothing_of_a_cluster_that_is_away(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("KUBECONFIG", "/nowhere")

    assert completed(["job", "view"], completing.names, "") == []


def test_a_name_that_several_namespaces_have_is_not_guessed(vcctl: Terminal) -> None:
    vcctl("queue", "create", "default")
    for namespace in ("kube-public", "kube-system"):
        assert vcctl("job", "run", "twin", "-n", namespace) == DONE

    assert vcctl("job", "delete", "twin") == FAILED

    assert "there are some in namespaces kube-public, kube-system: choose one with --namespace" in vcctl.err
    assert len(vcctl.stored(JOBS, None)) == 2


def test_a_job_that_exists_is_left_as_it_is(vcctl: Terminal) -> None:
    vcctl("queue", "create", "default")
    vcctl("job", "run", "once", "--replicas", "1")
    before = vcctl.stored(JOBS)

    assert vcctl("job", "run", "once", "--replicas", "2", "--min", "2") == FAILED

    assert vcctl.err == 'Failed to job run: jobs.batch.volcano.sh "once" already exists\n'
    assert vcctl.stored(JOBS) == before


@pytest.mark.parametrize(
    ("words", "near"),
    [
        (["job", "run", "x", "--replica", "2"], "Did you mean '--replicas'?"),
        (["job", "list", "--all-namespace"], "'--all-namespaces'"),
        (["job", "lits"], "Did you mean 'list'"),
        (["jop", "list"], "'job'"),
        (["jo", "list"], "Did you mean 'job' or 'jobflow' or 'jobtemplate'?"),
        (["wait", "jop/train"], "did you mean 'job'?"),
    ],
)
def test_what_is_misspelt_is_named_with_what_is_near(vcctl: Terminal, words: list[str], near: str) -> None:
    assert vcctl(*words) in (USAGE, FAILED)
    assert near in vcctl.err


def test_a_right_that_the_kubeconfig_lacks_is_named(
    vcctl: Terminal, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    vcctl("queue", "create", "default")

    @asynccontextmanager
    async def as_guest(master: str = "", kubeconfig: str = "") -> AsyncIterator[Client]:
        server = ApiServer.open(str(tmp_path / "api.db"))
        try:
            yield Client(InProcessTransport(server.handle, Peer(common_name="guest")), user_agent="vcctl")
        finally:
            await server.close()

    reach(monkeypatch, as_guest)

    assert vcctl("job", "run", "mine") == FAILED

    assert 'User "guest" cannot create resource "jobs" in API group "batch.volcano.sh"' in vcctl.err
    assert "ask for a Role with that verb on that resource" in vcctl.err


@pytest.mark.parametrize(
    ("pods", "told"),
    [
        (0, "No cluster is running in {root}.\n"),
        (1, "No cluster was running any more in {root}; ended a pod that one had left.\n"),
        (3, "No cluster was running any more in {root}; ended 3 pods that one had left.\n"),
    ],
)
def test_down_says_which_pods_of_a_killed_cluster_it_ended(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], pods: int, told: str
) -> None:
    monkeypatch.setattr(shutdown, "stop_pods", lambda _: pods)

    assert main.run(["local", "down", "--root", str(tmp_path)]) == DONE

    assert capsys.readouterr().out == told.format(root=tmp_path)


def test_down_says_that_it_removed_what_a_stopped_cluster_had(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    Layout(tmp_path / "local").create()
    removed = f"What it had in {tmp_path}/local is removed: objects, logs and the data of pods.\n"
    none = f"No cluster is running in {tmp_path}/local.\n"

    for told in (none + removed, none):  # the second time there is nothing left
        assert main.run(["local", "down", "--delete", "--root", str(tmp_path / "local")]) == DONE
        assert capsys.readouterr().out == told


@pytest.mark.parametrize(
    ("flag", "amount", "told"),
    [
        ("--memory", "8Gb", "--memory '8Gb': quantities must match"),
        ("--memory", "0", "--memory 0: a node needs some memory"),
        ("--node-memory", "-1Gi", "--node-memory -1Gi: a node needs some memory"),
        ("--cpus", "0", "'--cpus': 0.0 is not in the range x>0.0"),
    ],
)
def test_a_node_of_an_impossible_size_is_refused_with_the_flag_that_says_it(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], flag: str, amount: str, told: str
) -> None:
    assert main.run(["local", "up", "--root", str(tmp_path / "local"), flag, amount]) == USAGE

    assert told in capsys.readouterr().err
    assert not (tmp_path / "local").exists()


@pytest.mark.parametrize(
    "words", ["validate -f -", "schedule -f -", "config lint -", f"apply {NOWHERE} -f -", f"diff {NOWHERE} -f -"]
)
def test_standard_input_that_is_no_unicode_is_refused_in_words(words: str, tmp_path: Path) -> None:
    done = subprocess.run(
        [Path(sysconfig.get_path("scripts"), "vcctl"), *words.split()],
        input=b"kind: Job  # f\xfcr\n",
        env={"LC_ALL": "C", "HOME": str(tmp_path), "PATH": os.environ["PATH"]},
        capture_output=True,
        timeout=60,
        check=False,
    )

    assert done.returncode == UNREADABLE
    assert b": standard input: not UTF-8 text: " in done.stderr
    assert done.stderr.count(b"\n") == 1


def test_a_reader_that_leaves_early_is_no_failure() -> None:
    with pytest.raises(BrokenPipeError), told_plainly():
        raise BrokenPipeError
    with pytest.raises(CommandError), told_plainly():
        raise ConnectionResetError("by the server")
