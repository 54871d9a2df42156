"""Kubernetes' own controllers and scheduler work on local mode's API server, beside Volcano's."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest
from tools.kube import where

from tests.kube_cluster import control_plane, local_server, volcano
from tests.kube_cluster.jobs import gang
from tests.kube_cluster.programs import Programs
from tests.kubectl import binaries
from tests.kubectl.harness import Kubectl
from tests.kubectl.objects import config_map, deployment
from tests.waiting import eventually

if TYPE_CHECKING:
    from collections.abc import Iterator

    from tests.kube_cluster.control_plane import Address

pytestmark = [pytest.mark.kube, pytest.mark.xdist_group("go-controllers")]

NODES = 2
PATIENT_LEASE = "--leader-elect=true", "--leader-elect-lease-duration=300s", "--leader-elect-renew-deadline=240s"
"""They end by themselves, and nobody starts them again, where a busy machine keeps them from it for longer."""
CONTROLLERS = ",".join(
    f"{name}-controller"
    for name in ("deployment", "garbage-collector", "job", "namespace", "replicaset", "serviceaccount")
)


@pytest.fixture(scope="module")
def kubectl(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Kubectl]:
    """A cluster whose API server is local mode's, and whose controllers are Kubernetes'."""
    if why := control_plane.absence():
        pytest.skip(why)
    root = tmp_path_factory.mktemp("go")
    with Programs(root) as programs:
        address = local_server.start(root, programs)
        start_kubernetes(programs, address)
        volcano.start_controllers(programs, address)
        volcano.start_scheduler(root, programs, address)
        volcano.start_simulated_nodes(root, programs, address, NODES)
        kubectl = Kubectl(binaries.installed(), address.kubeconfig, root, "default")
        eventually("the nodes", lambda: len(kubectl.get("nodes")["items"]) == NODES)
        eventually("the service account", lambda: kubectl.get("sa")["items"])
        yield kubectl


def start_kubernetes(programs: Programs, address: Address) -> None:
    common = [f"--kubeconfig={address.kubeconfig}", "--secure-port=0", *PATIENT_LEASE]
    controllers = [str(where.folder() / "kube-controller-manager"), *common, f"--controllers={CONTROLLERS}"]
    programs.start("kube-controller-manager", controllers)
    programs.start("kube-scheduler", [where.folder() / "kube-scheduler", *common])


def test_a_deployment_is_rolled_out_scheduled_and_collected(kubectl: Kubectl) -> None:
    web = deployment("web", replicas=3)
    del web["spec"]["template"]["spec"]["nodeName"]

    kubectl.create(web)

    assert "successfully rolled out" in kubectl("rollout", "status", "deploy/web", "--timeout=90s").out
    pods = kubectl.get("pods", "-l", "app=web")["items"]
    assert {pod["spec"]["schedulerName"] for pod in pods if pod["spec"]["nodeName"]} == {"default-scheduler"}
    kubectl("delete", "deploy", "web", "--cascade=foreground", "--timeout=90s")
    assert kubectl.get("rs,pods", "-l", "app=web")["items"] == []


def test_orphans_stay(kubectl: Kubectl) -> None:
    web = deployment("orphan")
    del web["spec"]["template"]["spec"]["nodeName"]
    kubectl.create(web)
    kubectl("rollout", "status", "deploy/orphan", "--timeout=90s")

    kubectl("delete", "deploy", "orphan", "--cascade=orphan", "--timeout=90s")

    [kept] = kubectl.get("rs", "-l", "app=orphan")["items"]
    eventually("its owner to be forgotten", lambda: not owners(kubectl, "rs", kept["metadata"]["name"]))
    kubectl("delete", "rs", "-l", "app=orphan", "--timeout=90s")
    eventually("the pods to go", lambda: not kubectl.get("pods", "-l", "app=orphan")["items"])


def owners(kubectl: Kubectl, kind: str, name: str) -> object:
    return kubectl.get(kind, name)["metadata"].get("ownerReferences")


def test_objects_without_an_owner_are_collected(kubectl: Kubectl) -> None:
    kubectl.create(config_map("owner"))
    uid = kubectl.get("cm", "owner")["metadata"]["uid"]
    reference = {"apiVersion": "v1", "kind": "ConfigMap", "name": "owner", "uid": uid}
    owned = config_map("owned")
    owned["metadata"]["ownerReferences"] = [reference]
    kubectl.create(owned)

    kubectl("delete", "cm", "owner")

    eventually("the garbage collector", lambda: "not found" in probe(kubectl, "cm", "owned"))


def probe(kubectl: Kubectl, kind: str, name: str) -> str:
    return kubectl("get", kind, name, "--ignore-not-found", "-o", "name").out or "not found"


def test_a_namespace_is_emptied_and_ends(kubectl: Kubectl) -> None:
    kubectl("create", "namespace", "full")
    kubectl("create", "configmap", "a", "-n", "full")
    eventually("the service account", lambda: "default" in kubectl("get", "sa", "-n", "full").out)

    kubectl("delete", "namespace", "full", "--timeout=90s")

    assert "not found" in kubectl("get", "namespace", "full", fails=True).err


def test_a_gang_is_placed_by_volcano_beside_them(kubectl: Kubectl) -> None:
    kubectl.create(gang("gang", 2))

    kubectl("wait", "--for=jsonpath={.status.state.phase}=Running", "vcjob/gang", "--timeout=90s")
    kubectl("delete", "vcjob", "gang", "--timeout=90s")
    eventually("its pods to go", lambda: not kubectl.get("pods", "-l", "volcano.sh/job-name=gang")["items"])
