"""lightkube: typed objects over plain JSON."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import httpx
import pytest
from lightkube import ApiError, Client, KubeConfig
from lightkube.generic_resource import create_global_resource
from lightkube.models.core_v1 import Container, PodSpec
from lightkube.models.meta_v1 import ObjectMeta
from lightkube.resources.core_v1 import ConfigMap, Namespace, Pod, ServiceAccount
from lightkube.types import PatchType

from tests.waiting import eventually

pytestmark = pytest.mark.xdist_group("clients")

PATIENT = httpx.Timeout(120.0)
Queue = create_global_resource("scheduling.volcano.sh", "v1beta1", "Queue", "queues")


@pytest.fixture
def client(kubeconfig: str, name: str) -> Iterator[Client]:
    config = KubeConfig.from_file(kubeconfig)
    client = Client(config=config, namespace=name, field_manager="lightkube", timeout=PATIENT)
    client.create(Namespace(metadata=ObjectMeta(name=name)))
    eventually("the service account", lambda: list(client.list(ServiceAccount)))
    yield client
    client.delete(Namespace, name)


def config_map(name: str, labels: dict[str, str] | None = None, **data: str) -> ConfigMap:
    return ConfigMap(metadata=ObjectMeta(name=name, labels=labels or {}), data=data)


def names(items: Any) -> list[str]:
    return [item.metadata.name for item in items if item.metadata.name != "kube-root-ca.crt"]


def test_lists_are_read_in_pages_and_selected(client: Client) -> None:
    for number in range(5):
        client.create(config_map(f"c{number}", {"half": str(number % 2)}))

    assert names(client.list(ConfigMap, chunk_size=2)) == ["c0", "c1", "c2", "c3", "c4"]
    assert names(client.list(ConfigMap, labels={"half": "1"})) == ["c1", "c3"]


def test_a_watch_goes_on_from_a_list(client: Client) -> None:
    mine: dict[str, Any] = {"labels": {"mine": "yes"}}
    client.create(config_map("old", **mine))
    listing = client.list(ConfigMap, **mine)
    names(listing)
    client.create(config_map("new", **mine))
    client.delete(ConfigMap, "old")
    events = client.watch(ConfigMap, resource_version=listing.resourceVersion, server_timeout=120, **mine)

    assert [(operation, found.metadata.name) for operation, found in (next(events), next(events))] == [
        ("ADDED", "new"),
        ("DELETED", "old"),
    ]


@pytest.mark.parametrize("kind", [PatchType.STRATEGIC, PatchType.MERGE, PatchType.JSON])
def test_patches_of_all_kinds(client: Client, kind: PatchType) -> None:
    client.create(config_map("a", old="1", kept="1"))
    if kind is PatchType.JSON:
        body: Any = [{"op": "remove", "path": "/data/old"}]
    else:
        body = {"data": {"old": None}}

    assert client.patch(ConfigMap, "a", body, patch_type=kind).data == {"kept": "1"}


def test_applies_conflict_until_they_are_forced(client: Client) -> None:
    client.apply(config_map("a", shared="1"))
    with pytest.raises(ApiError) as refused:
        client.apply(config_map("a", shared="2"), field_manager="other")
    forced = client.apply(config_map("a", shared="2"), field_manager="other", force=True)

    assert (refused.value.status.code, refused.value.status.reason) == (409, "Conflict")
    assert forced.data == {"shared": "2"}


def test_a_pod_becomes_ready_and_its_log_is_followed(client: Client, tmp_path: Path) -> None:
    go = tmp_path / "go"
    script = f"echo one; until [ -e '{go}' ]; do sleep 0.1; done; echo two"
    container = Container(name="main", image="busybox", command=["sh", "-c", script])
    spec = PodSpec(nodeName="local", restartPolicy="Never", containers=[container])
    client.create(Pod(metadata=ObjectMeta(name="p"), spec=spec))
    client.wait(Pod, "p", for_conditions=["Ready"])
    go.touch()

    assert list(client.log("p", follow=True)) == ["one\n", "two\n"]


def test_volcanos_kinds_are_generic_resources(client: Client) -> None:
    assert "default" in names(client.list(Queue))
