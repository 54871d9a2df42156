"""What the daemons read that others wrote: answers of servers, reviews, configurations, annotations, scripts.

See `test_parsers` for the rest of the table, and `target`.
"""

from __future__ import annotations

import asyncio
import gzip
import socket
import tempfile
import time
from contextlib import suppress
from pathlib import Path
from typing import Any

import msgspec
import pytest

from tests.fuzz.target import Target, encoded, text
from tests.webhooks.documents import job, pod, queue_document, world
from volcano.agent import configuration, values
from volcano.api import keys, resources
from volcano.api.quantity import QuantityError
from volcano.controllers.hypernode import config as hypernodes
from volcano.controllers.sharding import config as sharding
from volcano.http import spdy
from volcano.http.blocking import Connection
from volcano.http.errors import HttpError
from volcano.http.message import Request, Response
from volcano.http.metrics import Registry
from volcano.http.sending import unpacked
from volcano.http.tls import authorities_in
from volcano.jobs import script
from volcano.kube.codec import Codec
from volcano.kube.credentials import CredentialError
from volcano.kube.errors import ApiError
from volcano.kube.exec_plugin import ExecPlugin
from volcano.scheduler.cluster.cluster import Cluster
from volcano.scheduler.cluster.ingest import ADDED, DELETED, MODIFIED, Ingest
from volcano.scheduler.plugins.deviceshare import config as devices
from volcano.webhooks import groups
from volcano.webhooks.rules import RULES, Settings
from volcano.webhooks.server import Webhooks

HEAD = {"name": "a", "namespace": "default", "uid": "u", "resourceVersion": "7", "labels": {"x": "y"}}
CONTAINER = {
    "name": "c",
    "image": "i",
    "resources": {"requests": {"cpu": "100m", "memory": "1Gi", "nvidia.com/gpu": 1}},
}
OBJECTS: dict[str, tuple[resources.Resource[Any], dict[str, Any]]] = {
    "pods": (
        resources.PODS,
        {
            "metadata": {**HEAD, "annotations": {keys.GROUP_NAME: "g"}},
            "spec": {
                "schedulerName": "volcano",
                "containers": [CONTAINER],
                "nodeSelector": {"x": "y"},
                "tolerations": [{"key": "k", "operator": "Exists"}],
                "affinity": {"podAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": [{"topologyKey": "z"}]}},
            },
            "status": {"phase": "Pending"},
        },
    ),
    "nodes": (
        resources.NODES,
        {
            "metadata": HEAD,
            "spec": {"taints": [{"key": "k", "effect": "NoSchedule"}], "unschedulable": False},
            "status": {
                "allocatable": {"cpu": "4", "memory": "8Gi", "pods": "110"},
                "conditions": [{"type": "Ready", "status": "True"}],
            },
        },
    ),
    "podgroups": (
        resources.PODGROUPS,
        {
            "metadata": HEAD,
            "spec": {"minMember": 2, "minResources": {"cpu": "1"}, "queue": "q", "minTaskMember": {"w": 1}},
            "status": {"phase": "Pending"},
        },
    ),
    "queues": (
        resources.QUEUES,
        {"metadata": HEAD, "spec": {"weight": 1, "capability": {"cpu": "1"}, "parent": "root"}, "status": {}},
    ),
}
ANSWERS = (
    b"HTTP/1.1 200 OK\r\ncontent-length: 2\r\n\r\n{}",
    b"HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 201 Created\r\ntransfer-encoding: chunked\r\n\r\n2\r\n{}\r\n0\r\n\r\n",
    b"HTTP/1.0 410 Gone\r\n\r\nall of it",
    b"HTTP/1.1 200 OK\r\ncontent-encoding: gzip\r\ncontent-length: 22\r\n\r\n" + gzip.compress(b"{}", mtime=0),
    b"HTTP/1.1 200 OK\r\ncontent-encoding: gzip\r\ncontent-length: 2\r\n\r\n{}",
)


