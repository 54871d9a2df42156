"""Create, update and patch: what is stored, what is refused, and in which words."""

from __future__ import annotations

import json
from typing import Any

import pytest

from tests.local.apiserver.api import CONFIGMAPS, JOBS, JSON_PATCH, PODS, QUEUES, STRATEGIC, Api, api, configmap, pod

TASK = {"name": "main", "replicas": 2, "template": {"spec": {"containers": [{"name": "c", "image": "busybox"}]}}}


async def test_a_created_object_gets_what_the_server_owns() -> None:
    async with api() as call:
        made = await call.made(PODS, pod("a", metadata={"uid": "mine", "creationTimestamp": "2000-01-01T00:00:00Z"}))

        assert made["metadata"]["uid"] != "mine"
        assert not made["metadata"]["creationTimestamp"].startswith("2000")
        assert (made["metadata"]["generation"], made["status"]["phase"]) == (1, "Pending")
        again = await call.post(PODS, pod("a"))
        assert (again.status, again["reason"], again.message) == (409, "AlreadyExists", 'pods "a" already exists')


def asking(name: str = "a", **resources: Any) -> dict[str, Any]:
    container = {"name": "c", "image": "i", "resources": resources}
    return {"metadata": {"name": name}, "spec": {"containers": [container]}}


async def test_names_are_generated_from_a_base() -> None:
    async with api() as call:
        made = [await call.made(PODS, pod(metadata={"name": "", "generateName": "x-"})) for _ in range(3)]

        names = {item["metadata"]["name"] for item in made}
        assert len(names) == 3
        assert all(name.startswith("x-") and len(name) == 7 for name in names)


@pytest.mark.parametrize(
    ("document", "status", "words"),
    [
        (b"{", 400, "not valid JSON"),
        (b"[]", 400, "not an object but a list"),
        (pod("A"), 422, 'metadata.name: Invalid value: "A": a lowercase RFC 1123 subdomain'),
        (pod(), 422, "metadata.name: Required value: name or generateName is required"),
        ({"metadata": {"name": "a"}, "spec": {"containers": []}}, 422, "spec.containers: Required value"),
        (
            {"metadata": {"name": "a"}, "spec": {"containers": [{"name": "c"}]}},
            422,
            "containers[0].image: Required",
        ),
        (asking(requests={"example.com/gpu": 1}), 422, "Limit must be set for non overcommitable resources"),
        (asking(requests={"a.b/c": 1}, limits={"a.b/c": 2}), 422, "must be equal to a.b/c limit of 2"),
        (asking(requests={"hugepages-2Mi": "2Mi"}), 422, "Limit must be set for non overcommitable resources"),
        ({"metadata": {"name": "a"}, "spec": {"containers": "c"}}, 400, "spec.containers"),
        ({**pod("a"), "kind": "Node"}, 400, "kind 'Node'"),
        (pod("a", metadata={"namespace": "other"}), 400, "does not match the namespace sent on the request"),
        (pod("a", metadata={"resourceVersion": "3"}), 400, "resourceVersion should not be set"),
        (pod("a", labels={"k": "not valid!"}), 422, "metadata.labels: Invalid value"),
        (pod("a", labels={"bad key": "v"}), 422, "metadata.labels: Invalid value"),
        (pod("a", priorityClassName="none"), 403, "no PriorityClass with name none was found"),
        (pod("a", serviceAccountName="none"), 403, 'serviceaccount "none" not found'),
    ],
)
async def test_bad_objects_are_refused_by_name_and_field(document: object, status: int, words: str) -> None:
    async with api() as call:
        answer = await call.post(PODS, document)

        assert (answer.status, words in answer.message) == (status, True), answer.message
        assert (await call.get(PODS)).names == []


async def test_resources_of_kubernetes_own_names_may_be_overcommitted() -> None:
    async with api() as call:
        await call.made(PODS, asking(requests={"kubernetes.io/batch-cpu": 500}))
        more = asking(requests={"kubernetes.io/batch-cpu": 500}, limits={"kubernetes.io/batch-cpu": "1k"}, name="b")
        await call.made(PODS, more)


