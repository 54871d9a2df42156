"""What local mode's servers and every command read: whatever arrives is read, or refused in the parser's own words.

The rest of the table is in `test_readers`; `target` says how they are held to it.
"""

from __future__ import annotations

import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import msgspec
import pytest

from tests.fuzz.target import Target, encoded, text
from tests.local.apiserver.wire.messages import encode
from volcano.api import cron, duration, quantity
from volcano.api.resources import PODS
from volcano.http import websocket
from volcano.http.message import Peer, Request, Response, parse_query
from volcano.http.reading import Limits, RequestReader
from volcano.kube import kubeconfig, manifests
from volcano.kube.config import ClusterConfig, ConfigError
from volcano.kube.refusals import explained
from volcano.local.apiserver.access.tokens import NotTrusted, ServiceAccountTokens
from volcano.local.apiserver.catalog.kinds import Kinds
from volcano.local.apiserver.catalog.registry import Registry
from volcano.local.apiserver.faults import PatchError
from volcano.local.apiserver.merging.apply import apply_patch
from volcano.local.apiserver.merging.managers import Managers
from volcano.local.apiserver.merging.patch import json_patch, merge_patch
from volcano.local.apiserver.merging.shapes import shape_of
from volcano.local.apiserver.merging.strategic import strategic_patch
from volcano.local.apiserver.storage.store import Store
from volcano.local.apiserver.verbs import reads
from volcano.local.apiserver.verbs.selectors import parse_field_selector, parse_label_selector
from volcano.local.apiserver.wire import bodies
from volcano.local.apiserver.wire.printers.jsonpath import JsonPathError, compile_path
from volcano.local.apiserver.wire.protobuf import decode_protobuf
from volcano.scheduler.framework import conf

INFO = Registry.standard().get(PODS)
SHAPE = shape_of(INFO)
NOW = "2026-01-01T00:00:00Z"
POD: dict[str, Any] = {
    "apiVersion": "v1",
    "kind": "Pod",
    "metadata": {"name": "a", "namespace": "default", "labels": {"x": "y"}, "finalizers": ["f/g"]},
    "spec": {
        "containers": [
            {"name": "a", "env": [{"name": "A", "value": "1"}], "resources": {"limits": {"cpu": "1", "memory": "1Gi"}}}
        ],
        "tolerations": [{"key": "k", "operator": "Exists"}],
    },
}
FIELDS = {"f:metadata": {"f:labels": {".": {}, "f:x": {}}}, "f:spec": {"f:containers": {'k:{"name":"a"}': {".": {}}}}}
MANAGERS = [
    {
        "manager": "m",
        "operation": "Apply",
        "apiVersion": "v1",
        "time": NOW,
        "fieldsType": "FieldsV1",
        "fieldsV1": FIELDS,
    }
]
CONFIGURATION = b"""
actions: "enqueue, allocate"
tiers:
- plugins:
  - name: gang
    enablePreemptable: false
    arguments: {weight: 1, list: [a]}
configurations:
- name: allocate
  arguments: {predicateErrorCacheEnable: true}
metrics: {type: prometheus, interval: 30s}
"""
KUBECONFIG = b"""
apiVersion: v1
kind: Config
current-context: c
contexts: [{name: c, context: {cluster: k, user: u, namespace: n}}]
clusters: [{name: k, cluster: {server: "https://127.0.0.1:1", certificate-authority-data: YQ==}}]
users: [{name: u, user: {token: t, exec: {command: c, args: [a], apiVersion: client.authentication.k8s.io/v1}}}]
"""


REFUSAL = b'{"kind":"Status","reason":"Unauthorized","code":401,"details":{"causes":[{"message":"m"}]}}'
TOKEN = b"e30.eyJleHAiOjE3MDAwMDAwMDB9.c2ln"


def patched(patch: Callable[[Any], object]) -> Callable[[bytes], object]:
    """A patch of POD, which it must leave as it is."""

    def read(data: bytes) -> None:
        before = msgspec.json.encode(POD)
        try:
            patch(bodies.read_json(data))
        finally:
            assert msgspec.json.encode(POD) == before

    return read


