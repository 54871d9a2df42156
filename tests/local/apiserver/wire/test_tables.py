from __future__ import annotations

from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

from volcano.api.age import human_duration
from volcano.local.apiserver.faults import BadRequest
from volcano.local.apiserver.wire.printers import printer_for
from volcano.local.apiserver.wire.printers.jsonpath import JsonPathError, compile_path
from volcano.local.apiserver.wire.tables import render_table

NOW = datetime(2026, 1, 1, 12, tzinfo=UTC)


def ago(**units: float) -> str:
    return (NOW - timedelta(**units)).strftime("%Y-%m-%dT%H:%M:%SZ")


def shown(group: str, plural: str, document: dict[str, Any], *, wide: bool = False) -> dict[str, Any]:
    printer = printer_for(group, plural)
    cells = printer.cells(document, NOW)
    assert len(cells) == len(printer.columns)
    pairs = zip(printer.columns, cells, strict=True)
    return {column.name: cell for column, cell in pairs if wide or column.priority == 0}


def pod(*containers: dict[str, Any], inits: tuple[dict[str, Any], ...] = (), **fields: Any) -> dict[str, Any]:
    """A pod whose containers are given by their statuses; `sidecar` marks an init container that keeps running."""
    return {
        "metadata": {"name": "p", "creationTimestamp": ago(minutes=5), **fields.pop("metadata", {})},
        "spec": {
            "containers": [{"name": f"c{index}"} for index in range(len(containers))],
            "initContainers": [
                {"name": item["name"], **({"restartPolicy": "Always"} if item.get("sidecar") else {})} for item in inits
            ],
            **fields.pop("spec", {}),
        },
        "status": {
            "phase": "Running",
            "containerStatuses": list(containers),
            "initContainerStatuses": list(inits),
            **fields,
        },
    }


def running(*, ready: bool = True, **fields: Any) -> dict[str, Any]:
    return {"ready": ready, "state": {"running": {}}, **fields}


def waiting(reason: str) -> dict[str, Any]:
    return {"state": {"waiting": {"reason": reason}}}


def ended(code: int = 0, reason: str = "", signal: int = 0) -> dict[str, Any]:
    return {"state": {"terminated": {"exitCode": code, "reason": reason, "signal": signal}}}


READY = [{"type": "Ready", "status": "True"}]
GATED = [{"type": "PodScheduled", "status": "False", "reason": "SchedulingGated"}]


@pytest.mark.parametrize(
    ("document", "ready", "status"),
    [
        (pod(running()), "1/1", "Running"),
        (pod(phase="Pending"), "0/0", "Pending"),
        (pod(running(), running(ready=False)), "1/2", "Running"),
        (pod(waiting("ImagePullBackOff")), "0/1", "ImagePullBackOff"),
        (pod(ended(0, "Completed"), phase="Succeeded"), "0/1", "Completed"),
        (pod(ended(1, "Error"), phase="Failed"), "0/1", "Error"),
        (pod(ended(3), phase="Failed"), "0/1", "ExitCode:3"),
        (pod(ended(137, signal=9), phase="Failed"), "0/1", "Signal:9"),
        (pod(ended(0, "Completed"), running(), conditions=READY), "1/2", "Running"),
        (pod(ended(0, "Completed"), running()), "1/2", "NotReady"),
        (pod(running(), reason="Evicted", phase="Failed"), "1/1", "Evicted"),
        (pod(running(), metadata={"deletionTimestamp": ago(seconds=1)}), "1/1", "Terminating"),
        (pod(ended(0, "Completed"), phase="Succeeded", metadata={"deletionTimestamp": ago()}), "0/1", "Completed"),
        (pod(running(), reason="NodeLost", metadata={"deletionTimestamp": ago()}), "1/1", "Unknown"),
        (pod(phase="Pending", conditions=GATED), "0/0", "SchedulingGated"),
        (pod(waiting("PodInitializing"), inits=({"name": "i", **running()},)), "0/1", "Init:0/1"),
        (pod(waiting("x"), inits=({"name": "i", **ended(0)}, {"name": "j", **waiting("Oops")})), "0/1", "Init:Oops"),
        (pod(waiting("x"), inits=({"name": "i", **ended(2)},)), "0/1", "Init:ExitCode:2"),
        (pod(waiting("x"), inits=({"name": "i", **ended(2, "Error")},)), "0/1", "Init:Error"),
        (pod(running(), inits=({"name": "s", "sidecar": True, "started": True, **running()},)), "2/2", "Running"),
        (pod(waiting("x"), inits=({"name": "s", "sidecar": True, **running(ready=False)},)), "0/2", "Init:0/1"),
    ],
)
def test_pods_are_told_apart(document: dict[str, Any], ready: str, status: str) -> None:
    row = shown("", "pods", document)
    assert (row["Ready"], row["Status"]) == (ready, status)