async def test_objects_need_a_namespace_that_stays() -> None:
    async with api() as call:
        missing = await call.post("/api/v1/namespaces/nope/pods", pod("a"))
        await call.made("/api/v1/namespaces", {"metadata": {"name": "ending"}})
        await call.delete("/api/v1/namespaces/ending")
        ending = await call.post("/api/v1/namespaces/ending/pods", pod("a"))
        protected = await call.delete("/api/v1/namespaces/default")

        assert (missing.status, missing.message) == (404, 'namespaces "nope" not found')
        assert (ending.status, ending["details.causes"][0]["reason"]) == (403, "NamespaceTerminating")
        assert protected.status == 403


async def test_unknown_fields_warn_or_refuse_as_asked() -> None:
    async with api() as call:
        document = pod("a")
        document["spec"]["nodName"] = "x"
        warned = await call.post(PODS, document)
        ignored = await call.post(PODS, document | {"metadata": {"name": "b"}}, fieldValidation="Ignore")
        strict = await call.post(PODS, document | {"metadata": {"name": "c"}}, fieldValidation="Strict")
        twice = json.dumps(pod("d")).replace('"image"', '"name": "x", "image"').encode()
        repeated = await call.post(PODS, twice, fieldValidation="Strict")

        assert (warned.status, warned.headers["warning"]) == (201, '299 - "unknown field \\"spec.nodName\\""')
        assert "nodName" not in warned.json["spec"]
        assert "warning" not in ignored.headers
        assert (strict.status, 'unknown field "spec.nodName"' in strict.message) == (400, True)
        assert (repeated.status, 'duplicate field "spec.containers[0].name"' in repeated.message) == (400, True)
        assert (await call.post(PODS, pod("e"), fieldValidation="Sometimes")).status == 422


async def test_updates_are_optimistic() -> None:
    async with api() as call:
        made = await call.made(CONFIGMAPS, configmap("a", k="1"))
        first = await call.put(f"{CONFIGMAPS}/a", made | {"data": {"k": "2"}})
        second = await call.put(f"{CONFIGMAPS}/a", made | {"data": {"k": "3"}})
        other = await call.put(f"{CONFIGMAPS}/a", {"metadata": {"name": "a", "uid": "other"}})
        blind = await call.put(f"{CONFIGMAPS}/a", configmap("a", k="4"))

        assert (first.status, first["data.k"]) == (200, "2")
        assert (second.status, second["reason"]) == (409, "Conflict")
        assert second.message.endswith("please apply your changes to the latest version and try again")
        assert (other.status, blind.status) == (409, 200)
        assert (await call.put(f"{CONFIGMAPS}/b", configmap("b"))).status == 404
        assert (await call.put(f"{CONFIGMAPS}/a", configmap("b"))).status == 400


async def test_custom_resources_want_a_revision_on_update() -> None:
    async with api() as call:
        await call.made(QUEUES, {"metadata": {"name": "q"}, "spec": {"weight": 1}})

        answer = await call.put(f"{QUEUES}/q", {"metadata": {"name": "q"}, "spec": {"weight": 2}})

        assert (answer.status, "must be specified for an update" in answer.message) == (422, True)


async def test_a_write_that_changes_nothing_keeps_the_revision_and_makes_no_event() -> None:
    async with api() as call:
        made = await call.made(CONFIGMAPS, configmap("a", k="1"))
        stream = await call.watch(CONFIGMAPS, resourceVersion=made["metadata"]["resourceVersion"])
        same = await call.patch(f"{CONFIGMAPS}/a", {"data": {"k": "1"}})

        assert same["metadata.resourceVersion"] == made["metadata"]["resourceVersion"]
        assert await stream.quiet()


async def test_status_and_spec_are_written_apart() -> None:
    async with api() as call:
        await call.made(QUEUES, {"metadata": {"name": "q"}, "spec": {"weight": 1}, "status": {"state": "Closed"}})
        queue = await call.get(f"{QUEUES}/q")
        status = await call.patch(f"{QUEUES}/q/status", {"spec": {"weight": 9}, "status": {"state": "Open"}})
        spec = await call.patch(f"{QUEUES}/q", {"spec": {"weight": 2}, "status": {"state": "Closed"}})

        assert queue["status"] is None
        assert (status["spec.weight"], status["status.state"], status["metadata.generation"]) == (1, "Open", 1)
        assert (spec["spec.weight"], spec["status.state"], spec["metadata.generation"]) == (2, "Open", 2)


