"""managedFields as clients see them, through the server: who owns what after ordinary writes, and through scale."""

from __future__ import annotations

from typing import Any

from tests.local.apiserver.api import APPLY, CONFIGMAPS, PODS, Answer, api, configmap, pod
from volcano.local.apiserver.merging import fieldsets

DEPLOYMENTS = "/apis/apps/v1/namespaces/default/deployments"
Owners = dict[str, list[str]]


def deployment(**spec: Any) -> dict[str, Any]:
    template = {"metadata": {"labels": {"a": "b"}}, "spec": {"containers": [{"name": "c", "image": "x:1"}]}}
    return {
        "apiVersion": "apps/v1",
        "kind": "Deployment",
        "metadata": {"name": "d"},
        "spec": {"selector": {"matchLabels": {"a": "b"}}, "template": template, **spec},
    }


def owners(answer: Answer) -> Owners:
    """Paths by manager, with the subresource that it writes through."""
    found: Owners = {}
    for entry in answer["metadata.managedFields"] or ():
        name = "/".join(filter(None, (entry["manager"], entry["operation"], entry.get("subresource"))))
        found[name] = sorted(fieldsets.paths(entry["fieldsV1"]))
    return found


async def test_the_maker_owns_what_it_said_and_what_was_filled_in_but_not_what_admission_added() -> None:
    async with api() as call:
        answer = await call.post(PODS, pod("p", labels={"a": "b"}), fieldManager="maker")
        container = '.spec.containers[name="main"]'

        assert owners(answer) == {
            "maker/Update": [
                ".metadata.labels",
                ".metadata.labels.a",
                container,
                *(f"{container}.{field}" for field in ("image", "imagePullPolicy", "name", "resources")),
                f"{container}.terminationMessagePath",
                f"{container}.terminationMessagePolicy",
                ".spec.dnsPolicy",
                ".spec.enableServiceLinks",
                ".spec.restartPolicy",
                ".spec.schedulerName",
                ".spec.securityContext",
                ".spec.terminationGracePeriodSeconds",
            ]
        }
        assert answer["spec.tolerations"]


async def test_each_writer_owns_what_it_changed_by_its_endpoint() -> None:
    async with api() as call:
        await call.post(PODS, pod("p"), fieldManager="maker")
        await call.patch(f"{PODS}/p", {"metadata": {"labels": {"x": "y"}}}, fieldManager="labeller")
        await call.post(f"{PODS}/p/binding", {"metadata": {"name": "p"}, "target": {"name": "n"}})
        answer = await call.patch(f"{PODS}/p/status", {"status": {"reason": "Because"}}, fieldManager="kubelet")

        found = owners(answer)
        assert found["labeller/Update"] == [".metadata.labels", ".metadata.labels.x"]
        assert found["kubelet/Update/status"] == [".status.reason"]
        assert not any(".spec.nodeName" in fields for fields in found.values())


async def test_the_name_of_the_program_is_the_manager_unless_it_says_another() -> None:
    async with api() as call:
        agent = {"user-agent": "controller/v1.2 (linux)"}
        assert list(owners(await call.post(CONFIGMAPS, configmap("a", x="1"), headers=agent))) == ["controller/Update"]
        answer = await call.post(CONFIGMAPS, configmap("b", x="1"), headers=agent, fieldManager="me")
        assert list(owners(answer)) == ["me/Update"]


async def test_writing_the_same_again_changes_nothing_not_even_times() -> None:
    async with api() as call:
        wanted = {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "c"}, "data": {"a": "1"}}
        first = await call.patch(f"{CONFIGMAPS}/c", wanted, APPLY, fieldManager="me")
        meta = first.json["metadata"]
        old = {**first.json, "metadata": {**meta, "managedFields": [{**meta["managedFields"][0], "time": None}]}}
        again = await call.patch(f"{CONFIGMAPS}/c", wanted, APPLY, fieldManager="me")

        assert again.json == first.json
        assert old["metadata"]["resourceVersion"] == again["metadata.resourceVersion"]


async def test_scaling_is_a_subresource_of_its_own() -> None:
    async with api() as call:
        await call.post(DEPLOYMENTS, deployment(replicas=1), fieldManager="maker")
        scaled = await call.patch(f"{DEPLOYMENTS}/d/scale", {"spec": {"replicas": 2}}, fieldManager="scaler")
        found = owners(await call.get(f"{DEPLOYMENTS}/d"))

        assert scaled["metadata.managedFields"] is None
        assert found["scaler/Update/scale"] == [".spec.replicas"]
        assert ".spec.replicas" not in found["maker/Update"]

        scale = {"apiVersion": "autoscaling/v1", "kind": "Scale", "metadata": {"name": "d"}, "spec": {"replicas": 3}}
        refused = await call.patch(f"{DEPLOYMENTS}/d/scale", scale, APPLY, fieldManager="applier")
        assert refused.status == 409
        assert refused.message == (
            'Apply failed with 1 conflict: conflict with "scaler" with subresource "scale" using autoscaling/v1: '
            ".spec.replicas"
        )
        applied = await call.patch(f"{DEPLOYMENTS}/d/scale", scale, APPLY, fieldManager="applier", force="true")
        assert applied["spec.replicas"] == 3
        found = owners(await call.get(f"{DEPLOYMENTS}/d"))
        assert found["applier/Apply/scale"] == [".spec.replicas"]
        assert "scaler/Update/scale" not in found


async def test_a_scale_that_cannot_be_is_refused_by_field() -> None:
    async with api() as call:
        await call.post(DEPLOYMENTS, deployment(replicas=1))
        answer = await call.patch(f"{DEPLOYMENTS}/d/scale", {"spec": {"replicas": -1}})
        assert answer.status == 422
        assert answer.message == (
            'Scale.autoscaling "d" is invalid: spec.replicas: Invalid value: -1: must be greater than or equal to 0'
        )


async def test_built_in_objects_are_written_as_kubernetes_types_write_them() -> None:
    async with api() as call:
        body = pod("p", labels={}, hostNetwork=False)
        body["spec"]["containers"][0] |= {"args": [], "resources": {"limits": {"cpu": "1000m", "memory": "1024Mi"}}}
        answer = await call.post(PODS, body)

        assert "labels" not in answer.json["metadata"]
        assert "hostNetwork" not in answer.json["spec"]
        container = answer.json["spec"]["containers"][0]
        assert "args" not in container
        assert container["resources"]["limits"] == {"cpu": "1", "memory": "1Gi"}
