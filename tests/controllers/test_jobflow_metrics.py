"""What is counted of flows, with the real controller and API server."""

from __future__ import annotations

import asyncio

from tests.controllers.bench import NAMESPACE, Bench, bench
from tests.waiting import until
from volcano.api.resources import JOB_FLOWS

FAILED = f'volcano_jobflow_failed_phase_count{{jobflow_namespace="{NAMESPACE}"}} '.encode()


def test_a_namespace_whose_last_flow_is_gone_is_not_counted() -> None:
    async def counted(world: Bench) -> bool:
        status = {"status": {"state": {"phase": "Failed"}}}
        await world.client.patch(JOB_FLOWS, "f", status, NAMESPACE, subresource="status")
        return FAILED + b"1\n" in world.metrics.render()

    async def main() -> None:
        async with bench() as world:
            flow = {"metadata": {"name": "f", "namespace": NAMESPACE}, "spec": {"flows": [{"name": "missing"}]}}
            await world.client.create(JOB_FLOWS.untyped, flow)
            await until(lambda: counted(world))
            await world.client.delete(JOB_FLOWS, "f", NAMESPACE)
            await until(lambda: FAILED not in world.metrics.render())

    asyncio.run(main())
