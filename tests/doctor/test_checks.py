"""What the doctor finds in small worlds; each test breaks one thing of a healthy cluster."""

from __future__ import annotations

import base64
import dataclasses
import datetime
from typing import Any

import pytest

from volcano.api import builtin_schemas, crds
from volcano.api.resources import ALL_VOLCANO, Resource
from volcano.doctor import examine
from volcano.doctor.definitions import fields_of
from volcano.doctor.findings import Facts, Severity
from volcano.local.cluster import DEFAULT_SCHEDULER_CONF
from volcano.webhooks.certificates import issue

NOW = datetime.datetime(2030, 6, 1, 12, tzinfo=datetime.UTC)
EXPECTED = [crds.crd(resource, builtin_schemas.load()) for resource in ALL_VOLCANO]


def established(crd: dict[str, Any]) -> dict[str, Any]:
    return crd | {"status": {"conditions": [{"type": "Established", "status": "True"}], "storedVersions": []}}


def queue(name: str, parent: str = "root", state: str = "Open", **spec: Any) -> dict[str, Any]:
    return {"metadata": {"name": name}, "spec": {"parent": parent, **spec}, "status": {"state": state}}


def lease(name: str, namespace: str = "volcano-system", age: int = 3) -> dict[str, Any]:
    renewed = NOW - datetime.timedelta(seconds=age)
    spec = {"holderIdentity": f"{name}-1", "renewTime": renewed.isoformat(), "leaseDurationSeconds": 15}
    return {"metadata": {"name": name, "namespace": namespace}, "spec": spec}


def deployment(namespace: str, *args: str, replicas: int = 1, ready: int = 1) -> dict[str, Any]:
    pod = {"spec": {"containers": [{"args": list(args)}]}}
    metadata = {"name": "volcano-scheduler", "namespace": namespace, "labels": {"app": "volcano-scheduler"}}
    return {"metadata": metadata, "spec": {"replicas": replicas, "template": pod}, "status": {"readyReplicas": ready}}


def certificate(issued: datetime.datetime = NOW) -> str:
    return base64.b64encode(issue(["a.b.svc"], issued).authorities).decode()


def webhook(bundle: str) -> dict[str, Any]:
    client = {"service": {"namespace": "volcano-system", "name": "svc"}, "caBundle": bundle}
    return {"metadata": {"name": "volcano-admission-service-jobs-validate"}, "webhooks": [{"clientConfig": client}]}


def endpoints(*, ready: bool = True) -> dict[str, Any]:
    metadata = {"name": "svc-1", "namespace": "volcano-system", "labels": {"kubernetes.io/service-name": "svc"}}
    return {"metadata": metadata, "endpoints": [{"conditions": {"ready": ready}}]}


def configmap(text: str) -> dict[str, Any]:
    metadata = {"name": "volcano-scheduler-configmap", "namespace": "volcano-system"}
    return {"metadata": metadata, "data": {"volcano-scheduler.conf": text}}


HEALTHY = Facts(
    now=NOW,
    version="v1.36.3",
    objects={
        "customresourcedefinitions": [established(crd) for crd in EXPECTED],
        "queues": [queue("root", ""), queue("default")],
        "leases": [lease("volcano"), lease("vc-controller-manager")],
        "deployments": [deployment("volcano-system")],
        "validatingwebhookconfigurations": [webhook(certificate())],
        "endpointslices": [endpoints()],
        "configmaps": [configmap(DEFAULT_SCHEDULER_CONF)],
        "nodes": [{"metadata": {"name": "n"}, "status": {"allocatable": {"cpu": "4", "memory": "8Gi"}}}],
    },
    refusal="admission webhook denied the request: job 'minAvailable' should not be greater than total replicas",
    expected=ALL_VOLCANO,
)


def found(**changes: Any) -> list[str]:
    """What is found in the healthy cluster with some kinds of objects replaced."""
    facts = dataclasses.replace(HEALTHY, objects={**HEALTHY.objects, **changes})
    return said(facts)


def said(facts: Facts) -> list[str]:
    return [f"{finding.severity}: {finding.subject} {finding.problem}" for finding in examine(facts)]


