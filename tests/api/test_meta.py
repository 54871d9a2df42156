"""The types decode what API servers send and encode what they accept."""

from __future__ import annotations

import datetime

import msgspec
import pytest

from volcano.api import core, meta
from volcano.api.batch import Job
from volcano.api.resources import ALL_KUBERNETES, ALL_VOLCANO, JOBS, NODES, PODS, by_kind


def test_unknown_fields_are_skipped_and_defaults_left_out() -> None:
    pod = msgspec.json.decode(b'{"kind":"Pod","metadata":{"name":"a","new":1},"spec":{"future":{}}}', type=core.Pod)

    assert msgspec.to_builtins(pod) == {"kind": "Pod", "metadata": {"name": "a"}, "spec": {}, "status": {}}


def test_a_zero_behind_a_pointer_is_kept() -> None:
    job = msgspec.convert({"spec": {"ttlSecondsAfterFinished": 0, "minAvailable": 0}}, Job)

    assert msgspec.to_builtins(job.spec) == {"ttlSecondsAfterFinished": 0}


def test_names_that_are_not_plain_camel_case() -> None:
    document = {
        "spec": {"hostPID": True, "setHostnameAsFQDN": True},
        "status": {"podIP": "10.0.0.1", "podIPs": [{"ip": "10.0.0.1"}], "hostIP": "10.0.0.2", "qosClass": "Burstable"},
    }

    pod = msgspec.convert(document, core.Pod)

    assert (pod.spec.host_pid, pod.status.pod_ip, pod.status.host_ip) == (True, "10.0.0.1", "10.0.0.2")
    assert msgspec.to_builtins(pod)["status"] == document["status"]


def test_small_values_are_hashable() -> None:
    assert len({core.Toleration(key="a"), core.Toleration(key="a"), core.Taint(key="a")}) == 2


def test_times() -> None:
    moment = datetime.datetime(2026, 1, 2, 3, 4, 5, 678, tzinfo=datetime.UTC)

    assert meta.format_micro_time(moment) == "2026-01-02T03:04:05.000678Z"
    assert meta.parse_time("2026-01-02T03:04:05.000678Z") == moment
    assert msgspec.json.encode(meta.whole_seconds(moment)) == b'"2026-01-02T03:04:05Z"'


@pytest.mark.parametrize("resource", [*ALL_KUBERNETES, *ALL_VOLCANO], ids=lambda resource: resource.group_resource)
def test_every_resource_decodes_an_object_and_is_found_by_its_kind(resource) -> None:
    body = msgspec.json.encode({"apiVersion": resource.api_version, "kind": resource.kind, "metadata": {"name": "x"}})

    decoded = msgspec.json.decode(body, type=resource.type)

    assert msgspec.to_builtins(decoded)["kind"] == resource.kind
    assert by_kind(resource.api_version, resource.kind) is resource


def test_paths() -> None:
    assert JOBS.path() == "/apis/batch.volcano.sh/v1alpha1/jobs"
    assert JOBS.path("ns", "a", "status") == "/apis/batch.volcano.sh/v1alpha1/namespaces/ns/jobs/a/status"
    assert PODS.path("ns") == "/api/v1/namespaces/ns/pods"
    assert NODES.path("ignored", "n1") == "/api/v1/nodes/n1"
    assert PODS.untyped.type is dict
