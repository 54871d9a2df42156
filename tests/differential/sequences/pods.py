"""Pods: defaults, what may change, binding, eviction, status, and deletion with grace."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from tests.differential.session import STRATEGIC

if TYPE_CHECKING:
    from tests.differential.session import Session

PODS = "/api/v1/namespaces/{ns}/pods"


def pod(name: str = "a", *containers: dict[str, Any], **spec: Any) -> dict[str, Any]:
    own = list(containers) or [{"name": "c", "image": "busybox"}]
    return {"apiVersion": "v1", "kind": "Pod", "metadata": {"name": name}, "spec": {"containers": own, **spec}}


async def defaults(s: Session) -> None:
    await s.post(PODS, pod("a"))
    limits = {"limits": {"cpu": "100m", "memory": "1Gi"}, "requests": {"cpu": "0.05"}}
    probe = {"httpGet": {"path": "/", "port": 80}}
    full = {
        "name": "c",
        "image": "busybox:1.36",
        "resources": limits,
        "ports": [{"containerPort": 80}],
        "env": [{"name": "P", "valueFrom": {"fieldRef": {"fieldPath": "metadata.name"}}}],
        "livenessProbe": probe,
        "lifecycle": {"preStop": {"httpGet": {"port": "web"}}},
        "volumeMounts": [{"name": "v", "mountPath": "/v"}],
    }
    volumes = [
        {"name": "v", "emptyDir": {}},
        {"name": "s", "secret": {"secretName": "x"}},
        {"name": "m", "configMap": {"name": "x"}},
        {"name": "h", "hostPath": {"path": "/tmp"}},
        {"name": "p", "projected": {"sources": [{"serviceAccountToken": {"path": "t"}}]}},
    ]
    await s.post(PODS, pod("b", full, volumes=volumes, restartPolicy="Never", priorityClassName="system-node-critical"))
    await s.post(PODS, pod("c", priorityClassName="missing"))
    await s.post(PODS, pod("c", priority=5))
    await s.post(PODS, pod("c", serviceAccountName="missing"))
    await s.post(PODS, pod("d", tolerations=[{"key": "x", "operator": "Exists"}], schedulingGates=[{"name": "x.io/g"}]))
    await s.post(PODS, pod("e", hostNetwork=True, initContainers=[{"name": "i", "image": "a@sha256:" + "0" * 64}]))


async def refused(s: Session) -> None:
    await s.post(PODS, {"metadata": {"name": "a"}})
    await s.post(PODS, {"metadata": {"name": "a"}, "spec": {}})
    await s.post(PODS, {"metadata": {"name": "a"}, "spec": {"containers": []}})
    await s.post(PODS, pod("a", {"name": "c"}))
    await s.post(PODS, pod("a", {"name": "C", "image": "x"}))
    await s.post(PODS, pod("a", {"image": "x"}))
    await s.post(PODS, pod("a", {"name": "c", "image": "x"}, {"name": "c", "image": "x"}))
    await s.post(PODS, pod("a", {"name": "c", "image": "x", "resources": {"requests": {"cpu": "lots"}}}))
    await s.post(
        PODS, pod("a", {"name": "c", "image": "x", "resources": {"requests": {"cpu": "2"}, "limits": {"cpu": "1"}}})
    )
    await s.post(PODS, pod("a", {"name": "c", "image": "x", "resources": {"requests": {"cpu": "-1"}}}))
    await s.post(PODS, pod("a", {"name": "c", "image": "x", "resources": {"requests": {"example.com/gpu": "1.5"}}}))
    await s.post(PODS, pod("a", {"name": "c", "image": "x", "env": [{"name": "", "value": "x"}]}))
    await s.post(PODS, pod("a", {"name": "c", "image": "x", "imagePullPolicy": "Sometimes"}))
    await s.post(PODS, pod("a", {"name": "c", "image": "x", "ports": [{"containerPort": 70000}]}))
    await s.post(PODS, pod("a", {"name": "c", "image": "x", "volumeMounts": [{"name": "v", "mountPath": "/v"}]}))
    await s.post(PODS, pod("a", restartPolicy="Sometimes"))
    await s.post(PODS, pod("a", dnsPolicy="Sometimes"))
    await s.post(PODS, pod("a", nodeSelector={"bad key": "x"}))
    await s.post(PODS, pod("a", tolerations=[{"operator": "Equal", "value": "x"}]))
    await s.post(PODS, pod("a", volumes=[{"name": "v"}, {"name": "v", "emptyDir": {}}]))
    await s.post(PODS, pod("a", terminationGracePeriodSeconds=-1))
    await s.post(PODS, pod("a", activeDeadlineSeconds=0))
    await s.post(PODS, pod("a", restartPolicy=5))
    await s.post(PODS, pod("a", containers="none"))
    await s.post(PODS, pod("a_b"))
    terms = [{"topologyKey": ""}]
    await s.post(PODS, pod("a", affinity={"podAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": terms}}))


async def changes(s: Session) -> None:
    await s.post(PODS, pod("a", schedulingGates=[{"name": "x.io/g"}]))
    await s.patch(f"{PODS}/a", {"spec": {"containers": [{"name": "c", "image": "busybox:2"}]}}, STRATEGIC)
    await s.patch(f"{PODS}/a", {"spec": {"containers": [{"name": "d", "image": "busybox:2"}]}}, STRATEGIC)
    await s.patch(f"{PODS}/a", {"spec": {"restartPolicy": "Never"}})
    await s.patch(f"{PODS}/a", {"spec": {"activeDeadlineSeconds": 60}})
    await s.patch(f"{PODS}/a", {"spec": {"activeDeadlineSeconds": 90}})
    await s.patch(f"{PODS}/a", {"spec": {"tolerations": [{"key": "x", "operator": "Exists"}]}}, STRATEGIC)
    await s.patch(f"{PODS}/a", {"spec": {"tolerations": []}})
    await s.patch(f"{PODS}/a", {"spec": {"schedulingGates": [{"name": "x.io/other"}]}})
    await s.patch(f"{PODS}/a", {"spec": {"schedulingGates": None}})
    await s.patch(f"{PODS}/a", {"spec": {"nodeName": "n"}})
    await s.patch(f"{PODS}/a", {"metadata": {"labels": {"x": "1"}}})
    await s.patch(f"{PODS}/a", {"status": {"phase": "Running"}})
    await s.patch(f"{PODS}/a/status", {"status": {"phase": "Running"}, "spec": {"restartPolicy": "Never"}})
    await s.patch(f"{PODS}/a/status", {"status": {"phase": "Dancing"}})
    condition = {"type": "Ready", "status": "True", "lastTransitionTime": "2024-01-01T00:00:00Z"}
    await s.patch(f"{PODS}/a/status", {"status": {"conditions": [condition]}}, STRATEGIC)
    await s.patch(f"{PODS}/a/status", {"status": {"conditions": [condition | {"type": "My"}]}}, STRATEGIC)
    await s.patch(f"{PODS}/a/status", {"status": {"phase": 5}})
    await s.get(f"{PODS}/a/status")
    await s.get(f"{PODS}/a/nonsense")


async def binding(s: Session) -> None:
    made = await s.post(PODS, pod("a"))
    await s.post(PODS, pod("gated", schedulingGates=[{"name": "x.io/g"}]))

    async def bind(name: str, node: str, **metadata: Any) -> None:
        target = {"kind": "Node", "name": node}
        body = {"apiVersion": "v1", "kind": "Binding", "metadata": {"name": name, **metadata}, "target": target}
        await s.post(f"{PODS}/{name}/binding", body)

    await bind("missing", "n")
    await bind("a", "")
    await bind("gated", "n")
    await bind("a", "n", uid="d0d7d54e-7a0b-4b4e-9d0b-3a6a9f6c1f11")
    await bind("a", "n", uid=made["metadata.uid"], annotations={"x": "y"})
    await bind("a", "n")
    await bind("a", "other")
    await s.get(f"{PODS}/a")
    await s.post(f"{PODS}/a/binding", {"metadata": {"name": "b"}, "target": {"name": "n"}})
    await s.post(f"{PODS}/a/binding", {"metadata": {"name": "a"}, "target": {"kind": "Pod", "name": "n"}})
    await s.get(f"{PODS}/a/binding")


async def endings(s: Session) -> None:
    for name, node in (("free", ""), ("bound", "n"), ("done", "n"), ("forced", "n"), ("held", "n"), ("evicted", "n")):
        await s.post(PODS, pod(name, terminationGracePeriodSeconds=7, **({"nodeName": node} if node else {})))
    await s.delete(f"{PODS}/free")
    await s.get(f"{PODS}/free")
    await s.delete(f"{PODS}/bound")
    await s.delete(f"{PODS}/bound")
    await s.delete(f"{PODS}/bound", {"gracePeriodSeconds": 3})
    await s.delete(f"{PODS}/bound", {"gracePeriodSeconds": 30})
    await s.get(f"{PODS}/bound")
    await s.delete(f"{PODS}/bound", {"gracePeriodSeconds": 0})
    await s.get(f"{PODS}/bound")
    await s.patch(f"{PODS}/done/status", {"status": {"phase": "Succeeded"}})
    await s.delete(f"{PODS}/done")
    await s.get(f"{PODS}/done")
    await s.delete(f"{PODS}/forced", {"gracePeriodSeconds": 0})
    await s.get(f"{PODS}/forced")
    await s.patch(f"{PODS}/held", {"metadata": {"finalizers": ["x.io/f"]}})
    await s.delete(f"{PODS}/held", {"gracePeriodSeconds": 0})
    await s.get(f"{PODS}/held")
    await s.patch(f"{PODS}/held", {"metadata": {"finalizers": None}})
    await s.get(f"{PODS}/held")
    eviction = {"apiVersion": "policy/v1", "kind": "Eviction", "metadata": {"name": "evicted"}}
    await s.post(f"{PODS}/missing/eviction", eviction | {"metadata": {"name": "missing"}})
    await s.post(f"{PODS}/evicted/eviction", eviction | {"metadata": {"name": "other"}})
    await s.post(f"{PODS}/evicted/eviction", eviction, dryRun="All")
    await s.post(f"{PODS}/evicted/eviction", eviction)
    await s.get(f"{PODS}/evicted")


async def logs_that_cannot_be_had(s: Session) -> None:
    await s.post(PODS, pod("a"))
    await s.post(PODS, pod("two", {"name": "c", "image": "x"}, {"name": "d", "image": "x"}, nodeName="missing"))
    await s.get(f"{PODS}/missing/log")
    await s.get(f"{PODS}/a/log")
    await s.get(f"{PODS}/a/log", container="other")
    await s.get(f"{PODS}/two/log")
    await s.get(f"{PODS}/a/log", tailLines="-1")
    await s.get(f"{PODS}/a/log", sinceSeconds="1", sinceTime="2024-01-01T00:00:00Z")


SEQUENCES = (defaults, refused, changes, binding, endings, logs_that_cannot_be_had)
