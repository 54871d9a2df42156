"""vc-webhook-manager as a whole, against an API server in the same process: registered, trusted, answering."""

from __future__ import annotations

import asyncio
import base64
import dataclasses
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager, suppress
from pathlib import Path
from typing import Any

import msgspec
import pytest

from tests.http.test_tls import Authority
from tests.kube_cluster.programs import free_ports
from tests.waiting import until
from tests.webhooks.documents import job, pod, queue_document
from volcano.api.resources import JOBS, MUTATING_WEBHOOKS, QUEUES, SECRETS, VALIDATING_WEBHOOKS
from volcano.api.scheduling import Queue
from volcano.http.client import Endpoint, HttpClient
from volcano.http.message import Handler, Request, Response
from volcano.http.metrics import Registry
from volcano.http.tls import client_context
from volcano.kube.client import Client
from volcano.kube.transport import InProcessTransport
from volcano.local.apiserver.admission import conditions
from volcano.local.apiserver.app import ApiServer
from volcano.webhooks import manager, presence
from volcano.webhooks.identity import SECRET_NAME, SecretIdentity
from volcano.webhooks.options import OptionsError, parse
from volcano.webhooks.registration import Endpoint as HookEndpoint, configuration_of
from volcano.webhooks.rules import RULES, Settings
from volcano.webhooks.server import Webhooks
from volcano.webhooks.world import WatchedWorld

SERVICE = ["--webhook-namespace=volcano-system", "--webhook-service-name=hooks"]
FLAGS = ["--listen-address=127.0.0.1:0", "--enable-healthz=false", "--graceful-shutdown-time=1s"]
JOBS_VALIDATE = "volcano-admission-service-jobs-validate"
GROUPS_VALIDATE = "volcano-admission-service-podgroups-validate"


def run(scenario: Callable[[], Awaitable[None]]) -> None:
    async def bounded() -> None:
        async with asyncio.timeout(250):
            await scenario()

    asyncio.run(bounded())


@asynccontextmanager
async def api() -> AsyncIterator[Client]:
    server = ApiServer.open(":memory:")
    client = Client(InProcessTransport(server.handle))
    try:
        yield client
    finally:
        await server.close()


@asynccontextmanager
async def daemon(client: Client, *flags: str) -> AsyncIterator[HttpClient]:
    """The running daemon, and a client that trusts it as the API server does: by what was registered."""
    stop, port = asyncio.Event(), asyncio.get_running_loop().create_future()
    [chosen] = free_ports(1)
    where = [f"--listen-address=127.0.0.1:{chosen}", f"--webhook-url=https://127.0.0.1:{chosen}"]
    options = parse(["--enable-healthz=false", "--graceful-shutdown-time=1s", *where, *flags])
    task = asyncio.create_task(manager.run(client, options, stop, port.set_result))
    done, _ = await asyncio.wait({task, port}, return_when=asyncio.FIRST_COMPLETED)
    if task in done:
        task.result()
    bundle = await registered_bundle(client)
    context = client_context(authority=bundle)
    http = HttpClient(Endpoint("127.0.0.1", port.result(), context))
    try:
        yield http
    finally:
        await http.close()
        stop.set()
        await task


async def registered_bundle(client: Client) -> bytes:
    while True:
        with suppress(Exception):
            found = await client.get(VALIDATING_WEBHOOKS.untyped, JOBS_VALIDATE)
            return base64.b64decode(found["webhooks"][0]["clientConfig"]["caBundle"])
        await asyncio.sleep(0.02)


def review(document: dict[str, Any], operation: str = "CREATE", name: str = "") -> dict[str, Any]:
    group = document["apiVersion"].rpartition("/")[0]
    return {
        "apiVersion": "admission.k8s.io/v1",
        "kind": "AdmissionReview",
        "request": {
            "uid": "u-1",
            "operation": operation,
            "resource": {"group": group, "version": "v1", "resource": document["kind"].lower() + "s"},
            "name": name,
            "namespace": "default",
            "object": document,
        },
    }


