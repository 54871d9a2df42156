"""flow.volcano.sh/v1alpha1: JobFlow (jobs in an order) and JobTemplate (the jobs they are made from)."""

from __future__ import annotations

from typing import Annotated, Final

from msgspec import field

from volcano.api.batch import JobSpec, TaskState
from volcano.api.constraints import Schema
from volcano.api.meta import Model, ObjectMeta, Time

FLOW_PHASES: Final = ("Succeed", "Terminating", "Failed", "Running", "Pending")
RETAIN_POLICIES: Final = ("retain", "delete")


class HttpHeader(Model, kw_only=True):
    name: Annotated[str, Schema(required=True, doc="Name of the header.")] = ""
    value: Annotated[str, Schema(required=True, doc="Its value.")] = ""


class HttpGet(Model, kw_only=True):
    task_name: Annotated[str, Schema(max_length=253, doc="Task whose pods are asked.")] = ""
    path: Annotated[str, Schema(doc="Path to ask for.")] = ""
    port: Annotated[int, Schema(minimum=0, maximum=65535, doc="Port to ask.")] = 0
    http_header: Annotated[HttpHeader, Schema(doc="A header to send.")] = field(
        default_factory=HttpHeader, name="httpHeader"
    )


class TcpSocket(Model, kw_only=True):
    task_name: Annotated[str, Schema(max_length=253, doc="Task whose pods are asked.")] = ""
    port: Annotated[int, Schema(required=True, minimum=0, maximum=65535, doc="Port to connect to.")] = 0


class TaskStatus(Model, kw_only=True):
    task_name: Annotated[str, Schema(max_length=253, doc="Name of the task.")] = ""
    phase: Annotated[str, Schema(max_length=63, doc="Phase its pods must be in.")] = ""


class Probe(Model, kw_only=True):
    http_get_list: Annotated[list[HttpGet], Schema(doc="Requests that must succeed.")] = []
    tcp_socket_list: Annotated[list[TcpSocket], Schema(doc="Ports that must accept connections.")] = []
    task_status_list: Annotated[list[TaskStatus], Schema(doc="Phases that tasks must be in.")] = []


class FlowDependsOn(Model, kw_only=True):
    targets: Annotated[list[str], Schema(doc="Steps that come first.")] = []
    probe: Annotated[Probe | None, Schema(doc="What must hold of them; without it, that they are completed.")] = None


class Patch(Model, kw_only=True):
    job_spec: Annotated[JobSpec, Schema(doc="Fields that replace those of the template.")] = field(
        default_factory=JobSpec
    )


class Flow(Model, kw_only=True):
    """One step of a flow."""

    name: Annotated[str, Schema(required=True, min_length=1, doc="Name of the JobTemplate to run.")] = ""
    depends_on: Annotated[FlowDependsOn | None, Schema(doc="Steps that come first.")] = None
    patch: Annotated[Patch | None, Schema(doc="Changes to the template.")] = None


class JobFlowSpec(Model, kw_only=True):
    flows: Annotated[list[Flow], Schema(doc="The steps.")] = []
    job_retain_policy: Annotated[str, Schema(enum=RETAIN_POLICIES, doc="Whether finished flows keep their jobs.")] = ""


class JobRunningHistory(Model, kw_only=True):
    start_timestamp: Annotated[Time | None, Schema(doc="When the state began.")] = None
    end_timestamp: Annotated[Time | None, Schema(doc="When it ended.")] = None
    state: Annotated[str, Schema(doc="The state.")] = ""


class FlowJobStatus(Model, kw_only=True):
    name: Annotated[str, Schema(doc="Name of the job.")] = ""
    state: Annotated[str, Schema(doc="Its phase.")] = ""
    start_timestamp: Annotated[Time | None, Schema(doc="When it started.")] = None
    end_timestamp: Annotated[Time | None, Schema(doc="When it finished.")] = None
    restart_count: Annotated[int, Schema(format="int32", minimum=0, doc="How often it was restarted.")] = 0
    running_histories: Annotated[list[JobRunningHistory], Schema(doc="The states it has been in.")] = []


class FlowCondition(Model, kw_only=True):
    phase: Annotated[str, Schema(doc="Phase of the job.")] = ""
    create_time: Annotated[Time | None, Schema(doc="When the job was created.")] = None
    running_duration: Annotated[str | None, Schema(doc="How long it has run.")] = None
    task_status_count: Annotated[dict[str, TaskState], Schema(doc="Its pods by task and phase.")] = {}


class JobFlowState(Model, kw_only=True):
    phase: Annotated[str, Schema(enum=FLOW_PHASES, doc="Where the flow is in its life.")] = ""


class JobFlowStatus(Model, kw_only=True):
    pending_jobs: Annotated[list[str], Schema(doc="Jobs waiting.")] = []
    running_jobs: Annotated[list[str], Schema(doc="Jobs running.")] = []
    failed_jobs: Annotated[list[str], Schema(doc="Jobs that failed.")] = []
    completed_jobs: Annotated[list[str], Schema(doc="Jobs that completed.")] = []
    terminated_jobs: Annotated[list[str], Schema(doc="Jobs that were terminated.")] = []
    un_know_jobs: Annotated[list[str], Schema(doc="Jobs in no known state.")] = []
    job_status_list: Annotated[list[FlowJobStatus], Schema(doc="The jobs in detail.")] = []
    conditions: Annotated[dict[str, FlowCondition], Schema(doc="The jobs by name.")] = {}
    state: Annotated[JobFlowState, Schema(doc="Where the flow is in its life.")] = field(default_factory=JobFlowState)


class JobFlow(Model, kw_only=True):
    """Jobs that run in an order."""

    api_version: str = ""
    kind: str = ""
    metadata: ObjectMeta = field(default_factory=ObjectMeta)
    spec: Annotated[JobFlowSpec, Schema(doc="The steps.")] = field(default_factory=JobFlowSpec)
    status: Annotated[JobFlowStatus, Schema(doc="How far they are.")] = field(default_factory=JobFlowStatus)


class JobTemplateStatus(Model, kw_only=True):
    job_depends_on_list: Annotated[list[str], Schema(doc="Jobs made from the template.")] = []


class JobTemplate(Model, kw_only=True):
    """A job for flows to start."""

    api_version: str = ""
    kind: str = ""
    metadata: ObjectMeta = field(default_factory=ObjectMeta)
    spec: Annotated[JobSpec, Schema(doc="The job.")] = field(default_factory=JobSpec)
    status: Annotated[JobTemplateStatus, Schema(doc="Where it is used.")] = field(default_factory=JobTemplateStatus)
