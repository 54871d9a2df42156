"""Filters and scores against Kubernetes' own scheduler: pods come one at a time, and both say which nodes they see."""

from __future__ import annotations

import asyncio
import json
import random
import re
import time
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import pytest
from tools.kube import where

from tests.kube_cluster import control_plane, random_pods
from tests.kube_cluster.programs import Programs
from tests.waiting import SECONDS
from volcano.api.resources import NODES, PODS, SERVICE_ACCOUNTS, SERVICES
from volcano.kube.client import PatchKind
from volcano.scheduler import engine
from volcano.scheduler.cluster.cluster import Cluster
from volcano.scheduler.cluster.ingest import ADDED, Ingest
from volcano.scheduler.daemon.view import PODS_IN_VIEW
from volcano.scheduler.framework import conf as grammar, registry as registries
from volcano.scheduler.framework.options import Options
from volcano.scheduler.framework.reasons import FITS

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from tests.kube_cluster.control_plane import Address
    from volcano.api.core import Pod
    from volcano.kube.client import Client

pytestmark = [pytest.mark.kube, pytest.mark.xdist_group("kube-scheduler")]

NAMESPACE = "default"
NODE_COUNT, POD_COUNT = 12, 60

OURS = """
actions: "allocate"
tiers:
- plugins:
  - name: predicates
  - name: nodeorder
"""

EVERY_POD = "--feature-gates=OpportunisticBatching=false"
"""Else a pod that asks for what the one just before it asked for may be judged by what was found for that one."""

HARD_AFFINITY_HAS_NO_SCORE = {"name": "InterPodAffinity", "args": {"hardPodAffinityWeight": 0}}
"""As in Volcano: what a running pod requires of its company attracts nobody."""

ATTEMPT = '"Attempting to schedule pod" pod="{namespace}/{name}"'
SCORED = re.compile(r'"Plugin scored node for pod" pod="[^"]*/([^"]+)" plugin="([^"]+)" node="([^"]+)" score=(\d+)')
TOTAL = re.compile(r'"Calculated node\'s final score for pod" pod="[^"]*/([^"]+)" node="([^"]+)" score=(\d+)')


@dataclass
class Opinion:
    """The nodes that can take a pod, each with its score. With one such node Kubernetes does not score."""

    scores: dict[str, int | None] = field(default_factory=dict)
    by_plugin: dict[str, dict[str, int]] = field(default_factory=dict)
    chosen: str = ""


@dataclass
class Comparison:
    differences: list[str] = field(default_factory=list)
    scored: int = 0
    """Pods that could choose between several nodes."""


@dataclass(frozen=True)
class Rig:
    """A control plane, for whose pods a scheduler is started once there are nodes."""

    root: Path
    programs: Programs
    address: Address

    @contextmanager
    def scheduler(self, name: str) -> Iterator[Path]:
        """Kubernetes' own, which logs into this file what it thinks of every node.

        It starts with what there is and lists that before it schedules. One that watches the nodes come may have looked
        at them halfway, at whatever pod: then it goes on scoring a node that did not change since by the number of
        nodes that had an image by then. And it may still see what is gone.
        """
        self.programs.start(name, [where.folder() / "kube-scheduler", *self._flags()])
        try:
            yield self.root / "logs" / f"{name}.log"
        finally:
            self.programs.stop(name)

    def _flags(self) -> list[str]:
        config = {
            "apiVersion": "kubescheduler.config.k8s.io/v1",
            "kind": "KubeSchedulerConfiguration",
            "clientConnection": {"kubeconfig": str(self.address.kubeconfig)},
            "leaderElection": {"leaderElect": False},
            "percentageOfNodesToScore": 100,
            "profiles": [{"schedulerName": "default-scheduler", "pluginConfig": [HARD_AFFINITY_HAS_NO_SCORE]}],
        }
        (self.root / "scheduler.json").write_text(json.dumps(config))
        return [f"--config={self.root / 'scheduler.json'}", "--secure-port=0", "--vmodule=schedule_one=10", EVERY_POD]


@pytest.fixture(scope="module")
def rig(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Rig]:
    if why := control_plane.absence():
        pytest.skip(why)
    root = tmp_path_factory.mktemp("reference")
    with Programs(root) as programs:
        yield Rig(root, programs, control_plane.start(root, programs, controllers=False))


@pytest.mark.parametrize("seed", [1, 2, 3])
def test_feasible_nodes_and_their_scores_are_those_of_kubernetes(rig: Rig, seed: int) -> None:
    comparison = asyncio.run(compare(rig, seed))
    assert comparison.differences == [], "\n".join(comparison.differences)
    assert comparison.scored > POD_COUNT // 2


