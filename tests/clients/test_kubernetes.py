"""The official Python client, without a line of its own for local mode."""

from __future__ import annotations

import contextlib
import shlex
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from kubernetes import client, config, dynamic, watch
from kubernetes.client import ApiException, CoreV1Api, V1ConfigMap, V1ObjectMeta
from kubernetes.stream import portforward, stream

from tests.kube_cluster.programs import free_ports
from tests.kubectl.objects import deployment, pod
from tests.waiting import eventually

pytestmark = pytest.mark.xdist_group("clients")


@pytest.fixture(scope="module")
def connection(kubeconfig: str) -> client.ApiClient:
    return config.new_client_from_config(kubeconfig)


@pytest.fixture
def core(connection: client.ApiClient) -> CoreV1Api:
    return CoreV1Api(connection)


@pytest.fixture
def generic(connection: client.ApiClient, tmp_path: Path) -> dynamic.DynamicClient:
    return dynamic.DynamicClient(connection, cache_file=str(tmp_path / "discovered.json"))


@pytest.fixture
def namespace(core: CoreV1Api, name: str) -> Iterator[str]:
    core.create_namespace(client.V1Namespace(metadata=V1ObjectMeta(name=name)))
    eventually("the service account", lambda: core.list_namespaced_service_account(name).items)
    yield name
    core.delete_namespace(name)


def config_map(name: str, **data: str) -> V1ConfigMap:
    return V1ConfigMap(metadata=V1ObjectMeta(name=name), data=data)


def started(core: CoreV1Api, namespace: str, script: str) -> str:
    """The name of a pod whose shell script runs."""
    core.create_namespaced_pod(namespace, pod("p", "sh", "-c", script))
    watching = watch.Watch()
    for event in watching.stream(core.list_namespaced_pod, namespace, timeout_seconds=120):
        if event["object"].status.phase == "Running":
            return "p"
    raise AssertionError("the pod did not start in 120 s")


def test_lists_come_in_pages_of_one_snapshot(core: CoreV1Api, namespace: str) -> None:
    for number in range(5):
        core.create_namespaced_config_map(namespace, config_map(f"c{number}"))
    first = core.list_namespaced_config_map(namespace, limit=2)
    core.delete_namespaced_config_map("c3", namespace)
    names, page = [], first
    while True:
        names += [item.metadata.name for item in page.items]
        if not page.metadata._continue:
            break
        page = core.list_namespaced_config_map(namespace, limit=2, _continue=page.metadata._continue)

    assert first.metadata.remaining_item_count in (3, 4)  # with the certificates that every namespace is given
    assert [found for found in names if found.startswith("c")] == ["c0", "c1", "c2", "c3", "c4"]


def test_a_watch_resumes_where_the_last_one_ended(core: CoreV1Api, namespace: str) -> None:
    version = core.create_namespaced_config_map(namespace, config_map("a")).metadata.resource_version
    core.create_namespaced_config_map(namespace, config_map("b"))
    seen = []
    watching = watch.Watch()
    options: dict[str, Any] = {"field_selector": "metadata.name!=kube-root-ca.crt", "timeout_seconds": 120}
    for event in watching.stream(core.list_namespaced_config_map, namespace, resource_version=version, **options):
        seen.append((event["type"], event["object"].metadata.name))
        break
    core.delete_namespaced_config_map("a", namespace)
    resumed = watching.stream(
        core.list_namespaced_config_map, namespace, resource_version=watching.resource_version, **options
    )
    for event in resumed:
        seen.append((event["type"], event["object"].metadata.name))
        break

    assert seen == [("ADDED", "b"), ("DELETED", "a")]


@pytest.mark.parametrize(
    ("kind", "body"),
    [
        ("application/merge-patch+json", {"data": {"new": "1", "old": None}}),
        ("application/strategic-merge-patch+json", {"data": {"new": "1", "old": None}}),
        (
            "application/json-patch+json",
            [{"op": "add", "path": "/data/new", "value": "1"}, {"op": "remove", "path": "/data/old"}],
        ),
    ],
)
def test_patches_of_all_kinds(core: CoreV1Api, namespace: str, kind: str, body: Any) -> None:
    core.create_namespaced_config_map(namespace, config_map("a", old="1", kept="1"))

    patched = core.patch_namespaced_config_map("a", namespace, body, _content_type=kind)

    assert patched.data == {"kept": "1", "new": "1"}


def test_server_side_apply_keeps_owners_apart(generic: dynamic.DynamicClient, namespace: str) -> None:
    resource = generic.resources.get(api_version="v1", kind="ConfigMap")
    body = {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "a"}, "data": {"shared": "1"}}
    resource.server_side_apply(body, namespace=namespace, field_manager="one")
    with pytest.raises(ApiException) as refused:
        resource.server_side_apply({**body, "data": {"shared": "2"}}, namespace=namespace, field_manager="two")
    forced = resource.server_side_apply(
        {**body, "data": {"shared": "2"}}, namespace=namespace, field_manager="two", force_conflicts=True
    )

    assert refused.value.status == 409
    assert 'conflict with \\"one\\": .data.shared' in refused.value.body
    assert forced.data.to_dict() == {"shared": "2"}


