"""Commands start quickly because they import little: what is heavy is loaded by those that need it.

Times are measured by benchmarks/startup.py; a busy machine cannot fail this test.
"""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Iterator

import pytest

from tests.waiting import eventually
from volcano.api.resources import JOBS
from volcano.testing.cluster import LocalCluster, local_cluster

HEAVY = (
    "asyncio",
    "cel_expr_python",
    "cryptography",
    "kubernetes_validate",
    "numpy",
    "rich",
    "subprocess",
    "tempfile",
    "volcano.api.batch",
    "volcano.api.builtin_schemas",
    "volcano.api.core",
    "volcano.controllers.runtime",
    "volcano.local.apiserver.app",
    "volcano.scheduler",
    "volcano.sdk",
    "volcano.webhooks",
    "yaml",
)
ENGINE = ("cryptography", "numpy", "volcano.scheduler")
MOST_MODULES = 230
"""Python with nothing has 60, click with TLS 100 more."""
PROGRAM = """
import sys
from importlib import import_module

from volcano.cli import program

name, *sys.argv = sys.argv[1:]
leave = program.leave
program.leave = lambda status: (print(*sys.modules, file=sys.stderr), leave(status))
import_module(name).main()
"""
COMMANDS = [
    "vcctl --help",
    "vcctl version",
    "vcctl job list",
    "vcctl job list -A -o wide",
    "vcctl queue list -o json",
    "vcctl job view --help",
    "vcctl queue list",
    "vcctl queue tree",
    "vcctl pod list",
    "vcctl podgroup list",
    "vcctl jobflow list",
    "vcctl cronjob list",
    "vcctl hypernode list",
    "vcctl events",
    "vcctl logs --help",
    "vcctl apply --help",
    "vcctl top --once",
    "vjobs",
    "vqueues",
    "vsub --help",
    "vsub -n quick -c true",
    "vcancel --help",
    "vsuspend --help",
    "vresume --help",
]


@pytest.fixture(scope="module")
def cluster() -> Iterator[LocalCluster]:
    with local_cluster(cpus=1) as running:
        yield running


@pytest.mark.xdist_group("startup")
@pytest.mark.parametrize("command", COMMANDS)
def test_a_command_imports_no_more_than_it_needs(command: str, cluster: LocalCluster) -> None:
    status, modules = loaded(command, cluster)

    assert status == 0
    assert [module for module in modules if module in HEAVY] == []
    assert len(modules) < MOST_MODULES


@pytest.mark.xdist_group("startup")
@pytest.mark.parametrize("command", ["vcctl doctor", "vcctl explain pod nobody", "vcctl explain job ended"])
def test_the_engine_is_loaded_only_for_what_it_decides(command: str, cluster: LocalCluster) -> None:
    if command.endswith("ended"):
        spec = {"restartPolicy": "Never", "containers": [{"name": "main", "image": "busybox", "command": ["true"]}]}
        tasks = [{"name": "t", "replicas": 1, "template": {"spec": spec}}]
        job = {"metadata": {"name": "ended", "namespace": "default"}, "spec": {"tasks": tasks}}
        cluster.run(cluster.client.create(JOBS.untyped, job))

        def has_ended() -> bool:
            found = cluster.run(cluster.client.get(JOBS.untyped, "ended", "default"))
            return bool(found.get("status", {}).get("state", {}).get("phase") == "Completed")

        eventually("the job to end", has_ended)
    status, modules = loaded(command, cluster)

    assert (status == 0) == (not command.endswith("nobody"))
    assert [module for module in modules if module in ENGINE] == []


def loaded(command: str, cluster: LocalCluster) -> tuple[int, list[str]]:
    """The exit status of a command, and what it has imported when it ends."""
    name = command.split(maxsplit=1)[0]
    module = "volcano.cli.main" if name == "vcctl" else f"volcano.cli.slurm.{name}"
    done = subprocess.run(
        [sys.executable, "-c", PROGRAM, module, *command.split()],
        env={**os.environ, "KUBECONFIG": str(cluster.kubeconfig)},
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
    )
    assert done.stderr, done
    return done.returncode, done.stderr.splitlines()[-1].split()
