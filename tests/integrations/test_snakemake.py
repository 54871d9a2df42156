"""Snakemake's own command, with `--executor volcano`."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

pytest.importorskip("snakemake")

EXAMPLE = Path(__file__).parents[2] / "examples" / "integrations" / "snakemake" / "Snakefile"
BROKEN = """
rule broken:
    output: "never"
    shell: "echo why >&2; exit 3"
"""


def snakemake(folder: Path, target: str) -> subprocess.CompletedProcess[str]:
    (folder / "Snakefile").write_text(EXAMPLE.read_text() + BROKEN)
    command = [sys.executable, "-m", "snakemake", "--executor", "volcano", "--jobs", "4", target]
    return subprocess.run(
        [*command, "--seconds-between-status-checks", "1"],
        cwd=folder,
        capture_output=True,
        text=True,
        timeout=240,
        check=False,
    )


@pytest.mark.heavy
def test_a_workflow_runs_to_its_end(kubeconfig: Path, tmp_path: Path) -> None:
    done = snakemake(tmp_path, "total")
    assert done.returncode == 0, done.stderr
    assert (tmp_path / "total").read_text() == "14\n"


@pytest.mark.heavy
def test_a_failure_is_told(kubeconfig: Path, tmp_path: Path) -> None:
    done = snakemake(tmp_path, "never")
    assert done.returncode == 1
    assert "Error in rule broken" in done.stderr
