"""The API server as one function: `ApiServer.handle(request) -> response`.

Steps of a request: authenticate, route, authorize, dispatch to reads, writes, deletes or a subresource, render errors.
"""

from __future__ import annotations

import logging
import os
import time
from typing import TYPE_CHECKING

import msgspec

from volcano.http.message import Response
from volcano.http.reading import Refused, plain
from volcano.local.apiserver import bootstrap, status
from volcano.local.apiserver.access.authn import Authenticator
from volcano.local.apiserver.access.authorizer import Authorizer, Question
from volcano.local.apiserver.access.impersonation import acting_user
from volcano.local.apiserver.access.rbac.aggregation import Aggregation
from volcano.local.apiserver.access.rbac.escalation import Escalation
from volcano.local.apiserver.access.reviews import Reviews
from volcano.local.apiserver.access.tokens import ServiceAccountTokens
from volcano.local.apiserver.admission.chain import Admission
from volcano.local.apiserver.admission.quota import Quotas
from volcano.local.apiserver.call import Call, User
from volcano.local.apiserver.catalog.definitions import COLLECTION as DEFINITIONS, Definitions
from volcano.local.apiserver.catalog.kinds import Kinds
from volcano.local.apiserver.catalog.published import Publisher, version
from volcano.local.apiserver.catalog.registry import Registry
from volcano.local.apiserver.clock import WallClock
from volcano.local.apiserver.faults import PatchError
from volcano.local.apiserver.monitoring import Monitor
from volcano.local.apiserver.routing import Target, parse, verb_of
from volcano.local.apiserver.storage.journal import StorageError, StorageFull
from volcano.local.apiserver.storage.store import Store
from volcano.local.apiserver.strategies.events import Expiry
from volcano.local.apiserver.subresources.table import Subresources
from volcano.local.apiserver.usage import Usage
from volcano.local.apiserver.verbs.deletes import Deletes
from volcano.local.apiserver.verbs.reads import Reads, respond
from volcano.local.apiserver.verbs.writes import Writes

if TYPE_CHECKING:
    from volcano.http.message import Request
    from volcano.local.apiserver.certificates import Pki

_ON_COLLECTIONS = frozenset({"create", "deletecollection", "list", "watch"})

