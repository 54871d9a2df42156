"""Both servers, side by side: recorded answers are current, and random requests are answered alike."""

from __future__ import annotations

import asyncio
import os
import random
from typing import TYPE_CHECKING

import pytest

from tests.differential import catalogue, known, recordings, servers
from tests.differential.compare import Difference, differences
from tests.differential.random_walk import walk
from tests.kube_cluster import control_plane

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from tests.differential.catalogue import Sequence

pytestmark = [pytest.mark.kube, pytest.mark.xdist_group("differential")]

SEQUENCES = catalogue.sequences()
WALKS = 12
STEPS = 60
SOAK_WALKS = 400


@pytest.fixture(scope="module")
def kubeconfig(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    if why := control_plane.absence():
        pytest.skip(why)
    with servers.kubernetes(tmp_path_factory.mktemp("differential")) as path:
        yield path


@pytest.mark.parametrize("name", SEQUENCES)
def test_recordings_are_what_the_server_answers(name: str, kubeconfig: Path) -> None:
    fresh = asyncio.run(on_the_real_server(kubeconfig, name, SEQUENCES[name]))

    assert not unexplained(differences(name, fresh, recordings.load(name))), "record them anew: see recordings.py"


def test_random_requests_are_answered_alike(kubeconfig: Path) -> None:
    """Of the same seeds each time, unless told: what new ones find is for those who look for it (soak)."""
    first = int(os.environ.get("DIFFERENTIAL_SEED") or 1)

    asyncio.run(walks(kubeconfig, range(first, first + WALKS)))


@pytest.mark.soak
@pytest.mark.timeout(3600)
def test_many_random_requests_are_answered_alike(kubeconfig: Path) -> None:
    first = random.randrange(10**9)

    asyncio.run(walks(kubeconfig, range(first, first + SOAK_WALKS)))


async def walks(kubeconfig: Path, seeds: range) -> None:
    for seed in seeds:
        name, sequence = f"random_walk_{seed}", walk(seed, STEPS)
        real = await on_the_real_server(kubeconfig, name, sequence)
        async with servers.ours() as transport:
            ours = await servers.played(transport, recordings.fresh_namespace(name), sequence)
        faults = unexplained(differences(name, real, ours))
        assert not faults, f"DIFFERENTIAL_SEED={seed}\n" + "\n".join(faults)


async def on_the_real_server(kubeconfig: Path, name: str, sequence: Sequence) -> list[dict[str, object]]:
    async with servers.real(kubeconfig) as transport:
        return list(await servers.played(transport, recordings.fresh_namespace(name), sequence))


def unexplained(found: list[Difference]) -> list[str]:
    return [str(difference) for difference in found if not known.reason(difference)]