async def ask(http: HttpClient, path: str, document: dict[str, Any], operation: str = "CREATE") -> dict[str, Any]:
    response = await post(http, path, msgspec.json.encode(review(document, operation)))
    assert response.status == 200
    answer: dict[str, Any] = msgspec.json.decode(response.content)
    assert answer["response"]["uid"] == "u-1"
    return answer["response"]


async def post(http: HttpClient, path: str, body: bytes, content_type: str = "application/json") -> Response:
    return await http.request("POST", path, headers={"content-type": content_type}, body=body)


def test_the_daemon_registers_itself_and_answers_with_patches_and_causes():
    async def scenario() -> None:
        async with api() as client:
            await client.create(QUEUES.untyped, queue_document("default"))
            async with daemon(client) as http:
                mutated = await ask(http, "/jobs/mutate", job(queue=""))
                assert mutated["allowed"] is True
                patch = msgspec.json.decode(base64.b64decode(mutated["patch"]))
                assert {"op": "add", "path": "/spec/queue", "value": "default"} in patch

                assert (await ask(http, "/jobs/validate", job()))["allowed"] is True
                refused = await ask(http, "/jobs/validate", job(queue="ml"))
                assert refused["allowed"] is False
                assert refused["status"]["message"].startswith("unable to find job queue")
                assert refused["status"]["details"]["causes"][0]["field"] == "spec.queue"
                assert any("vcctl queue create -n ml" in warning for warning in refused["warnings"])

                await client.create(QUEUES.untyped, queue_document("ml"))
                assert (await ask(http, "/jobs/validate", job(queue="ml")))["allowed"] is True

    run(scenario)


def test_nothing_is_refused_for_what_the_watches_have_not_brought_yet():
    """The world of this one is never filled by a watch: whatever it knows, it has looked up before it refused."""

    async def scenario() -> None:
        async with api() as client:
            world = WatchedWorld(client, namespaces=False)
            webhooks = Webhooks(RULES, world, Settings, Registry(), world.current)

            async def allowed(path: str, document: dict[str, Any], operation: str = "CREATE") -> bool:
                body = msgspec.json.encode(review(document, operation, document["metadata"]["name"]))
                request = Request("POST", path, [], {"content-type": "application/json"}, body)
                answer = msgspec.json.decode((await webhooks.handle(request)).content)
                return bool(answer["response"]["allowed"])

            assert not await allowed("/jobs/validate", job(queue="ml"))
            await client.create(QUEUES.untyped, queue_document("ml"))
            assert all(await asyncio.gather(*(allowed("/jobs/validate", job(queue="ml")) for _ in range(20))))
            below = queue_document("below", parent="ml")
            assert await allowed("/queues/validate", below)

            world.put_queue(msgspec.convert(below, Queue))  # it has gone since
            assert await allowed("/queues/validate", queue_document("ml"), "DELETE")

    run(scenario)


def test_who_waits_for_a_look_that_was_given_up_looks_himself():
    class Slow(InProcessTransport):
        def __init__(self, handler: Handler) -> None:
            super().__init__(handler)
            self.asked = 0
            self.answers = asyncio.Semaphore(0)

        async def request(self, method: str, path: str, **more: Any) -> Response:
            self.asked += 1
            await self.answers.acquire()
            return await super().request(method, path, **more)

    async def scenario() -> None:
        server = ApiServer.open(":memory:")
        slow = Slow(server.handle)
        world = WatchedWorld(Client(slow), namespaces=False)
        first = asyncio.create_task(world.current())
        await until(lambda: slow.asked == 1)
        given_up, last = (asyncio.create_task(world.current()) for _ in range(2))
        await asyncio.sleep(0)  # both wait
        slow.answers.release()
        await until(lambda: slow.asked == 2)
        await Client(InProcessTransport(server.handle)).create(QUEUES.untyped, queue_document("ml"))
        given_up.cancel()
        slow.answers.release()

        assert (await first).queue("ml") is None
        assert (await last).queue("ml") is not None
        await server.close()

    run(scenario)


