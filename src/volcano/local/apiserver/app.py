"""The API server as one function: `ApiServer.handle(request) -> response`.

Steps of a request: authenticate, route, dispatch to reads, writes, deletes or a subresource, render errors.
"""

from __future__ import annotations

import logging
import os
import time
from typing import TYPE_CHECKING, Any

import msgspec

from volcano.api.resources import NAMESPACES, PODS
from volcano.http.message import Response
from volcano.local.apiserver import status
from volcano.local.apiserver.access import Authorizer
from volcano.local.apiserver.accounts import TokenRequests
from volcano.local.apiserver.admission import Admission
from volcano.local.apiserver.authn import ANONYMOUS, Authenticator, unauthorized
from volcano.local.apiserver.call import Call, User
from volcano.local.apiserver.definitions import COLLECTION as DEFINITIONS, Definitions
from volcano.local.apiserver.deletes import Deletes
from volcano.local.apiserver.events import Expiry
from volcano.local.apiserver.faults import PatchError
from volcano.local.apiserver.impersonation import acting_user
from volcano.local.apiserver.journal import StorageError, StorageFull
from volcano.local.apiserver.kinds import Kinds
from volcano.local.apiserver.logs import Logs
from volcano.local.apiserver.monitoring import Monitor
from volcano.local.apiserver.pod_actions import Bindings, Evictions
from volcano.local.apiserver.published import Publisher, version
from volcano.local.apiserver.reads import Reads, respond
from volcano.local.apiserver.registry import Registry
from volcano.local.apiserver.reviews import Reviews
from volcano.local.apiserver.routing import Target, parse
from volcano.local.apiserver.scale import Scales
from volcano.local.apiserver.store import Store
from volcano.local.apiserver.tokens import ServiceAccountTokens
from volcano.local.apiserver.writes import Writes

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable

    from volcano.http.message import Request
    from volcano.local.apiserver.certificates import Pki

JsonObject = dict[str, Any]

log = logging.getLogger("volcano.apiserver")

INITIAL_NAMESPACES = ("default", "kube-system", "kube-public", "kube-node-lease", "volcano-system")


class WallClock:
    """Time stamps of the machine, formatted once per second."""

    def __init__(self) -> None:
        self._second = 0
        self._text = ""

    def timestamp(self, ahead_seconds: int = 0) -> str:
        now = int(time.time())
        if ahead_seconds:
            return _rfc3339(now + ahead_seconds)
        if now != self._second:
            self._second, self._text = now, _rfc3339(now)
        return self._text


