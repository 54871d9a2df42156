"""The flags of vc-scheduler: upstream's names and defaults, except that health and metrics are on."""

# ruff: noqa: RUF009 - `flag` makes dataclass fields

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from volcano.kube.flags import ConnectionFlags, FlagError, LeaseFlags, flag
from volcano.scheduler.framework.options import SHARD_HARD, SHARD_NONE, SHARD_SOFT, Options


@dataclass
class Flags(LeaseFlags, ConnectionFlags):
    """The command line of vc-scheduler, by upstream's names."""

    ca_cert_file: str = flag("", "certificate authority of the healthz listener's clients")
    tls_cert_file: str = flag("", "certificate of the healthz listener")
    tls_private_key_file: str = flag("", "key of the healthz listener")
    lock_object_namespace: str = flag("", "deprecated: use leader-elect-resource-namespace")
    scheduler_name: list[str] = flag(
        ["volcano"], "schedule pods with this schedulerName; may be repeated", repeat="array"
    )
    scheduler_conf: str = flag("", "path of the scheduler configuration; reloaded when it changes")
    schedule_period: float = flag(1.0, "longest pause between cycles; changes start one at once", seconds=True)
    resync_period: float = flag(0.0, "accepted for compatibility", seconds=True)
    default_queue: str = flag("default", "queue of podgroups that name none")
    version: bool = flag(False, "print the version and exit")
    listen_address: str = flag(":8080", "address of /metrics")
    healthz_address: str = flag(":11251", "address of /healthz and /readyz")
    priority_class: bool = flag(True, "use priority classes for the priority of jobs")
    kube_api_qps: float = flag(2000.0, "accepted for compatibility: a healthy server is not throttled")
    kube_api_burst: int = flag(2000, "accepted for compatibility")
    minimum_feasible_nodes: int = flag(100, "feasible nodes to look for at least, where a percentage is set")
    minimum_percentage_nodes_to_find: int = flag(5, "accepted for compatibility")
    percentage_nodes_to_find: int = flag(0, "stop after this share of feasible nodes; 0 looks at all")
    plugins_dir: str = flag("", "directory of Python files with custom plugins and actions")
    csi_storage: bool = flag(True, "accepted for compatibility")
    enable_healthz: bool = flag(True, "serve /healthz and /readyz")
    enable_metrics: bool = flag(True, "serve /metrics")
    enable_pprof: bool = flag(False, "accepted for compatibility")
    node_selector: list[str] = flag([], "only nodes with one of these labels (key:value)", repeat="slice")
    cache_dumper: bool = flag(True, "write the scheduler's input to a file on SIGUSR1")
    cache_dump_dir: str = flag("/tmp", "directory of these files")  # noqa: S108 - upstream's default
    node_worker_threads: int = flag(20, "accepted for compatibility")
    gate_removal_worker_num: int = flag(5, "accepted for compatibility")
    ignored_provisioners: list[str] = flag([], "storage provisioners whose volumes are not counted", repeat="slice")
    resource_sync_timeout: float = flag(60.0, "longest wait for the first view of the cluster", seconds=True)
    disable_default_scheduler_config: bool = flag(False, "fail instead of falling back to the default configuration")
    scheduler_sharding_mode: str = flag("none", "hard: use only the nodes of a NodeShard; soft: use them first; none")
    scheduler_sharding_name: str = flag("volcano", "the NodeShard of this scheduler")
    feature_gates: dict[str, bool] = flag({}, "Gate=true,Other=false")
    verbosity: int = 0

    def options(self) -> Options:
        """What of this concerns decisions."""
        return Options(
            scheduler_names=tuple(self.scheduler_name),
            default_queue=self.default_queue,
            percentage_nodes_to_find=self.percentage_nodes_to_find,
            minimum_feasible_nodes=self.minimum_feasible_nodes,
            feature_gates=self.feature_gates,
            ignored_provisioners=tuple(self.ignored_provisioners),
            sharding_mode=self.scheduler_sharding_mode,
            sharding_name=self.scheduler_sharding_name,
            patience_seconds=self.schedule_period,
        )

    def remarks(self) -> list[str]:
        """What was asked for and will not be. Raises FlagError for what cannot work at all."""
        if self.schedule_period <= 0:
            raise FlagError(f"--schedule-period {self.schedule_period:g}s: it must be longer than nothing, such as 1s")
        modes = (SHARD_NONE, SHARD_SOFT, SHARD_HARD)
        found = []
        if self.scheduler_sharding_mode not in modes:
            mode = self.scheduler_sharding_mode
            found.append(f"--scheduler-sharding-mode {mode!r} means none: {', '.join(modes)} are known")
        found += [
            f"--node-selector {label!r} has no effect: it must be key:value"
            for label in self.node_selector
            if not all(part.strip() for part in label.partition(":"))
        ]
        dumps = self.cache_dump_dir if self.cache_dumper else ""
        for name, path in (("plugins-dir", self.plugins_dir), ("cache-dump-dir", dumps)):
            if path and not Path(path).is_dir():
                found.append(f"--{name} {path} is not a directory (yet)")
        return found

    @property
    def deciding(self) -> tuple[str, ...]:
        """The flags that decisions depend on, as they would be typed."""
        names = [f"--scheduler-name={name}" for name in self.scheduler_name]
        gates = [f"{gate}={str(on).lower()}" for gate, on in self.feature_gates.items()]
        return (
            *names,
            f"--default-queue={self.default_queue}",
            f"--percentage-nodes-to-find={self.percentage_nodes_to_find}",
            f"--minimum-feasible-nodes={self.minimum_feasible_nodes}",
            *(f"--node-selector={label}" for label in self.node_selector),
            *(f"--ignored-provisioners={name}" for name in self.ignored_provisioners),
            f"--scheduler-sharding-mode={self.scheduler_sharding_mode}",
            f"--scheduler-sharding-name={self.scheduler_sharding_name}",
            *([f"--feature-gates={','.join(gates)}"] if gates else []),
        )

    @property
    def uses_priority_classes(self) -> bool:
        return self.priority_class and self.feature_gates.get("PriorityClass", True)

    @property
    def lease_namespace(self) -> str:
        return self.lock_object_namespace or self.leader_elect_resource_namespace

    @property
    def component(self) -> str:
        """What events name as their source."""
        return self.scheduler_name[0] if len(self.scheduler_name) == 1 else "volcano"
