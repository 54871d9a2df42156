"""torchx's own command and its own Kubernetes scheduler, unchanged."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

import pytest

pytest.importorskip("torchx")
pytestmark = pytest.mark.timeout(600)  # torchx starts slowly, and polls

ROOT = Path(__file__).parents[2]
RUN = ("run", "--workspace", "", "--scheduler", "kubernetes", "--scheduler_args", "queue=default,namespace=default")


def torchx(*arguments: str) -> str:
    """What torchx prints: handles and answers, then, from standard error, its log."""
    program = str(Path(sys.executable).with_name("torchx"))
    done = subprocess.run([program, *arguments], cwd=ROOT, capture_output=True, text=True, timeout=240, check=False)
    assert done.returncode == 0, done.stderr
    return re.sub(r"\x1b\[\d+m", "", done.stdout + done.stderr)


def test_a_component_of_torchx_runs_and_torchx_reads_its_status_and_logs(kubeconfig: Path) -> None:
    printed = torchx(*RUN, "--wait", "--log", "utils.echo", "--msg", "hello", "--num_replicas", "2")
    handle = printed.split()[0]
    assert re.search(r"echo/0 \S+Z hello", printed)
    assert re.search(r"echo/1 \S+Z hello", printed)
    assert "State: SUCCEEDED" in torchx("status", handle)
    assert "hello" in torchx("log", handle)


def test_the_replicas_of_a_distributed_component_find_each_other(kubeconfig: Path) -> None:
    printed = torchx(*RUN, "--wait", "examples/integrations/torchx/component.py:sum_of_ranks", "--replicas", "2")
    handle = printed.split()[0]
    assert "State: SUCCEEDED" in torchx("status", handle)
    assert "the sum of all ranks is 1" in torchx("log", handle)
