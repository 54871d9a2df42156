"""Commands that look: get in its forms, watch, describe, explain, discovery, who may do what."""

from __future__ import annotations

import re
import time
from typing import TYPE_CHECKING

import pytest

from tests.kubectl.objects import config_map, pod, vcjob
from tests.waiting import eventually

if TYPE_CHECKING:
    from tests.kubectl.harness import Kubectl

pytestmark = pytest.mark.xdist_group("kubectl")


def test_get_shows_the_columns_of_built_in_kinds(kubectl: Kubectl) -> None:
    kubectl.create(pod("p", node="", schedulerName="nobody"), config_map("c", a="1", b="2"))
    assert kubectl("get", "pods").out.split()[:5] == ["NAME", "READY", "STATUS", "RESTARTS", "AGE"]
    assert re.search(r"^p +0/1 +Pending +0 +\d+s$", kubectl("get", "pods").out, re.MULTILINE)
    assert re.search(r"^p .*<none> +<none> +<none> +<none>$", kubectl("get", "po", "-o", "wide").out, re.MULTILINE)
    assert kubectl("get", "cm", "c", "--no-headers").out.split()[:2] == ["c", "2"]
    assert "app=p" in kubectl("get", "pods", "--show-labels").out
    assert kubectl("get", "pods", "-L", "app").column("APP") == ["p"]


def test_get_shows_the_columns_of_volcanos_kinds(kubectl: Kubectl) -> None:
    kubectl.create(vcjob("j"))
    assert kubectl("get", "vcjob").out.split()[:5] == ["NAME", "STATUS", "MINAVAILABLE", "RUNNINGS", "AGE"]
    assert kubectl("get", "vj", "-o", "wide").column("QUEUE") == ["default"]
    assert kubectl("get", "q", "default").out.split()[:3] == ["NAME", "PARENT", "default"]
    eventually("the podgroup", lambda: kubectl.get("pg")["items"])
    assert kubectl("get", "pg").out.split()[:5] == ["NAME", "STATUS", "MINMEMBER", "RUNNINGS", "AGE"]
    everything = kubectl("get", "vcjob,pg,queue,pods")
    assert "job.batch.volcano.sh/j" in everything.out


def test_get_filters_sorts_and_formats(kubectl: Kubectl) -> None:
    items = [config_map(name, key=name) for name in ("b", "a", "c")]
    for item in items:
        item["metadata"]["labels"] = {"own": "yes"}
    kubectl.create(*items)
    kubectl("label", "cm", "a", "b", "team=x")
    assert kubectl("get", "cm", "-l", "team=x", "-o", "name").out.split() == ["configmap/a", "configmap/b"]
    assert kubectl("get", "cm", "-l", "own,team notin (x)", "-o", "name").out.split() == ["configmap/c"]
    assert kubectl("get", "cm", "--field-selector", "metadata.name=c", "-o", "name").out.split() == ["configmap/c"]
    paths = kubectl("get", "cm", "-l", "own", "--sort-by=.metadata.name", "-o", "jsonpath={.items[*].data.key}").out
    assert paths == "a b c"
    columns = kubectl("get", "cm", "a", "-o", "custom-columns=N:.metadata.name,T:.metadata.labels.team").out.split()
    assert columns == ["N", "T", "a", "x"]
    assert kubectl("get", "cm", "--chunk-size=1", "--sort-by=.metadata.name", "--no-headers").out.split()[0] == "a"
    assert "name: a" in kubectl("get", "cm", "a", "-o", "yaml").out


@pytest.mark.parametrize(
    ("args", "message"),
    [
        (("get", "cm", "none"), 'Error from server (NotFound): configmaps "none" not found'),
        (("get", "nonsense"), 'the server doesn\'t have a resource type "nonsense"'),
        (("get", "pods", "--field-selector", "spec.image=x"), "field label not supported: spec.image"),
    ],
)
def test_get_says_what_is_wrong(kubectl: Kubectl, args: tuple[str, ...], message: str) -> None:
    assert message in kubectl(*args, fails=True).err


def test_watch_follows_changes(kubectl: Kubectl) -> None:
    kubectl.create(config_map("c"))
    with kubectl.start("get", "cm", "c", "-w", "--output-watch-events") as watch:
        assert watch.stdout is not None
        assert watch.stdout.readline().split() == ["EVENT", "NAME", "DATA", "AGE"]
        assert watch.stdout.readline().split()[:3] == ["ADDED", "c", "0"]
        kubectl("patch", "cm", "c", "-p", '{"data":{"a":"b"}}')
        assert watch.stdout.readline().split()[:3] == ["MODIFIED", "c", "1"]
        kubectl("delete", "cm", "c")
        assert watch.stdout.readline().split()[:3] == ["DELETED", "c", "1"]
        watch.terminate()