def test_restarts_say_when_the_last_one_was() -> None:
    once: dict[str, Any] = {"restartCount": 2, "lastState": {"terminated": {"finishedAt": ago(minutes=3)}}}
    assert shown("", "pods", pod(running(**once)))["Restarts"] == "2 (3m ago)"
    assert shown("", "pods", pod(running()))["Restarts"] == "0"


def test_wide_pods_show_where_they_are() -> None:
    placed = pod(running(), podIP="10.0.0.1", spec={"nodeName": "n1"})
    row = shown("", "pods", placed, wide=True)
    assert (row["IP"], row["Node"], row["Nominated Node"], row["Readiness Gates"]) == (
        "10.0.0.1",
        "n1",
        "<none>",
        "<none>",
    )


def test_nodes_show_health_roles_and_cordon() -> None:
    node = {
        "metadata": {"name": "n", "labels": {"node-role.kubernetes.io/worker": ""}, "creationTimestamp": ago(days=3)},
        "spec": {"unschedulable": True},
        "status": {"conditions": READY, "nodeInfo": {"kubeletVersion": "v1"}},
    }
    row = shown("", "nodes", node, wide=True)
    assert (row["Status"], row["Roles"], row["Age"]) == ("Ready,SchedulingDisabled", "worker", "3d")
    assert row["Internal-IP"] == "<none>"
    assert shown("", "nodes", {"metadata": {"name": "n"}})["Status"] == "Unknown"


@pytest.mark.parametrize(
    ("group", "plural", "document", "expected"),
    [
        ("", "configmaps", {"data": {"a": ""}, "binaryData": {"b": ""}}, {"Data": 2}),
        ("", "secrets", {"type": "Opaque", "data": {"a": ""}}, {"Type": "Opaque", "Data": 1}),
        ("", "namespaces", {"status": {"phase": "Active"}}, {"Status": "Active"}),
        (
            "",
            "services",
            {"spec": {"clusterIP": "None", "ports": [{"port": 80}, {"port": 53, "protocol": "UDP", "nodePort": 3}]}},
            {"Type": "ClusterIP", "Cluster-IP": "None", "External-IP": "<none>", "Port(s)": "80/TCP,53:3/UDP"},
        ),
        (
            "",
            "events",
            {
                "lastTimestamp": ago(seconds=30),
                "involvedObject": {"kind": "Pod", "name": "p"},
                "message": "m ",
                "reason": "R",
                "type": "Normal",
            },
            {"Last Seen": "30s", "Object": "pod/p", "Message": "m", "Reason": "R", "Type": "Normal"},
        ),
        (
            "",
            "resourcequotas",
            {"status": {"hard": {"cpu": "2", "limits.cpu": "3"}, "used": {"cpu": "1"}}},
            {"Request": "cpu: 1/2", "Limit": "limits.cpu: 0/3"},
        ),
        (
            "",
            "persistentvolumeclaims",
            {
                "spec": {"volumeName": "v"},
                "status": {"phase": "Bound", "capacity": {"storage": "1Gi"}, "accessModes": ["ReadWriteOnce"]},
            },
            {"Status": "Bound", "Volume": "v", "Capacity": "1Gi", "Access Modes": "RWO"},
        ),
        (
            "apps",
            "deployments",
            {"spec": {"replicas": 3}, "status": {"readyReplicas": 1, "updatedReplicas": 2, "availableReplicas": 1}},
            {"Ready": "1/3", "Up-to-date": 2, "Available": 1},
        ),
        ("apps", "replicasets", {"spec": {"replicas": 3}}, {"Desired": 3, "Current": 0, "Ready": 0}),
        (
            "batch",
            "jobs",
            {
                "spec": {"completions": 2},
                "status": {
                    "succeeded": 2,
                    "startTime": ago(minutes=3),
                    "completionTime": ago(minutes=1),
                    "conditions": [{"type": "Complete", "status": "True"}],
                },
            },
            {"Status": "Complete", "Completions": "2/2", "Duration": "2m"},
        ),
        (
            "batch",
            "cronjobs",
            {"spec": {"schedule": "* * * * *", "suspend": False}},
            {"Schedule": "* * * * *", "Suspend": "False", "Active": 0, "Last Schedule": "<none>"},
        ),
        (
            "policy",
            "poddisruptionbudgets",
            {"spec": {"minAvailable": 1}},
            {"Min Available": "1", "Max Unavailable": "N/A", "Allowed Disruptions": 0},
        ),
        ("coordination.k8s.io", "leases", {"spec": {"holderIdentity": "me"}}, {"Holder": "me"}),
        (
            "scheduling.k8s.io",
            "priorityclasses",
            {"value": 5, "preemptionPolicy": "Never"},
            {"Value": 5, "Global-Default": False, "PreemptionPolicy": "Never"},
        ),
        ("example.com", "unheard", {}, {"Age": "<unknown>"}),
    ],
    ids=lambda value: value if isinstance(value, str) else "",
)
def test_what_kubectl_shows_of(group: str, plural: str, document: dict[str, Any], expected: dict[str, Any]) -> None:
    row = shown(group, plural, {"metadata": {"name": "x"}, **document})
    assert row.get("Name", "x") == "x"
    assert {name: row[name] for name in expected} == expected