async def compare(rig: Rig, seed: int) -> Comparison:
    rng = random.Random(seed)
    comparison = Comparison()
    async with rig.address.connected() as client:
        await make_account_and_service(client)
        await make_nodes(client, rng)
        with rig.scheduler(f"kube-scheduler-{seed}") as log:
            for number in range(POD_COUNT):
                document = random_pods.pod(rng, seed * 1000 + number)
                nodes = (await client.list(NODES)).items
                running = (await client.list(PODS_IN_VIEW, NAMESPACE)).items
                await client.create(PODS.untyped, document, NAMESPACE)
                theirs, pod = await decision_of_kubernetes(client, log, document["metadata"]["name"])
                services = (await client.list(SERVICES, NAMESPACE)).items
                ours = opinion_of_ours({"services": services, "nodes": nodes, "pods": [*running, pod]}, pod)
                comparison.differences += differing(document, theirs, ours)
                comparison.scored += len(ours.scores) > 1
                if not theirs.chosen:
                    await client.delete(PODS, document["metadata"]["name"], NAMESPACE, grace_seconds=0)
        await remove_all(client)
    return comparison


async def make_account_and_service(client: Client) -> None:
    """Pods need the account; those that a service selects are spread although they do not ask for it."""
    if not (await client.list(SERVICE_ACCOUNTS, NAMESPACE)).items:
        account = {"apiVersion": "v1", "kind": "ServiceAccount", "metadata": {"name": "default"}}
        await client.create(SERVICE_ACCOUNTS.untyped, account, NAMESPACE)
        service = {"clusterIP": "None", "selector": {"app": "web"}, "ports": [{"port": 80}]}
        await client.create(SERVICES.untyped, {"metadata": {"name": "web"}, "spec": service}, NAMESPACE)


async def make_nodes(client: Client, rng: random.Random) -> None:
    """Without their controllers, nodes stay tainted as not ready until somebody else says what taints they have."""
    for number in range(NODE_COUNT):
        document = random_pods.node(rng, number)
        name = document["metadata"]["name"]
        await client.create(NODES.untyped, document)
        await client.patch(NODES, name, {"status": document["status"]}, kind=PatchKind.MERGE, subresource="status")
        await client.patch(NODES, name, {"spec": document["spec"]}, kind=PatchKind.MERGE)
    await client.list(NODES)  # answered once the API server's cache has seen them, of which schedulers get theirs


async def remove_all(client: Client) -> None:
    for pod in (await client.list(PODS, NAMESPACE)).items:
        await client.delete(PODS, pod.metadata.name, NAMESPACE, grace_seconds=0)
    for node in (await client.list(NODES)).items:
        await client.delete(NODES, node.metadata.name)


async def decision_of_kubernetes(client: Client, log: Path, name: str) -> tuple[Opinion, Pod]:
    deadline = time.monotonic() + SECONDS
    while time.monotonic() < deadline:
        pod = await client.get(PODS_IN_VIEW, name, NAMESPACE)
        if pod.spec.node_name or any(c.type == "PodScheduled" and c.status == "False" for c in pod.status.conditions):
            return read_opinion(log, name, pod.spec.node_name), pod
        await asyncio.sleep(0.02)
    raise AssertionError(f"kube-scheduler says nothing about {name}")


def read_opinion(log: Path, name: str, chosen: str) -> Opinion:
    """What was said at the last attempt, which chose: binding may fail, and is then tried anew with other scores."""
    opinion = Opinion(chosen=chosen)
    if not chosen:
        return opinion
    _, attempt, text = log.read_text().rpartition(ATTEMPT.format(namespace=NAMESPACE, name=name))
    assert attempt, f"kube-scheduler did not log that it tries {name}"
    for pod, plugin, node, score in SCORED.findall(text):
        if pod == name:
            opinion.by_plugin.setdefault(node, {})[plugin] = int(score)
    opinion.scores = {node: int(score) for pod, node, score in TOTAL.findall(text) if pod == name}
    assert opinion.scores == {node: sum(scores.values()) for node, scores in opinion.by_plugin.items()}, text
    if not opinion.scores:
        opinion.scores = {chosen: None}
    return opinion


def opinion_of_ours(world: dict[str, list[Any]], pod: Pod) -> Opinion:
    """What predicates and nodeorder say, with the weights that are Kubernetes' defaults and theirs."""
    registry = registries.built_in()
    cluster = Cluster()
    ingest = Ingest(cluster, ["default-scheduler"])
    pod.spec.node_name = ""
    for plural, objects in world.items():
        for one in objects:
            ingest.apply(ADDED, plural, one)
    conf = grammar.parse(OURS, registry.actions)
    session = engine.open_session(cluster, conf, Options(), 0.0, random.Random(0), registry)
    task = cluster.tasks[pod.metadata.uid]
    assert session.hooks.first_failure("pre_filter", task) is None
    board = session.board(task.profile)
    feasible = (board.codes == FITS) & (board.idle_room > 0)
    scores: Any = board.scores(feasible)
    names = [cluster.nodes.names[row] for row in board.rows]
    return Opinion({names[i]: int(scores[i]) for i in feasible.nonzero()[0]})


def differing(document: dict[str, Any], theirs: Opinion, ours: Opinion) -> list[str]:
    about = f"{json.dumps(document)}\n  kubernetes: {theirs}\n  ours: {ours.scores}"
    if theirs.scores.keys() != ours.scores.keys():
        return [f"feasible nodes differ by {sorted(theirs.scores.keys() ^ ours.scores.keys())}: {about}"]
    if None not in theirs.scores.values() and theirs.scores != ours.scores:
        return [f"scores differ: {about}"]
    return []
