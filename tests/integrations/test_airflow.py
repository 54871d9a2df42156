"""Airflow's own way of running a DAG, with tasks that are jobs; deferred ones wait in its triggerer."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

pytest.importorskip("airflow.sdk")
pytestmark = [pytest.mark.heavy, pytest.mark.timeout(600)]

EXAMPLE = Path(__file__).parents[2] / "examples" / "integrations" / "airflow" / "on_volcano.py"
BROKEN = 'second >> VolcanoOperator(task_id="third", work="echo why; exit 3", deferrable=True)'
ORDER = "first >> second"


def airflow(folder: Path, dag: str) -> str:
    """What running the DAG prints, in a home of Airflow's own."""
    (folder / "dag.py").write_text(dag)
    environment = {**os.environ, "AIRFLOW_HOME": str(folder), "AIRFLOW__CORE__LOAD_EXAMPLES": "False"}
    environment["AIRFLOW__CORE__DAGS_FOLDER"] = str(folder)
    program = str(Path(sys.executable).with_name("airflow"))
    for command in ([program, "db", "migrate"], [sys.executable, "dag.py"]):
        done = subprocess.run(
            command, cwd=folder, env=environment, capture_output=True, text=True, timeout=240, check=False
        )
    return done.stdout + done.stderr


def test_tasks_run_as_jobs_and_return_what_they_gave(kubeconfig: Path, tmp_path: Path) -> None:
    printed = airflow(tmp_path, EXAMPLE.read_text())
    assert "TASK first success" in printed, printed[-3000:]
    assert "TASK second success [32, 32]" in printed, printed[-3000:]


def test_a_failure_fails_the_task_with_its_reason(kubeconfig: Path, tmp_path: Path) -> None:
    printed = airflow(tmp_path, EXAMPLE.read_text().replace(ORDER, f"{ORDER}\n    {BROKEN}"))
    assert "TASK third failed" in printed, printed[-3000:]
    assert "ended with exit status 3" in printed
