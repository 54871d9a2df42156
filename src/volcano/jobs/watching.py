"""What there is, again each time it changes: for those who wait at a terminal or in a program.

Daemons use `kube.informer`, which repeats nothing; here simplicity is worth a list more.
"""

from __future__ import annotations

from contextlib import aclosing
from typing import TYPE_CHECKING, Any

from volcano.kube.pause import pause

if TYPE_CHECKING:
    from collections.abc import AsyncGenerator

    from volcano.api.meta import JsonObject
    from volcano.api.resources import Resource
    from volcano.kube.client import Client
Key = tuple[str, str]

PAUSE_SECONDS = 0.5


async def snapshots(
    client: Client,
    resource: Resource[Any],
    namespace: str | None = None,
    label_selector: str | None = None,
    field_selector: str | None = None,
) -> AsyncGenerator[dict[Key, JsonObject], None]:
    """The objects by namespace and name, now and after each change; always the same dict.

    Survives watches that end or break off. That the server cannot be reached at all is for the transport to outwait.
    """
    from volcano.http.errors import ConnectFailed
    from volcano.kube.errors import Gone

    current: dict[Key, JsonObject] = {}
    while True:
        listing = await client.list(resource.untyped, namespace, label_selector, field_selector)
        current.clear()
        current.update((key_of(item), item) for item in listing.items)
        yield current
        changes = client.watch(
            resource.untyped, namespace, label_selector, field_selector, resource_version=listing.resource_version
        )
        try:
            async with aclosing(changes):
                async for change in changes:
                    if change.type == "DELETED":
                        current.pop(key_of(change.object), None)
                    elif change.type in ("ADDED", "MODIFIED"):
                        current[key_of(change.object)] = change.object
                    else:
                        continue
                    yield current
        except ConnectFailed:
            raise
        except (Gone, OSError):
            pass  # listed again below
        await pause(PAUSE_SECONDS)


async def states(
    client: Client, resource: Resource[Any], name: str, namespace: str | None = None
) -> AsyncGenerator[JsonObject, None]:
    """One object now and each time it changes, until it is gone."""
    found = snapshots(client, resource, namespace, field_selector=f"metadata.name={name}")
    async with aclosing(found):
        async for objects in found:
            if not objects:
                return
            yield next(iter(objects.values()))


def key_of(document: JsonObject) -> Key:
    metadata = document["metadata"]
    return metadata.get("namespace", ""), metadata["name"]
