"""The demo of the README does what it promises."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

pytestmark = pytest.mark.xdist_group("demo")

DEMO = Path(__file__).parents[2] / "examples" / "demo.py"


def test_the_demo_runs_two_jobs_to_completion(tmp_path: Path) -> None:
    done = subprocess.run(
        [sys.executable, DEMO],
        env={**os.environ, "HOME": str(tmp_path)},
        capture_output=True,
        text=True,
        timeout=240,
        check=False,
    )
    assert done.returncode == 0, done.stdout + done.stderr

    def phases(job: str) -> list[str]:
        """The lasting phases of a job, in order, each once."""
        seen = re.findall(rf"^job {job}  (Running|Restarting|Completed)", done.stdout, re.MULTILINE)
        return [phase for index, phase in enumerate(seen) if index == 0 or seen[index - 1] != phase]

    assert phases("job-1") == ["Running", "Completed"]
    assert phases("gang") == ["Running", "Restarting", "Running", "Completed"]
    for index in range(4):
        assert f"gang-worker-{index}: worker {index} starts, attempt 1" in done.stdout
        assert f"gang-worker-{index}: worker {index} done" in done.stdout
    assert "Both jobs completed." in done.stdout
    assert "The cluster is stopped." in done.stdout
