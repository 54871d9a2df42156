"""Server-side apply by several managers, and what ordinary writes do to ownership."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from tests.differential.session import JSON_PATCH, STRATEGIC

if TYPE_CHECKING:
    from tests.differential.session import Session

MAPS = "/api/v1/namespaces/{ns}/configmaps"
DEPLOYMENTS = "/apis/apps/v1/namespaces/{ns}/deployments"
SERVICES = "/api/v1/namespaces/{ns}/services"


def a_map(data: dict[str, Any] | None = None, **metadata: Any) -> dict[str, Any]:
    return {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "a", **metadata}, "data": data or {}}


def container(name: str, **fields: Any) -> dict[str, Any]:
    return {"name": name, "image": "busybox", **fields}


def deployment(*containers: dict[str, Any], **spec: Any) -> dict[str, Any]:
    labels = {"app": "a"}
    template = {"metadata": {"labels": labels}, "spec": {"containers": list(containers)}}
    spec = {"selector": {"matchLabels": labels}, "template": template, **spec}
    return {"apiVersion": "apps/v1", "kind": "Deployment", "metadata": {"name": "a"}, "spec": spec}


async def two_managers_of_a_map(s: Session) -> None:
    await s.apply(f"{MAPS}/a", a_map({"k": "v", "l": "w"}), "one")
    await s.apply(f"{MAPS}/a", a_map({"k": "v", "l": "w"}), "one")
    await s.apply(f"{MAPS}/a", a_map({"m": "x"}), "two")
    await s.apply(f"{MAPS}/a", a_map({"k": "other"}), "two")
    await s.apply(f"{MAPS}/a", a_map({"k": "other", "l": "other"}), "two")
    await s.apply(f"{MAPS}/a", a_map({"k": "other"}), "two", force="true")
    await s.apply(f"{MAPS}/a", a_map({"k": "v", "l": "w"}), "one")
    await s.apply(f"{MAPS}/a", a_map({"l": "w"}), "one")
    await s.apply(f"{MAPS}/a", a_map({"k": "other"}), "three")
    await s.apply(f"{MAPS}/a", a_map(), "two")
    await s.apply(f"{MAPS}/a", a_map(), "three")
    await s.apply(f"{MAPS}/a", a_map(), "one")
    await s.get(f"{MAPS}/a")


async def apply_after_other_writes(s: Session) -> None:
    await s.post(MAPS, a_map({"k": "v", "l": "w"}, labels={"x": "1"}), fieldManager="creator")
    await s.apply(f"{MAPS}/a", a_map({"k": "other"}), "one")
    await s.apply(f"{MAPS}/a", a_map({"k": "v"}), "one")
    await s.patch(f"{MAPS}/a", {"data": {"k": "patched", "n": "new"}}, fieldManager="patcher")
    await s.apply(f"{MAPS}/a", a_map({"k": "v"}), "one")
    await s.apply(f"{MAPS}/a", a_map({"k": "v"}), "one", force="true")
    await s.patch(f"{MAPS}/a", [{"op": "remove", "path": "/data/k"}], JSON_PATCH, fieldManager="patcher")
    await s.apply(f"{MAPS}/a", a_map({"k": "v"}), "one")
    await s.put(f"{MAPS}/a", a_map({"z": "z"}), fieldManager="replacer")
    await s.apply(f"{MAPS}/a", a_map({"z": "y"}), "one")
    await s.patch(f"{MAPS}/a", {"metadata": {"managedFields": [{}]}}, fieldManager="resetter")
    await s.apply(f"{MAPS}/a", a_map({"z": "y"}), "one")
    await s.get(f"{MAPS}/a")


async def bad_applies(s: Session) -> None:
    await s.call("PATCH", f"{MAPS}/a", a_map({"k": "v"}), kind="application/apply-patch+yaml")
    await s.apply(f"{MAPS}/a", {"data": {"k": "v"}}, "one")
    await s.apply(f"{MAPS}/a", {"apiVersion": "v1", "data": {"k": "v"}}, "one")
    await s.apply(f"{MAPS}/a", {"apiVersion": "v1", "kind": "Secret", "metadata": {"name": "a"}}, "one")
    await s.apply(f"{MAPS}/a", a_map() | {"metadata": {"name": "b"}}, "one")
    await s.apply(f"{MAPS}/a", a_map() | {"metadata": {}}, "one")
    await s.apply(f"{MAPS}/a", a_map({"k": 5}), "one")
    await s.apply(f"{MAPS}/a", a_map({"k": "v"}) | {"unknown": 1}, "one")
    await s.apply(f"{MAPS}/a", a_map({"k": None, "l": "v"}), "one")
    await s.apply(f"{MAPS}/a", a_map(managedFields=[{"manager": "x"}]), "one")
    await s.apply(f"{MAPS}/a", a_map(resourceVersion="1"), "one")
    await s.apply(f"{MAPS}/a", a_map(uid="d0d7d54e-7a0b-4b4e-9d0b-3a6a9f6c1f11"), "one")
    await s.apply(f"{MAPS}/a", a_map(), "x" * 129)
    await s.apply(f"{MAPS}/a", "apiVersion: v1\nkind: ConfigMap\ndata: {k: yes}\n", "one")
    await s.apply(f"{MAPS}/a", "apiVersion: v1\nkind: ConfigMap\ndata: {y: 'yes'}\n", "one")
    await s.apply(f"{MAPS}/a", "a: [", "one")
    await s.apply(f"{MAPS}/a", "[]", "one")
    await s.apply(f"{MAPS}/a", a_map(), "one", force="maybe")
    await s.patch(f"{MAPS}/a", {"data": {}}, force="true")


async def lists_with_keys(s: Session) -> None:
    first = deployment(container("a", env=[{"name": "X", "value": "1"}]), replicas=2)
    await s.apply(f"{DEPLOYMENTS}/a", first, "one")
    await s.apply(f"{DEPLOYMENTS}/a", deployment(container("a"), container("b")), "two")
    await s.apply(f"{DEPLOYMENTS}/a", deployment(container("a", env=[{"name": "Y", "value": "2"}])), "two")
    await s.apply(f"{DEPLOYMENTS}/a", deployment(container("a", env=[{"name": "X", "value": "2"}])), "two")
    await s.apply(f"{DEPLOYMENTS}/a", deployment(container("a", image="other")), "two")
    ports = [{"containerPort": 80}, {"containerPort": 80, "protocol": "UDP"}]
    await s.apply(f"{DEPLOYMENTS}/a", deployment(container("a", ports=ports)), "two")
    await s.apply(f"{DEPLOYMENTS}/a", deployment(container("a", ports=[ports[0], ports[0]])), "two")
    await s.apply(f"{DEPLOYMENTS}/a", deployment(container("a"), container("a")), "two")
    await s.apply(f"{DEPLOYMENTS}/a", deployment({"image": "nameless"}), "two")
    await s.apply(f"{DEPLOYMENTS}/a", deployment(container("a"), replicas=3), "scaler")
    await s.apply(f"{DEPLOYMENTS}/a", deployment(container("a"), replicas=3), "scaler", force="true")
    await s.patch(f"{DEPLOYMENTS}/a", {"spec": {"replicas": 4}}, STRATEGIC, fieldManager="autoscaler")
    await s.apply(f"{DEPLOYMENTS}/a", deployment(container("a", args=["x", "y"])), "one", force="true")
    await s.apply(f"{DEPLOYMENTS}/a", deployment(container("a", args=["x"])), "two")
    await s.get(f"{DEPLOYMENTS}/a")


async def ports_of_services(s: Session) -> None:
    def service(*ports: dict[str, Any]) -> dict[str, Any]:
        spec = {"selector": {"app": "a"}, "ports": list(ports)}
        return {"apiVersion": "v1", "kind": "Service", "metadata": {"name": "a"}, "spec": spec}

    await s.apply(f"{SERVICES}/a", service({"port": 80, "name": "http"}), "one")
    await s.apply(f"{SERVICES}/a", service({"port": 81, "name": "more"}), "two")
    await s.apply(f"{SERVICES}/a", service({"port": 81, "name": "renamed"}), "three")
    await s.apply(f"{SERVICES}/a", service({"port": 80, "name": "http", "targetPort": 8080}), "one")
    await s.apply(f"{SERVICES}/a", service({"port": 80, "name": "http", "targetPort": "web"}), "one")
    await s.apply(f"{SERVICES}/a", service(), "one")


async def apply_to_status(s: Session) -> None:
    await s.apply(f"{DEPLOYMENTS}/a", deployment(container("a")), "one")
    head = {"apiVersion": "apps/v1", "kind": "Deployment", "metadata": {"name": "a"}}
    condition = {"type": "Available", "status": "True", "reason": "r", "message": "m"}
    await s.apply(f"{DEPLOYMENTS}/a/status", head | {"status": {"replicas": 1, "readyReplicas": 1}}, "controller")
    await s.apply(
        f"{DEPLOYMENTS}/a/status", head | {"status": {"replicas": 1, "conditions": [condition]}}, "controller"
    )
    await s.apply(f"{DEPLOYMENTS}/a/status", head | {"status": {"replicas": 2}}, "other")
    await s.apply(f"{DEPLOYMENTS}/a/status", head | {"spec": {"replicas": 9}, "status": {}}, "other")
    await s.apply(f"{DEPLOYMENTS}/b/status", head | {"metadata": {"name": "b"}, "status": {}}, "other")
    await s.apply(f"{DEPLOYMENTS}/a", head | {"status": {"replicas": 5}}, "third")
    await s.get(f"{DEPLOYMENTS}/a")


async def items_that_others_change(s: Session) -> None:
    """The owner of an item lets it go, though others own fields of it; who owns only fields lets those go."""
    value = {"name": "A", "value": "1"}
    await s.apply(f"{DEPLOYMENTS}/a", deployment(container("a", env=[value])), "one")
    await s.patch(f"{DEPLOYMENTS}/a", spec_of(container("a", env=[value | {"value": "2"}])), STRATEGIC)
    await s.apply(f"{DEPLOYMENTS}/a", deployment(container("a", env=[{"name": "B", "value": "1"}])), "one")
    await s.patch(f"{DEPLOYMENTS}/a", spec_of(container("a", env=[value])), STRATEGIC, fieldManager="patcher")
    await s.apply(f"{DEPLOYMENTS}/a", deployment(container("a", env=[value])), "two")
    await s.apply(f"{DEPLOYMENTS}/a", deployment(container("a")), "two")
    await s.get(f"{DEPLOYMENTS}/a")


def spec_of(*containers: dict[str, Any]) -> dict[str, Any]:
    return {"spec": {"template": {"spec": {"containers": list(containers)}}}}


async def a_dying_object_is_applied_and_replaced(s: Session) -> None:
    await s.post(MAPS, a_map({"k": "v"}, finalizers=["x.io/f"]))
    await s.patch(f"{MAPS}/a", {"metadata": {"managedFields": [{}]}})
    await s.delete(f"{MAPS}/a")
    await s.apply(f"{MAPS}/a", a_map({"m": "x"}), "one")
    await s.put(f"{MAPS}/a", a_map({"z": "z"}, finalizers=["x.io/f"]))
    await s.patch(f"{MAPS}/a", {"metadata": {"finalizers": None}})


SEQUENCES = (
    two_managers_of_a_map,
    apply_after_other_writes,
    bad_applies,
    lists_with_keys,
    ports_of_services,
    apply_to_status,
    items_that_others_change,
    a_dying_object_is_applied_and_replaced,
)
