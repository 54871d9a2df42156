"""Local mode answers recorded conversations as the real server did."""

from __future__ import annotations

import asyncio

import pytest

from tests.differential import catalogue, known, recordings, servers
from tests.differential.compare import differences

SEQUENCES = catalogue.sequences()


@pytest.mark.parametrize("name", SEQUENCES)
def test_answers_are_those_of_the_real_server(name: str) -> None:
    found = differences(name, recordings.load(name), asyncio.run(played(name)))

    faults = [str(difference) for difference in found if not known.reason(difference)]
    assert not faults, "\n".join(faults)


async def played(name: str) -> list[dict[str, object]]:
    async with servers.ours() as transport:
        return list(await servers.played(transport, recordings.fresh_namespace(name), SEQUENCES[name]))
