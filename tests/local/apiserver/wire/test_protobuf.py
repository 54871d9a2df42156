from __future__ import annotations

import contextlib
from typing import Any

import pytest
from hypothesis import given, strategies as st

from tests.local.apiserver.wire import messages
from volcano.local.apiserver.faults import DecodeError
from volcano.local.apiserver.wire.protobuf import decode_protobuf
from volcano.local.apiserver.wire.protobuf_table import SCALARS, fields_of, kinds, message_of

POD = {
    "apiVersion": "v1",
    "kind": "Pod",
    "metadata": {
        "name": "p",
        "labels": {"a": "b"},
        "creationTimestamp": "2026-01-02T03:04:05Z",
        "ownerReferences": [{"apiVersion": "v1", "kind": "K", "name": "o", "uid": "u", "controller": False}],
    },
    "spec": {
        "terminationGracePeriodSeconds": 0,
        "volumes": [{"name": "scratch", "emptyDir": {}}, {"name": "c", "configMap": {"name": "x", "optional": False}}],
        "containers": [
            {
                "name": "c",
                "image": "busybox",
                "command": ["sh", "-c", ""],
                "env": [{"name": "A", "value": "1"}],
                "resources": {"requests": {"cpu": "100m", "memory": "0"}},
                "livenessProbe": {"httpGet": {"port": "web"}, "initialDelaySeconds": 3},
            }
        ],
        "tolerations": [{"operator": "Exists", "tolerationSeconds": -1}],
    },
}


@pytest.mark.parametrize(
    "document",
    [
        POD,
        {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": "n"}},
        {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "c"}, "data": {"k": ""}, "immutable": False},
        {"apiVersion": "v1", "kind": "Secret", "metadata": {"name": "s"}, "data": {"k": "AAH/"}, "type": "Opaque"},
        {
            "apiVersion": "coordination.k8s.io/v1",
            "kind": "Lease",
            "metadata": {"name": "l"},
            "spec": {"holderIdentity": "", "renewTime": "2026-01-02T03:04:05.000006Z", "leaseTransitions": 0},
        },
        {
            "apiVersion": "policy/v1",
            "kind": "PodDisruptionBudget",
            "metadata": {"name": "b"},
            "spec": {"minAvailable": 0, "selector": {}},
        },
        {
            "apiVersion": "authorization.k8s.io/v1",
            "kind": "SubjectAccessReview",
            "spec": {"user": "u", "extra": {"scopes": ["a", "b"]}, "resourceAttributes": {"verb": "get"}},
        },
        {
            "apiVersion": "scheduling.k8s.io/v1",
            "kind": "PriorityClass",
            "metadata": {"name": "p"},
            "value": 0,
        },
        {"apiVersion": "batch/v1", "kind": "DeleteOptions", "gracePeriodSeconds": 0, "propagationPolicy": "Background"},
    ],
    ids=lambda document: document["kind"],
)
def test_what_was_written_is_read(document: dict[str, Any]) -> None:
    decoded = decode_protobuf(messages.encode(document))
    for part, value in document.items():
        assert decoded[part] == value, part


def test_go_writes_zeros_and_only_pointers_mean_them() -> None:
    deployment = {
        "apiVersion": "apps/v1",
        "kind": "Deployment",
        "metadata": {"name": "d"},
        "spec": {"replicas": 0, "selector": {"matchLabels": {"a": "b"}}, "template": {}},
    }
    decoded = decode_protobuf(messages.encode(deployment))
    assert decoded["spec"]["replicas"] == 0
    assert "paused" not in decoded["spec"]
    assert "minReadySeconds" not in decoded["spec"]
    assert "namespace" not in decoded["metadata"]
    assert "creationTimestamp" not in decoded["metadata"]


def test_bodies_without_a_kind_get_the_one_that_is_expected() -> None:
    body = b"k8s\x00" + messages.chunk(2, b"\x08\x00")
    assert decode_protobuf(body, "v1", "DeleteOptions") == {
        "apiVersion": "v1",
        "kind": "DeleteOptions",
        "gracePeriodSeconds": 0,
    }


@pytest.mark.parametrize(
    ("body", "message"),
    [
        (b"", "does not start with"),
        (b"{}", "does not start with"),
        (b"k8s\x00" + messages.chunk(1, messages.chunk(1, b"v1") + messages.chunk(2, b"Nothing")), "send it as JSON"),
        (messages.encode(POD)[:-40], "cut short"),
        (
            b"k8s\x00"
            + messages.chunk(1, messages.chunk(1, b"v1") + messages.chunk(2, b"Pod"))
            + messages.chunk(2, b"\x0b"),
            "wire type 3",
        ),
        (b"k8s\x00" + b"\xff" * 11, "more than 64 bits"),
        (b"k8s\x00" + messages.chunk(1, messages.chunk(2, b"\xff")), "not UTF-8"),
        (b"k8s\x00" + messages.chunk(3, b"gzip"), "content encoding"),
        (b"k8s\x00" + messages.chunk(4, b"application/json"), "application/json"),
    ],
)
def test_a_damaged_body_says_what_is_wrong(body: bytes, message: str) -> None:
    with pytest.raises(DecodeError, match=message):
        decode_protobuf(body)


@given(st.sampled_from(kinds()), st.binary(max_size=200))
def test_random_bytes_are_decoded_or_refused(kind: tuple[str, str], data: bytes) -> None:
    version = "v1" if kind[0] == "*" else kind[0]
    body = b"k8s\x00" + messages.chunk(1, messages.chunk(1, version.encode()) + messages.chunk(2, kind[1].encode()))
    with contextlib.suppress(DecodeError):
        decode_protobuf(body + messages.chunk(2, data))


@given(st.data())
def test_a_flipped_byte_is_decoded_or_refused(data: st.DataObject) -> None:
    body = bytearray(messages.encode(POD))
    body[data.draw(st.integers(4, len(body) - 1))] = data.draw(st.integers(0, 255))
    with contextlib.suppress(DecodeError):
        decode_protobuf(bytes(body))


def test_every_message_of_the_table_can_be_read() -> None:
    seen: set[str] = set()
    waiting = [message_of(*kind) or "" for kind in kinds()]
    while waiting:
        message = waiting.pop()
        if message not in seen:
            seen.add(message)
            waiting += [field.kind for field in fields_of(message).values() if field.kind not in SCALARS]
    assert {"core.v1.PodSpec", "core.v1.PodTemplateSpec", "meta.v1.ObjectMeta"} <= seen
