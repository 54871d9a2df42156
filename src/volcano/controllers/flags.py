"""The flags of vc-controller-manager: upstream's names and defaults, except that health and metrics are on."""

# ruff: noqa: RUF009 - `flag` makes dataclass fields

from __future__ import annotations

import difflib
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

from volcano.kube.flags import ConnectionFlags, FlagError, LeaseFlags, flag

CONTROLLERS: Final = (
    "colocation-config-controller",
    "cronjob-controller",
    "gc-controller",
    "hyperNode-controller",
    "job-controller",
    "jobflow-controller",
    "jobtemplate-controller",
    "pg-controller",
    "queue-controller",
    "sharding-controller",
)
"""Every name that --controllers may mention."""


@dataclass
class Flags(LeaseFlags, ConnectionFlags):
    """The command line of vc-controller-manager, by upstream's names."""

    ca_cert_file: str = flag("", "certificate authority of the healthz listener's clients")
    tls_cert_file: str = flag("", "certificate of the healthz listener")
    tls_private_key_file: str = flag("", "key of the healthz listener")
    lock_object_namespace: str = flag("", "deprecated: use leader-elect-resource-namespace")
    leader_elect_resource_name: str = flag("vc-controller-manager", "name of the lease")
    worker_threads: int = flag(3, "workers of the job controller; each looks after several jobs at a time")
    worker_threads_for_cronjob: int = flag(3, "workers of the cronjob controller")
    worker_threads_for_podgroup: int = flag(5, "workers of the podgroup controller")
    worker_threads_for_queue: int = flag(5, "workers of the queue controller")
    worker_threads_for_gc: int = flag(1, "workers of the garbage collector")
    max_requeue_num: int = flag(15, "refusals before a job, queue or flow is given up; negative: never")
    scheduler_name: list[str] = flag(
        ["volcano"], "make podgroups for pods with this schedulerName; may be repeated", repeat="array"
    )
    enable_healthz: bool = flag(True, "serve /healthz and /readyz")
    healthz_address: str = flag(":11251", "address of /healthz and /readyz")
    enable_metrics: bool = flag(True, "serve /metrics")
    listen_address: str = flag(":8081", "address of /metrics")
    inherit_owner_annotations: bool = flag(True, "podgroups take over annotations of the workloads that own the pods")
    controllers: str = flag("*,-sharding-controller", "controllers to run: names, * for all, -name for all but one")
    scheduler_configs: list[str] = flag([], "deprecated: shards, as name:type:min:max:warmup:min:max", repeat="array")
    shard_sync_period: float = flag(60.0, "how often shards are computed", seconds=True)
    enable_node_event_trigger: bool = flag(True, "compute shards when nodes change")
    sharding_configmap: str = flag("volcano-sharding-configmap", "ConfigMap with the shards")
    sharding_configmap_namespace: str = flag("volcano-system", "its namespace")
    feature_gates: dict[str, bool] = flag({}, "Gate=true,Other=false")
    version: bool = flag(False, "print the version and exit")
    verbosity: int = 0

    @property
    def lease_namespace(self) -> str:
        return self.lock_object_namespace or self.leader_elect_resource_namespace

    @property
    def enabled_controllers(self) -> tuple[str, ...]:
        wanted = [item.strip() for item in self.controllers.split(",") if item.strip()]
        check_controllers(wanted)
        return tuple(name for name in CONTROLLERS if is_enabled(name, wanted))

    def gate(self, name: str) -> bool:
        """A feature gate; all that concern the controllers built here are on unless switched off."""
        return self.feature_gates.get(name, True)


def is_enabled(name: str, wanted: Sequence[str]) -> bool:
    """The first item that names the controller decides; else `*` does, and so does an empty list."""
    for item in wanted:
        if item in {name, f"+{name}"}:
            return True
        if item == f"-{name}":
            return False
    return not wanted or "*" in wanted


def check_controllers(wanted: Sequence[str]) -> None:
    seen: set[str] = set()
    for item in wanted:
        name = item.removeprefix("+").removeprefix("-")
        if name == "*":
            continue
        if name in seen:
            raise FlagError(f"controllers option {name} cannot have both '-' and '+' prefixes")
        seen.add(name)
        if name not in CONTROLLERS:
            near = difflib.get_close_matches(name, CONTROLLERS, n=1)
            hint = f": did you mean {near[0]}?" if near else f": there are {', '.join(CONTROLLERS)}"
            raise FlagError(f"--controllers: unknown controller {name}{hint}")
