"""What keeps the webhooks from their work is told in the log, by /readyz and by an event; then it goes on by itself."""

from __future__ import annotations

import asyncio
import datetime
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any, NamedTuple

import msgspec
import pytest

from tests.http.test_tls import Authority
from tests.kube_cluster.programs import free_ports
from tests.waiting import until
from tests.webhooks.test_certificates import HOSTS, write
from tests.webhooks.test_daemon import FLAGS, SERVICE
from volcano.api.resources import EVENTS, VALIDATING_WEBHOOKS
from volcano.http.client import Endpoint, HttpClient
from volcano.http.message import Request, Response
from volcano.kube import complaints, versions
from volcano.kube.client import Client
from volcano.kube.transport import InProcessTransport
from volcano.local.apiserver.app import ApiServer
from volcano.webhooks import manager, presence
from volcano.webhooks.certificates import issue
from volcano.webhooks.options import parse

if TYPE_CHECKING:
    from pathlib import Path

NOW = datetime.datetime.now(datetime.UTC)
NAMES = ("--tls-cert-file", "--tls-private-key-file", "--ca-cert-file")
CONFIGURATION = "volcano-admission-service-jobs-validate"


@pytest.fixture(autouse=True)
def quick(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(presence, "CHECK_SECONDS", 0.05)
    monkeypatch.setattr(presence, "HEARD_SECONDS", 0.05)
    monkeypatch.setattr(presence, "FIRST_RETRY_SECONDS", 0.05)
    monkeypatch.setattr(complaints, "LOOK_SECONDS", 0.02)


class Telling(NamedTuple):
    """The reasons of the events about a problem and about its end, and what the latter says."""

    reason: str
    over: str
    words: str


WAITING = Telling("Waits", "Resumed", "is there")


@dataclass
class Place:
    """A server that answers otherwise for some paths, and the files of an operator."""

    folder: Path
    answers: dict[str, Response | Exception] = field(default_factory=dict)

    def files(self, issued: datetime.datetime) -> list[str]:
        paths = write(issue([*HOSTS, "hooks.volcano-system.svc"], issued), self.folder)
        return [f"{name}={path}" for name, path in zip(NAMES, paths, strict=True)]


def forbidden(what: str) -> Response:
    message = f'{what} is forbidden: User "volcano-admission" cannot get resource "{what}"'
    return Response(403, {}, msgspec.json.encode({"kind": "Status", "reason": "Forbidden", "message": message}))


GONE = Response(404, {"content-type": "text/plain"}, b"404 page not found")
REFUSED: dict[str, tuple[str, Response | Exception, str]] = {
    "secrets forbidden": ("secrets", forbidden("secrets"), "the certificate cannot be had: secrets is forbidden"),
    "registration forbidden": (
        "validatingwebhookconfigurations",
        forbidden("validatingwebhookconfigurations"),
        "was not told about the webhooks yet: validatingwebhookconfigurations is forbidden",
    ),
    "queues forbidden": ("queues", forbidden("queues"), "queues.scheduling.volcano.sh (queues is forbidden"),
    "no CRD, or only a newer one": (
        "queues",
        GONE,
        "queues.scheduling.volcano.sh (not served as scheduling.volcano.sh/v1beta1: install the CustomResourceDef",
    ),
    "server not trusted": (
        "queues",
        ConnectionError("certificate has expired"),
        "queues.scheduling.volcano.sh (certificate has expired)",
    ),
}


async def told(
    place: Place,
    flags: list[str],
    words: str,
    cure: Callable[[Client], Any],
    ready: bool = False,
    telling: Telling = WAITING,
) -> None:
    """Start the daemon; it says `words` by /readyz and an event; after the cure it says that it goes on."""
    server = ApiServer.open(":memory:")

    async def handle(request: Request) -> Response:
        for plural, answer in place.answers.items():
            if f"/{plural}" in request.path:
                if isinstance(answer, Exception):
                    raise answer
                return answer
        return await server.handle(request)

    people = Client(InProcessTransport(server.handle))
    if CONFIGURATION in words:
        await people.create(VALIDATING_WEBHOOKS.untyped, led_elsewhere())
    port = free_ports(1)[0]
    options = replace(parse([*FLAGS, *SERVICE, *flags]), health_address=f"127.0.0.1:{port}")
    stop = asyncio.Event()
    running = asyncio.create_task(manager.run(Client(InProcessTransport(handle)), options, stop))
    probes = HttpClient(Endpoint("127.0.0.1", port))

    async def readiness() -> tuple[int, str]:
        try:
            answer = await probes.request("GET", "/readyz?verbose")
        except OSError:
            return 0, ""
        return answer.status, answer.content.decode()

    async def is_ready() -> bool:
        return (await readiness())[0] == 200

    async def named() -> bool:
        status, text = await readiness()
        return words in text and (status == 200 or not ready)

    async def event(reason: str, words: str) -> bool:
        events = [each for each in (await people.list(EVENTS)).items if each.involved_object.kind == "Service"]
        return any(each.reason == reason and words in each.message for each in events)

    await until(named)
    await until(lambda: event(telling.reason, words))
    assert (await readiness())[0] == (200 if ready else 500)
    await cure(people)
    await until(lambda: event(telling.over, telling.words))
    await until(is_ready)
    stop.set()
    await running
    await probes.close()
    await server.close()


@pytest.mark.parametrize("what", REFUSED)
def test_what_the_api_server_refuses(tmp_path: Path, what: str, caplog: pytest.LogCaptureFixture) -> None:
    plural, answer, words = REFUSED[what]
    place = Place(tmp_path, {plural: answer})

    async def cure(_: Client) -> None:
        place.answers.clear()

    asyncio.run(told(place, [], words, cure))
    assert words in caplog.text


def test_a_certificate_file_that_has_ended(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    place = Place(tmp_path)
    flags = place.files(NOW - datetime.timedelta(days=400))

    async def cure(_: Client) -> None:
        place.files(NOW)

    asyncio.run(told(place, flags, "the certificate that is served ended on ", cure, ready=True))
    assert "nobody trusts it, renew it" in caplog.text


def test_an_authority_of_callers_that_has_ended(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    path, days = tmp_path / "callers.crt", datetime.timedelta(days=1)
    path.write_bytes(Authority(since=-9 * days, until=-days).pem)

    async def cure(_: Client) -> None:
        path.write_bytes(Authority().pem)

    words = "the authority of callers (--client-ca-file) ended on "
    asyncio.run(told(Place(tmp_path), [f"--client-ca-file={path}"], words, cure, ready=True))
    assert words in caplog.text


def test_groups_that_cannot_be_read(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    path = tmp_path / "admission.conf"

    async def cure(_: Client) -> None:
        path.write_text("resourceGroups: []")

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(manager, "REFRESH_SECONDS", 0.05)
        asyncio.run(told(Place(tmp_path), [f"--admission-conf={path}"], "No such file", cure, ready=True))
    assert "No such file" in caplog.text


def test_files_that_do_not_fit_together(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    """They were right at the start: else there is no start."""
    place = Place(tmp_path)
    flags = place.files(NOW)

    async def cure(_: Client) -> None:
        place.files(NOW)

    async def scenario() -> None:
        async def spoil() -> None:
            await asyncio.sleep(0.2)
            (tmp_path / "tls.key").write_text("no key")

        spoiling = asyncio.create_task(spoil())
        await told(place, flags, "tls.key is not a private key", cure, ready=True)
        await spoiling

    asyncio.run(scenario())
    assert "what was read before stays in use" in caplog.text


def led_elsewhere() -> dict[str, Any]:
    service = {"namespace": "other", "name": "volcano-admission-service"}
    return {
        "metadata": {"name": CONFIGURATION},
        "webhooks": [
            {
                "name": "validatejob.volcano.sh",
                "clientConfig": {"service": service, "caBundle": ""},
                "sideEffects": "None",
                "admissionReviewVersions": ["v1"],
            }
        ],
    }


def test_two_installations_do_not_take_the_webhooks_from_each_other(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    words = f"webhook configuration {CONFIGURATION} leads to service other/volcano-admission-service: another install"

    async def cure(people: Client) -> None:
        found = await people.get(VALIDATING_WEBHOOKS.untyped, CONFIGURATION)
        assert not found["webhooks"][0]["clientConfig"].get("caBundle")
        await people.delete(VALIDATING_WEBHOOKS, CONFIGURATION)

    asyncio.run(told(Place(tmp_path), [], words, cure))
    assert words in caplog.text


def test_a_server_that_is_too_old_is_named_and_stops_nobody(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    monkeypatch.setattr(versions, "AGAIN_SECONDS", 0.05)
    words = "the API server is v1.29.4, older than v1.30"
    place = Place(tmp_path, {"version": Response(200, {}, b'{"gitVersion":"v1.29.4"}')})

    async def cure(_: Client) -> None:
        place.answers["version"] = Response(200, {}, b'{"gitVersion":"v1.30.0"}')

    unsupported = Telling("UnsupportedVersion", "UnsupportedVersion", "is v1.30.0 now")
    asyncio.run(told(place, [], words, cure, ready=True, telling=unsupported))
    assert words in caplog.text
