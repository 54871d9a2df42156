"""Admission by room, addresses and names, simulated scripts."""

from __future__ import annotations

from typing import Any

import pytest

from tests.local.node.pods import container, facts, pod
from volcano.local.node.addresses import hosts_line, loopback_address, names
from volcano.local.node.admission import admit, requests_of
from volcano.local.node.simulation import Script, script_of

NODE = {"cpu": "2", "memory": "1Gi", "pods": "3"}


def asking(**requests: str) -> dict[str, Any]:
    return {"resources": {"requests": requests}}


def test_requests_add_up_and_the_largest_init_step_counts() -> None:
    document = pod(
        container("true", name="a", **asking(cpu="500m")),
        container("true", name="b", **asking(cpu="1")),
        initContainers=[
            container("true", name="proxy", restartPolicy="Always", **asking(cpu="250m")),
            container("true", name="big", **asking(cpu="3", memory="1Mi")),
        ],
    )

    assert requests_of(document) == {"cpu": 3250, "memory": 1024 * 1024 * 1000, "pods": 1000}


def test_a_pod_that_fits_is_admitted_and_one_that_does_not_is_told_the_numbers() -> None:
    one = pod(container("true", **asking(cpu="1")))

    assert admit(one, [requests_of(one)], NODE) is None
    refusal = admit(one, [requests_of(one)] * 2, NODE)
    assert refusal is not None
    assert refusal.reason == "OutOfcpu"
    assert refusal.message == ("Node didn't have enough resource: cpu, requested: 1000, used: 2000, capacity: 2000")


def test_the_number_of_pods_is_limited_too() -> None:
    refusal = admit(pod(), [requests_of(pod())] * 3, NODE)

    assert refusal is not None
    assert refusal.reason == "OutOfpods"


def test_what_others_offer_on_the_node_is_theirs_to_count() -> None:
    assert admit(pod(container("true", **asking(**{"kubernetes.io/batch-cpu": "900"}))), [], NODE) is None


def test_an_address_is_stable_and_avoids_those_taken() -> None:
    first = loopback_address("u1", ())

    assert first == loopback_address("u1", ())
    assert first.startswith("127.")
    assert loopback_address("u1", {first}) != first
    assert len({loopback_address(f"u{n}", ()) for n in range(500)}) > 495


def test_peers_find_a_pod_under_its_service_names() -> None:
    document = pod(hostname="job-worker-0", subdomain="job")

    assert names(facts(document)) == [
        "job-worker-0.job.default.svc.cluster.local",
        "job-worker-0.job.default.svc",
        "job-worker-0.job.default",
        "job-worker-0.job",
        "job-worker-0",
    ]
    assert hosts_line("127.1.2.3", facts(pod())) == "127.1.2.3\tp\n"


@pytest.mark.parametrize(
    ("annotations", "script"),
    [
        ({}, Script(None, 0)),
        ({"volcano.sh/simulate-duration": "1m30s"}, Script(90.0, 0)),
        ({"volcano.sh/simulate-duration": "1s", "volcano.sh/simulate-exit-code": "3"}, Script(1.0, 3)),
        ({"volcano.sh/simulate-duration": "soon", "volcano.sh/simulate-exit-code": "x"}, Script(None, 0)),
    ],
)
def test_annotations_tell_how_a_pretended_run_goes(annotations: dict[str, str], script: Script) -> None:
    assert script_of(annotations) == script
