"""What the server says of itself besides discovery and OpenAPI v3."""

from __future__ import annotations

import json

from volcano.http.message import Request
from volcano.local.apiserver.catalog.published import Publisher
from volcano.local.apiserver.catalog.registry import Registry


def test_openapi_2_describes_no_kind_so_that_kubectl_says_which_one_is_not_there() -> None:
    publisher = Publisher(Registry([]))

    plain = publisher.answer(Request("GET", "/openapi/v2", headers={"accept": "application/json"}))
    assert plain is not None
    assert json.loads(plain.content) == {
        "swagger": "2.0",
        "info": {"title": "Kubernetes", "version": "v1.36.0"},
        "paths": {},
    }

    accepted = "application/com.github.proto-openapi.spec.v2.v1.0+protobuf,application/json"
    coded = publisher.answer(Request("GET", "/openapi/v2", headers={"accept": accepted}))
    assert coded is not None
    assert coded.headers["content-type"] == "application/com.github.proto-openapi.spec.v2.v1.0+protobuf"
    assert coded.content == b"\x0a\x032.0" + b"\x12\x15" + b"\x0a\x0aKubernetes" + b"\x12\x07v1.36.0"
