"""The whole product on Kubernetes' own API server, against a writer that creates and binds the same pods.

    python -m benchmarks.cluster [--jobs 20] [--replicas 500] [--nodes 1000] [--plain | --bare] [--necessary] [--audit]

Each run has a control plane of its own: etcd, kube-apiserver, kube-controller-manager and simulated nodes, which make
bound pods Running. `volcano` submits vcjobs (with --plain: podgroups and their pods; with --bare: pods that name no
group) to scheduler, controllers and webhooks, processes as the chart starts them. `floor` has none of them; nor has
`necessary`, whose writer makes all objects that there must be, and tells their phases as seldom as can be. Each is
measured until its pods run and its jobs say so; what is put off, as words about podgroups are in a rush, apart from
that, until nothing is written any more (`afterwards`). Needs the programs that `make kube` builds; says so and measures
nothing where they are absent. Prints JSON.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import statistics
import tempfile
import time
from collections import Counter
from collections.abc import AsyncIterator, Iterable
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, cast

import msgspec
from tests.kube_cluster import control_plane

from benchmarks.rig import clusters, jobs
from benchmarks.rig.audit import Audit
from benchmarks.rig.processes import in_process
from benchmarks.rig.requests import requests_so_far, writes
from volcano.api import resources
from volcano.api.meta import JsonObject
from volcano.controllers.fanout import each
from volcano.kube import config
from volcano.kube.client import Client
from volcano.kube.informer import Callbacks, Informer
from volcano.kube.transport import HttpTransport
from volcano.local.node.simulated import POD_VIEWS, PodView

ADMISSION = (
    "/jobs/mutate,/jobs/validate,/podgroups/validate,/queues/mutate,/queues/validate,"
    "/hypernodes/validate,/cronjobs/validate"
)
"""What Volcano's own chart switches on."""
CONTROLLERS = "system:serviceaccount:volcano-system:volcano-controllers"
PATIENCE_SECONDS = 900.0
REST_SECONDS = 5.0
QUIET_SECONDS = 10.0
"""Longer than any pause between what was put off and what is then written."""
AFTERWARDS_SHOWN = 5
FEW = 5
"""So many writes in that time are none that the load has caused: numbers of queues, say."""
OURS = ("vc-scheduler", "vc-controller-manager")
NODES_WRITE = ("PATCH pods/status", "PUT pods/status")


@dataclass(frozen=True)
class Load:
    """What is submitted: `kind` is vcjobs, podgroups (and their pods) or pods (that name no group)."""

    kind: str
    jobs: int
    replicas: int
    nodes: int

    @property
    def pods(self) -> int:
        return self.jobs * self.replicas


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--jobs", type=int, default=20)
    parser.add_argument("--replicas", type=int, default=500)
    parser.add_argument("--nodes", type=int, default=1000)
    kind = parser.add_mutually_exclusive_group()
    kind.add_argument("--plain", dest="kind", action="store_const", const="podgroups", default="vcjobs")
    kind.add_argument("--bare", dest="kind", action="store_const", const="pods")
    parser.add_argument("--necessary", action="store_true", help="also measure what no product could do without")
    parser.add_argument("--audit", action="store_true", help="count requests by program, too (costs the API server)")
    arguments = parser.parse_args()
    if why := control_plane.absence():
        print(json.dumps({"skipped": why}))
        return
    load = Load(arguments.kind, arguments.jobs, arguments.replicas, arguments.nodes)
    with tempfile.TemporaryDirectory(prefix="volcano-bench-") as folder:
        runs = {
            name: run(Path(folder) / name, load, name, audited=arguments.audit)
            for name in ("floor", "volcano", *(["necessary"] if arguments.necessary else []))
        }
    found = ratios(load, runs["volcano"], runs["floor"])
    if arguments.necessary:
        found["necessary_api_server_cpu_to_floor"] = server_ratio(runs["necessary"], runs["floor"])
    print(json.dumps({"ratios": found, **runs}, indent=2))