def test_watch_prints_a_table(kubectl: Kubectl) -> None:
    with kubectl.start("get", "pods", "-w") as watch:
        assert watch.stdout is not None
        time.sleep(0.3)
        kubectl.create(pod("seen", node="", schedulerName="nobody"))
        assert watch.stdout.readline().split() == ["NAME", "READY", "STATUS", "RESTARTS", "AGE"]
        assert watch.stdout.readline().split()[:3] == ["seen", "0/1", "Pending"]
        watch.terminate()


def test_describe_tells_the_story(kubectl: Kubectl) -> None:
    kubectl.create(pod("p", node="", schedulerName="nobody"), vcjob("j"))
    assert re.search(r"Status: +Pending", kubectl("describe", "pod", "p").out)
    assert re.search(r"Min Available: +1", kubectl("describe", "vcjob", "j").out)
    node = kubectl("describe", "node", "local").out
    assert "Allocatable:" in node
    assert "Non-terminated Pods:" in node


@pytest.mark.parametrize(
    ("path", "said"),
    [
        ("vcjob.spec.tasks", "template"),
        ("vcjob", "DESCRIPTION"),
        ("queue.spec", "weight"),
        ("pod.spec.containers.ports", "containerPort"),
        ("deployment.spec.strategy", "rollingUpdate"),
    ],
)
def test_explain_knows_the_fields(anywhere: Kubectl, path: str, said: str) -> None:
    assert said in anywhere("explain", path).out


def test_discovery_lists_what_there_is(anywhere: Kubectl) -> None:
    resources = anywhere("api-resources").out
    for line in (
        r"jobs +vcjob,vj +batch.volcano.sh/v1alpha1 +true +Job",
        r"pods +po +v1 +true +Pod",
        r"queues +q,queue-v1beta1 +scheduling.volcano.sh/v1beta1 +false +Queue",
        r"deployments +deploy +apps/v1 +true +Deployment",
        r"customresourcedefinitions +crd,crds +apiextensions.k8s.io/v1 +false +CustomResourceDefinition",
    ):
        assert re.search(f"^{line}", resources, re.MULTILINE), line
    versions = anywhere("api-versions").out.split()
    assert {"v1", "apps/v1", "batch.volcano.sh/v1alpha1"} <= set(versions)
    assert "pods" in anywhere("api-resources", "--namespaced=true", "--verbs=list", "-o", "name").out.split()


def test_the_server_tells_its_version_and_health(anywhere: Kubectl) -> None:
    version = anywhere("version", "-o", "json").json["serverVersion"]
    assert (version["major"], version["minor"]) == ("1", "36")
    assert anywhere("get", "--raw", "/readyz").out == "ok"
    assert anywhere("get", "--raw", "/api/v1/namespaces/default").json["kind"] == "Namespace"
    assert "is running at" in anywhere("cluster-info").out


def test_the_administrator_may_do_everything(kubectl: Kubectl) -> None:
    assert kubectl("auth", "can-i", "create", "vcjobs").out.strip() == "yes"
    assert kubectl("auth", "can-i", "*", "*", "--all-namespaces").out.strip() == "yes"
    assert "system:masters" in kubectl("auth", "whoami").out
    assert "*.*" in kubectl("auth", "can-i", "--list").out


def test_acting_as_somebody_else(kubectl: Kubectl) -> None:
    assert "bob" in kubectl("auth", "whoami", "--as=bob").out
    assert "cannot list resource" in kubectl("get", "pods", "--as=bob", fails=True).err
    kubectl("create", "role", "reader", "--verb=get,list", "--resource=pods")
    kubectl("create", "rolebinding", "readers", "--role=reader", "--group=dev")
    as_bob = ("get", "pods", "--as=bob", "--as-group=dev", "--as-group=ops")
    eventually("the binding to be known", lambda: "No resources found" in kubectl.run(*as_bob).err)
    assert kubectl("auth", "can-i", "delete", "pods", "--as=bob", "--as-group=dev", fails=True).out.startswith("no")


def test_a_pod_without_a_node_runs_no_commands(kubectl: Kubectl) -> None:
    kubectl.create(pod("p", node="", schedulerName="nobody"))
    assert "does not have a host assigned" in kubectl("exec", "p", "--", "ls", fails=True).err