def test_a_healthy_cluster_has_nothing() -> None:
    assert said(HEALTHY) == []


@pytest.mark.parametrize(
    ("version", "says"),
    [
        ("v1.29.4", ["error: API server is v1.29.4, older than v1.30"]),
        ("v1.40.0", ["warning: API server is v1.40.0, newer than v1.36"]),
        ("v1.30.1", []),
        ("local", ["warning: API server says that its version is 'local'"]),
    ],
)
def test_versions(version: str, says: list[str]) -> None:
    assert said(dataclasses.replace(HEALTHY, version=version)) == says


def test_a_definition_that_is_missing_or_not_served() -> None:
    first, second, *rest = HEALTHY.objects["customresourcedefinitions"]
    taken = {"type": "NamesAccepted", "status": "False", "message": '"jobs" is already in use'}

    says = found(customresourcedefinitions=[first | {"status": {"conditions": [taken]}}, *rest])

    assert says == [
        f'error: CRD {first["metadata"]["name"]} is not served: "jobs" is already in use',
        f"error: CRD {second['metadata']['name']} does not exist",
    ]


@pytest.mark.parametrize("resource", ALL_VOLCANO, ids=lambda resource: resource.kind)
def test_the_fields_that_are_looked_for_are_those_of_the_schema(resource: Resource[Any]) -> None:
    schema = crds.object_schema(resource, builtin_schemas.load())["properties"]
    parts = {part: schema[part].get("properties", {}) for part in ("spec", "status") if part in schema}
    assert fields_of(resource) == {f"{part}.{field}" for part, fields in parts.items() for field in fields}


def test_definitions_of_other_versions() -> None:
    queues = next(crd for crd in EXPECTED if crd["metadata"]["name"] == "queues.scheduling.volcano.sh")
    (version,) = queues["spec"]["versions"]
    spec = dict(version["schema"]["openAPIV3Schema"]["properties"]["spec"])
    spec["properties"] = {name: field for name, field in spec["properties"].items() if name != "dequeueStrategy"}
    older = {**version["schema"]["openAPIV3Schema"], "properties": {"spec": spec}}
    stored = {"conditions": [{"type": "Established", "status": "True"}], "storedVersions": ["v1beta1", "v1"]}
    there = queues | {"spec": {"versions": [version | {"schema": {"openAPIV3Schema": older}}]}, "status": stored}
    others = [crd for crd in HEALTHY.objects["customresourcedefinitions"] if crd["metadata"] != queues["metadata"]]

    drops, newer = found(customresourcedefinitions=[*others, there])

    assert drops.startswith("warning: CRD queues.scheduling.volcano.sh drops fields that this version writes:")
    assert "spec.dequeueStrategy" in drops
    assert newer == (
        "warning: CRD queues.scheduling.volcano.sh has objects stored as v1, which this version does not know"
    )


def test_admission_that_lets_everything_in_or_cannot_be_asked() -> None:
    assert said(dataclasses.replace(HEALTHY, refusal=""))[0].startswith("error: admission let an impossible job in")
    broken = "Internal error occurred: failed calling webhook: connection refused"
    assert said(dataclasses.replace(HEALTHY, refusal=broken)) == [f"error: admission cannot be asked: {broken}"]


@pytest.mark.parametrize(
    ("bundle", "says"),
    [
        ("", "error: webhook volcano-admission-service-jobs-validate trusts no certificate yet"),
        ("bm8=", "error: authority of webhook volcano-admission-service-jobs-validate is not a certificate in PEM"),
        (
            certificate(NOW - datetime.timedelta(days=400)),
            "error: authority of webhook volcano-admission-service-jobs-validate ended on 2030-04-27",
        ),
        (
            certificate(NOW - datetime.timedelta(days=350)),
            "warning: authority of webhook volcano-admission-service-jobs-validate ends on 2030-06-16",
        ),
    ],
    ids=["none", "no certificate", "ended", "ends soon"],
)
def test_authorities_of_webhooks(bundle: str, says: str) -> None:
    assert found(validatingwebhookconfigurations=[webhook(bundle)]) == [says]


def test_a_webhook_without_a_pod() -> None:
    assert found(endpointslices=[endpoints(ready=False)]) == [
        "error: webhook volcano-admission-service-jobs-validate has no ready pod behind service volcano-system/svc"
    ]