log = logging.getLogger("volcano.apiserver")


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
        tokens = service_accounts or ServiceAccountTokens(store, os.urandom(32))
        self._authenticator = authenticator or Authenticator({}, tokens)
        self._authorizer = Authorizer(store)
        self._hosts = hosts
        self._definitions = Definitions(store, self.registry, WallClock())
        self._expiry = Expiry(store)
        self._aggregation = Aggregation(store)
        self._quotas = Quotas(store)
        self._monitor = Monitor(store)
        self._publisher = Publisher(self.registry)
        admission = Admission.standard(store, self._definitions, Escalation(self._authorizer.resolver), self._quotas)
        kinds = Kinds()
        self._reads = Reads(store)
        self._writes = Writes(store, admission, kinds, WallClock())
        self._deletes = Deletes(self._writes, admission)
        self._reviews = Reviews(self._authorizer, self._authenticator, kinds, WallClock())
        self._subresources = Subresources(self.registry, self._writes, self._deletes, tokens, pki)
        self._usage = Usage(store, pki)
        self._started = False

    @classmethod
    def open(cls, path: str) -> ApiServer:
        """A server over the database file `path`, or over memory only (":memory:")."""
        return cls(Store.open(path))

    async def start(self) -> None:
        """Make what every cluster has and serve users' kinds; `handle` does this when nobody else did."""
        self._started = True
        bootstrap.seed(self._writes, self.registry)
        self._definitions.start()
        self._expiry.start()
        self._aggregation.start()
        self._quotas.start()
        await self.store.settled()

    def stop_watches(self) -> None:
        """End all watches, so that their connections can go."""
        self._reads.close()

    async def close(self) -> None:
        """End all watches, finish what is being written, release the database."""
        self._reads.close()
        await self.store.close()

    async def handle(self, request: Request) -> Response:
        try:
            if not self._started:
                await self.start()
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

    async def _dispatch(self, request: Request) -> Response:
        self._check_host(request)
        user = self._authenticator.user(request)
        target = parse(request.path)
        user = acting_user(request, user, self._authorizer)
        if target is None:
            return self._about_itself(request, user)
        resource = self.registry.find(target.group, target.version, target.plural)
        if resource is None and not self.registry.serves(target.group):
            return _nothing_here()
        if resource is None or (target.namespace and not resource.namespaced):
            raise status.no_such_path()
        call = Call(request, resource, target.namespace, target.name, target.subresource, user)
        started, verb, code = time.perf_counter(), verb_of(request, target), 500
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
        if call.resource.measured:
            return await self._usage.answer(call, verb)
        if call.resource.storage == DEFINITIONS:
            await self._definitions.write_own(self._writes)
        if target.name:
            return await self._on_object(call, verb)
        return await self._on_collection(call, verb)

    async def _on_collection(self, call: Call, verb: str) -> Response:
        resource, request = call.resource, call.request
        if verb not in _ON_COLLECTIONS or verb not in resource.verbs:
            raise status.method_not_allowed()
        if verb == "watch":
            return await self._reads.watch(resource, call.namespace, request)
        if verb == "list":
            return await self._reads.list(resource, call.namespace, request)
        if resource.namespaced and call.namespace is None:
            raise status.method_not_allowed()
        if verb == "deletecollection":
            return await self._deletes.delete_collection(call)
        if resource.stored:
            return await self._writes.create(call)
        if resource.plural == "bindings":
            return await self._subresources.bindings.create(call)
        return await self._reviews.create(call)

    async def _on_object(self, call: Call, verb: str) -> Response:
        method, resource = call.request.method, call.resource
        if resource.namespaced and call.namespace is None:
            raise status.no_such_path()
        if not resource.stored:
            raise status.method_not_allowed()
        if call.subresource and (call.subresource != "status" or not resource.has_status):
            return await self._subresources.handle(call)
        if verb == "watch":
            call.request.query.append(("fieldSelector", f"metadata.name={call.name}"))
            return await self._reads.watch(resource, call.namespace, call.request)
        if method in ("GET", "HEAD"):
            return await self._reads.get(resource, call.namespace, call.name, call.request)
        if method == "PUT":
            return await self._writes.update(call)
        if method == "PATCH":
            return await self._writes.patch(call)
        if method == "DELETE" and not call.subresource:
            return await self._deletes.delete(call)
        raise status.method_not_allowed()

    def _about_itself(self, request: Request, user: User) -> Response:
        """Paths that name no resource: health, version, metrics, discovery, OpenAPI."""
        if not user.is_master:
            self._authorizer.require(user, Question(request.method.lower(), path=request.path))
        if probed := self._monitor.probe(request):
            return probed
        if request.path in ("/version", "/version/"):
            return version()
        if request.path == "/metrics":
            return self._monitor.metrics()
        answer = self._publisher.answer(request)
        if answer is not None:
            return answer
        if request.path.startswith("/api/"):
            raise status.no_such_path()
        return _nothing_here()

    def _check_host(self, request: Request) -> None:
        """Browsers that were lured here by a name of someone else's are sent away."""
        if self._hosts is None or request.peer.unix:
            return
        host = request.headers.get("host", "")
        name = host.rpartition(":")[0] if not host.endswith("]") and ":" in host else host
        if name.strip("[]") not in self._hosts:
            known = ", ".join(sorted(self._hosts))
            raise status.StatusError(403, "Forbidden", f"this server is not {host!r}: call it by one of {known}")


def _nothing_here() -> Response:
    return Response(404, {"content-type": "text/plain; charset=utf-8"}, b"404 page not found\n")


def refusal(refused: Refused) -> Response:
    """The answer to what is refused before it is a whole request: clients look for a Status where it is too large."""
    if refused.status == 413:
        return _failure(status.StatusError(413, "RequestEntityTooLarge", f"Request entity too large: {refused}"))
    return plain(refused)


def _failure(error: PatchError, warnings: dict[str, str] | None = None) -> Response:
    headers = dict(warnings or {})
    if error.status == 429:
        headers["retry-after"] = str((getattr(error, "details", None) or {}).get("retryAfterSeconds", 1))
    return respond(error.status, msgspec.json.encode(status.status_document(error)), headers)