def run(root: Path, load: Load, who: str, *, audited: bool) -> dict[str, Any]:
    audit = Audit(root) if audited else None
    with clusters.kubernetes(root, options=audit.flags() if audit else (), accounts=True) as cluster:
        cluster.start_nodes(load.nodes)
        if who == "volcano":
            cluster.start_webhooks(f"--enabled-admission={ADMISSION}", f"--controllers-user={CONTROLLERS}")
            cluster.start_scheduler()
            cluster.start_controllers()
        time.sleep(REST_SECONDS)
        requests, cpu = asyncio.run(requests_so_far(cluster.kubeconfig)), cluster.cpu_seconds()
        if audit:
            audit.mark()
        measured = in_process(WORK[who], str(cluster.writer), load)
        at_rest(cluster, of="jobs/status", seconds=REST_SECONDS)
        asked, spent = asyncio.run(requests_so_far(cluster.kubeconfig)), cluster.cpu_seconds()
        if audit:
            measured["requests_by_program"] = audit.by_program()
        measured |= {"cpu_seconds": more(spent, cpu), "requests": dict((asked - requests).most_common())}
        took = at_rest(cluster, of="", seconds=QUIET_SECONDS)
        later = asyncio.run(requests_so_far(cluster.kubeconfig)) - asked
        afterwards = {"seconds": took, "cpu_seconds": more(cluster.cpu_seconds(), spent)}
        return {
            **measured,
            "afterwards": {**afterwards, "requests": dict(later.most_common(AFTERWARDS_SHOWN))},
            "peak_mib": cluster.peak_mib(),
        }


def more(now: dict[str, float], before: dict[str, float]) -> dict[str, float]:
    return {name: round(seconds - before[name], 2) for name, seconds in now.items()}


def at_rest(cluster: clusters.Cluster, of: str, seconds: float) -> float:
    """Wait until hardly anything `of` this kind has been written for so many seconds; returns how long that took."""
    began, before = time.monotonic(), asyncio.run(requests_so_far(cluster.kubeconfig))
    while time.monotonic() < began + PATIENCE_SECONDS:
        time.sleep(seconds)
        now = asyncio.run(requests_so_far(cluster.kubeconfig))
        if writes(Counter({what: count for what, count in (now - before).items() if of in what})) <= FEW:
            return round(time.monotonic() - began, 1)
        before = now
    raise SystemExit(f"still writing {of or 'something'} {PATIENCE_SECONDS:.0f} s after the last pod ran")


def ratios(load: Load, ours: dict[str, Any], floor: dict[str, Any]) -> dict[str, float]:
    """The figures that are promised: until pods run and jobs say so; and with all that is said afterwards."""
    later = ours["afterwards"]["cpu_seconds"]
    with_later = {name: seconds + later[name] for name, seconds in ours["cpu_seconds"].items()}
    cpu, asked = ours["cpu_seconds"], Counter(ours["requests"])
    per_pod = {name: round(cpu[name] / load.pods * 1e3, 3) for name in OURS}
    necessary = asked["POST pods"] + asked["POST pods/binding"] + sum(asked[name] for name in NODES_WRITE)
    others = asked.total() - necessary - asked["PUT leases"] - asked["GET leases"]
    return {
        "last_bind_to_floor": round(ours["last_bind_seconds"] / floor["last_bind_seconds"], 2),
        "api_server_cpu_to_floor": server_ratio(ours, floor),
        "scheduler_and_controllers_cpu_ms_per_pod": round(sum(per_pod.values()), 3),
        **{f"{name}_cpu_ms_per_pod": value for name, value in per_pod.items()},
        "other_requests_per_pod": round(others / load.pods, 3),
        "api_server_cpu_to_floor_with_afterwards": server_ratio({"cpu_seconds": with_later}, floor),
        "scheduler_and_controllers_cpu_ms_per_pod_with_afterwards": round(
            sum(with_later[name] for name in OURS) / load.pods * 1e3, 3
        ),
    }


def server_ratio(one: dict[str, Any], floor: dict[str, Any]) -> float:
    ours, bare = (float(run["cpu_seconds"]["kube-apiserver"]) for run in (one, floor))
    return round(ours / bare, 2)


