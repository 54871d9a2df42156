"""Writes the parts of the Helm chart that the program itself knows best, and the plain manifests rendered from it.

python -m tools.chart            # writes charts/volcano/files; and installer/volcano.yaml where `make kube` built Helm
python -m tools.chart --check    # exit status 1 when they are not current
"""

from __future__ import annotations

import argparse
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import msgspec
import yaml

from tools.kube.where import folder
from volcano.api import builtin_schemas, crds
from volcano.api.resources import ALL_VOLCANO
from volcano.local.cluster import DEFAULT_SCHEDULER_CONF
from volcano.webhooks.policies import mutating_policies, validating_policies
from volcano.webhooks.registration import Endpoint, configuration_of, is_mutating
from volcano.webhooks.rules import RULES, Settings

ROOT = Path(__file__).parents[1]
CHART = ROOT / "charts" / "volcano"
MANIFESTS = ROOT / "installer" / "volcano.yaml"
NAMESPACE = "volcano-system"
ENDPOINT = Endpoint(namespace="RELEASE-NAMESPACE", service="SERVICE")
CONTROLLERS = "system:serviceaccount:RELEASE-NAMESPACE:CONTROLLERS"
HEADER = "# Written by tools/chart.py from the program: change that, then run it again.\n"
PLAIN = """\
# Volcano with the chart's defaults: kubectl apply --server-side -f volcano.yaml
# Written by tools/chart.py from charts/volcano.
apiVersion: v1
kind: Namespace
metadata:
  name: volcano-system
"""


def files() -> Iterator[tuple[Path, str]]:
    """The chart's files that are made, with their texts."""
    made = CHART / "files"
    definitions = builtin_schemas.load()
    for resource in ALL_VOLCANO:
        crd = crds.crd(resource, definitions)
        crd["metadata"].setdefault("annotations", {})["helm.sh/resource-policy"] = "keep"
        yield made / "crds" / f"{resource.group}_{resource.plural}.yaml", HEADER + text(crd)
    yield made / "webhooks.yaml", HEADER + text({"items": list(webhooks())})
    yield (
        made / "validating-policies.yaml",
        HEADER + yaml.safe_dump_all(validating_policies(Settings()), sort_keys=False),
    )
    yield made / "mutating-policies.yaml", HEADER + yaml.safe_dump_all(mutating_policies(Settings()), sort_keys=False)
    yield made / "volcano-scheduler.conf", DEFAULT_SCHEDULER_CONF


def webhooks() -> Iterator[Any]:
    """The webhook configurations with a hole for each thing that only an installation knows."""
    for rule in RULES:
        configuration = msgspec.to_builtins(configuration_of(rule, ENDPOINT, "", ("SCHEDULER-NAME",), CONTROLLERS))
        kind = "MutatingWebhookConfiguration" if is_mutating(rule) else "ValidatingWebhookConfiguration"
        for webhook in configuration["webhooks"]:
            webhook["clientConfig"].pop("caBundle", None)
        yield {"apiVersion": "admissionregistration.k8s.io/v1", "kind": kind} | configuration


def rendered(*values: str) -> str:
    """The chart with these values, as Helm writes it."""
    command = [str(folder() / "helm"), "template", "volcano", str(CHART), "--namespace", NAMESPACE, *values]
    return subprocess.run(command, check=True, capture_output=True, text=True).stdout


def text(document: Any) -> str:
    return yaml.safe_dump(document, sort_keys=False, width=120)


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--check", action="store_true")
    check = parser.parse_args().check
    old = [path for path, content in files() if not is_current(path, content, write=not check)]
    if (folder() / "helm").exists() and not is_current(MANIFESTS, PLAIN + rendered(), write=not check):
        old.append(MANIFESTS)
    for path in old:
        sys.stdout.write(f"{'not current: ' if check else 'wrote '}{path.relative_to(ROOT)}\n")
    return 1 if check and old else 0


def is_current(path: Path, content: str, *, write: bool) -> bool:
    if path.exists() and path.read_text() == content:
        return True
    if write:
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(content)
    return False


if __name__ == "__main__":
    sys.exit(main())
