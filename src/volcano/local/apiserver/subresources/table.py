"""Which code serves `RESOURCE/NAME/SUBRESOURCE`: one table. `status` is not here, it is an ordinary write."""

from __future__ import annotations

from typing import TYPE_CHECKING

from volcano.api.resources import PODS
from volcano.local.apiserver import status
from volcano.local.apiserver.access.accounts import TokenRequests
from volcano.local.apiserver.subresources.commands import Commands
from volcano.local.apiserver.subresources.logs import Logs
from volcano.local.apiserver.subresources.pod_actions import Bindings, Evictions
from volcano.local.apiserver.subresources.scale import Scales

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable

    from volcano.http.message import Response
    from volcano.local.apiserver.access.tokens import ServiceAccountTokens
    from volcano.local.apiserver.call import Call
    from volcano.local.apiserver.catalog.registry import Registry
    from volcano.local.apiserver.certificates import Pki
    from volcano.local.apiserver.verbs.deletes import Deletes
    from volcano.local.apiserver.verbs.writes import Writes

    Handler = Callable[[Call], Awaitable[Response]]

_ANY = ""


class Subresources:
    """Dispatches to the handler of a subresource and method."""

    def __init__(
        self, registry: Registry, writes: Writes, deletes: Deletes, tokens: ServiceAccountTokens, pki: Pki | None
    ) -> None:
        self.bindings = Bindings(writes, registry.get(PODS))
        scale, commands = Scales(writes).handle, Commands(writes, pki)
        self._handlers: dict[tuple[str, str], dict[str, Handler]] = {
            ("pods", "binding"): {"POST": self.bindings.create},
            ("pods", "eviction"): {"POST": Evictions(writes, deletes).create},
            ("pods", "log"): {"GET": Logs(writes, pki).get},
            ("pods", "exec"): {"GET": commands.run, "POST": commands.run},
            ("pods", "attach"): {"GET": commands.attach, "POST": commands.attach},
            ("pods", "portforward"): {"GET": commands.forward, "POST": commands.forward},
            ("namespaces", "finalize"): {"PUT": writes.finalize_namespace},
            ("serviceaccounts", "token"): {"POST": TokenRequests(writes, tokens).create},
            (_ANY, "scale"): {"GET": scale, "PUT": scale, "PATCH": scale},
        }

    async def handle(self, call: Call) -> Response:
        if call.resource.subresource(call.subresource) is None:
            raise status.no_such_subresource(call.resource, call.subresource)
        for owner in (call.resource.qualified, _ANY):
            handler = self._handlers.get((owner, call.subresource), {}).get(call.request.method)
            if handler is not None:
                return await handler(call)
        raise status.method_not_allowed()