def test_a_flood_of_refusals_is_none_of_lists():
    class Slow(InProcessTransport):
        async def request(self, method: str, path: str, **more: Any) -> Response:
            await asyncio.sleep(0.05)
            return await super().request(method, path, **more)

    async def scenario() -> None:
        server = ApiServer.open(":memory:")
        world = WatchedWorld(Client(Slow(server.handle)), namespaces=False)
        began = asyncio.get_running_loop().time()
        for _ in range(3):
            await world.current()
        assert asyncio.get_running_loop().time() - began > 0.5  # three lists of 0.05 s, and two rests in between
        await server.close()

    run(scenario)


def test_a_server_that_cannot_be_asked_leaves_the_refusal():
    class Silent(InProcessTransport):
        async def request(self, method: str, path: str, **more: Any) -> Response:
            raise ConnectionRefusedError

    async def scenario() -> None:
        server = ApiServer.open(":memory:")
        world = WatchedWorld(Client(Silent(server.handle)), namespaces=False)
        webhooks = Webhooks(RULES, world, Settings, Registry(), world.current)
        body = msgspec.json.encode(review(job(queue="ml")))
        request = Request("POST", "/jobs/validate", [], {"content-type": "application/json"}, body)
        answer = await webhooks.handle(request)
        await server.close()
        assert "unable to find job queue" in msgspec.json.decode(answer.content)["response"]["status"]["message"]

    run(scenario)


def test_the_api_server_asks_the_daemon(caplog: pytest.LogCaptureFixture):
    async def scenario() -> None:
        async with api() as client:
            await client.create(QUEUES.untyped, queue_document("default"))
            async with daemon(client):
                await client.create(JOBS.untyped, job())

    caplog.set_level("DEBUG", logger="volcano.webhooks.server")
    run(scenario)

    assert "/jobs/mutate: allowed CREATE default/train" in caplog.text
    assert "/jobs/validate: allowed CREATE default/train" in caplog.text


def test_bad_requests_are_told_apart():
    async def scenario() -> None:
        async with api() as client, daemon(client) as http:
            assert (await post(http, "/jobs/validate", b"{")).status == 400
            assert (await post(http, "/jobs/validate", b"{}")).status == 400
            assert (await post(http, "/jobs/validate", b"{}", "text/plain")).status == 415
            assert (await post(http, "/nowhere", b"{}")).status == 404
            assert (await post(http, "/jobs/validate", b" " * (3 * 1024 * 1024 + 1))).status == 413
            assert (await http.request("GET", "/jobs/validate")).status == 405
            damaged = {**pod(), "metadata": "damaged"}
            assert (await ask(http, "/pods/validate", damaged))["allowed"] is True

    run(scenario)


def test_configurations_that_exist_keep_everything_but_their_bundle():
    async def scenario() -> None:
        async with api() as client:
            chart = {
                "apiVersion": "admissionregistration.k8s.io/v1",
                "kind": "ValidatingWebhookConfiguration",
                "metadata": {"name": JOBS_VALIDATE, "labels": {"owner": "chart"}},
                "webhooks": [
                    {
                        "name": "validatejob.volcano.sh",
                        "clientConfig": {"service": {"name": "hooks", "namespace": "volcano-system"}},
                        "sideEffects": "None",
                        "admissionReviewVersions": ["v1"],
                        "timeoutSeconds": 7,
                    }
                ],
            }
            await client.create(VALIDATING_WEBHOOKS.untyped, chart)
            async with daemon(client, "--enabled-admission=/jobs/validate"):
                found = await client.get(VALIDATING_WEBHOOKS.untyped, JOBS_VALIDATE)
                assert found["metadata"]["labels"] == {"owner": "chart"}
                assert found["webhooks"][0]["timeoutSeconds"] == 7
                assert found["webhooks"][0]["clientConfig"]["caBundle"]

    run(scenario)


