"""An online and two batch pods on one core of this machine: processes of local mode, in cgroups as the kubelet's.

Each counts what it gets done in memory that we share with it, and reads there how busy it is to be.
"""

from __future__ import annotations

import contextlib
import fcntl
import json
import mmap
import os
import shutil
import subprocess
import sys
import tempfile
import time
import uuid
from collections import Counter
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from tests.waiting import eventually
from volcano.agent.cgroups import Hierarchy, version_of
from volcano.agent.configuration import NAME
from volcano.agent.values import read_quota, share_file
from volcano.api import keys, resources
from volcano.testing.cluster import LocalCluster, local_cluster

SLICES = 8
PAUSE_SECONDS = 0.01
"""until a new load is noticed"""
MUCH_THROTTLED = 10_000
MOUNT = Path("/sys/fs/cgroup")
WORK = """
import hashlib, mmap, os, struct, sys, time
os.sched_setaffinity(0, {int(sys.argv[2])})
with open(sys.argv[1], "r+b") as file:
    shared = mmap.mmap(file.fileno(), 16)
block, done = bytes(4096), 0
while True:
    percent = struct.unpack_from("q", shared, 8)[0]
    if not percent:
        time.sleep(0.002)
        continue
    began = time.monotonic()
    for _ in range(200):
        hashlib.sha256(block)
    done += 1
    struct.pack_into("q", shared, 0, done)
    time.sleep((time.monotonic() - began) * (100 - percent) / percent)
"""
AGENT = """
import asyncio, logging, os, sys
from volcano.agent.main import run
from volcano.agent.options import parse
from volcano.kube.client import Client
from volcano.kube.config import load
from volcano.kube.transport import HttpTransport
logging.basicConfig(level=logging.INFO)
flags = parse(sys.argv[2:], os.environ)
client = Client(HttpTransport(load(flags.kubeconfig)))
asyncio.run(run(client, flags, os.environ, asyncio.Event(), every=float(sys.argv[1])))
"""
CONFIGURATION = {
    "globalConfig": {
        "nodeLabelConfig": {"nodeOverSubscriptionEnable": True},
        "cpuQosConfig": {"enable": True},
        "cpuThrottlingConfig": {"enable": True, "cpuThrottlingThreshold": 80},
    }
}


def absence() -> str | None:
    """Why this machine cannot show it, or None."""
    hierarchy = Hierarchy(MOUNT, version_of(MOUNT), "cgroupfs")
    share = hierarchy.file(f"volcano-probe-{os.getpid()}", share_file(hierarchy.version))
    try:
        if hierarchy.version == "v2":
            (MOUNT / "cgroup.subtree_control").write_text("+cpu")
        share.parent.mkdir()
    except OSError as problem:
        return f"no cgroups can be made here: {problem}"
    try:
        return None if share.exists() else f"the CPU controller is not given to {share.parent}"
    finally:
        share.parent.rmdir()


@dataclass
class Colocation:
    cluster: LocalCluster
    folder: Path
    hierarchy: Hierarchy
    core: int
    shared: dict[str, mmap.mmap] = field(default_factory=dict)
    cgroups: dict[str, str] = field(default_factory=dict)
    agent: subprocess.Popen[bytes] | None = None

    def start(self, name: str, qos: str, **requests: str) -> None:
        """A pod, and wait until it works."""
        path = self.folder / name
        path.write_bytes(bytes(16))
        with path.open("r+b") as file:
            self.shared[name] = mmap.mmap(file.fileno(), 16)
        container = {
            "name": "main",
            "image": "python",
            "command": [sys.executable, "-c", WORK, str(path), str(self.core)],
            "resources": {"requests": requests},
            "volumeMounts": [{"name": "shared", "mountPath": str(self.folder)}],
        }
        pod = {
            "metadata": {"name": name, "namespace": "default", "annotations": {keys.QOS_LEVEL: qos}},
            "spec": {
                "containers": [container],
                "terminationGracePeriodSeconds": 0,
                "volumes": [{"name": "shared", "hostPath": {"path": str(self.folder)}}],
            },
        }
        made = self.cluster.run(self.cluster.client.create(resources.PODS.untyped, pod))
        self.cgroups[name] = self.hierarchy.pod(made["metadata"]["uid"], made["status"]["qosClass"])
        self.load(**{name: 100})
        eventually(f"{name} to work", lambda: self._done(name) > 0)
        self.load(**{name: 0})

    def load(self, **percents: int) -> None:
        for name, percent in percents.items():
            self.shared[name][8:16] = percent.to_bytes(8, sys.byteorder)

    def alternating(self, seconds: float, *loads: Mapping[str, int]) -> list[dict[str, float]]:
        """What each gets done in a second under each of these loads, by turns: the machine is not always as fast."""
        done: list[Counter[str]] = [Counter() for _ in loads]
        spans = [0.0] * len(loads)
        for _ in range(SLICES):
            for index, load in enumerate(loads):
                self.load(**{**dict.fromkeys(self.shared, 0), **load})
                time.sleep(PAUSE_SECONDS)
                began, before = time.monotonic(), {name: self._done(name) for name in self.shared}
                time.sleep(seconds / SLICES)
                spans[index] += time.monotonic() - began
                done[index].update({name: self._done(name) - before[name] for name in self.shared})
        return [{name: found[name] / span for name in found} for found, span in zip(done, spans, strict=True)]

    def start_agent(self, every: float, features: str = "-NetworkQoS,-Eviction,*") -> None:
        command = [
            *as_in_the_chart(),
            sys.executable,
            "-c",
            AGENT,
            str(every),
            "--kubeconfig",
            str(self.cluster.kubeconfig),
        ]
        command += [f"--kube-cgroup-root={root_of(self.hierarchy)}", f"--supported-features={features}"]
        command += ["--healthz-address=127.0.0.1", "--healthz-port=0", "--kube-node-name=local"]
        log = (self.folder / "agent.log").open("wb")
        self.agent = subprocess.Popen([*command, "--kube-pod-namespace=default"], stdout=log, stderr=log)

    def configure(self, **sections: Any) -> None:
        text = json.dumps({"globalConfig": CONFIGURATION["globalConfig"] | sections})
        body = {"data": {"colocation-config": text}}
        self.cluster.run(self.cluster.client.patch(resources.CONFIGMAPS, NAME, body, "default"))

    def kill_agent(self) -> None:
        if self.agent is not None:
            self.agent.kill()
            self.agent.wait()

    def quota(self, cgroup: str = "") -> int:
        """Of a cgroup, or of all best effort pods: microseconds in a tenth of a second; -1 is no limit."""
        name = "cpu.cfs_quota_us" if self.hierarchy.version == "v1" else "cpu.max"
        return read_quota(self.hierarchy.read(cgroup or self.hierarchy.besteffort(), name) or "")

    def is_idle(self, name: str) -> bool:
        return self.hierarchy.read(self.cgroups[name], "cpu.idle") == "1"

    def _done(self, name: str) -> int:
        return int.from_bytes(self.shared[name][:8], sys.byteorder)


