"""Create, read, update and delete: what is answered, what is refused, what a refusal says."""

from __future__ import annotations

from typing import TYPE_CHECKING

from tests.differential.session import JSON_PATCH, STRATEGIC

if TYPE_CHECKING:
    from tests.differential.session import Session

MAPS = "/api/v1/namespaces/{ns}/configmaps"
SECRETS = "/api/v1/namespaces/{ns}/secrets"


async def life_of_an_object(s: Session) -> None:
    await s.get(f"{MAPS}/a")
    made = await s.post(MAPS, {"metadata": {"name": "a", "labels": {"app": "x"}}, "data": {"k": "v"}})
    await s.post(MAPS, {"metadata": {"name": "a"}})
    await s.get(f"{MAPS}/a")
    await s.put(f"{MAPS}/a", made.body | {"data": {"k": "w"}})
    await s.put(f"{MAPS}/a", made.body | {"data": {"k": "x"}})
    await s.put(f"{MAPS}/a", {"metadata": {"name": "a"}, "data": {"k": "y"}})
    await s.put(f"{MAPS}/a", {"metadata": {"name": "a"}, "data": {"k": "y"}})
    await s.delete(f"{MAPS}/a")
    await s.delete(f"{MAPS}/a")
    await s.put(f"{MAPS}/a", {"metadata": {"name": "a"}})
    await s.patch(f"{MAPS}/a", {"data": {"k": "z"}})


async def identity(s: Session) -> None:
    await s.post(MAPS, {"metadata": {"name": "a", "namespace": "{ns}"}})
    await s.post(MAPS, {"metadata": {"name": "a", "namespace": "elsewhere"}})
    await s.post(MAPS, {"metadata": {}})
    await s.post(MAPS, {})
    await s.post(MAPS, {"metadata": {"name": "Not_Valid"}})
    await s.post(MAPS, {"metadata": {"name": "x" * 254}})
    await s.post(MAPS, {"metadata": {"generateName": "made-"}, "data": {"k": "v"}})
    await s.post(MAPS, {"metadata": {"name": "b", "resourceVersion": "7"}})
    await s.post(MAPS, {"metadata": {"name": "c", "uid": "d0d7d54e-7a0b-4b4e-9d0b-3a6a9f6c1f11"}})
    await s.post(MAPS, {"metadata": {"name": "d", "creationTimestamp": "2020-01-01T00:00:00Z"}})
    made = await s.post(MAPS, {"metadata": {"name": "e"}})
    meta = made["metadata"]
    await s.put(f"{MAPS}/e", {"metadata": {"name": "other"}})
    await s.put(f"{MAPS}/e", {"metadata": {}})
    await s.put(f"{MAPS}/e", {"metadata": {**meta, "namespace": "elsewhere"}})
    await s.put(f"{MAPS}/e", {"metadata": {**meta, "uid": "d0d7d54e-7a0b-4b4e-9d0b-3a6a9f6c1f11"}})
    await s.put(f"{MAPS}/e", {"metadata": {**meta, "resourceVersion": "x"}})
    await s.put(f"{MAPS}/e", {"metadata": {**meta, "creationTimestamp": "2020-01-01T00:00:00Z"}, "data": {"k": "v"}})
    await s.patch(f"{MAPS}/e", {"metadata": {"name": "f"}})
    await s.patch(f"{MAPS}/e", {"metadata": {"uid": "d0d7d54e-7a0b-4b4e-9d0b-3a6a9f6c1f11"}})
    await s.patch(f"{MAPS}/e", {"metadata": {"resourceVersion": "1"}})
    await s.patch(f"{MAPS}/e", {"metadata": {"namespace": "elsewhere"}})


async def wrong_kinds(s: Session) -> None:
    await s.post(MAPS, {"apiVersion": "v1", "kind": "Secret", "metadata": {"name": "a"}})
    await s.post(MAPS, {"apiVersion": "v2", "kind": "ConfigMap", "metadata": {"name": "a"}})
    await s.post(MAPS, {"apiVersion": "apps/v1", "kind": "ConfigMap", "metadata": {"name": "a"}})
    await s.post(MAPS, {"kind": "ConfigMap", "metadata": {"name": "a"}})
    await s.post(MAPS, {"apiVersion": "v1", "metadata": {"name": "b"}})
    await s.patch(f"{MAPS}/a", {"kind": "Secret"})
    await s.patch(f"{MAPS}/a", {"apiVersion": "v2"})


