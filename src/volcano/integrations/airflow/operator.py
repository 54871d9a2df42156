"""A task of Airflow that is a job of Volcano."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Any, ClassVar

from airflow.exceptions import AirflowException
from airflow.sdk import BaseOperator

from volcano.integrations.airflow.trigger import VolcanoTrigger
from volcano.kube.errors import ApiError
from volcano.sdk import Client, Job, Options, SdkError

LABEL = "volcano.sh/airflow-run"


class VolcanoOperator(BaseOperator):
    """Submits `work` (whatever `Client.submit` takes) and returns its result to XCom.

    With `deferrable` nothing of Airflow but the triggerer waits. A task that is started again after its worker was
    lost takes up the job that its first start has submitted; one that Airflow stops cancels it.
    """

    template_fields: ClassVar[Sequence[str]] = ("work", "arguments", "options")

    def __init__(
        self,
        *,
        work: Any,
        arguments: Sequence[Any] = (),
        options: Options | None = None,
        kubeconfig: str = "",
        deferrable: bool = False,
        **settings: Any,
    ) -> None:
        super().__init__(**settings)
        self.function = work if callable(work) else None  # not a template: Airflow would call it
        self.work = None if callable(work) else work
        self.arguments = arguments
        self.options = options or Options()
        self.kubeconfig = kubeconfig
        self.deferrable = deferrable
        self._job: Job | None = None

    def execute(self, context: Any) -> Any:
        with Client(self.kubeconfig) as client:
            job = self._job = self._found_or_submitted(client, context)
            if self.deferrable:
                trigger = VolcanoTrigger(job.name, job.namespace, self.kubeconfig)
                self.defer(trigger=trigger, method_name="execute_complete")
            return self._result(job)

    def execute_complete(self, context: Any, event: dict[str, str]) -> Any:
        """Go on after the trigger."""
        if "error" in event:
            raise AirflowException(event["error"])
        with Client(self.kubeconfig) as client:
            return self._result(client.job(event["job"], self.options.get("namespace", "")))

    def on_kill(self) -> None:
        if self._job is not None:
            with Client(self.kubeconfig) as client:
                client.job(self._job.name, self._job.namespace).cancel()

    def _found_or_submitted(self, client: Client, context: Any) -> Job:
        """The job of this try of the task, submitted at most once."""
        labels = {LABEL: run_label(context["ti"])}
        found = client.jobs(labels, namespace=self.options.get("namespace", ""))
        if found:
            return found[0]
        given: Options = {**self.options, "labels": {**self.options.get("labels", {}), **labels}}
        return client.submit(self.function or self.work, *self.arguments, **given)

    def _result(self, job: Job) -> Any:
        try:
            return job.result()
        except (SdkError, ApiError) as error:
            raise AirflowException(str(error)) from error


def run_label(task_instance: Any) -> str:
    """What tells this try of this task from all others, as the value of a label."""
    from hashlib import sha256

    parts = [
        str(getattr(task_instance, name, "")) for name in ("dag_id", "task_id", "run_id", "map_index", "try_number")
    ]
    digest = sha256("\0".join(parts).encode()).hexdigest()[:16]
    return f"{re.sub(r'[^A-Za-z0-9]+', '-', parts[1])[:40].strip('-') or 'task'}.{digest}"