UNREADABLE = (msgspec.DecodeError, RecursionError)
"""Informers tell these, and try again."""


def answers(data: bytes) -> None:
    """What a server says to a request, and then no more."""
    ours, theirs = socket.socketpair()
    with ours, theirs:
        theirs.sendall(data)
        theirs.shutdown(socket.SHUT_WR)
        connection, deadline = Connection(ours), time.monotonic() + 60
        connection.ask(b"", deadline, head_only=False)
        unpacked(Response(connection.status, connection.headers, connection.rest(deadline)))


def lists(data: bytes) -> None:
    with suppress(*UNREADABLE):
        Codec(resources.PODS).decode_list(Response(200, {}, data))


def events(data: bytes) -> None:
    with suppress(*UNREADABLE, ApiError):
        Codec(resources.PODS).decode_event(data)


def taken_in(data: bytes) -> None:
    """An object of any kind, as it is first seen, changed and gone, beside one that is right."""
    cluster = Cluster()
    ingest = Ingest(cluster, ["volcano"])
    for plural, (resource, document) in OBJECTS.items():
        codec = Codec(resource)
        ingest.apply(ADDED, plural, codec.decode(Response(200, {}, msgspec.json.encode(document))))
        try:
            strange = codec.decode(Response(200, {}, data))
        except UNREADABLE:
            continue
        for event in (ADDED, MODIFIED, DELETED):
            ingest.apply(event, plural, strange)


REVIEWED = [
    ("jobs", job(minAvailable=1, policies=[{"event": "PodFailed", "action": "RestartJob"}])),
    ("pods", pod()),
    ("queues", queue_document("q", capability={"cpu": "1"})),
    ("podgroups", {"apiVersion": "scheduling.volcano.sh/v1beta1", "kind": "PodGroup", **OBJECTS["podgroups"][1]}),
]


def review(resource: str, document: dict[str, Any]) -> dict[str, Any]:
    group = document["apiVersion"].rpartition("/")[0]
    about = {"group": group, "version": "v1", "resource": resource}
    asked = {"uid": "u", "operation": "CREATE", "resource": about, "namespace": "default", "object": document}
    return {"apiVersion": "admission.k8s.io/v1", "kind": "AdmissionReview", "request": asked}


def reviews(data: bytes) -> None:
    """Every rule is asked; an answer is an answer or a refusal, and no rule fails."""
    webhooks = Webhooks(RULES, world(), Settings, Registry())
    for rule in RULES:
        request = Request("POST", rule.path, [], {"content-type": "application/json"}, data)
        answer = asyncio.run(webhooks.handle(request))
        assert answer.status in (200, 400)
        assert b"see the log of vc-webhook-manager" not in answer.content, answer.content


def printed(data: bytes) -> None:
    """What a command says of who we are."""
    plugin = ExecPlugin("c", (), "client.authentication.k8s.io/v1", source="users['u'].exec")
    plugin.read(data)


def in_a_file(read: Any) -> Any:
    def reading(data: bytes) -> None:
        with tempfile.NamedTemporaryFile(dir="/dev/shm" if Path("/dev/shm").is_dir() else None) as file:
            file.write(data)
            file.flush()
            read(Path(file.name))

    return reading


def directives(content: str) -> None:
    found = script.parse(content)
    list(found.directives())
    found.first_foreign()
    found.command(["a"], {"VSUB_X": "1"})