async def labels_and_annotations(s: Session) -> None:
    for labels in (
        {"a b": "c"},
        {"a": "b c"},
        {"-a": "b"},
        {"a/b/c": "d"},
        {"/a": "b"},
        {"x" * 64: "y"},
        {"a": "x" * 64},
    ):
        await s.post(MAPS, {"metadata": {"name": "a", "labels": labels}})
    await s.post(MAPS, {"metadata": {"name": "a", "labels": {"example.com/a": "", "B": "c_d.e-F"}}})
    await s.post(MAPS, {"metadata": {"name": "b", "annotations": {"a b": "c"}}})
    await s.post(MAPS, {"metadata": {"name": "b", "annotations": {"Example.com/a": "any thing\n"}}})
    await s.post(MAPS, {"metadata": {"name": "c", "labels": {"a": 1}}})
    await s.post(MAPS, {"metadata": {"name": "c", "labels": ["a"]}})
    await s.post(MAPS, {"metadata": {"name": "c", "labels": None, "annotations": {}}})
    await s.post(MAPS, {"metadata": {"name": "d", "finalizers": ["bad finalizer"]}})
    await s.post(MAPS, {"metadata": {"name": "d", "finalizers": ["plain"]}})
    owner = {"apiVersion": "v1", "kind": "ConfigMap", "name": "a", "uid": "d0d7d54e-7a0b-4b4e-9d0b-3a6a9f6c1f11"}
    await s.post(MAPS, {"metadata": {"name": "e", "ownerReferences": [owner | {"name": ""}]}})
    both = [owner | {"controller": True}, owner | {"controller": True, "name": "b"}]
    await s.post(MAPS, {"metadata": {"name": "e", "ownerReferences": both}})
    await s.post(MAPS, {"metadata": {"name": "e", "ownerReferences": [owner]}})


async def merge_patches(s: Session) -> None:
    await s.post(MAPS, {"metadata": {"name": "a", "labels": {"x": "1", "y": "2"}}, "data": {"k": "v", "l": "w"}})
    await s.patch(f"{MAPS}/a", {"data": {"k": "v2", "m": "n"}})
    await s.patch(f"{MAPS}/a", {"data": {"k": None}, "metadata": {"labels": {"x": None}}})
    await s.patch(f"{MAPS}/a", {"data": None})
    await s.patch(f"{MAPS}/a", {})
    await s.patch(f"{MAPS}/a", {"data": {"k": 5}})
    await s.patch(f"{MAPS}/a", {"data": "text"})
    await s.patch(f"{MAPS}/a", [])
    await s.patch(f"{MAPS}/a", "text")
    await s.patch(f"{MAPS}/a", "{")
    await s.patch(f"{MAPS}/a", "")
    await s.patch(f"{MAPS}/a", {"metadata": None})
    await s.patch(f"{MAPS}/a", {"metadata": {"labels": {"bad key": "v"}}})
    await s.patch(f"{MAPS}/a", {"unknown": 1})
    await s.patch(f"{MAPS}/missing", {"data": {}})


async def json_patches(s: Session) -> None:
    async def patch(*operations: object) -> None:
        await s.patch(f"{MAPS}/a", list(operations), JSON_PATCH)

    await s.post(MAPS, {"metadata": {"name": "a", "labels": {"x": "1"}}, "data": {"k": "v"}})
    await patch({"op": "add", "path": "/data/l", "value": "w"})
    await patch({"op": "replace", "path": "/data/k", "value": "v2"})
    await patch({"op": "remove", "path": "/data/l"})
    await patch({"op": "remove", "path": "/data/l"})
    await patch({"op": "replace", "path": "/data/none", "value": "v"})
    await patch({"op": "add", "path": "/none/deep", "value": "v"})
    await patch({"op": "test", "path": "/data/k", "value": "v2"}, {"op": "add", "path": "/data/t", "value": "yes"})
    await patch({"op": "test", "path": "/data/k", "value": "other"})
    await patch({"op": "test", "path": "/data/none", "value": None})
    await patch({"op": "copy", "from": "/data/k", "path": "/data/copy"})
    await patch({"op": "move", "from": "/data/copy", "path": "/data/moved"})
    await patch({"op": "move", "from": "/data/none", "path": "/data/moved"})
    await patch({"op": "add", "path": "/metadata/labels/a~1b", "value": "c"})
    await patch({"op": "nonsense", "path": "/data"})
    await patch({"op": "add", "path": "data/l", "value": "w"})
    await patch({"op": "add", "value": "w"})
    await patch({"op": "add", "path": "/data/number", "value": 5})
    await patch()
    await s.patch(f"{MAPS}/a", {"data": {}}, JSON_PATCH)
    await s.patch(f"{MAPS}/a", "[", JSON_PATCH)


async def strategic_patches_of_flat_objects(s: Session) -> None:
    await s.post(MAPS, {"metadata": {"name": "a", "finalizers": ["x.io/a"]}, "data": {"k": "v"}})
    await s.patch(f"{MAPS}/a", {"data": {"l": "w"}, "metadata": {"finalizers": ["x.io/b"]}}, STRATEGIC)
    await s.patch(f"{MAPS}/a", {"metadata": {"$deleteFromPrimitiveList/finalizers": ["x.io/a"]}}, STRATEGIC)
    await s.patch(f"{MAPS}/a", {"data": {"$patch": "replace", "only": "this"}}, STRATEGIC)
    await s.patch(f"{MAPS}/a", {"data": {"$patch": "delete"}}, STRATEGIC)
    await s.patch(f"{MAPS}/a", {"data": {"$patch": "nonsense"}}, STRATEGIC)
    await s.patch(f"{MAPS}/a", {"data": "text"}, STRATEGIC)
    await s.patch(f"{MAPS}/a", {"data": None, "metadata": {"finalizers": None}}, STRATEGIC)
    await s.patch(f"{MAPS}/a", "[]", STRATEGIC)