def test_the_dynamic_client_finds_volcanos_kinds(generic: dynamic.DynamicClient) -> None:
    queues = generic.resources.get(api_version="scheduling.volcano.sh/v1beta1", kind="Queue")

    assert "default" in [queue.metadata.name for queue in queues.get().items]


def test_scaling_by_the_scale_of_a_deployment(connection: client.ApiClient, namespace: str) -> None:
    apps = client.AppsV1Api(connection)
    apps.create_namespaced_deployment(namespace, deployment("d"))

    apps.patch_namespaced_deployment_scale("d", namespace, {"spec": {"replicas": 2}})

    assert apps.read_namespaced_deployment("d", namespace).spec.replicas == 2


def test_a_service_leads_to_its_pods(connection: client.ApiClient, core: CoreV1Api, namespace: str) -> None:
    client.AppsV1Api(connection).create_namespaced_deployment(namespace, deployment("d"))
    spec = {"selector": {"app": "d"}, "ports": [{"port": 80}]}
    core.create_namespaced_service(namespace, {"metadata": {"name": "d"}, "spec": spec})
    for event in watch.Watch().stream(core.list_namespaced_endpoints, namespace, timeout_seconds=60):
        subsets = event["object"].subsets
        if subsets and subsets[0].addresses:
            break
    [pod_of_service] = core.list_namespaced_pod(namespace).items

    assert subsets[0].addresses[0].target_ref.name == pod_of_service.metadata.name
    assert subsets[0].addresses[0].ip == pod_of_service.status.pod_ip


def test_a_log_is_read_and_followed(core: CoreV1Api, namespace: str, tmp_path: Path) -> None:
    go = tmp_path / "go"
    name = started(core, namespace, f"echo one; until [ -e '{go}' ]; do sleep 0.1; done; echo two")
    go.touch()

    followed = list(watch.Watch().stream(core.read_namespaced_pod_log, name, namespace))
    whole = core.read_namespaced_pod_log(name, namespace, _preload_content=False).data

    assert followed == ["one", "two"]
    assert whole == b"one\ntwo\n"


def test_a_command_talks_over_a_stream(core: CoreV1Api, namespace: str) -> None:
    name = started(core, namespace, "sleep 600")
    command = ["sh", "-c", "read line; echo heard $line; echo quietly >&2; exit 3"]
    talk = stream(
        core.connect_get_namespaced_pod_exec,
        name,
        namespace,
        command=command,
        stdin=True,
        stdout=True,
        stderr=True,
        _preload_content=False,
    )
    talk.write_stdin("you\n")
    talk.run_forever(timeout=120)

    assert (talk.read_stdout(), talk.read_stderr(), talk.returncode) == ("heard you\n", "quietly\n", 3)


def test_a_port_of_a_pod_is_forwarded(core: CoreV1Api, namespace: str) -> None:
    [port] = free_ports(1)
    serving = (
        f"import http.server as h; h.HTTPServer(('127.0.0.1', {port}), h.SimpleHTTPRequestHandler).serve_forever()"
    )
    name = started(core, namespace, f"exec python3 -c {shlex.quote(serving)}")
    answers = []

    def answered() -> bool:
        """Refused while nothing listens yet."""
        forwarded = portforward(core.connect_get_namespaced_pod_portforward, name, namespace, ports=str(port))
        with contextlib.suppress(OSError), contextlib.closing(forwarded.socket(port)) as talk:
            talk.sendall(b"GET / HTTP/1.0\r\n\r\n")
            answers.append(talk.recv(1000))
        return bool(answers and answers[-1])

    eventually("the port to be open", answered)
    assert answers[-1].startswith(b"HTTP/1.0 200 OK")


def test_rights_are_told(connection: client.ApiClient) -> None:
    attributes = client.V1ResourceAttributes(verb="create", group="batch.volcano.sh", resource="jobs")
    review = client.V1SelfSubjectAccessReview(spec=client.V1SelfSubjectAccessReviewSpec(resource_attributes=attributes))

    assert client.AuthorizationV1Api(connection).create_self_subject_access_review(review).status.allowed


def test_refusals_carry_their_reason(core: CoreV1Api, namespace: str) -> None:
    wrong = pod("A b")
    with pytest.raises(ApiException) as refused:
        core.create_namespaced_pod(namespace, wrong)

    assert (refused.value.status, refused.value.reason) == (422, "Unprocessable Entity")
    assert "metadata.name" in refused.value.body