def applied(document: Any) -> None:
    if isinstance(document, dict):
        metadata = document.get("metadata")
        document["metadata"] = (metadata if isinstance(metadata, dict) else {}) | {"name": "a"}
        apply_patch(POD, document, "m", SHAPE, force=False, now=NOW)


def managed(entries: Any) -> None:
    live = {**POD, "metadata": {**POD["metadata"], "managedFields": Managers.sent(entries).entries()}}
    applying = {"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "a", "labels": {"x": "z"}}}
    apply_patch(live, applying, "other", SHAPE, force=True, now=NOW)


def checked(data: bytes) -> None:
    """A body on its way through the schema of its kind."""
    kinds, document = Kinds(), bodies.read_document(Request("POST", "/", [], {"content-type": bodies.JSON}, data))
    document.setdefault("metadata", {})
    if not kinds.check(INFO, document):
        kinds.bring_into_form(INFO, document)


def frames(data: bytes) -> None:
    list(websocket.Reader().feed(data))


def requests(data: bytes) -> None:
    """Damaged requests are delivered as refusals, never raised."""
    found: list[object] = []
    reader = RequestReader(Limits(), Peer(), found.append, lambda: 0.0)
    for start in range(0, len(data), 50):
        reader.feed(data[start : start + 50])


def list_options(data: bytes) -> None:
    request = Request("GET", "/x", parse_query(data.decode("latin-1")))
    (reads.WatchStart if request.flag("watch") else reads.Page).of(request)


def refusal(data: bytes) -> None:
    """The answer of a server, and a token that says when it ends, as our messages quote them."""
    told = explained(Response(401, {}, data), ClusterConfig("https://a"), data[-len(TOKEN) :].decode("latin-1"))
    assert b"Unauthorized" in told.content or b"token" in told.content


def kubeconfig_file(data: bytes) -> None:
    with tempfile.NamedTemporaryFile(dir="/dev/shm" if Path("/dev/shm").is_dir() else None) as file:
        file.write(data)
        file.flush()
        kubeconfig.load_files([Path(file.name)])


CHANGES = encoded(
    {"metadata": {"labels": {"x": None, "n": "1"}, "$deleteFromPrimitiveList/finalizers": ["f/g"]}},
    {"spec": {"containers": [{"name": "a", "$patch": "delete"}, {"name": "b", "image": "i"}]}},
    {"spec": {"$setElementOrder/containers": [{"name": "a"}], "containers": [{"name": "a", "$retainKeys": ["name"]}]}},
    {"spec": {"tolerations": [{"key": "k"}], "$patch": "replace"}},
)
OPERATIONS = encoded(
    [
        {"op": "add", "path": "/spec/containers/-", "value": {"name": "b"}},
        {"op": "remove", "path": "/metadata/labels/x"},
    ],
    [{"op": "copy", "from": "/spec", "path": "/status"}, {"op": "test", "path": "/metadata/name", "value": "a"}],
    [{"op": "move", "from": "/metadata/labels", "path": "/metadata/annotations"}, {"op": "replace", "path": "/a~1b"}],
)
SELECTORS = (b"a=b,c!=d", b"x in (a,b),y notin (c)", b"!z,w,v==u", b"a/b.c=d", b"n>1,m<2")
TOKENS = ServiceAccountTokens(Store.open(":memory:"), b"k" * 32)
REFUSED = (PatchError,)

TARGETS = (
    Target(
        "JSON bodies", checked, REFUSED, encoded(POD, {"spec": {"containers": [{"ports": [{"containerPort": 1}]}]}})
    ),
    Target("YAML bodies", bodies.read_yaml, REFUSED, (b"a: &x [1, {b: c}]\nd: *x\n", b"- 1\n- !!str 2\n", KUBECONFIG)),
    Target("protobuf", decode_protobuf, REFUSED, (encode(POD), b"k8s\0\n\x09\n\x02v1\x12\x03Pod\x12\x00")),
    Target("JSON patches", patched(lambda body: json_patch(POD, body)), REFUSED, OPERATIONS),
    Target("merge patches", patched(lambda body: merge_patch(POD, body)), REFUSED, CHANGES),
    Target("strategic patches", patched(lambda body: strategic_patch(POD, body, SHAPE)), REFUSED, CHANGES),
    Target("applied configurations", patched(applied), REFUSED, encoded(POD)),
    Target("field sets", patched(managed), REFUSED, encoded(MANAGERS)),
    Target("label selectors", text(lambda it: parse_label_selector(it).matches({"a": "b"})), REFUSED, SELECTORS),
    Target(
        "field selectors",
        text(lambda it: parse_field_selector(it, frozenset({"metadata.name"})).matches(POD)),
        REFUSED,
        (b"metadata.name=a", b"metadata.name!=a,metadata.name==\\,b"),
    ),
    Target(
        "list options",
        list_options,
        REFUSED,
        (
            b"limit=5&continue=eyJ2IjoibWV0YS5rOHMuaW8vdjEiLCJydiI6MSwic3RhcnQiOiIifQ",
            b"resourceVersion=5&resourceVersionMatch=Exact&timeoutSeconds=3",
            b"watch=1&sendInitialEvents=true&resourceVersionMatch=NotOlderThan",
        ),
    ),
    Target(
        "tokens", text(TOKENS.check), (NotTrusted,), (TOKENS.issue("n", {"name": "a", "uid": "b"}, 9, [], {}).encode(),)
    ),
    Target(
        "JSONPath",
        text(lambda it: compile_path(it)(POD)),
        (JsonPathError,),
        (b".spec.containers[0].name", b"{.a['b'][*]}", b'.x[?(@.a=="b")].c'),
    ),
    Target(
        "WebSocket frames",
        frames,
        (websocket.Violation,),
        (
            b"\x82\x85abcd\x60\x10\x11\x12\x13",
            b"\x01\x81abcd\x00\x80\x81abcd\x00",
            b"\x89\x80abcd",
            b"\x82\xfe\x00\x80abcd" + b"x" * 128,
        ),
    ),
    Target(
        "HTTP requests",
        requests,
        (),
        (
            b"GET /a?b=%20 HTTP/1.1\r\nhost: x\r\n\r\n",
            b"POST / HTTP/1.1\r\nhost: x\r\ntransfer-encoding: chunked\r\n\r\n3\r\nabc\r\n0\r\n\r\n",
            b"PUT / HTTP/1.0\r\nhost: x\r\ncontent-length: 2\r\nexpect: 100-continue\r\n\r\nab",
        ),
    ),
    Target(
        "quantities",
        text(quantity.parse),
        (quantity.QuantityError,),
        (b"1", b"100m", b"1.5Gi", b"-2e3", b"+.5k", b"1E", b"12n"),
    ),
    Target(
        "durations", text(duration.parse), (duration.DurationError,), (b"1h30m", b"-1.5s", b"100ms", b"2us3ns", b"0")
    ),
    Target(
        "schedules",
        text(cron.parse),
        (cron.ScheduleError,),
        (b"*/5 0-3 1,2 JAN mon", b"@hourly", b"@every 1h", b"TZ=UTC 0 0 * * ?"),
    ),
    Target(
        "manifests",
        text(lambda it: manifests.load(it)),
        (manifests.ManifestError,),
        (
            b"kind: Pod\n---\nkind: List\nitems: [{kind: A}]\n",
            b'{"kind": "Pod"}{"kind": "Job"}',
            b"a: &a [x, x]\nb: [*a, *a]\n<<: *a\n",
        ),
    ),
    Target("refusals and tokens", refusal, (), (REFUSAL, REFUSAL + TOKEN)),
    Target("kubeconfigs", kubeconfig_file, (ConfigError,), (KUBECONFIG,)),
    Target(
        "scheduler configurations",
        text(lambda it: conf.parse(it, ("enqueue", "allocate"))),
        (conf.ConfError,),
        (CONFIGURATION,),
    ),
)


@pytest.mark.parametrize("target", TARGETS, ids=lambda target: target.name)
def test_what_arrives_is_read_or_refused(target: Target) -> None:
    target.hold()
