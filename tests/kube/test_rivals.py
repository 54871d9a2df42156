"""Two installations in one cluster notice each other by their leases, and none by one that nobody renews."""

from __future__ import annotations

import asyncio

import pytest

from volcano.api.resources import LEASES, NAMESPACES
from volcano.kube import rivals
from volcano.kube.client import Client
from volcano.kube.rivals import Rivals
from volcano.kube.transport import InProcessTransport
from volcano.local.apiserver.app import ApiServer


def test_an_installation_that_renews_the_same_lease_elsewhere_is_a_rival(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(rivals, "LOOK_SECONDS", 0.02)

    async def main() -> None:
        api = ApiServer.open(":memory:")
        client = Client(InProcessTransport(api.handle))

        async def hold(name: str, namespace: str, second: int) -> None:
            spec = {"holderIdentity": f"{namespace}-1", "renewTime": f"2030-01-01T00:00:{second:02}.000000Z"}
            await client.apply(LEASES.untyped, {"metadata": {"name": name}, "spec": spec}, namespace)

        for namespace in ("ours", "dead", "elsewhere", "theirs"):
            await client.create(NAMESPACES.untyped, {"metadata": {"name": namespace}})
            await hold("other" if namespace == "elsewhere" else "volcano", namespace, 0)
        ours = Rivals(client, "volcano", "ours")
        looking = asyncio.create_task(ours.look())
        await asyncio.sleep(0.1)
        assert ours.problem() is None

        second = 0
        async with asyncio.timeout(60):
            while ours.problem() is None:
                second += 1
                for name, namespace in (("volcano", "ours"), ("other", "elsewhere"), ("volcano", "theirs")):
                    await hold(name, namespace, second % 60)
                await asyncio.sleep(0.01)
        assert "lease volcano in namespace theirs (theirs-1): both" in (ours.problem() or "")

        async with asyncio.timeout(60):
            while ours.problem() is not None:  # noqa: ASYNC110 - the other one has stopped
                await asyncio.sleep(0.01)
        looking.cancel()
        await api.close()

    asyncio.run(main())
