"""kr8s: objects that feel like Python, on discovery of its own."""

from __future__ import annotations

import shlex
import socket
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import kr8s
import pytest
from kr8s.objects import ConfigMap, Deployment, Namespace, Pod

from tests.kube_cluster.programs import free_ports
from tests.kubectl.objects import deployment, pod
from tests.waiting import eventually

pytestmark = [
    pytest.mark.xdist_group("clients"),
    pytest.mark.filterwarnings("ignore:Kubernetes version .* is not supported"),  # it trails by one
]


@pytest.fixture
def api(kubeconfig: str, name: str) -> Iterator[Any]:
    api = kr8s.api(kubeconfig=kubeconfig, namespace=name)
    namespace = Namespace({"metadata": {"name": name}}, api=api)
    namespace.create()
    eventually("the service account", lambda: list(api.get("serviceaccounts")))
    yield api
    namespace.delete()


def config_map(api: Any, name: str, labels: dict[str, str] | None = None, **data: str) -> ConfigMap:
    made = ConfigMap({"metadata": {"name": name, "labels": labels or {}}, "data": data}, api=api)
    made.create()
    return made


def started(api: Any, script: str) -> Pod:
    """A pod whose shell script runs."""
    made = Pod(pod("p", "sh", "-c", script), api=api)
    made.create()
    made.wait("condition=Ready", timeout=120)
    return made


def test_lists_select_and_find_kinds_by_short_names(api: Any) -> None:
    config_map(api, "a", {"x": "1"})
    config_map(api, "b", {"x": "2"})

    assert [found.name for found in api.get("cm", label_selector={"x": "2"})] == ["b"]


def test_a_watch_shows_what_is_and_what_comes(api: Any) -> None:
    made = config_map(api, "a", {"x": "1"})
    events = api.watch("configmaps", label_selector={"x": "1"})
    first = next(events)
    made.delete()
    second = next(events)

    assert [(kind, found.name) for kind, found in (first, second)] == [("ADDED", "a"), ("DELETED", "a")]


def test_patches_and_labels(api: Any) -> None:
    made = config_map(api, "a", old="1", kept="1")
    made.patch({"data": {"old": None}})
    made.patch([{"op": "add", "path": "/data/new", "value": "1"}], type="json")
    made.label({"seen": "yes"})
    made.refresh()

    assert (dict(made.data), dict(made.labels)) == ({"kept": "1", "new": "1"}, {"seen": "yes"})


def test_a_log_is_followed(api: Any, tmp_path: Path) -> None:
    go = tmp_path / "go"
    talking = started(api, f"echo one; until [ -e '{go}' ]; do sleep 0.1; done; echo two")
    go.touch()
    assert list(talking.logs(follow=True)) == ["one", "two"]


def test_a_command_runs_in_a_pod(api: Any) -> None:
    done = started(api, "sleep 600").exec(["sh", "-c", "echo loudly; echo quietly >&2"])

    assert (done.stdout, done.stderr, done.returncode) == (b"loudly\n", b"quietly\n", 0)


def test_a_deployment_is_scaled_and_finds_its_pods(api: Any) -> None:
    made = Deployment(deployment("d"), api=api)
    made.create()
    made.scale(2)
    made.wait("condition=Available", timeout=120)

    assert made.replicas == 2
    eventually("the second pod", lambda: len(made.pods()) == 2)


def test_deletions_are_waited_for(api: Any) -> None:
    made = started(api, "sleep 600")
    made.delete()
    made.wait("delete", timeout=120)

    assert not made.exists()


def test_volcanos_kinds_are_found_by_their_plural(api: Any) -> None:
    assert "default" in [queue.name for queue in api.get("queues.scheduling.volcano.sh")]


def test_a_port_of_a_pod_is_forwarded(api: Any) -> None:
    [port] = free_ports(1)
    listening = f"import socket as s; l = s.create_server(('127.0.0.1', {port})); print('open', flush=True)"
    answering = "c, _ = l.accept(); c.sendall(c.recv(9)[::-1])"
    serving = started(api, f"exec python3 -c {shlex.quote(f'{listening}; {answering}')}")
    assert next(iter(serving.logs(follow=True))) == "open"
    forwarded = serving.portforward(remote_port=port, local_port="auto")
    with forwarded as local, socket.create_connection(("127.0.0.1", local), timeout=120) as talk:
        talk.sendall(b"abc")
        assert talk.recv(9) == b"cba"
