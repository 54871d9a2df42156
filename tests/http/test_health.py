"""Health probes and metrics, as Kubernetes and Prometheus read them."""

from __future__ import annotations

import asyncio
import datetime
from pathlib import Path

import pytest

from tests.http.test_tls import Authority, endpoint
from volcano.http.client import HttpClient
from volcano.http.errors import HttpError
from volcano.http.health import HealthApp, Papers, parse_address, serve_health
from volcano.http.message import Request, Response, parse_target
from volcano.http.metrics import Registry
from volcano.http.tls import client_context


def get(app: HealthApp, target: str, method: str = "GET") -> Response:
    path, query = parse_target(target)
    response: Response = asyncio.run(app(Request(method, path, query)))
    return response


def test_probes_pass_and_fail_by_their_checks() -> None:
    problem: list[str] = []
    app = HealthApp(alive={"loop": lambda: None}, ready={"synced": lambda: problem[0] if problem else None})
    assert (get(app, "/healthz").content, get(app, "/readyz").content) == (b"ok", b"ok")
    problem.append("pods are not listed yet")
    assert get(app, "/healthz").status == 200
    answer = get(app, "/readyz")
    assert answer.status == 500
    assert b"[+]ping ok\n[+]loop ok\n[-]synced failed: pods are not listed yet\nreadyz check failed" in answer.content
    assert get(app, "/readyz?exclude=synced").status == 200
    assert get(app, "/readyz/loop?verbose").content == b"[+]loop ok\nreadyz check passed\n"
    assert get(app, "/healthz/nothing").status == 404
    assert get(app, "/healthz", "POST").status == 405


def test_a_check_may_be_asynchronous_and_may_raise() -> None:
    async def slow() -> str | None:
        await asyncio.sleep(0)
        return "slow"

    def broken() -> str | None:
        raise ZeroDivisionError("by zero")

    answer = get(HealthApp(alive={"slow": slow, "broken": broken}), "/livez")
    assert b"[-]slow failed: slow\n[-]broken failed: ZeroDivisionError: by zero" in answer.content


def test_metrics_are_rendered_in_the_text_format() -> None:
    registry = Registry("volcano_")
    registry.counter("cycles_total", "Cycles.").inc()
    gauges = registry.gauges("queue_share", "Share\nof a queue.", "queue_name")
    gauges.labels('a"b').set(0.25)
    gauges.labels("gone").set(1)
    gauges.remove("gone")
    histogram = registry.histogram("latency_seconds", "Latency.", buckets=(0.1, 1, 10))
    for value in (0.1, 0.5, 100):
        histogram.observe(value)
    live = registry.gauge("live", "Set at scrape time.")
    registry.before_scrape(lambda: live.set(3))
    assert get(HealthApp(registry), "/metrics").content.decode() == (
        "# HELP volcano_cycles_total Cycles.\n"
        "# TYPE volcano_cycles_total counter\n"
        "volcano_cycles_total 1\n"
        "# HELP volcano_latency_seconds Latency.\n"
        "# TYPE volcano_latency_seconds histogram\n"
        'volcano_latency_seconds_bucket{le="0.1"} 1\n'
        'volcano_latency_seconds_bucket{le="1"} 2\n'
        'volcano_latency_seconds_bucket{le="10"} 2\n'
        'volcano_latency_seconds_bucket{le="+Inf"} 3\n'
        "volcano_latency_seconds_sum 100.6\n"
        "volcano_latency_seconds_count 3\n"
        "# HELP volcano_live Set at scrape time.\n"
        "# TYPE volcano_live gauge\n"
        "volcano_live 3\n"
        "# HELP volcano_queue_share Share\\nof a queue.\n"
        "# TYPE volcano_queue_share gauge\n"
        'volcano_queue_share{queue_name="a\\"b"} 0.25\n'
    )


def test_metrics_refuse_what_cannot_be() -> None:
    registry = Registry()
    counter = registry.counter("a", "A.")
    with pytest.raises(ValueError, match="registered twice"):
        registry.gauge("a", "A.")
    with pytest.raises(ValueError, match="cannot go down"):
        counter.inc(-1)
    with pytest.raises(ValueError, match="expected the labels x, y"):
        registry.counters("b", "B.", "x", "y").labels("1")


@pytest.mark.parametrize(
    ("address", "parsed"),
    [(":8080", ("0.0.0.0", 8080)), ("127.0.0.1:0", ("127.0.0.1", 0)), ("[::1]:80", ("::1", 80))],
)
def test_addresses_of_flags(address: str, parsed: tuple[str, int]) -> None:
    assert parse_address(address) == parsed


@pytest.mark.parametrize("address", ["8080", "host", "host:port", "host:70000"])
def test_addresses_that_are_none(address: str) -> None:
    with pytest.raises(ValueError, match="is not an address"):
        parse_address(address)


def test_an_unsuitable_address_is_told_plainly() -> None:
    with pytest.raises(OSError, match=r"cannot listen on 203\.0\.113\.1:0: this machine has no such address"):
        asyncio.run(serve_health(HealthApp(), "203.0.113.1:0"))


