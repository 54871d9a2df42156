"""A cluster full of secrets, with every daemon at its most talkative: none of them in a log, an event or a dump."""

from __future__ import annotations

import asyncio
import base64
import logging
from pathlib import Path

import pytest

from tests.kube_cluster.programs import free_ports
from tests.scheduler.daemon.bench import bench
from tests.waiting import until
from volcano.api.resources import CONFIGMAPS, EVENTS, JOBS, PODS, SECRETS
from volcano.controllers import manager
from volcano.controllers.flags import Flags
from volcano.http.metrics import Registry
from volcano.kube.config import ClusterConfig
from volcano.kube.credentials import StaticToken
from volcano.kube.transport import HttpTransport
from volcano.webhooks import manager as webhooks
from volcano.webhooks.options import parse

ENVIRONMENT, COMMAND, STORED, TOKEN = "s-in-environment", "s-in-command", "s-in-secret", "s-token"
"""What only some places may show: the first two are in pods, the third in a Secret, the last authenticates."""


def job(name: str, cpu: str) -> dict[str, object]:
    container = {
        "name": "c",
        "image": "busybox",
        "command": ["sh", "-c", COMMAND],
        "env": [{"name": "PASSWORD", "value": ENVIRONMENT}],
        "resources": {"requests": {"cpu": cpu}},
    }
    task = {"name": "work", "replicas": 2, "template": {"spec": {"containers": [container]}}}
    spec = {"minAvailable": 2, "queue": "default", "schedulerName": "volcano", "plugins": {"ssh": [], "svc": []}}
    return {"metadata": {"name": name, "namespace": "default"}, "spec": {**spec, "tasks": [task]}}


def test_nothing_secret_is_told(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    async def scenario() -> None:
        async with bench(cpu=4, cache_dump_dir=str(tmp_path)) as b:
            runtime = manager.build(b.client, Flags(leader_elect=False), Registry())
            stop = asyncio.Event()
            place = f"127.0.0.1:{free_ports(1)[0]}"
            flags = [f"--listen-address={place}", f"--webhook-url=https://{place}", "--enable-healthz=false"]
            options = parse([*flags, "--graceful-shutdown-time=1s"])
            running = [
                asyncio.create_task(runtime.run()),
                asyncio.create_task(webhooks.run(b.client, options, stop)),
            ]
            secret = {"metadata": {"name": "mine"}, "stringData": {"password": STORED}}
            await b.client.create(SECRETS.untyped, secret, "default")
            await b.client.create(JOBS.untyped, job("fits", "1"))
            await b.client.create(JOBS.untyped, job("waits", "99"))

            async def bound() -> bool:
                pods = (await b.client.list(PODS, "default")).items
                return sum(bool(pod.spec.node_name) for pod in pods) == 2

            await until(bound)
            await b.client.patch(PODS, "fits-work-0", {"status": {"phase": "Failed"}}, "default", subresource="status")
            await unreachable()
            dumped = (await b.scheduler.dump()).read_text()
            keys = [item for item in (await b.client.list(SECRETS, "default")).items if item.metadata.name != "mine"]
            assert keys, "the job's pods have keys of their own"
            private = [base64.b64decode(value).decode() for item in keys for value in item.data.values()]
            events = str((await b.client.list(EVENTS.untyped)).items)
            maps = str((await b.client.list(CONFIGMAPS.untyped, "default")).items)
            stop.set()
            for task in running:
                task.cancel()
            await asyncio.gather(*running, return_exceptions=True)

        texts = {"log": caplog.text, "events": events, "dump": dumped, "configmaps": maps}
        for place, text in texts.items():
            assert len(text) > 100, place
            for told in (ENVIRONMENT, COMMAND, STORED, TOKEN, "PRIVATE KEY", *private):
                assert told not in text, f"{told} in the {place}"

    with caplog.at_level(logging.DEBUG):
        asyncio.run(scenario())
    (file,) = tmp_path.iterdir()
    assert file.stat().st_mode & 0o077 == 0


async def unreachable() -> None:
    """A server that refuses the connection: the message says where it is, not who asks."""
    transport = HttpTransport(ClusterConfig("http://127.0.0.1:1", token=StaticToken(TOKEN)))
    with pytest.raises(OSError, match="cannot connect") as refused:
        await transport.request("GET", "/version")
    logging.getLogger(__name__).warning("%r", refused.value, exc_info=refused.value)
    await transport.close()