async def test_podgroups_have_no_status_endpoint_and_take_their_status_with_the_rest() -> None:
    path = "/apis/scheduling.volcano.sh/v1beta1/namespaces/default/podgroups"
    async with api() as call:
        await call.made(QUEUES, {"metadata": {"name": "default"}})
        await call.made(path, {"metadata": {"name": "g"}, "spec": {"minMember": 1}})

        assert (await call.patch(f"{path}/g/status", {"status": {"phase": "Running"}})).status == 404
        assert (await call.patch(f"{path}/g", {"status": {"phase": "Running"}}))["status.phase"] == "Running"


async def test_dry_runs_say_what_would_happen_and_store_nothing() -> None:
    async with api() as call:
        created = await call.post(PODS, pod("a"), dryRun="All")
        await call.made(CONFIGMAPS, configmap("m", k="1"))
        patched = await call.patch(f"{CONFIGMAPS}/m", {"data": {"k": "2"}}, dryRun="All")
        await call.delete(f"{CONFIGMAPS}/m", dryRun="All")

        assert (created.status, created["status.phase"]) == (201, "Pending")
        assert patched["data.k"] == "2"
        assert (await call.get(PODS)).names == []
        assert (await call.get(f"{CONFIGMAPS}/m"))["data.k"] == "1"
        assert (await call.post(PODS, pod("a"), dryRun="Some")).status == 422


async def test_patches_of_all_kinds() -> None:
    async with api() as call:
        await call.made(PODS, pod("a"))
        operations = [{"op": "add", "path": "/metadata/labels", "value": {"k": "v"}}]
        containers = {"spec": {"containers": [{"name": "main", "image": "busybox:2"}]}}
        by_json = await call.patch(f"{PODS}/a", operations, JSON_PATCH)
        by_merge_key = await call.patch(f"{PODS}/a", containers, STRATEGIC)
        failed = await call.patch(f"{PODS}/a", [{"op": "test", "path": "/kind", "value": "Node"}], JSON_PATCH)
        unreadable = await call.patch(f"{PODS}/a", [], "text/plain")

        assert by_json["metadata.labels"] == {"k": "v"}
        assert by_merge_key.json["spec"]["containers"][0]["terminationMessagePolicy"] == "File"
        assert by_merge_key.json["spec"]["containers"][0]["image"] == "busybox:2"
        assert (failed.status, unreadable.status) == (422, 415)
        assert (await call.patch(f"{PODS}/b", {})).status == 404
        pinned = await call.patch(f"{PODS}/a", {"metadata": {"resourceVersion": "1", "labels": {"x": "y"}}})
        assert pinned.status == 409
        await call.made(QUEUES, {"metadata": {"name": "q"}})
        assert (await call.patch(f"{QUEUES}/q", {}, STRATEGIC)).status == 415


async def test_a_pod_keeps_its_shape() -> None:
    async with api() as call:
        await call.made(PODS, pod("a", tolerations=[{"key": "t", "operator": "Exists"}]))
        node = await call.patch(f"{PODS}/a", {"spec": {"nodeName": "n"}})
        fewer = await call.patch(f"{PODS}/a", {"spec": {"tolerations": []}})
        deadline = await call.patch(f"{PODS}/a", {"spec": {"activeDeadlineSeconds": 5}})
        name = await call.patch(f"{PODS}/a", {"metadata": {"name": "b"}})

        assert (node.status, "pod updates may not change fields other than" in node.message) == (422, True)
        assert (fewer.status, name.status) == (422, 400)
        assert (deadline.status, deadline["metadata.generation"]) == (200, 2)