def test_custom_resources_show_their_own_columns() -> None:
    columns: list[dict[str, Any]] = [
        {"name": "STATUS", "type": "string", "jsonPath": ".status.state.phase"},
        {"name": "minAvailable", "type": "integer", "jsonPath": ".status.minAvailable"},
        {"name": "AGE", "type": "date", "jsonPath": ".metadata.creationTimestamp"},
        {"name": "QUEUE", "type": "string", "priority": 1, "jsonPath": ".spec.queue"},
    ]
    job = {
        "metadata": {"name": "j", "creationTimestamp": ago(minutes=1)},
        "status": {"state": {"phase": "Running"}},
    }
    table = render_table(printer_for("batch.volcano.sh", "jobs", columns), [job], "Object", NOW)
    assert [column["name"] for column in table["columnDefinitions"]] == [
        "Name",
        "STATUS",
        "minAvailable",
        "AGE",
        "QUEUE",
    ]
    assert table["columnDefinitions"][4]["priority"] == 1
    assert table["rows"] == [{"cells": ["j", "Running", None, "60s", None], "object": job}]


def test_a_table_carries_as_much_of_the_object_as_was_asked_for() -> None:
    printer, document = printer_for("", "namespaces"), {"metadata": {"name": "n"}, "spec": {}}
    with_metadata = render_table(
        printer, [document], "Metadata", NOW, version="v1beta1", metadata={"resourceVersion": "7"}
    )
    assert with_metadata["apiVersion"] == "meta.k8s.io/v1beta1"
    assert with_metadata["metadata"] == {"resourceVersion": "7"}
    assert with_metadata["rows"][0]["object"] == {
        "kind": "PartialObjectMetadata",
        "apiVersion": "meta.k8s.io/v1beta1",
        "metadata": {"name": "n"},
    }
    assert render_table(printer, [document], "None", NOW)["rows"][0]["object"] is None
    with pytest.raises(BadRequest, match="includeObject"):
        render_table(printer, [document], "Everything", NOW)


@pytest.mark.parametrize(
    ("seconds", "text"),
    [
        (-5, "<invalid>"),
        (-0.5, "0s"),
        (119, "119s"),
        (120, "2m"),
        (599, "9m59s"),
        (3600 * 2.5, "150m"),
        (3600 * 3, "3h"),
        (3600 * 7.5, "7h30m"),
        (3600 * 47, "47h"),
        (3600 * 49, "2d1h"),
        (86400 * 400, "400d"),
        (86400 * 800, "2y70d"),
        (86400 * 365 * 9, "9y"),
    ],
)
def test_durations_are_short(seconds: float, text: str) -> None:
    assert human_duration(seconds) == text


@pytest.mark.parametrize(
    ("path", "found"),
    [
        (".a.b", [1]),
        ("{.a.b}", [1]),
        ("$.a['b']", [1]),
        (".a.none", []),
        (".list[0].n", [1]),
        (".list[-1].n", [2]),
        (".list[*].n", [1, 2]),
        (".list[0:1].n", [1]),
        ('.list[?(@.name=="two")].n', [2]),
        (".list[?(@.n>1)].name", ["two"]),
        (".list[?(@.name)].n", [1, 2]),
        (r".dots.a\.b/c", ["x"]),
        ("..n", [1, 2]),
    ],
)
def test_json_paths_find(path: str, found: list[Any]) -> None:
    document = {
        "a": {"b": 1},
        "list": [{"name": "one", "n": 1}, {"name": "two", "n": 2}],
        "dots": {"a.b/c": "x"},
    }
    assert compile_path(path)(document) == found


@pytest.mark.parametrize("path", [".a[", ".a[?(@.b==c)]", ".a[b]"])
def test_a_json_path_that_cannot_be_read_says_where(path: str) -> None:
    with pytest.raises(JsonPathError, match="JSONPath"):
        compile_path(path)