def test_pods_of_others_start_while_we_are_down(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(conditions, "engine", no_engine)

    async def scenario() -> None:
        paths = "/jobs/validate,/pods/mutate,/pods/validate,/podgroups/validate"
        async with api() as client, daemon(client, "--controllers-user=volcano", f"--enabled-admission={paths}"):
            mutates, validates = (f"volcano-admission-service-pods-{verb}" for verb in ("mutate", "validate"))
            mutating = await until(lambda: client.get(MUTATING_WEBHOOKS.untyped, mutates))
            assert mutating["webhooks"][0]["failurePolicy"] == "Ignore"
            validating = await until(lambda: client.get(VALIDATING_WEBHOOKS.untyped, validates))
            assert validating["webhooks"][0]["failurePolicy"] == "Ignore", "this server evaluates no conditions"
            groups = await until(lambda: client.get(VALIDATING_WEBHOOKS.untyped, GROUPS_VALIDATE))
            assert groups["webhooks"][0]["failurePolicy"] == "Fail"

    run(scenario)


def no_engine() -> Any:
    """A server without the extra that evaluates conditions."""
    raise conditions.NoEngine


def test_servers_that_evaluate_conditions_ask_about_our_pods_alone():
    rule = next(rule for rule in RULES if rule.path == "/pods/validate")

    [webhook] = configuration_of(rule, HookEndpoint(url="https://hooks"), "", ("volcano",)).webhooks

    assert webhook.failure_policy == "Fail"
    ours, marked = (condition.expression for condition in webhook.match_conditions)
    assert "'volcano'" in ours
    assert "'volcano.sh/jdb-min-available' in object.metadata.annotations" in marked


@pytest.mark.parametrize(
    ("user", "kind", "version", "asks"),
    [
        ("controllers", "Job", "batch.volcano.sh/v1alpha1", False),
        ("controllers", "Job", "batch/v1", True),
        ("controllers", "ReplicaSet", "apps/v1", True),
        ("controllers", "", "", True),
        ("somebody", "Job", "batch.volcano.sh/v1alpha1", True),
    ],
)
def test_nobody_is_asked_about_podgroups_that_the_job_controller_makes(
    user: str, kind: str, version: str, asks: bool
) -> None:
    pytest.importorskip("cel_expr_python", reason="the extra volcano[cel] is not installed")
    owners = [{"kind": kind, "apiVersion": version, "name": "j", "uid": "u"}]
    group = {"metadata": {"ownerReferences": owners} if kind else {}}
    values = {"object": group, "request": {"userInfo": {"username": user}}}

    assert conditions.hold(podgroup_conditions("controllers"), values) == asks


def test_everybody_is_asked_about_podgroups_where_the_controllers_are_not_known() -> None:
    assert podgroup_conditions("") == []


def podgroup_conditions(controllers: str) -> list[dict[str, Any]]:
    rule = next(rule for rule in RULES if rule.path == "/podgroups/validate")
    [webhook] = configuration_of(rule, HookEndpoint(url="https://hooks"), "", ("volcano",), controllers).webhooks
    found: list[dict[str, Any]] = msgspec.to_builtins(webhook.match_conditions)
    return found


def test_a_user_is_a_name_without_quotes() -> None:
    with pytest.raises(OptionsError, match="--controllers-user"):
        parse(["--webhook-url=https://hooks", "--controllers-user=a' || true || '"])


def test_replicas_share_one_certificate_and_a_spoiled_one_is_replaced():
    async def scenario() -> None:
        async with api() as client:
            one, two = (SecretIdentity(client, "volcano-system", ["hooks"]) for _ in range(2))
            first, second = await asyncio.gather(one.current(), two.current())
            assert first == second
            assert await one.current() is first
            await client.patch(SECRETS, SECRET_NAME, {"data": {"tls.crt": ""}}, "volcano-system")
            assert await two.current() != first

    run(scenario)


def test_a_refused_certificate_or_registration_is_named_and_tried_again():
    async def scenario() -> None:
        server = ApiServer.open(":memory:")
        allowed: set[str] = set()

        async def refusing(request: Request) -> Response:
            for plural in ("secrets", "validatingwebhookconfigurations"):
                if f"/{plural}" in request.path and plural not in allowed:
                    message = f"{plural} is forbidden: cannot get resource"
                    return Response(403, {}, msgspec.json.encode({"reason": "Forbidden", "message": message}))
            return await server.handle(request)

        client = Client(InProcessTransport(refusing))
        options = dataclasses.replace(parse([*FLAGS, *SERVICE]), health_address=f"127.0.0.1:{free_ports(1)[0]}")
        stop = asyncio.Event()
        task = asyncio.create_task(manager.run(client, options, stop))
        assert options.health_address is not None
        probes = HttpClient(Endpoint("127.0.0.1", int(options.health_address.rpartition(":")[2])))

        async def says(*words: bytes) -> bool:
            with suppress(OSError):
                answer = (await probes.request("GET", "/readyz")).content
                return all(word in answer for word in words)
            return False

        await until(lambda: says(b"the certificate cannot be had: secrets is forbidden"))
        allowed.add("secrets")
        await until(lambda: says(b"was not told about the webhooks yet: validatingwebhookconfigurations is forbidden"))
        allowed.add("validatingwebhookconfigurations")
        await until(lambda: says(b"ok"))
        await probes.close()
        stop.set()
        await task
        await server.close()

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(presence, "CHECK_SECONDS", 3600.0)  # the first registration does not wait for it
        patch.setattr(presence, "FIRST_RETRY_SECONDS", 0.05)
        run(scenario)


def test_with_an_authority_for_clients_only_its_bearers_are_answered(tmp_path: Path):
    async def scenario() -> None:
        authority = Authority()
        (tmp_path / "ca.crt").write_bytes(authority.pem)
        async with api() as client, daemon(client, f"--client-ca-file={tmp_path / 'ca.crt'}") as stranger:
            review = msgspec.json.encode({"request": {"uid": "u"}})
            assert (await post(stranger, "/jobs/validate", review)).status == 401
            assert (await stranger.request("GET", "/metrics")).status == 401

            certificate, key = authority.issue("kube-apiserver")
            bundle = await registered_bundle(client)
            known = client_context(authority=bundle, certificate=certificate, key=key)
            api_server = HttpClient(dataclasses.replace(stranger.endpoint, ssl=known))
            await ask(api_server, "/jobs/validate", job())
            assert b"admission_requests_total" in (await api_server.request("GET", "/metrics")).content
            await api_server.close()

    run(scenario)


def test_whoever_has_not_heard_that_a_replica_goes_is_answered_still():
    """Each answer is the last on its connection; then nobody listens."""

    async def scenario() -> None:
        [port, health], stop, serving = free_ports(2), asyncio.Event(), asyncio.get_running_loop().create_future()
        where = f"--listen-address=127.0.0.1:{port}", f"--webhook-url=https://127.0.0.1:{port}"
        delay = f"--healthz-address=127.0.0.1:{health}", "--shutdown-delay-duration=1h", "--graceful-shutdown-time=1s"
        async with api() as client:
            running = asyncio.create_task(manager.run(client, parse([*where, *delay]), stop, serving.set_result))
            await serving
            context = client_context(authority=await registered_bundle(client))
            http = HttpClient(Endpoint("127.0.0.1", port, context))
            probes = HttpClient(Endpoint("127.0.0.1", health))
            review = msgspec.json.encode({"request": {"uid": "u"}})
            first = await post(http, "/jobs/validate", review)
            stop.set()
            await until(lambda: is_unready(probes))
            answers = [await post(http, "/jobs/validate", review) for _ in range(3)]

            assert [answer.status for answer in answers] == [first.status] * 3
            assert [answer.headers.get("connection") for answer in (first, *answers)] == [None, *["close"] * 3]
            running.cancel()
            await asyncio.wait({running})
            with pytest.raises(ConnectionError):
                await post(http, "/jobs/validate", review)
            await http.close()
            await probes.close()

    run(scenario)


async def is_unready(probes: HttpClient) -> bool:
    answer = await probes.request("GET", "/readyz?verbose")
    return answer.status == 500 and b"shutting down" in answer.content


def test_resource_groups_are_read_again_when_they_change(tmp_path: Path):
    async def scenario() -> None:
        conf = tmp_path / "admission.conf"
        group = "resourceGroups: [{resourceGroup: ml, object: {key: namespace, value: [default]}, labels: {pool: %s}}]"
        conf.write_text(group % "a")
        manager_flags = [f"--admission-conf={conf}"]
        async with api() as client, daemon(client, *manager_flags) as http:
            answer = await ask(http, "/pods/mutate", pod())
            assert b'"a"' in base64.b64decode(answer["patch"])
            conf.write_text("resourceGroups: 7")
            await asyncio.sleep(0.1)
            assert b'"a"' in base64.b64decode((await ask(http, "/pods/mutate", pod()))["patch"])
            conf.write_text(group % "b")

            async def changed() -> bool:
                return b'"b"' in base64.b64decode((await ask(http, "/pods/mutate", pod()))["patch"])

            await until(changed)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(manager, "REFRESH_SECONDS", 0.02)
        run(scenario)


def test_probes_and_metrics(tmp_path: Path):
    async def scenario() -> None:
        async with api() as client:
            options = dataclasses.replace(parse([*FLAGS, *SERVICE]), health_address=f"127.0.0.1:{free_ports(1)[0]}")
            stop, port = asyncio.Event(), asyncio.get_running_loop().create_future()
            task = asyncio.create_task(manager.run(client, options, stop, port.set_result))
            assert options.health_address is not None
            probes = HttpClient(Endpoint("127.0.0.1", int(options.health_address.rpartition(":")[2])))
            await registered_bundle(client)

            async def ready() -> bool:
                return (await probes.request("GET", "/readyz")).status == 200

            await until(ready)
            assert (await probes.request("GET", "/healthz")).content == b"ok"
            await probes.request("GET", "/metrics")
            await probes.close()
            stop.set()
            await task

    run(scenario)


@pytest.mark.parametrize(
    ("flags", "message"),
    [
        ([], "both 'url' and 'namespace/name' of webhook are empty"),
        ([*SERVICE, "--enabled-admission=/nope"], "enabled admission /nope not found on the admission registered map"),
        ([*SERVICE, "--tls-cert-file=x"], "go together"),
        ([*SERVICE, "--port=70000"], "--port 70000"),
    ],
)
def test_flags_that_make_no_sense(flags: list[str], message: str):
    with pytest.raises(OptionsError, match=message.replace("(", r"\(")):
        parse(flags)


def test_flags_as_the_chart_gives_them():
    options = parse(
        [
            "--enabled-admission=/jobs/mutate, /jobs/validate",
            "--scheduler-name=volcano",
            "--scheduler-name=other",
            "-enable-queue-allocated-pods-check=true",
            "--enable-root-queue-protection=false",
            "--feature-gates=SchedulingGatesQueueAdmission=true,ServerSideThing=true",
            "--enable-healthz=true",
            "--logtostderr",
            "-v=4",
            *SERVICE,
        ]
    )

    assert [rule.path for rule in options.rules] == ["/jobs/mutate", "/jobs/validate"]
    assert options.settings.scheduler_names == ("volcano", "other")
    assert options.settings.check_allocated_pods_on_queue_delete
    assert not options.settings.protect_root_queue
    assert options.settings.queue_admission_gates
    assert options.endpoint.hosts()[0] == "hooks.volcano-system.svc"
    assert (options.port, options.verbosity) == (8443, 4)
