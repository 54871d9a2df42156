"""Two members of a gang, submitted as one would on Slurm: `python pair.py`."""

from __future__ import annotations

import tempfile

import submitit


def greet() -> str:
    environment = submitit.JobEnvironment()
    return f"rank {environment.global_rank} of {environment.num_tasks}"


if __name__ == "__main__":
    with tempfile.TemporaryDirectory() as folder:
        executor = submitit.AutoExecutor(folder, cluster="volcano")
        executor.update_parameters(nodes=2, timeout_min=5)
        print(executor.submit(greet).results())
