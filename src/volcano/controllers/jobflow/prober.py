"""Asks pods what the probes of a flow want to know: does a port accept connections, does a path answer with success?

Called by controller.py with the questions of probes.py.
"""

from __future__ import annotations

import asyncio
from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING, Final
from urllib.parse import quote

from msgspec import field

from volcano.api import keys, resources
from volcano.api.meta import Model, ObjectMeta
from volcano.http.client import Endpoint, HttpClient, HttpError

if TYPE_CHECKING:
    from volcano.controllers.jobflow.probes import Question
    from volcano.kube.client import Client

PATIENCE_SECONDS: Final = 1.0
AT_ONCE: Final = 32
_PATH_CHARACTERS: Final = "/?&=%:@!$'()*+,;~-._"


class PodStatusView(Model, kw_only=True):
    phase: str = ""
    pod_ip: str = field(default="", name="podIP")


class AddressedPod(Model, kw_only=True):
    """A pod as far as it can be asked something."""

    metadata: ObjectMeta = field(default_factory=ObjectMeta)
    status: PodStatusView = field(default_factory=PodStatusView)


ADDRESSED_PODS: Final = resources.PODS.as_type(AddressedPod)


class Prober:
    def __init__(self, client: Client) -> None:
        self._client = client
        self._turns = asyncio.Semaphore(AT_ONCE)

    async def ask(self, questions: Iterable[Question], namespace: str) -> frozenset[Question]:
        """The questions to which every pod concerned has said yes, just now."""
        distinct = list(dict.fromkeys(questions))
        pods = {
            (question.job, question.task): await self._pods(question, namespace)
            for question in {(one.job, one.task): one for one in distinct}.values()
        }
        answers = await asyncio.gather(*(self._all_say_yes(one, pods[one.job, one.task]) for one in distinct))
        return frozenset(question for question, yes in zip(distinct, answers, strict=True) if yes)

    async def _pods(self, question: Question, namespace: str) -> Sequence[AddressedPod]:
        selector = f"{keys.JOB_NAME}={question.job}"
        if question.task:
            selector += f",{keys.TASK_SPEC}={question.task}"
        return (await self._client.list(ADDRESSED_PODS, namespace, label_selector=selector)).items

    async def _all_say_yes(self, question: Question, pods: Sequence[AddressedPod]) -> bool:
        addresses = [pod.status.pod_ip for pod in pods if pod.status.phase == "Running"]
        if not addresses or len(addresses) < len(pods) or not all(addresses):
            return False
        return all(await asyncio.gather(*(self._says_yes(question, address) for address in addresses)))

    async def _says_yes(self, question: Question, address: str) -> bool:
        async with self._turns:
            try:
                async with asyncio.timeout(PATIENCE_SECONDS):
                    if question.path is None:
                        return await connects(address, question.port)
                    return await answers(address, question.port, question.path, question.header)
            except (OSError, TimeoutError, HttpError):
                return False


async def connects(address: str, port: int) -> bool:
    _, writer = await asyncio.open_connection(address, port)
    writer.close()
    return True


async def answers(address: str, port: int, path: str, header: tuple[str, str] | None) -> bool:
    """Whether a GET is answered with success (2xx)."""
    headers = {quote(header[0]): " ".join(header[1].split())} if header is not None else {}
    client = HttpClient(Endpoint(address, port))
    try:
        target = quote(path if path.startswith("/") else f"/{path}", safe=_PATH_CHARACTERS)
        async with client.stream("GET", target, headers=headers, timeout=PATIENCE_SECONDS) as response:
            return 200 <= response.status < 300
    finally:
        await client.close()