# In a process of its own


@dataclass
class Seen:
    """When the watch showed each pod, and showed it bound."""

    wanted: int
    created: dict[str, float] = field(default_factory=dict)
    bound: dict[str, float] = field(default_factory=dict)
    running: set[str] = field(default_factory=set)
    complete: asyncio.Event = field(default_factory=asyncio.Event)

    def look(self, pod: PodView) -> None:
        key, now = pod.metadata.key, time.perf_counter()
        self.created.setdefault(key, now)
        if pod.spec.node_name:
            self.bound.setdefault(key, now)
        if pod.status.phase == "Running":
            self.running.add(key)
            if len(self.running) == self.wanted:
                self.complete.set()

    async def finished(self) -> None:
        try:
            async with asyncio.timeout(PATIENCE_SECONDS):
                await self.complete.wait()
        except TimeoutError:
            raise SystemExit(
                f"of {self.wanted} pods {len(self.created)} were created, {len(self.bound)} bound, "
                f"{len(self.running)} running after {PATIENCE_SECONDS:.0f} s"
            ) from None

    def figures(self, started: float) -> dict[str, Any]:
        last = max(self.bound.values()) - started
        waits = sorted((self.bound[key] - self.created[key]) * 1e3 for key in self.bound)
        steps = statistics.quantiles(waits, n=100)
        return {
            "pods_per_second": round(self.wanted / last),
            "last_bind_seconds": round(last, 2),
            "last_create_seconds": round(max(self.created.values()) - started, 2),
            "create_to_bind_ms": {"p50": round(steps[49], 1), "p99": round(steps[98], 1)},
        }


@asynccontextmanager
async def watching(path: str, pods: int) -> AsyncIterator[tuple[Client, Seen]]:
    client = Client(HttpTransport(config.load(path)), user_agent="benchmark")
    seen = Seen(pods)
    informer = Informer(client, POD_VIEWS, handler=Callbacks(seen.look, lambda _old, new: seen.look(new)))
    following = asyncio.create_task(informer.run())
    await informer.synced()
    try:
        yield client, seen
    finally:
        following.cancel()
        await client.close()


async def submit(path: str, load: Load) -> dict[str, Any]:
    """Hand in everything at once; others make pods of it and bind them."""
    async with watching(path, load.pods) as (client, seen):
        bodies = list(submissions(load))
        started = time.perf_counter()

        async def post(item: tuple[Any, Any]) -> None:
            await client.create(item[0], item[1], jobs.NAMESPACE)

        await all_of(bodies, post)
        await seen.finished()
        return seen.figures(started)


def submissions(load: Load) -> Iterable[tuple[Any, JsonObject]]:
    for number in range(load.jobs):
        if load.kind == "vcjobs":
            yield resources.JOBS.untyped, jobs.document(number, load.replicas)
            continue
        group, pods = jobs.outcome(number, load.replicas)
        del group["metadata"]["ownerReferences"]
        del group["spec"]["minTaskMember"]  # its pods name no task
        if load.kind == "podgroups":
            yield resources.PODGROUPS.untyped, group
        for pod in pods:
            yield POD_VIEWS, cast("JsonObject", plain(pod, grouped=load.kind == "podgroups"))


def plain(pod: msgspec.Raw, *, grouped: bool) -> msgspec.Raw:
    """The pod of a job, as a user would write it."""
    body = msgspec.json.decode(pod)
    group = body["metadata"]["annotations"]["scheduling.k8s.io/group-name"]
    meta = {"name": body["metadata"]["name"]}
    if grouped:
        meta["annotations"] = {"scheduling.k8s.io/group-name": group}
    return msgspec.Raw(msgspec.json.encode({**body, "metadata": meta}))


def without_owner(pod: msgspec.Raw) -> msgspec.Raw:
    """Kubernetes deletes what an absent job owns."""
    body = msgspec.json.decode(pod)
    del body["metadata"]["ownerReferences"]
    return msgspec.Raw(msgspec.json.encode(body))