class ApiServer:
    """A Kubernetes API over a store. `handle` is all there is to call; `close` when done."""

    def __init__(
        self,
        store: Store,
        authenticator: Authenticator | None = None,
        service_accounts: ServiceAccountTokens | None = None,
        hosts: frozenset[str] | None = None,
        pki: Pki | None = None,
    ) -> None:
        self.store = store
        self.registry = Registry.standard()
        self._accounts = service_accounts or ServiceAccountTokens(store, os.urandom(32))
        self._authenticator = authenticator or Authenticator({}, self._accounts)
        self._hosts = hosts
        self._pki = pki
        self._definitions = Definitions(store, self.registry)
        self._monitor = Monitor(store)
        admission = Admission.standard(store, self._definitions)
        kinds = Kinds()
        self._publisher = Publisher(self.registry)
        self._reads = Reads(store)
        self._writes = Writes(store, admission, kinds, WallClock())
        self._deletes = Deletes(self._writes, admission)
        self._authorizer = Authorizer(store)
        self._reviews = Reviews(self._authorizer, self._authenticator)
        self._subresources = self._subresource_handlers()
        self._started = False

    @classmethod
    def open(cls, path: str) -> ApiServer:
        """A server over the database file `path`, or over memory only (":memory:")."""
        return cls(Store.open(path))

    async def handle(self, request: Request) -> Response:
        if not self._started:
            await self.start()
        try:
            return await self._dispatch(request)
        except PatchError as error:
            return _failure(error)
        except StorageFull as error:
            return _failure(status.StatusError(507, "InsufficientStorage", str(error)))
        except StorageError as error:
            return _failure(status.StatusError(500, "InternalError", str(error)))
        except Exception:
            log.exception("%s %s failed", request.method, request.path)
            message = f"{request.method} {request.path} failed inside the server: see its log"
            return _failure(status.StatusError(500, "InternalError", message))

    def stop_watches(self) -> None:
        """End all watches, so that their connections can go."""
        self._reads.close()

    async def close(self) -> None:
        """End all watches, finish what is being written, release the database."""
        self._reads.close()
        await self.store.close()

    async def _dispatch(self, request: Request) -> Response:
        self._check_host(request)
        user = self._authenticator.user(request)
        target = parse(request.path)
        if target is None:
            return self._about_itself(request, user)
        if user is ANONYMOUS:
            raise unauthorized()
        user = acting_user(request, user, self._authorizer)
        resource = self.registry.find(target.group, target.version, target.plural)
        if resource is None:
            raise status.no_such_path()
        if target.namespace and not resource.namespaced:
            raise status.no_such_path()
        call = Call(request, resource, target.namespace, target.name, target.subresource, user)
        started, verb = time.perf_counter(), _verb(request, target)
        code = 500
        try:
            response = await self._authorized(call, target, verb)
            code = response.status
        except PatchError as error:
            code = error.status
            return _failure(error, call.warning_headers())
        finally:
            self._monitor.count(verb, resource.plural, code, started)
        return response

    async def _authorized(self, call: Call, target: Target, verb: str) -> Response:
        if not call.user.is_master:
            self._authorizer.check(call, verb)
        if call.resource.storage == DEFINITIONS:
            await self._definitions.write_own(self._writes)
        if target.name:
            return await self._on_object(call)
        return await self._on_collection(call, target)

    async def _on_collection(self, call: Call, target: Target) -> Response:
        method, resource = call.request.method, call.resource
        if method in ("GET", "HEAD") and resource.stored:
            if target.watch or call.request.param("watch") in ("true", "1"):
                return await self._reads.watch(resource, call.namespace, call.request)
            return await self._reads.list(resource, call.namespace, call.request)
        if method == "POST":
            if resource.namespaced and call.namespace is None:
                raise status.bad_request(
                    f"{resource.plural} are namespaced: POST to .../namespaces/NAME/{resource.plural}"
                )
            if resource.stored:
                return await self._writes.create(call)
            if resource.plural == "bindings":
                return await self._bindings.create(call)
            return await self._reviews.create(call)
        if method == "DELETE" and "deletecollection" in resource.verbs:
            return await self._deletes.delete_collection(call)
        raise status.method_not_allowed()

    async def _on_object(self, call: Call) -> Response:
        method, resource = call.request.method, call.resource
        if resource.namespaced and call.namespace is None:
            raise status.no_such_path()
        if not resource.stored:
            raise status.method_not_allowed()
        if call.subresource:
            if resource.subresource(call.subresource) is None:
                raise status.no_such_subresource(resource, call.subresource)
            if call.subresource != "status":
                return await self._on_subresource(call)
        if method in ("GET", "HEAD"):
            return await self._reads.get(resource, call.namespace, call.name, call.request)
        if method == "PUT":
            return await self._writes.update(call)
        if method == "PATCH":
            return await self._writes.patch(call)
        if method == "DELETE" and not call.subresource:
            return await self._deletes.delete(call)
        raise status.method_not_allowed()

    async def _on_subresource(self, call: Call) -> Response:
        handlers = self._subresources.get((call.resource.qualified, call.subresource)) or self._subresources.get(
            ("", call.subresource)
        )
        handler = (handlers or {}).get(call.request.method)
        if handler is None:
            raise status.method_not_allowed()
        return await handler(call)

    def _subresource_handlers(self) -> dict[tuple[str, str], dict[str, Callable[[Call], Awaitable[Response]]]]:
        pods = self.registry.get(PODS)
        self._bindings = Bindings(self._writes, pods)
        scale = Scales(self._writes).handle
        return {
            ("pods", "binding"): {"POST": self._bindings.create},
            ("pods", "eviction"): {"POST": Evictions(self._writes, self._deletes).create},
            ("pods", "log"): {"GET": Logs(self._writes, self._pki).get},
            ("namespaces", "finalize"): {"PUT": self._writes.finalize_namespace},
            ("serviceaccounts", "token"): {"POST": TokenRequests(self._writes, self._accounts).create},
            ("", "scale"): {"GET": scale, "PUT": scale, "PATCH": scale},
        }

    def _check_host(self, request: Request) -> None:
        """Browsers that were lured here by a name of someone else's are sent away."""
        if self._hosts is None or request.peer.unix:
            return
        host = request.headers.get("host", "")
        name = host.rpartition(":")[0] if not host.endswith("]") and ":" in host else host
        if name.strip("[]") not in self._hosts:
            raise status.StatusError(
                403, "Forbidden", f"this server is not {host!r}: call it by one of {', '.join(sorted(self._hosts))}"
            )

    def _about_itself(self, request: Request, user: User) -> Response:
        if probed := self._monitor.probe(request):
            return probed
        if request.path == "/version":
            return version()
        if user is ANONYMOUS:
            raise unauthorized()
        if request.path == "/metrics":
            return self._monitor.metrics()
        answer = self._publisher.answer(request)
        if answer is None:
            raise status.no_such_path()
        return answer

    async def start(self) -> None:
        """Make what every cluster has; `handle` does this when nobody else did."""
        self._started = True
        resource = self.registry.get(NAMESPACES)
        for name in INITIAL_NAMESPACES:
            if self.store.latest("namespaces", name) is None:
                self._writes.seed(resource, {"metadata": {"name": name}})
        self._definitions.start()
        Expiry(self.store).start()
        await self.store.settled()


def _verb(request: Request, target: Target) -> str:
    """The Kubernetes verb of a request, as authorization and metrics name it."""
    method = request.method
    if method in ("GET", "HEAD"):
        if target.watch or (request.query and request.param("watch") in ("true", "1")):
            return "watch"
        return "get" if target.name else "list"
    if method == "DELETE" and not target.name:
        return "deletecollection"
    return {"POST": "create", "PUT": "update", "PATCH": "patch", "DELETE": "delete"}.get(method, method.lower())


def _failure(error: PatchError, warnings: dict[str, str] | None = None) -> Response:
    headers = dict(warnings or {})
    if error.status == 429:
        headers["retry-after"] = str(getattr(error, "details", {}).get("retryAfterSeconds", 1))
    return respond(error.status, msgspec.json.encode(status.status_document(error)), headers)


def _rfc3339(seconds: int) -> str:
    return time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime(seconds))
