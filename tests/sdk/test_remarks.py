"""What the server remarks on what is submitted reaches Python programs as warnings, at the line that submits."""

from __future__ import annotations

import asyncio
import warnings
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from volcano.api.resources import NODES
from volcano.sdk import AsyncClient, Client, Flow, ServerWarning
from volcano.sdk.remarks import Remarks

SIMULATED = {"metadata": {"name": "pretended", "labels": {"volcano.sh/simulated": "true"}}}


@pytest.fixture(autouse=True)
def pretended(client: Client) -> Iterator[None]:
    """A simulated node, of which nobody makes use: it is never ready."""
    api = client.connection().api
    client.portal.run(api.create(NODES.untyped, SIMULATED))
    yield
    client.portal.run(api.delete(NODES, "pretended"))


def heard(found: list[warnings.WarningMessage]) -> list[tuple[type[Warning], str]]:
    """The categories of warnings, and the files they point to."""
    return [(one.category, one.filename) for one in found if "this cluster has simulated nodes" in str(one.message)]


ONCE = [(ServerWarning, __file__)]


def test_once_per_text(kubeconfig: Path) -> None:
    with Client(str(kubeconfig)) as client, warnings.catch_warnings(record=True) as found:
        warnings.simplefilter("always")
        client.submit("true").delete()
        assert heard(found) == ONCE
        client.submit("true").delete()
        assert heard(found) == ONCE


def test_by_the_asynchronous_twin(kubeconfig: Path) -> None:
    async def main() -> None:
        async with AsyncClient(str(kubeconfig)) as client:
            await (await client.submit("true")).delete()

    with warnings.catch_warnings(record=True) as found:
        warnings.simplefilter("always")
        asyncio.run(main())
    assert heard(found) == ONCE


def mapped(client: Client) -> Any:
    return client.map(abs, [1])


def scheduled(client: Client) -> Any:
    return client.schedule("0 0 1 1 *", "true")


def flowing(client: Client) -> Any:
    flow = Flow("remarked")
    flow.add("true")
    return client.run(flow)


@pytest.mark.parametrize("submit", [mapped, scheduled, flowing])
def test_however_it_is_submitted(kubeconfig: Path, submit: Any) -> None:
    with Client(str(kubeconfig)) as client, warnings.catch_warnings(record=True) as found:
        warnings.simplefilter("always")
        submit(client).delete()
    assert heard(found) == ONCE


def test_no_word_where_there_is_nothing_to_say(kubeconfig: Path) -> None:
    with Client(str(kubeconfig)) as client, warnings.catch_warnings():
        warnings.simplefilter("error", ServerWarning)
        client.submit("true", template={"spec": {"nodeSelector": {"kubernetes.io/hostname": "local"}}}).delete()


def test_a_text_that_is_new_is_told_beside_one_that_is_known() -> None:
    remarks = Remarks()
    with pytest.warns(ServerWarning) as found:  # noqa: PT031 - the blocks are what is tested
        for texts in (("a",), ("a", "b"), ("b",)):
            with remarks:
                for text in texts:
                    remarks.hear(text)
    assert [str(one.message) for one in found] == ["a", "b"]