def test_remarks_are_told_and_decide_nothing() -> None:
    app = HealthApp(ready={"queue": lambda: None}, remarks={"version": lambda: "is old", "other": lambda: None})

    async def main() -> None:
        assert (await app(Request("GET", "/readyz"))).content == b"ok"
        told = await app(Request("GET", "/readyz", [("verbose", "")]))
        assert told.status == 200
        assert b"[!]version: is old\n" in told.content
        assert b"other" not in told.content

    asyncio.run(main())


class Place:
    """The files of a health address, and who asks there."""

    def __init__(self, folder: Path, authority: Authority) -> None:
        self.paths = [folder / name for name in ("tls.crt", "tls.key", "ca.crt")]
        self.write(*authority.issue("localhost"), authority.pem)

    def write(self, *pems: bytes) -> None:
        for path, pem in zip(self.paths, pems, strict=True):
            path.write_bytes(pem)

    def papers(self) -> Papers:
        papers = Papers.of(*map(str, self.paths))
        assert papers is not None
        return papers


async def status(port: int, server: Authority, path: str, caller: Authority | None = None) -> int:
    """How a new caller, with a certificate by `caller`, is answered by a server whose certificate is by `server`."""
    certificate, key = (None, None) if caller is None else caller.issue("prometheus")
    context = client_context(authority=server.pem, certificate=certificate, key=key)
    client = HttpClient(endpoint(port, context))
    try:
        return (await client.request("GET", path)).status
    finally:
        await client.close()


def test_on_tls_only_those_with_a_certificate_are_told_more_than_health(tmp_path: Path) -> None:
    authority = Authority()

    async def main() -> None:
        papers = Place(tmp_path, authority).papers()
        async with await serve_health(HealthApp(Registry()), "127.0.0.1:0", papers) as server:
            assert await status(server.port, authority, "/healthz") == 200
            assert await status(server.port, authority, "/readyz/ping") == 200
            assert await status(server.port, authority, "/metrics") == 401
            assert await status(server.port, authority, "/metrics", authority) == 200

    asyncio.run(main())


def test_a_replaced_certificate_is_shown_to_new_connections(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    """Of files that do not fit together, as while they are replaced, none is used."""
    old, new = Authority(), Authority()

    async def main() -> None:
        place = Place(tmp_path, old)
        app = HealthApp()
        async with await serve_health(app, "127.0.0.1:0", place.papers()) as server:
            assert await status(server.port, old, "/healthz") == 200
            certificate, key = new.issue("localhost")
            place.paths[0].write_bytes(certificate)
            assert await status(server.port, old, "/healthz") == 200
            assert await status(server.port, old, "/healthz") == 200
            assert caplog.text.count("cannot be used: ") == 1
            assert b"[!]certificate: " in (await app(Request("GET", "/readyz", [("verbose", "")]))).content
            place.paths[1].write_bytes(key)
            assert await status(server.port, new, "/healthz") == 200
            assert b"[!]" not in (await app(Request("GET", "/readyz", [("verbose", "")]))).content

    asyncio.run(main())


def test_a_replaced_authority_verifies_the_callers_of_new_connections(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    old, new = Authority(), Authority()

    async def main() -> None:
        place = Place(tmp_path, old)
        async with await serve_health(HealthApp(Registry()), "127.0.0.1:0", place.papers()) as server:
            assert await status(server.port, old, "/metrics", old) == 200
            place.paths[2].write_bytes(b"half of one")
            assert await status(server.port, old, "/metrics", old) == 200
            assert caplog.text.count("ca.crt has no authorities in PEM") == 1
            place.paths[2].write_bytes(new.pem)
            with pytest.raises(HttpError):
                await status(server.port, old, "/metrics", old)
            assert await status(server.port, old, "/metrics", new) == 200
            assert await status(server.port, old, "/metrics") == 401

    asyncio.run(main())


LONG_AGO, YESTERDAY, TOMORROW = (datetime.timedelta(days=days) for days in (-100, -1, 1))


@pytest.mark.parametrize(
    ("leaf", "root", "words"),
    [
        (YESTERDAY, TOMORROW * 99, ["certificate ", "tls.crt ended on ", "renew it"]),
        (TOMORROW, TOMORROW * 99, ["certificate ", "tls.crt ends on ", "renew it before"]),
        (TOMORROW * 99, YESTERDAY, ["authority ", "ca.crt ended on "]),
    ],
    ids=["ended", "ends soon", "authority ended"],
)
def test_certificates_that_end_are_remarked_on_and_decide_nothing(
    tmp_path: Path, leaf: datetime.timedelta, root: datetime.timedelta, words: list[str]
) -> None:
    authority = Authority(since=LONG_AGO, until=root)
    place = Place(tmp_path, authority)
    place.write(*authority.issue("localhost", since=LONG_AGO, until=leaf), authority.pem)

    async def main() -> None:
        app, papers = HealthApp(), place.papers()
        async with await serve_health(app, "127.0.0.1:0", papers):
            answer = await app(Request("GET", "/readyz", [("verbose", "")]))
            assert answer.status == 200
            assert f"[!]certificate: {papers.problem()}\n".encode() in answer.content
            assert all(word in (papers.problem() or "") for word in words)
            assert ";" not in (papers.problem() or "")

    asyncio.run(main())
