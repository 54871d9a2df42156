"""Bodies that are not what they should be: other media types, broken text, wrong depths and sizes; and odd paths."""

from __future__ import annotations

from typing import TYPE_CHECKING

from tests.differential.session import APPLY, JSON_PATCH, MERGE, STRATEGIC

if TYPE_CHECKING:
    from tests.differential.session import Session

MAPS = "/api/v1/namespaces/{ns}/configmaps"
ROOT = "/api/v1"
MEBIBYTE = 1024 * 1024


async def media_types(s: Session) -> None:
    body = {"metadata": {"generateName": "a-"}}
    for kind in (
        "application/json;charset=utf-8",
        "APPLICATION/JSON",
        "application/yaml",
        "text/plain",
        "text/json",
        "application/x-www-form-urlencoded",
        "multipart/form-data; boundary=x",
        "application/cbor",
        "application/nonsense",
        "application/merge-patch+json",
        "application/json, text/plain",
        "*/*",
        "nonsense",
    ):
        await s.post(MAPS, body, kind=kind)
    await s.post(MAPS, {"metadata": {"name": "a"}})
    for kind in ("application/json", "application/yaml", "text/plain", "application/vnd.kubernetes.protobuf"):
        await s.patch(f"{MAPS}/a", {}, kind)


async def broken_bodies(s: Session) -> None:
    for body in (
        b"",
        b"{",
        b"[]",
        b'"text"',
        b"null",
        b"true",
        b"{}",
        b'{"metadata":{"name":"a"}} more',
        b'{"metadata":{"name":"a"}}{"metadata":{"name":"b"}}',
        b'\xef\xbb\xbf{"metadata":{"name":"a"}}',
        '{"metadata":{"name":"a"}}'.encode("utf-16"),
        b'{"metadata":{"name":"a\xff"}}',
        b'{"metadata":{"name":"utf8"},"data":{"k":"\xff\xfe"}}',
        b'{"metadata":{"name":"nul"},"data":{"k":"\\u0000"}}',
        b'{"metadata":{"name":"number","generation":1e400}}',
        b'{"metadata":{"name":"number","generation":NaN}}',
        b'{"metadata":{"name":"twice"},"data":{"k":"v"},"data":{"k":"w"}}',
        b'{"metadata":{"name":"' + b"a" * 300 + b'"}}',
        b'{"metadata":{"name":"deep"},"data":' + b'{"a":' * 20000 + b"1" + b"}" * 20000 + b"}",
        b"[" * 20000 + b"]" * 20000,
        b'{"metadata":{"name":"large"},"data":{"k":"' + b"x" * (MEBIBYTE + 1) + b'"}}',
    ):
        await s.post(MAPS, body)
    await s.post(MAPS, b"a: [b\n", kind="application/yaml")
    await s.post(MAPS, b"metadata:\n  name: yaml\ndata: {k: v}\n", kind="application/yaml")
    await s.post(MAPS, b"k8s\x00\xff\xff\xff", kind="application/vnd.kubernetes.protobuf")
    await s.post(MAPS, b"nonsense", kind="application/vnd.kubernetes.protobuf")


async def broken_patches(s: Session) -> None:
    await s.post(MAPS, {"metadata": {"name": "a"}, "data": {"k": "v"}})
    for kind in (MERGE, STRATEGIC, JSON_PATCH, APPLY):
        for body in (
            b"{",
            b'"text"',
            b"null",
            b"[]",
            b"[1]",
            b'{"data":[1]}',
            b'{"data":{"k":1}}',
            b'{"data":' + b'{"a":' * 20000 + b"1" + b"}" * 20000 + b"}",
        ):
            await s.patch(f"{MAPS}/a", body, kind, fieldManager="m")
    await s.patch(f"{MAPS}/a", b'{"data":{"k":"\xff"}}')
    await s.patch(f"{MAPS}/a", [{"op": "copy", "from": "/data", "path": "/data/x"}] * 10001, JSON_PATCH)


async def odd_paths(s: Session) -> None:
    for path in (
        "/healthz/",
        "/metrics/",
        "/nonsense",
        f"{ROOT}/namespaces/{{ns}}/",
        f"{ROOT}//namespaces",
        f"{ROOT}/../v1/namespaces",
        f"{MAPS}/a/b",
        f"{MAPS}/a/b/c",
        f"{ROOT}/nonsense",
        "/apis/nonsense/v1/things",
        "/apis/apps/v9/deployments",
    ):
        await s.get(path)
    for method in ("TRACE", "OPTIONS", "POST", "PUT", "DELETE"):
        await s.call(method, f"{ROOT}/nonsense", None)
    await s.call("TRACE", MAPS, None)
    await s.call("PUT", MAPS, {"metadata": {"name": "a"}})
    await s.call("PATCH", MAPS, {}, kind=MERGE)


SEQUENCES = (media_types, broken_bodies, broken_patches, odd_paths)