def test_daemons_that_hold_no_lease() -> None:
    assert found(leases=[lease("volcano", age=60)]) == [
        "error: vc-scheduler holds no lease 'volcano': none runs, or leader election is off",
        "error: vc-controller-manager holds no lease 'vc-controller-manager': none runs, or leader election is off",
    ]


def complaint(type_: str, reason: str, message: str, age: int, on: str = "volcano") -> dict[str, Any]:
    at = (NOW - datetime.timedelta(seconds=age)).isoformat()
    about = {"kind": "Lease", "name": on}
    return {"involvedObject": about, "type": type_, "reason": reason, "message": message, "lastTimestamp": at}


def test_what_daemons_wait_for_is_repeated_until_it_is_over() -> None:
    waits = complaint("Warning", "Waits", "waits for nodes (forbidden)", 100)
    says = "error: vc-scheduler says: waits for nodes (forbidden)"

    assert found(events=[waits]) == [says]
    assert found(events=[waits, complaint("Normal", "Resumed", "it is there", 50)]) == []
    assert found(events=[complaint("Normal", "Resumed", "it is there", 150), waits]) == [says]
    assert found(events=[complaint("Warning", "Waits", "long ago", 3000)]) == []
    assert found(events=[complaint("Warning", "Waits", "of somebody else", 1, on="other")]) == []
    assert found(events=[waits, complaint("Warning", "UnsupportedVersion", "is v1.29", 10)]) == [
        "error: vc-scheduler says: is v1.29",
        says,
    ]


def test_a_refused_configuration_is_told_until_one_is_in_force() -> None:
    refused = complaint("Warning", "ConfigurationRejected", "it stays as it was: no action alocate", 100)
    waits = complaint("Warning", "Waits", "waits for nodes (forbidden)", 100)
    says = "error: vc-scheduler says: it stays as it was: no action alocate"

    assert found(events=[refused]) == [says]
    assert found(events=[refused, complaint("Normal", "ConfigurationLoaded", "it is in force", 50)]) == []
    assert found(events=[complaint("Normal", "ConfigurationLoaded", "it is in force", 150), refused]) == [says]
    assert found(events=[refused, complaint("Normal", "Resumed", "it is there", 50)]) == [says]
    assert found(events=[waits, complaint("Normal", "ConfigurationLoaded", "it is in force", 50)]) == [
        "error: vc-scheduler says: waits for nodes (forbidden)"
    ]


def test_what_the_webhooks_wait_for_is_repeated_too() -> None:
    waits = complaint("Warning", "Waits", "the certificate cannot be had", 100)
    service = {"kind": "Service", "name": "volcano-admission-service"}
    ours = waits | {"involvedObject": service, "source": {"component": "vc-webhook-manager"}}

    assert found(events=[ours]) == ["error: vc-webhook-manager says: the certificate cannot be had"]
    assert found(events=[ours | {"source": {"component": "endpoint-controller"}}]) == []


def test_a_node_that_was_deleted_under_its_pods() -> None:
    message = "node n1 was deleted with 3 pods on it: their room stays taken if it comes back"
    gone = complaint("Warning", "NodeDeleted", message, 100, on="n1")
    gone["involvedObject"]["kind"] = "Node"

    def pod(node: str = "n1", phase: str = "Running", age: int = 200) -> dict[str, Any]:
        created = (NOW - datetime.timedelta(seconds=age)).isoformat()
        return {"metadata": {"creationTimestamp": created}, "spec": {"nodeName": node}, "status": {"phase": phase}}

    assert found(events=[gone], pods=[pod()]) == [f"warning: {message}"]
    assert found(events=[gone | {"lastTimestamp": "2030-05-01T00:00:00+00:00"}], pods=[pod()]) == []
    assert found(events=[gone | {"reason": "RegisteredNode"}], pods=[pod()]) == []
    assert found(events=[gone]) == []
    assert found(events=[gone], pods=[pod("n2"), pod(phase="Failed"), pod(age=50)]) == []

    blind = dataclasses.replace(HEALTHY, objects={**HEALTHY.objects, "events": [gone]}, unseen={"pods": "forbidden"})
    assert f"warning: {message}" in said(blind)


