"""Random nodes and pods that try Kubernetes' filters and scores: everything here is decided by a seeded generator."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    import random

Document = dict[str, Any]

ZONES = ("a", "b", "c")
DISKS = ("ssd", "hdd")
APPS = ("web", "db", "batch")
ZONE, HOSTNAME = "topology.kubernetes.io/zone", "kubernetes.io/hostname"
IMAGES = {"registry.example/small:1": 60 << 20, "registry.example/large:1": 900 << 20}
MIB = 1 << 20


def node(rng: random.Random, number: int) -> Document:
    name = f"n{number:02}"
    labels = {HOSTNAME: name, "number": str(number)}
    if rng.random() < 0.85:
        labels[ZONE] = rng.choice(ZONES)
    if rng.random() < 0.7:
        labels["disk"] = rng.choice(DISKS)
    taints = [
        {"key": key, "value": rng.choice(("x", "y")), "effect": effect}
        for key, effect, chance in (("dedicated", "NoSchedule", 0.2), ("slow", "PreferNoSchedule", 0.3))
        if rng.random() < chance
    ]
    offer = {
        "cpu": f"{rng.choice((2000, 4000, 7300))}m",
        "memory": str(rng.choice((4096, 8192, 16000)) * MIB),
        "pods": str(rng.choice((3, 8, 110))),
    }
    if rng.random() < 0.3:
        offer["example.com/gpu"] = str(rng.choice((1, 4)))
    images = [{"names": [image], "sizeBytes": size} for image, size in IMAGES.items() if rng.random() < 0.5]
    return {
        "apiVersion": "v1",
        "kind": "Node",
        "metadata": {"name": name, "labels": labels},
        "spec": {"taints": taints, "unschedulable": rng.random() < 0.08},
        "status": {
            "allocatable": offer,
            "capacity": offer,
            "images": images,
            "conditions": [{"type": "Ready", "status": "True"}],
        },
    }


def pod(rng: random.Random, number: int) -> Document:
    app = rng.choice(APPS)
    spec: Document = {
        "schedulerName": "default-scheduler",
        "containers": [_container(rng, index) for index in range(rng.choice((1, 1, 2)))],
    }
    if rng.random() < 0.2:
        spec["initContainers"] = [_container(rng, 9) | ({"restartPolicy": "Always"} if rng.random() < 0.5 else {})]
    if rng.random() < 0.1:
        spec["nodeSelector"] = {"disk": rng.choice(DISKS)}
    if rng.random() < 0.5:
        spec["tolerations"] = _tolerations(rng)
    affinity = {**_node_affinity(rng), **_pod_affinity(rng)}
    if affinity:
        spec["affinity"] = affinity
    if rng.random() < 0.3:
        spec["topologySpreadConstraints"] = _spread(rng)
    return {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": {"name": f"p{number:03}", "labels": {"app": app, "tier": rng.choice(("front", "back"))}},
        "spec": spec,
    }


def _container(rng: random.Random, index: int) -> Document:
    requests = {}
    if rng.random() < 0.8:
        requests["cpu"] = f"{rng.choice((50, 250, 333, 900))}m"
    if rng.random() < 0.7:
        requests["memory"] = str(rng.choice((64, 300, 1500)) * MIB)
    limits = {"example.com/gpu": "1"} if rng.random() < 0.1 else {}
    ports = [{"containerPort": 80, "hostPort": 8080 + index}] if rng.random() < 0.12 else []
    return {
        "name": f"c{index}",
        "image": rng.choice((*IMAGES, "registry.example/unknown:1")),
        "resources": {"requests": requests | limits, "limits": limits},
        "ports": ports,
    }


def _tolerations(rng: random.Random) -> list[Document]:
    return [
        {"key": key, "operator": "Exists"} if rng.random() < 0.5 else {"key": key, "operator": "Equal", "value": "x"}
        for key in rng.sample(("dedicated", "slow", "node.kubernetes.io/unschedulable"), rng.randint(1, 2))
    ]


def _node_affinity(rng: random.Random) -> Document:
    rules: Document = {}
    if rng.random() < 0.2:
        terms = [{"matchExpressions": [_requirement(rng)]} for _ in range(rng.randint(1, 2))]
        rules["requiredDuringSchedulingIgnoredDuringExecution"] = {"nodeSelectorTerms": terms}
    if rng.random() < 0.3:
        rules["preferredDuringSchedulingIgnoredDuringExecution"] = [
            {"weight": rng.randint(1, 100), "preference": {"matchExpressions": [_requirement(rng)]}}
            for _ in range(rng.randint(1, 2))
        ]
    return {"nodeAffinity": rules} if rules else {}


def _requirement(rng: random.Random) -> Document:
    return rng.choice(
        (
            {"key": "disk", "operator": "In", "values": [rng.choice(DISKS)]},
            {"key": "disk", "operator": "NotIn", "values": [rng.choice(DISKS)]},
            {"key": ZONE, "operator": "Exists"},
            {"key": "disk", "operator": "DoesNotExist"},
            {"key": "number", "operator": rng.choice(("Gt", "Lt")), "values": [str(rng.randint(2, 8))]},
        )
    )


def _pod_affinity(rng: random.Random) -> Document:
    rules: Document = {}
    for side, required, preferred in (("podAffinity", 0.1, 0.15), ("podAntiAffinity", 0.12, 0.15)):
        found: Document = {}
        if rng.random() < required:
            found["requiredDuringSchedulingIgnoredDuringExecution"] = [_pod_term(rng)]
        if rng.random() < preferred:
            found["preferredDuringSchedulingIgnoredDuringExecution"] = [
                {"weight": rng.randint(1, 100), "podAffinityTerm": _pod_term(rng)}
            ]
        if found:
            rules[side] = found
    return rules


def _pod_term(rng: random.Random) -> Document:
    selector = rng.choice(
        (
            {"matchLabels": {"app": rng.choice(APPS)}},
            {"matchExpressions": [{"key": "tier", "operator": "In", "values": ["front"]}]},
        )
    )
    return {"topologyKey": rng.choice((ZONE, HOSTNAME)), "labelSelector": selector}


def _spread(rng: random.Random) -> list[Document]:
    constraints = []
    for key in rng.sample((ZONE, HOSTNAME), rng.randint(1, 2)):
        hard = rng.random() < 0.4
        constraint: Document = {
            "maxSkew": rng.randint(1, 3),
            "topologyKey": key,
            "whenUnsatisfiable": "DoNotSchedule" if hard else "ScheduleAnyway",
            "labelSelector": {"matchLabels": {"app": rng.choice(APPS)}},
        }
        if hard and rng.random() < 0.3:
            constraint["minDomains"] = rng.randint(1, 4)
        if rng.random() < 0.3:
            constraint["nodeTaintsPolicy"] = rng.choice(("Honor", "Ignore"))
        if rng.random() < 0.3:
            constraint["nodeAffinityPolicy"] = rng.choice(("Honor", "Ignore"))
        constraints.append(constraint)
    return constraints
