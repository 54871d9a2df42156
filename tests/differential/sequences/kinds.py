"""Built-in kinds besides pods, kinds that users define, and requests that make no sense."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING, Any

from tests.differential.session import STRATEGIC, TABLE

if TYPE_CHECKING:
    from tests.differential.session import Session

MAPS = "/api/v1/namespaces/{ns}/configmaps"
DEPLOYMENTS = "/apis/apps/v1/namespaces/{ns}/deployments"
JOBS = "/apis/batch/v1/namespaces/{ns}/jobs"
SERVICES = "/api/v1/namespaces/{ns}/services"
LEASES = "/apis/coordination.k8s.io/v1/namespaces/{ns}/leases"
EVENTS = "/api/v1/namespaces/{ns}/events"
QUOTAS = "/api/v1/namespaces/{ns}/resourcequotas"
NODES = "/api/v1/nodes"
NAMESPACES = "/api/v1/namespaces"
CLASSES = "/apis/scheduling.k8s.io/v1/priorityclasses"
DEFINITIONS = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions"


def deployment(**spec: Any) -> dict[str, Any]:
    labels = {"app": "a"}
    template = {
        "metadata": {"labels": labels},
        "spec": {"containers": [{"name": "c", "image": "x", "env": [{"name": "A"}]}]},
    }
    return {"metadata": {"name": "a"}, "spec": {"selector": {"matchLabels": labels}, "template": template, **spec}}


async def deployments(s: Session) -> None:
    await s.post(DEPLOYMENTS, deployment(replicas=0))
    await s.post(DEPLOYMENTS, {"metadata": {"name": "b"}, "spec": {}})
    await s.post(DEPLOYMENTS, deployment(selector={"matchLabels": {"app": "b"}}) | {"metadata": {"name": "b"}})
    await s.post(DEPLOYMENTS, deployment(replicas=-1) | {"metadata": {"name": "b"}})
    await s.post(DEPLOYMENTS, deployment(strategy={"type": "Nonsense"}) | {"metadata": {"name": "b"}})

    async def containers(*items: dict[str, Any]) -> None:
        await s.patch(f"{DEPLOYMENTS}/a", {"spec": {"template": {"spec": {"containers": list(items)}}}}, STRATEGIC)

    await containers({"name": "c", "env": [{"name": "B", "value": "1"}]})
    await containers({"name": "c", "env": [{"name": "A", "$patch": "delete"}]})
    await containers({"name": "d", "image": "y"}, {"$setElementOrder/env": []})
    await containers({"name": "d", "image": "y"})
    await containers({"name": "d", "$patch": "delete"})
    await containers({"$patch": "replace"}, {"name": "e", "image": "z"})
    await s.patch(f"{DEPLOYMENTS}/a", {"spec": {"strategy": {"$retainKeys": ["type"], "type": "Recreate"}}}, STRATEGIC)
    await s.patch(f"{DEPLOYMENTS}/a", {"spec": {"selector": {"matchLabels": {"app": "b"}}}})
    await s.patch(f"{DEPLOYMENTS}/a", {"spec": {"replicas": 3}})
    await s.patch(f"{DEPLOYMENTS}/a", {"metadata": {"labels": {"x": "1"}}})
    await s.patch(f"{DEPLOYMENTS}/a", {"status": {"replicas": 9}})
    await s.patch(f"{DEPLOYMENTS}/a/status", {"status": {"replicas": 3, "observedGeneration": 2}})
    await s.get(f"{DEPLOYMENTS}/a/scale")
    await s.patch(f"{DEPLOYMENTS}/a/scale", {"spec": {"replicas": 5}})
    scale = await s.get(f"{DEPLOYMENTS}/a/scale")
    await s.put(f"{DEPLOYMENTS}/a/scale", scale.body | {"spec": {"replicas": 6}})
    await s.put(f"{DEPLOYMENTS}/a/scale", scale.body | {"spec": {"replicas": 7}})
    await s.patch(f"{DEPLOYMENTS}/a/scale", {"spec": {"replicas": -1}})
    await s.get(f"{DEPLOYMENTS}/a", accept=TABLE, includeObject="None")
    await s.delete(f"{DEPLOYMENTS}/a", {"propagationPolicy": "Foreground"})


async def batch_jobs(s: Session) -> None:
    spec = {"template": {"spec": {"restartPolicy": "Never", "containers": [{"name": "c", "image": "x"}]}}}
    await s.post(
        JOBS, {"metadata": {"name": "b"}, "spec": {"template": {"spec": {"containers": [{"name": "c", "image": "x"}]}}}}
    )
    await s.post(JOBS, {"metadata": {"name": "b"}, "spec": spec | {"parallelism": -1}})
    await s.post(JOBS, {"metadata": {"name": "b"}, "spec": spec | {"selector": {"matchLabels": {"a": "b"}}}})
    await s.post(
        JOBS,
        {"metadata": {"name": "c"}, "spec": spec | {"suspend": True, "completionMode": "Indexed", "completions": 2}},
    )
    await s.patch(f"{JOBS}/c", {"spec": {"suspend": False}})
    await s.patch(f"{JOBS}/c", {"spec": {"completions": 9}})
    await s.patch(f"{JOBS}/c", {"spec": {"backoffLimit": 1}})


async def services(s: Session) -> None:
    await s.post(SERVICES, {"metadata": {"name": "a"}, "spec": {"selector": {"a": "b"}, "ports": [{"port": 80}]}})
    await s.post(SERVICES, {"metadata": {"name": "h"}, "spec": {"clusterIP": "None", "selector": {"a": "b"}}})
    await s.post(SERVICES, {"metadata": {"name": "b"}, "spec": {}})
    await s.post(SERVICES, {"metadata": {"name": "b"}, "spec": {"ports": [{"port": 80}, {"port": 81}]}})
    await s.post(SERVICES, {"metadata": {"name": "b"}, "spec": {"ports": [{"port": 0}]}})
    await s.post(SERVICES, {"metadata": {"name": "9b"}, "spec": {"ports": [{"port": 80}]}})
    await s.post(SERVICES, {"metadata": {"name": "b"}, "spec": {"type": "Nonsense", "ports": [{"port": 80}]}})
    await s.post(SERVICES, {"metadata": {"name": "e"}, "spec": {"type": "ExternalName", "externalName": "example.com"}})
    await s.patch(f"{SERVICES}/a", {"spec": {"clusterIP": "10.96.7.7"}})
    await s.patch(f"{SERVICES}/a", {"spec": {"ports": [{"port": 81, "name": "x"}]}}, STRATEGIC)
    await s.put(f"{SERVICES}/a", {"metadata": {"name": "a"}, "spec": {"ports": [{"port": 82}]}})


async def small_kinds(s: Session) -> None:
    await s.post(
        LEASES,
        {
            "metadata": {"name": "a"},
            "spec": {"holderIdentity": "x", "leaseDurationSeconds": 15, "renewTime": "2024-01-01T00:00:00.123456Z"},
        },
    )
    await s.post(LEASES, {"metadata": {"name": "b"}, "spec": {"leaseDurationSeconds": 0}})
    await s.post(LEASES, {"metadata": {"name": "b"}, "spec": {"renewTime": "yesterday"}})
    involved = {"kind": "Pod", "name": "p", "namespace": "{ns}"}
    await s.post(
        EVENTS, {"metadata": {"name": "e"}, "involvedObject": involved, "reason": "R", "message": "m", "type": "Normal"}
    )
    await s.post(EVENTS, {"metadata": {"name": "f"}, "involvedObject": involved | {"namespace": "other"}})
    await s.get(EVENTS, fieldSelector="involvedObject.name=p", accept=TABLE, includeObject="None")
    await s.post(QUOTAS, {"metadata": {"name": "q"}, "spec": {"hard": {"pods": "2", "requests.cpu": "1000m"}}})
    await s.post(QUOTAS, {"metadata": {"name": "r"}, "spec": {"hard": {"pods": "many"}}})
    await s.post(QUOTAS, {"metadata": {"name": "r"}, "spec": {"hard": {"nonsense": "1"}}})
    await s.get(f"{CLASSES}/system-node-critical")
    await s.post(CLASSES, {"metadata": {"name": "{ns}-high"}, "value": 1000})
    await s.post(CLASSES, {"metadata": {"name": "{ns}-huge"}, "value": 2000000000})
    await s.patch(f"{CLASSES}/{{ns}}-high", {"value": 1001})
    await s.patch(f"{CLASSES}/{{ns}}-high", {"description": "x"})
    await s.post(NODES, {"metadata": {"name": "{ns}-n"}, "spec": {"unschedulable": True}})
    await s.patch(f"{NODES}/{{ns}}-n/status", {"status": {"capacity": {"cpu": "4000m", "memory": "1Gi", "pods": 110}}})
    await s.get(f"{NODES}/{{ns}}-n", accept=TABLE, includeObject="None")
    await s.delete(f"{NODES}/{{ns}}-n")


async def namespaces(s: Session) -> None:
    name = "{ns}-x"
    await s.post(NAMESPACES, {"metadata": {"name": name}})
    await s.post(NAMESPACES, {"metadata": {"name": "With.Dots"}})
    await s.post(f"/api/v1/namespaces/{name}/configmaps", {"metadata": {"name": "a"}})
    await s.post("/api/v1/namespaces/missing/configmaps", {"metadata": {"name": "a"}})
    await s.get("/api/v1/namespaces/missing/configmaps")
    await s.delete(f"{NAMESPACES}/{name}")
    await s.get(f"{NAMESPACES}/{name}")
    await s.post(f"/api/v1/namespaces/{name}/configmaps", {"metadata": {"name": "b"}})
    await s.patch(f"/api/v1/namespaces/{name}/configmaps/a", {"data": {"k": "v"}})
    found = await s.get(f"{NAMESPACES}/{name}")
    await s.put(f"{NAMESPACES}/{name}/finalize", found.body | {"spec": {"finalizers": []}})
    await s.get(f"{NAMESPACES}/{name}")
    await s.delete(f"{NAMESPACES}/default")
    await s.delete(NAMESPACES)


async def validation_of_fields(s: Session) -> None:
    unknown = {"metadata": {"name": "a", "nonsense": 1}, "data": {"k": "v"}, "more": {"deep": 1}}
    twice = '{"metadata":{"name":"a"},"data":{"k":"v","k":"w"},"data":{"l":"x"}}'
    for mode in ("Strict", "Warn", "Ignore", "Nonsense", ""):
        await s.post(MAPS, unknown, fieldValidation=mode)
        await s.post(MAPS, twice, fieldValidation=mode)
        await s.delete(f"{MAPS}/a")
    await s.post(MAPS, {"metadata": {"name": "a"}})
    await s.patch(f"{MAPS}/a", {"more": 1}, fieldValidation="Strict")
    await s.patch(f"{MAPS}/a", {"more": 1}, fieldValidation="Warn")
    await s.patch(f"{MAPS}/a", '{"data":{"k":"v","k":"w"}}', fieldValidation="Strict")
    await s.patch(f"{MAPS}/a", {"more": 1}, STRATEGIC, fieldValidation="Strict")
    await s.put(f"{MAPS}/a", unknown, fieldValidation="Strict")
    head = {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "a"}}
    await s.apply(f"{MAPS}/a", head | {"more": 1}, "m", fieldValidation="Strict")
    spec = {"containers": [{"name": "c", "image": "x", "imag": "y"}], "restart": "Never"}
    await s.post("/api/v1/namespaces/{ns}/pods", {"metadata": {"name": "a"}, "spec": spec}, fieldValidation="Strict")


async def nonsense(s: Session) -> None:
    await s.get("/nonsense")
    await s.get("/api/v2")
    await s.get("/apis/nonsense.io/v1")
    await s.get("/api/v1/nonsense")
    await s.get("/api/v1/namespaces/{ns}/nonsense")
    await s.get("/api/v1/namespaces/{ns}/nodes")
    await s.get(f"{MAPS}/a/status")
    await s.get(f"{MAPS}/Bad_Name")
    await s.post(f"{MAPS}/a", {})
    await s.put(MAPS, {})
    await s.patch(MAPS, {})
    await s.post("/api/v1/configmaps", {"metadata": {"name": "a"}})
    await s.delete("/api/v1/configmaps")
    await s.post(MAPS, "")
    await s.post(MAPS, "{")
    await s.post(MAPS, "[]")
    await s.post(MAPS, "null")
    await s.post(MAPS, '"text"')
    await s.post(MAPS, {"metadata": "text"})
    await s.post(MAPS, {"metadata": {"name": 5}})
    await s.post(MAPS, {"metadata": {"name": "a"}, "data": []})
    await s.post(MAPS, b'{"metadata":{"name":"a"},"data":{"k":"\xff"}}')
    await s.post(MAPS, "metadata: {name: y}\n", kind="application/yaml")
    await s.post(MAPS, "x", kind="text/plain")
    await s.post(MAPS, "x", kind="application/nonsense; charset=utf-8")
    await s.patch(f"{MAPS}/y", {}, "application/json")
    await s.patch(f"{MAPS}/y", {}, "text/plain")
    await s.post(MAPS, {"metadata": {"name": "big"}, "data": {"k": "x" * (1024 * 1024 + 1)}})
    await s.post(MAPS, {"metadata": {"name": "z"}}, fieldManager="bad\x00manager")
    await s.call("OPTIONS", MAPS, None)


async def kinds_of_users(s: Session) -> None:
    group = "{ns}.example.com"
    name = f"widgets.{group}"
    schema = {
        "type": "object",
        "properties": {
            "spec": {
                "type": "object",
                "required": ["size"],
                "properties": {
                    "size": {"type": "integer", "minimum": 1, "maximum": 9},
                    "color": {"type": "string", "enum": ["red", "blue"], "default": "red"},
                    "name": {"type": "string", "pattern": "^[a-z]+$", "maxLength": 5},
                    "tags": {"type": "array", "items": {"type": "string"}, "x-kubernetes-list-type": "set"},
                    "parts": {
                        "type": "array",
                        "x-kubernetes-list-type": "map",
                        "x-kubernetes-list-map-keys": ["id"],
                        "items": {
                            "type": "object",
                            "required": ["id"],
                            "properties": {"id": {"type": "string"}, "n": {"type": "integer", "default": 1}},
                        },
                    },
                    "any": {"type": "object", "x-kubernetes-preserve-unknown-fields": True},
                    "port": {"x-kubernetes-int-or-string": True},
                    "replicas": {"type": "integer", "nullable": True},
                },
            },
            "status": {"type": "object", "properties": {"replicas": {"type": "integer"}, "phase": {"type": "string"}}},
        },
    }
    version = {
        "name": "v1",
        "served": True,
        "storage": True,
        "schema": {"openAPIV3Schema": schema},
        "subresources": {
            "status": {},
            "scale": {"specReplicasPath": ".spec.replicas", "statusReplicasPath": ".status.replicas"},
        },
        "additionalPrinterColumns": [
            {"name": "Size", "type": "integer", "jsonPath": ".spec.size"},
            {"name": "Phase", "type": "string", "jsonPath": ".status.phase", "priority": 1},
        ],
    }
    names = {"plural": "widgets", "singular": "widget", "kind": "Widget", "listKind": "WidgetList", "shortNames": ["w"]}
    definition = {
        "apiVersion": "apiextensions.k8s.io/v1",
        "kind": "CustomResourceDefinition",
        "metadata": {"name": name},
        "spec": {"group": group, "scope": "Namespaced", "names": names, "versions": [version]},
    }
    await s.post(DEFINITIONS, definition | {"metadata": {"name": "wrong"}})
    await s.post(DEFINITIONS, definition)
    for _ in range(600):
        if (await s.unrecorded("GET", f"/apis/{group}/v1/namespaces/{{ns}}/widgets")).status == 200:
            break
        await asyncio.sleep(0.1)
    widgets = f"/apis/{group}/v1/namespaces/{{ns}}/widgets"

    def widget(_name: str = "a", **spec: Any) -> dict[str, Any]:
        return {"apiVersion": f"{group}/v1", "kind": "Widget", "metadata": {"name": _name}, "spec": spec}

    made = await s.post(
        widgets, widget(size=1, parts=[{"id": "x"}], any={"deep": [1]}, unknown=1) | {"status": {"phase": "x"}}
    )
    for spec in (
        {},
        {"size": 0},
        {"size": 10},
        {"size": "1"},
        {"size": 1.5},
        {"size": None},
        {"size": 1, "color": "green"},
        {"size": 1, "name": "UPPER"},
        {"size": 1, "name": "toolong"},
        {"size": 1, "tags": ["a", "a"]},
        {"size": 1, "parts": [{"id": "x"}, {"id": "x"}]},
        {"size": 1, "parts": [{"n": 1}]},
        {"size": 1, "port": True},
        {"size": 1, "tags": "a"},
        {"size": 0, "color": "green", "name": "UPPER"},
    ):
        await s.post(widgets, widget("b", **spec))
    await s.post(widgets, {"apiVersion": f"{group}/v1", "kind": "Widget", "metadata": {"name": "b"}})
    await s.post(widgets, {"metadata": {"name": "b"}, "spec": {"size": 1}})
    await s.post(widgets, widget("b", size=1) | {"kind": "Other"})
    await s.post(widgets, widget("b", size=1, unknown=1), fieldValidation="Strict")
    await s.post(widgets, widget("b", size=1, unknown=1), fieldValidation="Warn")
    await s.put(f"{widgets}/a", widget(size=2))
    await s.put(f"{widgets}/a", made.body | {"spec": {"size": 2}})
    await s.patch(f"{widgets}/a", {"spec": {"size": 3}})
    await s.patch(f"{widgets}/a", {"spec": {"size": 3}}, STRATEGIC)
    await s.patch(f"{widgets}/a", {"spec": {"size": 99}})
    await s.patch(f"{widgets}/a", {"status": {"phase": "Running"}})
    await s.patch(f"{widgets}/a/status", {"status": {"phase": "Running", "replicas": 2}, "spec": {"size": 4}})
    await s.patch(f"{widgets}/a/status", {"status": {"phase": 5}})
    await s.get(f"{widgets}/a/scale")
    await s.patch(f"{widgets}/a/scale", {"spec": {"replicas": 4}})
    await s.get(f"{widgets}/a")
    await s.apply(f"{widgets}/a", widget(size=3, parts=[{"id": "y", "n": 2}]), "one")
    await s.apply(f"{widgets}/a", widget(size=5), "two")
    await s.apply(f"{widgets}/c", widget("c", size=5, tags=["a", "b"]), "two")
    await s.apply(f"{widgets}/c", widget("c", tags=["c"]), "three")
    await s.get(widgets, accept=TABLE, includeObject="None")
    await s.get(widgets, fieldSelector="spec.size=3")
    await s.delete(widgets)
    await s.get(widgets)
    await s.delete(f"{DEFINITIONS}/{name}")


SEQUENCES = (
    deployments,
    batch_jobs,
    services,
    small_kinds,
    namespaces,
    validation_of_fields,
    nonsense,
    kinds_of_users,
)