async def test_pods_get_the_defaults_of_their_cluster() -> None:
    async with api() as call:
        classes = "/apis/scheduling.k8s.io/v1/priorityclasses"
        await call.made(classes, {"metadata": {"name": "high"}, "value": 7, "preemptionPolicy": "Never"})
        await call.made(classes, {"metadata": {"name": "usual"}, "value": 3, "globalDefault": True})
        second = await call.post(classes, {"metadata": {"name": "second"}, "value": 3, "globalDefault": True})
        high = (await call.made(PODS, pod("a", priorityClassName="high")))["spec"]
        usual = (await call.made(PODS, pod("b")))["spec"]

        assert second.status == 403
        assert (high["priority"], high["preemptionPolicy"]) == (7, "Never")
        assert (usual["priority"], usual["priorityClassName"]) == (3, "usual")
        assert (usual["serviceAccountName"], usual["restartPolicy"]) == ("default", "Always")
        assert [item["tolerationSeconds"] for item in usual["tolerations"]] == [300, 300]
        wrong = await call.post(PODS, pod("c", priorityClassName="high", priority=8))
        assert (wrong.status, "must not be provided in pod spec" in wrong.message) == (403, True)


@pytest.mark.parametrize(
    ("resources", "expected"),
    [
        ({}, "BestEffort"),
        ({"requests": {"cpu": "1"}}, "Burstable"),
        ({"limits": {"cpu": "1", "memory": "1Gi"}}, "Guaranteed"),
        ({"limits": {"cpu": "1", "memory": "1Gi"}, "requests": {"cpu": "500m"}}, "Burstable"),
        ({"limits": {"nvidia.com/gpu": "1"}}, "BestEffort"),
    ],
)
async def test_quality_of_service_follows_the_resources(resources: dict[str, object], expected: str) -> None:
    async with api() as call:
        document = pod("a")
        document["spec"]["containers"][0]["resources"] = resources

        assert (await call.made(PODS, document))["status"]["qosClass"] == expected


async def test_secrets_encode_their_strings() -> None:
    async with api() as call:
        path = "/api/v1/namespaces/default/secrets"
        made = await call.made(path, {"metadata": {"name": "s"}, "stringData": {"k": "v"}})

        assert (made["data"], made["type"], made.get("stringData")) == ({"k": "dg=="}, "Opaque", None)


async def test_volcano_rules_judge_in_process_and_in_their_own_words() -> None:
    async with api() as call:
        await call.made(QUEUES, {"metadata": {"name": "default"}})
        job = {"metadata": {"name": "j"}, "spec": {"minAvailable": 3, "tasks": [TASK]}}
        refused = await call.post(JOBS, job)
        made = await call.made(JOBS, {"metadata": {"name": "j"}, "spec": {"tasks": [TASK]}})

        assert refused.status == 400
        assert refused.message == (
            'admission webhook "validatejob.volcano.sh" denied the request: '
            "job 'minAvailable' should not be greater than total replicas in tasks;"
        )
        assert (made["spec"]["minAvailable"], made["spec"]["queue"], made["spec"]["maxRetry"]) == (2, "default", 3)
        assert (await call.delete(f"{QUEUES}/default")).message.endswith("`default` queue can not be deleted")


async def test_custom_resources_are_held_to_their_schema() -> None:
    async with api() as call:
        answer = await call.post(QUEUES, {"metadata": {"name": "q"}, "spec": {"weight": 0.5}})

        assert (answer.status, answer["details.causes"][0]["field"]) == (422, "spec.weight")
        assert answer.message.startswith('Queue.scheduling.volcano.sh "q" is invalid: spec.weight: Invalid value')


async def test_writes_wait_for_the_disk_and_tell_when_it_is_full(call_with_full_disk: Api) -> None:
    answer = await call_with_full_disk.post(CONFIGMAPS, configmap("a"))

    assert (answer.status, answer["reason"]) == (507, "InsufficientStorage")
    assert "free some space; the change was not made" in answer.message
    assert (await call_with_full_disk.get(CONFIGMAPS)).names == []
    assert (await call_with_full_disk.get("/readyz")).status == 500


@pytest.fixture
def call_with_full_disk() -> Api:
    from volcano.local.apiserver.app import ApiServer
    from volcano.local.apiserver.storage.journal import MemoryJournal, StorageFull
    from volcano.local.apiserver.storage.store import Store

    class FullDisk(MemoryJournal):
        def commit(self, rows, revision, report):  # type: ignore[no-untyped-def]
            full = rows[0][1] == "configmaps"
            report(StorageFull("no space left: free some space; the change was not made") if full else None)

    return Api(ApiServer(Store(FullDisk())))
