"""The program: what it prints, and how it ends when it cannot start."""

from __future__ import annotations

from pathlib import Path

import pytest

from volcano import __version__
from volcano.scheduler.daemon.main import main

KUBECONFIG = """
apiVersion: v1
kind: Config
current-context: c
clusters: [{name: c, cluster: {server: "http://127.0.0.1:1"}}]
contexts: [{name: c, context: {cluster: c, user: u}}]
users: [{name: u, user: {}}]
"""


@pytest.fixture
def kubeconfig(tmp_path: Path) -> str:
    path = tmp_path / "kubeconfig"
    path.write_text(KUBECONFIG)
    return str(path)


def test_version(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["--version"]) == 0
    assert capsys.readouterr().out == f"vc-scheduler {__version__}\n"


@pytest.mark.parametrize(
    ("line", "message"),
    [
        (["--shedule-period=1s"], "unknown flag: --shedule-period"),
        (["--schedule-period=often"], 'invalid argument "often"'),
        (["--kubeconfig=/nowhere/kubeconfig"], "/nowhere/kubeconfig"),
    ],
)
def test_a_wrong_command_line_is_named(line: list[str], message: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(line) == 1
    assert message in capsys.readouterr().err


def test_a_bad_configuration_ends_the_start_where_it_is_required(
    kubeconfig: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    conf = tmp_path / "conf.yaml"
    conf.write_text("actions: alocate")

    assert main([f"--kubeconfig={kubeconfig}", f"--scheduler-conf={conf}", "--disable-default-scheduler-config"]) == 1

    assert "'alocate': did you mean 'allocate'" in capsys.readouterr().err


def test_a_port_in_use_is_named(kubeconfig: str, capsys: pytest.CaptureFixture[str]) -> None:
    import socket

    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        taken.listen()
        port = taken.getsockname()[1]

        assert main([f"--kubeconfig={kubeconfig}", f"--listen-address=127.0.0.1:{port}"]) == 1

    assert str(port) in capsys.readouterr().err