async def write(path: str, load: Load) -> dict[str, Any]:
    """Create the pods that the controllers would, and bind each."""
    async with watching(path, load.pods) as (client, seen):
        nodes = [node["metadata"]["name"] for node in (await client.list(resources.NODES.untyped)).items]
        made = (pod for number in range(load.jobs) for pod in jobs.outcome(number, load.replicas)[1])
        bodies = [without_owner(pod) for pod in made]
        started = time.perf_counter()

        async def create_and_bind(item: tuple[int, msgspec.Raw]) -> None:
            number, body = item
            pod = await client.create(POD_VIEWS, cast("PodView", body), jobs.NAMESPACE)
            meta = pod.metadata
            await client.bind(meta.namespace, meta.name, meta.uid, nodes[number % len(nodes)])

        await all_of(list(enumerate(bodies)), create_and_bind)
        await seen.finished()
        return seen.figures(started)


async def write_all(path: str, load: Load) -> dict[str, Any]:
    """Make every object of every job, admit its podgroup, bind its pods and say of both that they run: no word more."""
    async with watching(path, load.pods) as (client, seen):
        nodes = [node["metadata"]["name"] for node in (await client.list(resources.NODES.untyped)).items]
        plans = [(number, *jobs.outcome(number, load.replicas)) for number in range(load.jobs)]
        started = time.perf_counter()

        async def create_and_bind(item: tuple[int, msgspec.Raw]) -> None:
            number, body = item
            pod = await client.create(POD_VIEWS, cast("PodView", body), jobs.NAMESPACE)
            meta = pod.metadata
            if load.kind == "pods":
                await client.patch(POD_VIEWS, meta.name, NAMED, meta.namespace)
            await client.bind(meta.namespace, meta.name, meta.uid, nodes[number % len(nodes)])

        async def make(plan: tuple[int, JsonObject, list[msgspec.Raw]]) -> None:
            number, group, pods = plan
            name = group["metadata"]["name"]
            del group["metadata"]["ownerReferences"]
            if load.kind == "vcjobs":
                await client.create(resources.JOBS.untyped, jobs.document(number, load.replicas))
            await client.create(resources.PODGROUPS.untyped, group)
            if load.kind == "vcjobs":
                await client.patch(resources.PODGROUPS, name, {"status": {"phase": "Inqueue"}}, jobs.NAMESPACE)
            bodies = [plain(pod, grouped=load.kind != "pods") for pod in pods]
            await all_of(list(enumerate(bodies, number * load.replicas)), create_and_bind)
            await client.patch(resources.PODGROUPS, name, {"status": running(load)}, jobs.NAMESPACE)
            if load.kind == "vcjobs":
                job = f"job-{number}"
                await client.patch(
                    resources.JOBS, job, {"status": running(load, job)}, jobs.NAMESPACE, subresource="status"
                )

        await all_of(plans, make)
        await seen.finished()
        return seen.figures(started)


NAMED = {"metadata": {"annotations": {"scheduling.k8s.io/group-name": "podgroup-00000000-0000-4000-8000-000000000000"}}}


def running(load: Load, job: str = "") -> JsonObject:
    """The status of a podgroup that runs or, with `job`, of that job."""
    now = time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime())
    if job:
        state = {"phase": "Running", "lastTransitionTime": now}
        conditions = [{"status": phase, "lastTransitionTime": now} for phase in ("Pending", "Running")]
        return {"state": state, "running": load.replicas, "minAvailable": load.replicas, "conditions": conditions}
    reason = "tasks in gang are ready to be scheduled"
    condition = {"type": "Scheduled", "status": "True", "reason": reason, "lastTransitionTime": now}
    return {"phase": "Running", "running": load.replicas, "conditions": [condition]}


async def all_of(items: list[Any], action: Any) -> None:
    failures = await each(items, action)
    if failures:
        raise failures[0]


WORK = {"volcano": submit, "floor": write, "necessary": write_all}

if __name__ == "__main__":
    main()
