"""The page of metrics, from the registries that the daemons render."""

from __future__ import annotations

from collections.abc import Callable
from typing import Final, cast

from tools.reference import blocks
from volcano.agent.main import offers
from volcano.controllers.job.metrics import JobMetrics
from volcano.controllers.runtime import LoopMetrics
from volcano.http.metrics import Description, Registry
from volcano.http.process import process_metrics
from volcano.local.apiserver.monitoring import Monitor
from volcano.local.apiserver.storage.store import Store
from volcano.scheduler.daemon.metrics import Metrics
from volcano.webhooks.rules import Settings
from volcano.webhooks.rules.worlds import ListedWorld
from volcano.webhooks.server import Webhooks

HEAD: Final = """\
# Metrics

Every daemon serves `/metrics` in the text format of Prometheus: the scheduler on `--listen-address` (`:8080`), the
controller manager on `--listen-address` (`:8081`), the webhook manager on `--healthz-address` (`:11251`), the agent on
`--healthz-port` (`3300`), the API server of local mode on its own port. Names and labels are those of Volcano where it
has the metric. A metric without a value so far is not shown.
"""


def page() -> str:
    lines = [HEAD]
    for daemon, metrics in by_daemon().items():
        lines.append(f"## {daemon}\n")
        for about in metrics:
            labels = f" by {', '.join(f'`{label}`' for label in about.label_names)}" if about.label_names else ""
            lines += [f"### {about.name}", f"{blocks.sentence(about.help_text)}\n", f"A {about.kind}{labels}.\n"]
    return "\n".join(lines).rstrip() + "\n"


def by_daemon() -> dict[str, list[Description]]:
    """What each daemon reports, in the order in which it is declared."""
    return {
        "vc-scheduler": Metrics().registry.descriptions(),
        "vc-controller-manager": _declared("", LoopMetrics, JobMetrics),
        "vc-webhook-manager": _declared("volcano_", lambda registry: Webhooks([], ListedWorld(), Settings, registry)),
        "vc-agent": _declared("volcano_agent_", offers),
        "API server of local mode": Monitor(cast(Store, None)).registry.descriptions(),
        "Every process": process_metrics().descriptions(),
    }


def _declared(prefix: str, *makers: Callable[[Registry], object]) -> list[Description]:
    registry = Registry(prefix)
    for maker in makers:
        maker(registry)
    return registry.descriptions()
