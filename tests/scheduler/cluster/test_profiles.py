"""Which pods are alike: replicas are one profile, until somebody's selector tells them apart."""

from __future__ import annotations

from typing import Any

import msgspec

from volcano.api.core import Affinity, Pod, Volume
from volcano.testing.builders import gang, node, pod
from volcano.testing.world import World

HOST = "kubernetes.io/hostname"
JOB = "volcano.sh/job-name"


def apart_from(job: str) -> Affinity:
    term = {"topologyKey": HOST, "labelSelector": {"matchLabels": {JOB: job}}}
    return msgspec.convert({"podAntiAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": [term]}}, Affinity)


def test_jobs_from_one_template_are_one_profile() -> None:
    world = World(jobs=[gang(name, pods=3, cpu=1, labels={JOB: name}) for name in ("a", "b")])

    assert len({task.profile.id for task in world.cluster.tasks.values()}) == 1


def test_a_selector_for_the_job_name_tells_their_pods_apart() -> None:
    running = [gang(name, cpu=1, labels={JOB: name}, nodes=[on]) for name, on in (("a", "n1"), ("b", "n2"))]
    world = World(nodes=[node("n1"), node("n2")], jobs=running)

    world.add_gang(gang("c", pods=[pod("c-w-0", group="c", cpu=1, affinity=apart_from("a"))]))

    assert len({task.profile.id for task in world.cluster.tasks.values()}) == 3
    assert world.cycle().binds == {"default/c-w-0": "n2"}
    assert world.cluster.nodes.used[world.cluster.nodes.row_of["n1"], 0] == 1000


def test_the_token_that_each_pod_mounts_under_a_name_of_its_own_tells_nobody_apart() -> None:
    world = World(pods=[mounting(f"p{i}", {"name": f"kube-api-access-{i}", "projected": {}}) for i in range(2)])

    assert len({task.profile.id for task in world.cluster.tasks.values()}) == 1


def test_a_claim_does() -> None:
    claims = [{"name": "data", "persistentVolumeClaim": {"claimName": f"claim-{i}"}} for i in range(2)]
    world = World(pods=[mounting(f"p{i}", claim) for i, claim in enumerate(claims)])

    assert len({task.profile.id for task in world.cluster.tasks.values()}) == 2


def mounting(name: str, volume: dict[str, Any]) -> Pod:
    made = pod(name, cpu=1)
    made.spec.volumes = [msgspec.convert(volume, Volume)]
    return made
