"""The program: what it prints, and how it ends when it cannot start."""

from __future__ import annotations

from pathlib import Path

import pytest

from volcano import __version__
from volcano.scheduler.daemon.flags import Flags
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
        (["--schedule-period=-1s"], "--schedule-period -1s: it must be longer than nothing"),
        (["--kubeconfig=/nowhere/kubeconfig"], "/nowhere/kubeconfig"),
    ],
)
def test_a_wrong_command_line_is_named(line: list[str], message: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(line) == 1
    assert message in capsys.readouterr().err


def test_flags_that_will_not_do_what_they_say_are_named(tmp_path: Path) -> None:
    gone = tmp_path / "gone"
    flags = Flags(
        scheduler_sharding_mode="sfot",
        node_selector=["pool", "pool:gpu"],
        plugins_dir=str(gone),
        cache_dump_dir=str(gone),
    )

    assert flags.remarks() == [
        "--scheduler-sharding-mode 'sfot' means none: none, soft, hard are known",
        "--node-selector 'pool' has no effect: it must be key:value",
        f"--plugins-dir {gone} is not a directory (yet)",
        f"--cache-dump-dir {gone} is not a directory (yet)",
    ]
    assert Flags(cache_dump_dir=str(tmp_path)).remarks() == []


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
