"""Waiting for a job without holding a worker of Airflow."""

from __future__ import annotations

from collections.abc import AsyncIterator
from typing import Any

from airflow.triggers.base import BaseTrigger, TriggerEvent

from volcano.kube.errors import ApiError
from volcano.sdk import AsyncClient, SdkError


class VolcanoTrigger(BaseTrigger):
    """Fires once the job has finished, or can never start."""

    def __init__(self, job: str, namespace: str, kubeconfig: str = "") -> None:
        super().__init__()
        self.job = job
        self.namespace = namespace
        self.kubeconfig = kubeconfig

    def serialize(self) -> tuple[str, dict[str, Any]]:
        where = f"{type(self).__module__}.{type(self).__qualname__}"
        return where, {"job": self.job, "namespace": self.namespace, "kubeconfig": self.kubeconfig}

    async def run(self) -> AsyncIterator[TriggerEvent]:
        async with AsyncClient(self.kubeconfig, namespace=self.namespace) as client:
            try:
                status = await (await client.job(self.job)).wait()
            except (SdkError, ApiError) as error:
                yield TriggerEvent({"job": self.job, "error": str(error)})
            else:
                yield TriggerEvent({"job": self.job, "phase": str(status.phase)})
