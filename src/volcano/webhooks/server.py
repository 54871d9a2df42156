"""The webhook endpoints: one HTTPS path per admission rule, answered from a world that informers keep up to date.

Nothing is refused for what that world does not know yet: see `_judged`.
`manager` starts it; decisions are made by `rules`, the wire format is that of `review`.
"""

from __future__ import annotations

import logging
import time
from collections.abc import Awaitable, Callable, Iterable, Mapping

from volcano.http.message import Request, Response
from volcano.http.metrics import Registry
from volcano.webhooks import review
from volcano.webhooks.rules import ALLOWED, AdmissionRequest, AdmissionResponse, Rule, Settings, World, decide
from volcano.webhooks.rules.documents import mapping, text
from volcano.webhooks.rules.worlds import NotingWorld

log = logging.getLogger(__name__)

BUCKETS = (0.0001, 0.00025, 0.0005, 0.001, 0.0025, 0.005, 0.01, 0.05, 0.1, 0.5, 1.0)
JSON = {"content-type": "application/json"}


class Webhooks:
    """Answers AdmissionReviews. `settings` is asked on every request, so that it may be reloaded meanwhile.

    `current` gets the world as it is now, where `world` may be a moment behind; None where it never is.
    """

    def __init__(
        self,
        rules: Iterable[Rule],
        world: World,
        settings: Callable[[], Settings],
        registry: Registry,
        current: Callable[[], Awaitable[World]] | None = None,
    ) -> None:
        self._rules: Mapping[str, Rule] = {rule.path: rule for rule in rules}
        self._world = world
        self._current = current
        self._settings = settings
        self._requests = registry.counters(
            "admission_requests_total", "Admission requests answered.", "path", "allowed"
        )
        self._seconds = registry.histograms(
            "admission_duration_seconds", "Time to decide one admission request.", "path", buckets=BUCKETS
        )

    async def handle(self, request: Request) -> Response:
        rule = self._rules.get(request.path)
        if rule is None:
            served = ", ".join(self._rules)
            return _refusal(404, f"no webhook is served at {request.path}: there are {served}")
        if request.method != "POST":
            return _refusal(405, f"{request.path} takes POST, not {request.method}")
        content_type = request.headers.get("content-type", "").partition(";")[0].strip()
        if content_type != "application/json":
            return _refusal(415, f"content-type is {content_type or 'not given'}: send application/json")
        started = time.perf_counter()
        try:
            asked = review.decode(request.body)
        except review.BadReview as error:
            return _refusal(400, str(error))
        answer = await self._answer(rule, asked)
        self._requests.labels(rule.path, str(answer.allowed).lower()).inc()
        self._seconds.labels(rule.path).observe(time.perf_counter() - started)
        return Response(200, dict(JSON), review.encode(asked.uid, answer))

    async def _answer(self, rule: Rule, asked: AdmissionRequest) -> AdmissionResponse:
        settings = self._settings()
        try:
            answer = await self._judged(rule, asked, settings)
        except Exception as error:
            log.exception("%s: %s %s/%s could not be judged", rule.path, asked.operation, asked.namespace, asked.name)
            if _is_foreign_pod(asked, settings):
                return ALLOWED
            message = f"the admission rule {rule.path} failed: {error!r}; see the log of vc-webhook-manager"
            return AdmissionResponse(False, message)
        if answer.allowed:
            log.debug("%s: allowed %s %s/%s", rule.path, asked.operation, asked.namespace, asked.name)
        else:
            log.info(
                "%s: refused %s %s/%s: %s", rule.path, asked.operation, asked.namespace, asked.name, answer.message
            )
        return answer

    async def _judged(self, rule: Rule, asked: AdmissionRequest, settings: Settings) -> AdmissionResponse:
        """The answer of the rule; where it looked around and refuses, that of a second look at what there is now."""
        world = NotingWorld(self._world)
        answer = decide(rule, asked, world, settings)
        if answer.allowed or not world.was_asked or self._current is None:
            return answer
        return decide(rule, asked, await self._current(), settings)


def _is_foreign_pod(asked: AdmissionRequest, settings: Settings) -> bool:
    """A pod of another scheduler: our failure must not stop it."""
    if asked.resource != "pods":
        return False
    return text(mapping(asked.object or {}, "spec"), "schedulerName") not in settings.scheduler_names


def _refusal(status: int, message: str) -> Response:
    return Response(status, {"content-type": "text/plain; charset=utf-8"}, f"{message}\n".encode())
