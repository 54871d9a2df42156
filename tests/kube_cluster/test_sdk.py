"""The client for Python programs, on local mode and on Kubernetes' own control plane: the same answers."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from typing import TYPE_CHECKING

import pytest

from tests.sdk import work
from volcano.sdk import Client, Failed, Flow, Options, Rejected, Unschedulable

if TYPE_CHECKING:
    from tests.kube_cluster.sites import Site
    from volcano.sdk.functions import Ship

pytestmark = pytest.mark.xdist_group("clusters")

LONG = 120.0
HERE = Options(python=sys.executable)
"""Nodes of both kinds are this machine: its interpreter stands for the image's."""


@pytest.fixture
def client(site: Site) -> Iterator[Client]:
    with Client(str(site.kubectl.kubeconfig), namespace=site.namespace) as client:
        yield client


@pytest.mark.parametrize("ship", ["pickle", "source"])
def test_functions_return(client: Client, ship: Ship) -> None:
    assert client.submit(work.square, 7, ship=ship, **HERE).result(LONG) == 49


def test_gangs_and_commands_give_results_in_order(client: Client) -> None:
    assert client.submit(work.rank, nodes=2, **HERE).result(LONG) == [0, 1]
    assert client.submit("echo $VC_TASK_INDEX", array=2).result(LONG) == ["0\n", "1\n"]


def test_failures_are_told_apart(client: Client) -> None:
    with pytest.raises(LookupError, match="no 3 here"):
        client.submit(work.refuse, 3, **HERE).result(LONG)
    with pytest.raises(Failed) as raised:
        client.submit("echo last words; exit 7").result(LONG)
    assert (raised.value.exit_code, raised.value.log) == (7, "last words")
    with pytest.raises(Rejected, match='"nowhere" not found'):
        client.submit("true", queue="nowhere")
    with pytest.raises(Unschedulable):
        client.submit("true", cpu=1000).result(LONG)


def test_flows_and_executors_run(client: Client, site: Site) -> None:
    flow = Flow("etl")
    flow.add(work.square, 6, name="second", after=[flow.add("true", name="first")], **HERE)
    run = client.run(flow)
    run.wait(LONG)
    assert run["second"].result(LONG) == 36
    with client.executor(1, host="127.0.0.1", **HERE) as executor:
        assert list(executor.map(work.square, range(20), timeout=LONG)) == [number**2 for number in range(20)]