def test_two_installations_decide_about_the_same_pods() -> None:
    leases = [*HEALTHY.objects["leases"], lease("volcano", "other")]
    deployments = [deployment("volcano-system"), deployment("other", "--leader-elect=true")]

    says = found(leases=leases, deployments=deployments)

    assert says == [
        "error: vc-scheduler leads in 2 namespaces at once: volcano-system (volcano-1) and other (volcano-1)",
        "error: schedulerName volcano is claimed by other/volcano-scheduler and volcano-system/volcano-scheduler",
    ]


def test_schedulers_of_different_names_are_no_rivals() -> None:
    assert found(deployments=[deployment("volcano-system"), deployment("other", "--scheduler-name=mine")]) == []


def test_deployments_that_are_not_ready() -> None:
    says = found(deployments=[deployment("volcano-system", replicas=2, ready=1)])
    assert says == ["warning: deployment volcano-system/volcano-scheduler has 1 of 2 pods ready"]


def test_queues_that_can_never_run_anything() -> None:
    says = found(
        queues=[
            queue("root", ""),
            queue("closed", state="Closed"),
            queue("below", "closed"),
            queue("orphan", "nowhere"),
            queue("a", "b"),
            queue("b", "a"),
            queue("none", capability={"cpu": "0"}),
            queue("greedy", capability={"cpu": "2"}, deserved={"cpu": "3"}),
            queue("misspelt", capability={"nvidia.com/gpus": "8"}),
        ]
    )
    assert says == [
        "warning: queue closed is Closed: nothing starts in it",
        "warning: queue below is below queue closed, which is Closed: nothing starts in it",
        "error: queue orphan is below queue nowhere, which does not exist",
        "error: queue a is its own ancestor: a → b → a",
        "error: queue b is its own ancestor: b → a → b",
        "error: queue none may use no cpu: spec.capability.cpu is 0",
        "warning: queue greedy deserves 3 cpu but may use 2 at most",
        "warning: queue misspelt counts nvidia.com/gpus in spec.capability, which no node has",
    ]


def test_a_queue_that_was_deleted_under_its_jobs() -> None:
    def group(name: str, queue_name: str, phase: str = "Running") -> dict[str, Any]:
        metadata = {"name": name, "namespace": "team"}
        return {"metadata": metadata, "spec": {"queue": queue_name}, "status": {"phase": phase}}

    groups = [group("a", "gone"), group("b", "gone"), group("c", "default"), group("d", "past", "Completed")]
    assert found(podgroups=groups) == [
        "error: queue gone does not exist, and podgroup team/a and 1 more is in it: what runs goes on, nothing else "
        "starts"
    ]


def test_a_configuration_that_cannot_be_read_and_one_that_misleads() -> None:
    (says,) = found(configmaps=[configmap("actions: [")])
    assert says.startswith("error: volcano-scheduler.conf in configmap volcano-system/volcano-scheduler-configmap")
    assert any("without allocate" in each for each in found(configmaps=[configmap('actions: "enqueue"')]))


def test_a_configuration_is_judged_as_by_vcctl_config_lint_and_ours_is_not() -> None:
    (says,) = found(configmaps=[configmap(DEFAULT_SCHEDULER_CONF.replace("drf", "drff"))])

    assert says == (
        "warning: volcano-scheduler.conf in configmap volcano-system/volcano-scheduler-configmap "
        "plugin 'drff' is not known and is left out: did you mean 'drf'?"
    )


def test_what_may_not_be_read_is_named_and_not_judged() -> None:
    facts = dataclasses.replace(HEALTHY, objects={}, unseen={"queues": "queues is forbidden"})

    says = said(facts)

    assert says[0] == "warning: queues cannot be read: queues is forbidden"
    assert "error: queues do not exist" not in says


def test_local_mode_needs_no_leases() -> None:
    facts = dataclasses.replace(
        HEALTHY, version="v1.36.0+volcano", objects={**HEALTHY.objects, "leases": [], "deployments": []}
    )
    assert not [finding for finding in examine(facts) if finding.severity is Severity.ERROR]