async def secrets_keep_bytes(s: Session) -> None:
    await s.post(SECRETS, {"metadata": {"name": "a"}, "stringData": {"k": "v"}, "data": {"k": "b2xk", "l": "dw=="}})
    await s.post(SECRETS, {"metadata": {"name": "b"}, "data": {"k": "not base64!"}})
    await s.post(SECRETS, {"metadata": {"name": "b"}, "data": {"bad key": "dw=="}})
    await s.post(SECRETS, {"metadata": {"name": "b"}, "type": "kubernetes.io/tls", "data": {}})
    await s.post(SECRETS, {"metadata": {"name": "c"}, "immutable": True, "data": {"k": "dw=="}})
    await s.patch(f"{SECRETS}/c", {"stringData": {"k": "x"}})
    await s.patch(f"{SECRETS}/c", {"immutable": False})
    await s.patch(f"{SECRETS}/a", {"type": "other"})
    await s.patch(f"{SECRETS}/a", {"stringData": {"m": "n"}})


async def deletions(s: Session) -> None:
    for name in "abcdef":
        await s.post(
            MAPS, {"metadata": {"name": name, "labels": {"n": name}, "finalizers": ["x.io/f"] if name > "c" else []}}
        )
    made = await s.get(f"{MAPS}/a")
    other = "d0d7d54e-7a0b-4b4e-9d0b-3a6a9f6c1f11"
    await s.delete(f"{MAPS}/a", {"preconditions": {"uid": other}})
    await s.delete(f"{MAPS}/a", {"preconditions": {"resourceVersion": "1"}})
    await s.delete(f"{MAPS}/a", {"propagationPolicy": "Nonsense"})
    await s.delete(f"{MAPS}/a", {"propagationPolicy": "Orphan", "orphanDependents": True})
    await s.delete(f"{MAPS}/a", {"gracePeriodSeconds": -1}, dryRun="All")
    await s.delete(f"{MAPS}/a", {"dryRun": ["All"]})
    await s.delete(f"{MAPS}/a", {"dryRun": ["Some"]})
    await s.delete(f"{MAPS}/a", "{")
    await s.delete(
        f"{MAPS}/a", {"kind": "DeleteOptions", "apiVersion": "v1", "preconditions": {"uid": made["metadata.uid"]}}
    )
    await s.delete(f"{MAPS}/b", {"propagationPolicy": "Foreground"})
    await s.get(f"{MAPS}/b")
    await s.delete(f"{MAPS}/c", {"propagationPolicy": "Orphan"})
    await s.patch(f"{MAPS}/c", {"metadata": {"finalizers": None}})
    await s.get(f"{MAPS}/c")
    await s.delete(f"{MAPS}/d")
    await s.delete(f"{MAPS}/d")
    await s.patch(f"{MAPS}/d", {"metadata": {"finalizers": ["x.io/f", "x.io/new"]}})
    await s.patch(f"{MAPS}/d", {"data": {"still": "writable"}})
    await s.patch(f"{MAPS}/d", {"metadata": {"finalizers": []}})
    await s.get(f"{MAPS}/d")
    await s.delete(f"{MAPS}/e", propagationPolicy="Background", gracePeriodSeconds=0)
    await s.delete(MAPS, labelSelector="n in (a,b,f)")
    await s.get(f"{MAPS}/f")
    await s.delete(MAPS, labelSelector="n=nobody")


async def dry_runs(s: Session) -> None:
    await s.post(MAPS, {"metadata": {"name": "a"}, "data": {"k": "v"}}, dryRun="All")
    await s.get(f"{MAPS}/a")
    await s.post(MAPS, {"metadata": {"name": "a"}, "data": {"k": "v"}})
    await s.post(MAPS, {"metadata": {"name": "a"}}, dryRun="All")
    await s.put(f"{MAPS}/a", {"metadata": {"name": "a"}, "data": {"k": "w"}}, dryRun="All")
    await s.patch(f"{MAPS}/a", {"data": {"l": "m"}}, dryRun="All")
    await s.apply(f"{MAPS}/a", {"apiVersion": "v1", "kind": "ConfigMap", "data": {"k": "z"}}, "m", dryRun="All")
    await s.apply(f"{MAPS}/new", {"apiVersion": "v1", "kind": "ConfigMap", "data": {"k": "z"}}, "m", dryRun="All")
    await s.delete(f"{MAPS}/a", dryRun="All")
    await s.get(f"{MAPS}/a")
    await s.post(MAPS, {"metadata": {"name": "b"}}, dryRun="Some")
    await s.get(MAPS)


SEQUENCES = (
    life_of_an_object,
    identity,
    wrong_kinds,
    labels_and_annotations,
    merge_patches,
    json_patches,
    strategic_patches_of_flat_objects,
    secrets_keep_bytes,
    deletions,
    dry_runs,
)
