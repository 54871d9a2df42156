"""submitit's own AutoExecutor, with Volcano as its cluster."""

from __future__ import annotations

from pathlib import Path

import pytest

submitit = pytest.importorskip("submitit")


def rank_and_size() -> tuple[int, int]:
    environment = submitit.JobEnvironment()
    print("said")
    return environment.global_rank, environment.num_tasks


def refuse() -> None:
    raise LookupError("not here")


def test_functions_run_and_return(kubeconfig: Path, tmp_path: Path) -> None:
    executor = submitit.AutoExecutor(folder=tmp_path / "%j", cluster="volcano")
    executor.update_parameters(timeout_min=1, nodes=2, cpus_per_task=1, name="pair")

    job = executor.submit(rank_and_size)

    assert job.results() == [(0, 2), (1, 2)]
    assert "said" in job.stdout()
    assert job.job_id.startswith("pair-")


def test_arrays_failures_and_cancelling(kubeconfig: Path, tmp_path: Path) -> None:
    executor = submitit.AutoExecutor(folder=tmp_path, cluster="volcano")
    executor.update_parameters(timeout_min=1)
    jobs = executor.map_array(pow, [2, 3], [3, 2])
    assert [job.result() for job in jobs] == [8, 9]

    failing = executor.submit(refuse)
    with pytest.raises(submitit.core.utils.FailedJobError, match="not here"):
        failing.result()

    endless = executor.submit(__import__("time").sleep, 60)
    endless.cancel()
    endless.wait()
    assert endless.state in ("CANCELLED", "RUNNING")