def as_in_the_chart(*capabilities: str) -> list[str]:
    """What starts a program as root with these capabilities only, where the machine has such a command."""
    if shutil.which("setpriv") is None:
        return []
    kept = ",".join(["-all", *(f"+{name}" for name in capabilities)])
    return ["setpriv", f"--bounding-set={kept}", "--inh-caps=-all", "--no-new-privs"]


def root_of(hierarchy: Hierarchy) -> str:
    return str(Path(hierarchy.pods_root()).parent)


@contextmanager
def colocation() -> Iterator[Colocation]:
    """A cluster whose node is one core; one at a time on this machine, for each takes all of it that it can get."""
    with (Path(tempfile.gettempdir()) / "volcano-colocation.lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        with _colocation() as found:
            yield found


@contextmanager
def _colocation() -> Iterator[Colocation]:
    root = f"volcano-colocation-{uuid.uuid4().hex[:6]}"
    hierarchy = Hierarchy(MOUNT, version_of(MOUNT), "cgroupfs", root)
    with tempfile.TemporaryDirectory(prefix="volcano-colocation-") as folder:
        try:
            with local_cluster(cpus=1, cgroup_root=root) as cluster:
                above_all_else(hierarchy, root)
                body = {"colocation-config": json.dumps(CONFIGURATION)}
                settings = {"metadata": {"name": NAME, "namespace": "default"}, "data": body}
                cluster.run(cluster.client.create(resources.CONFIGMAPS.untyped, settings))
                found = Colocation(cluster, Path(folder), hierarchy, max(os.sched_getaffinity(0)))
                try:
                    yield found
                finally:
                    found.kill_agent()
        finally:
            remove(root)


def above_all_else(hierarchy: Hierarchy, root: str) -> None:
    """What else runs on this machine is not to disturb the figures."""
    name, most = ("cpu.shares", "262144") if hierarchy.version == "v1" else ("cpu.weight", "10000")
    eventually("the node to make it", hierarchy.file(root, name).exists)
    hierarchy.file(root, name).write_text(most)


def remove(root: str) -> None:
    for place in (MOUNT, *MOUNT.iterdir()):
        for folder, _, _ in os.walk(place / root, topdown=False):
            with contextlib.suppress(OSError):
                Path(folder).rmdir()


def measure(every: float, seconds: float) -> dict[str, Any]:
    """`every`: seconds between the agent's rounds; `seconds` of each measurement."""
    with colocation() as here:
        here.start("online", "LC", cpu="500m")
        here.start("batch", "BE", cpu="400m")
        here.start("spare", "BE")
        online, batch, spare = {"online": 100}, {"batch": 100}, {"spare": 100}
        half = {"online": 50}
        alone, both = here.alternating(seconds, online, online | batch)
        without_agent = percent(both["online"], alone["online"])
        here.start_agent(every)
        here.load(**online, **batch, **spare)
        eventually("the agent to begin", lambda: here.is_idle("batch") and here.quota() > 0)
        alone, rest, both = here.alternating(seconds, online, batch, online | batch)
        alone_half, rest_half, both_half = here.alternating(seconds, half, batch, half | batch)
        here.load(**online, **spare)
        eventually("best effort to be throttled", lambda: 0 < here.quota() <= MUCH_THROTTLED)
        quota = here.quota()
        killed = time.monotonic()
        here.kill_agent()
        eventually("all to be undone", lambda: here.quota() == -1 and not here.is_idle("batch"), pause=0.002)
        lifted = time.monotonic() - killed
        free, unlimited = here.alternating(seconds, spare, batch)
        return {
            "cgroups": here.hierarchy.version,
            "online_percent_of_alone_without_agent": without_agent,
            "online_percent_of_alone_with_agent": percent(both["online"], alone["online"]),
            "batch_percent_of_alone_beside_online": percent(both["batch"], rest["batch"]),
            "half_busy_online_percent_of_alone_with_agent": percent(both_half["online"], alone_half["online"]),
            "batch_percent_of_alone_beside_half_busy_online": percent(both_half["batch"], rest_half["batch"]),
            "percent_of_a_core_for_best_effort_before_kill": quota / 1000,
            "seconds_from_kill_to_lifted": round(lifted, 3),
            "best_effort_percent_of_unlimited_after_kill": percent(free["spare"], unlimited["batch"]),
        }


def percent(part: float, whole: float) -> float:
    return round(100 * part / whole, 1)
