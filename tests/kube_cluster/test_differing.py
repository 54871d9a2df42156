"""How many scenarios there are for both kinds of cluster, and that few of them differ."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

from tests.differing import ON_KUBERNETES

ROOT = Path(__file__).parents[2]
FOLDERS = ("tests/clients", "tests/e2e", "tests/kube_cluster", "tests/kubectl")
MOST = 0.03


def test_few_scenarios_differ() -> None:
    command = [sys.executable, "-m", "pytest", *FOLDERS, "--collect-only", "-q", "-m", "kube and not soak", "-n0"]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, timeout=120, check=True)
    on_both = set(re.findall(r"::(\w+)\[kube", done.stdout))

    assert set(ON_KUBERNETES) <= on_both
    assert len(ON_KUBERNETES) <= MOST * len(on_both), f"{len(ON_KUBERNETES)} of {len(on_both)}"
