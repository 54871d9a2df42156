"""JobFlows: steps that exist and an order without circles."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from volcano.api.flow import JobFlow
from volcano.webhooks.rules.decode import decoded
from volcano.webhooks.rules.graphs import topological_order
from volcano.webhooks.rules.model import ALLOWED, AdmissionRequest, AdmissionResponse, Cause, Settings, World, denied

NOT_A_DAG: Final = "jobflow Flow is not DAG"


def validate(request: AdmissionRequest, _world: World, _settings: Settings) -> AdmissionResponse:
    if request.operation not in ("CREATE", "UPDATE"):
        return denied("expect operation to be 'CREATE' or 'UPDATE'")
    problem = next(_errors(decoded(request.object, JobFlow)), None)
    return ALLOWED if problem is None else denied(problem.message, [problem])


def _errors(jobflow: JobFlow) -> Iterator[Cause]:
    targets = {flow.name: flow.depends_on.targets if flow.depends_on else [] for flow in jobflow.spec.flows}
    for index, flow in enumerate(jobflow.spec.flows):
        for target in targets[flow.name]:
            if target not in targets:
                where = f"spec.flows[{index}].dependsOn.targets"
                known = ", ".join(targets)
                yield Cause(where, f"{NOT_A_DAG}: vertex is not defined: {target}", f"flows of this object: {known}")
    if topological_order(targets) is None:
        yield Cause("spec.flows", NOT_A_DAG, "break the circle of dependencies")