SPDY = spdy.Writer()
TARGETS = (
    Target("HTTP answers", answers, (HttpError,), ANSWERS),
    Target(
        "lists",
        lists,
        (),
        encoded({"metadata": {"resourceVersion": "7", "continue": "t"}, "items": [OBJECTS["pods"][1]]}),
    ),
    Target(
        "watch events",
        events,
        (),
        encoded(
            {"type": "ADDED", "object": OBJECTS["pods"][1]},
            {"type": "BOOKMARK", "object": {"metadata": {"annotations": {"k8s.io/initial-events-end": "true"}}}},
            {"type": "ERROR", "object": {"kind": "Status", "code": 410, "reason": "Expired"}},
        ),
    ),
    Target(
        "objects of the scheduler",
        taken_in,
        (QuantityError,),  # told by the daemon, which goes on with the next object
        encoded(*(document for _, document in OBJECTS.values())),
    ),
    Target("admission reviews", reviews, (), encoded(*(review(*each) for each in REVIEWED))),
    Target(
        "resource groups",
        in_a_file(groups.load),
        (groups.GroupsError,),
        (b"resourceGroups:\n- resourceGroup: ml\n  object: {key: namespace, value: [a]}\n  labels: {pool: b}\n",),
    ),
    Target(
        "hypernode configurations",
        text(lambda it: hypernodes.enabled(hypernodes.load({"data": {hypernodes.KEY: it}}, "c")[0])),
        (hypernodes.ConfigProblem,),
        (b"networkTopologyDiscovery:\n- source: label\n  enabled: true\n  interval: 10m\n  config: {a: [b]}\n",),
    ),
    Target(
        "shards",
        text(lambda it: sharding.from_configmap({"data": {sharding.KEY: it}})),
        (sharding.ConfigProblem,),
        (b"schedulerConfigs:\n- name: a\n  type: volcano\n  cpuUtilizationMin: 0.1\n  cpuUtilizationMax: 0.9\n",),
    ),
    Target(
        "devices",
        text(devices.parse),
        (devices.ConfigError,),
        (b"nvidia: {resourceCountName: a}\nvnpus:\n- {chipName: x, commonWord: y, resourceName: z}\n",),
    ),
    Target(
        "configurations of agents",
        text(lambda it: configuration.read(it, {"x": "y"})),
        (configuration.ConfigurationError,),
        encoded(
            {
                "globalConfig": {
                    "cpuBurstConfig": {"enable": True},
                    "evictingConfig": {"evictingCPUHighWatermark": 80},
                },
                "nodesConfig": [{"selector": {"matchLabels": {"x": "y"}}, "networkQosConfig": {"enable": False}}],
            }
        ),
    ),
    Target(
        "annotations of pods for agents",
        text(lambda it: values.memory_ratios({keys.COLOCATION_CONFIG: it})),
        (ValueError,),
        encoded({"memoryQos": {"highRatio": 100, "lowRatio": 50, "minRatio": 0}}),
    ),
    Target(
        "credentials of commands",
        printed,
        (CredentialError,),
        encoded(
            {
                "apiVersion": "client.authentication.k8s.io/v1",
                "kind": "ExecCredential",
                "status": {"token": "t", "expirationTimestamp": "2026-01-01T00:00:00Z"},
            }
        ),
    ),
    Target(
        "authorities",
        in_a_file(authorities_in),
        (ValueError,),
        (b"-----BEGIN CERTIFICATE-----\nMIIBszCCAVmgAwIBAgIUYQ==\n-----END CERTIFICATE-----\n",),
    ),
    Target(
        "SPDY frames",
        lambda data: list(spdy.Reader().feed(data)),
        (spdy.Violation,),
        (SPDY.reply(1) + SPDY.data(1, b"x", is_last=True), SPDY.ping(b"\0\0\0\1") + SPDY.reset(3, 1)),
    ),
    Target(
        "job scripts",
        text(directives),
        (script.ScriptError,),
        (b"#!/bin/bash\n#VSUB --cpus 2 'a b'\n#SBATCH -n 2\necho 1\nVSUB_END\n", b"#! /usr/bin/env python3\nprint()\n"),
    ),
)


@pytest.mark.parametrize("target", TARGETS, ids=lambda target: target.name)
def test_what_arrives_is_read_or_refused(target: Target) -> None:
    target.hold()
