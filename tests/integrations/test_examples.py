"""The examples run as they are."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

FOLDER = Path(__file__).parents[2] / "examples" / "integrations"


@pytest.mark.parametrize(
    ("package", "program", "printed"),
    [
        ("distributed", "dask/mean.py", "4999.5\n"),
        ("submitit", "submitit/pair.py", "['rank 0 of 2', 'rank 1 of 2']\n"),
    ],
)
def test_an_example_prints_what_it_should(kubeconfig: Path, package: str, program: str, printed: str) -> None:
    pytest.importorskip(package)
    done = subprocess.run(
        [sys.executable, str(FOLDER / program)], capture_output=True, text=True, timeout=240, check=False
    )
    assert done.stdout == printed, done.stderr


def test_pytest_finds_the_fixtures_by_itself() -> None:
    command = [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", "--rootdir", str(FOLDER / "pytest")]
    done = subprocess.run(
        [*command, "-c", "/dev/null", str(FOLDER / "pytest")], capture_output=True, text=True, timeout=240, check=False
    )
    assert "1 passed" in done.stdout, done.stdout
