"""Performs plans: the writes of one step, in an order that survives being interrupted anywhere.

Called by controller.py. Whatever fails is raised after a Kubernetes event that says what failed.
"""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import Awaitable, Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, cast

import msgspec

from volcano.api import resources
from volcano.api.batch import JobStatus
from volcano.api.meta import JsonObject, PartialObject, controller_of
from volcano.api.resources import Resource
from volcano.controllers.fanout import Turns, each
from volcano.controllers.job import after, pods
from volcano.controllers.job.keypairs import new_key_pair
from volcano.controllers.job.kill import OUT_OF_SYNC_PATCH
from volcano.controllers.job.members import Member, member_of
from volcano.controllers.runtime import SERVER_TROUBLE, Context, NotAllowed, Waits
from volcano.controllers.statuses import difference
from volcano.controllers.views import POD_VIEWS, PodView
from volcano.kube.client import PatchKind
from volcano.kube.errors import AlreadyExists, ApiError, Conflict, Forbidden, NotFound

if TYPE_CHECKING:
    from volcano.api.batch import Job
    from volcano.api.scheduling import PodGroup
    from volcano.controllers.job.facts import Facts
    from volcano.controllers.job.ledger import Ledger, Pods
    from volcano.controllers.job.plan import Attachment, Claim, Plan, Reference, Replica

ATTACHED: Mapping[str, Resource[JsonObject]] = {
    resource.kind: resource.untyped
    for resource in (resources.CONFIGMAPS, resources.SECRETS, resources.SERVICES, resources.NETWORK_POLICIES)
}
PODGROUPS = resources.PODGROUPS.untyped
PODGROUP_HEADS = resources.PODGROUPS.as_type(PartialObject)
CLAIMS = resources.PERSISTENT_VOLUME_CLAIMS.untyped
PODGROUP_PATIENCE_SECONDS = 30.0
"""How long a podgroup that was created may stay unseen before it is created again. Each job that is not admitted by
then is looked at once more, so it is longer than ten thousand of them wait as a rule."""
POD_PATIENCE_SECONDS = 60.0
"""How long a pod that was created may stay unseen before we ask for it."""
NO_STATUS = JobStatus()
_NAMED_ERRORS = 3


class PlanFailed(ValueError):
    """Part of a plan was refused."""


class Obstacle(Waits):
    """Something is in the way that somebody else must clear; `reason` is a word for the job's status."""

    reason = ""


class NotOurs(Obstacle):
    """The name of something the job needs is taken by somebody else."""

    reason = after.NAME_TAKEN


class ClaimMissing(Obstacle):
    """A claim that the job names does not exist."""

    reason = after.CLAIM_MISSING


class Performer:
    def __init__(self, context: Context, members: Pods) -> None:
        self._context = context
        self._client = context.client
        self._pods = members
        self._turns = Turns()

    async def perform(self, job: Job, plan: Plan, ledger: Ledger, facts: Facts, podgroup: PodGroup | None) -> None:
        """Do everything the plan says."""
        for note in plan.notes:
            self.note(job, note.type, note.reason, note.message)
        if plan.mark_evicted:
            await self._mark(job, plan.evict)
        if plan.intent is not None:
            await self._write_status(job, plan.intent, ledger)
        if plan.claims:
            await self._told(job, "PVCError", "Failed to create PVC, err", self._keep_claims(job, plan.claims, ledger))
        if plan.annotate or plan.claim_names:
            await self._edit(job, plan, ledger)
        if plan.attach:
            doing = self._attach(job, plan.attach, ledger)
            await self._told(job, "PluginError", "Execute plugin when job add failed, err", doing)
        if plan.podgroup_create or plan.podgroup_patch:
            doing = self._keep_podgroup(job, plan, ledger)
            await self._told(job, "PodGroupError", "Failed to create PodGroup, err", doing)
        if plan.evict:
            await self._evict(job, plan.evict)
        if plan.create:
            await self._create(job, plan, facts)
        if plan.detach:
            await self._detach(job, plan.detach, ledger)
        if plan.podgroup_delete:
            await self._delete_podgroup(job, plan.podgroup_delete, podgroup, ledger)
        if plan.status is not None:
            await self._write_status(job, plan.status, ledger)

    async def explain(self, job: Job, why: after.Hold, ledger: Ledger) -> None:
        """Let the status say what is in the way, until it is not."""
        current = ledger.written or job
        with contextlib.suppress(ApiError, OSError, Waits):
            await self._write_status(job, after.held(current, why, self._context.now()), ledger)

    def note(self, job: Job, type_: str, reason: str, message: str) -> None:
        self._context.recorder.record(resources.JOBS, job, type_, reason, message)

    # The job itself

    async def _write_status(self, job: Job, status: JobStatus, ledger: Ledger) -> None:
        """Merge the difference to what the server has, if that is what we decided on; its answer is our newest view."""
        current = ledger.written or job
        change = difference(msgspec.to_builtins(current.status), msgspec.to_builtins(status))
        if not change:
            return
        try:
            ledger.written = await self._send_status(current, change)
        except NotFound:
            return
        except Conflict as error:
            ledger.in_doubt = True
            raise Waits(f"job {current.metadata.key} is not what it was any more: {error}") from None
        except SERVER_TROUBLE:
            ledger.in_doubt = True
            raise

    async def _send_status(self, job: Job, change: JsonObject) -> Job:
        """A first status is sent as a whole: a sixth less work for the API server, and there is nothing to keep."""
        meta, kind = job.metadata, resources.JOBS
        head = {"uid": meta.uid, "resourceVersion": meta.resource_version}
        if job.status != NO_STATUS:
            body = {"metadata": head, "status": change}
            return await self._client.patch(kind, meta.name, body, meta.namespace, subresource="status")
        head |= {"name": meta.name, "namespace": meta.namespace}
        whole = {"apiVersion": kind.api_version, "kind": kind.kind, "metadata": head, "status": change}
        return await self._client.update(kind, whole, "status")

    async def _edit(self, job: Job, plan: Plan, ledger: Ledger) -> None:
        meta, status = job.metadata, (ledger.written or job).status
        if plan.annotate:
            body: JsonObject = {"metadata": {"uid": meta.uid, "annotations": dict(plan.annotate)}}
            ledger.written = await self._client.patch(resources.JOBS, meta.name, body, meta.namespace)
        if plan.claim_names:
            operations: list[JsonObject] = [{"op": "test", "path": "/metadata/uid", "value": meta.uid}]
            for position, name in plan.claim_names.items():
                path = f"/spec/volumes/{position}"
                mount = job.spec.volumes[position].mount_path
                operations.append({"op": "test", "path": f"{path}/mountPath", "value": mount})
                operations.append({"op": "add", "path": f"{path}/volumeClaimName", "value": name})
            ledger.written = await self._client.patch(
                resources.JOBS, meta.name, operations, meta.namespace, kind=PatchKind.JSON
            )
        if (ledger.written or job).status != status:
            raise Waits(f"job {meta.key} is not what it was any more: decided anew")

    async def _told(self, job: Job, reason: str, message: str, work: Awaitable[None]) -> None:
        """Do `work`; tell the user when it is refused, or when somebody is in its way."""
        try:
            await work
        except (ApiError, ValueError, Obstacle) as error:
            self.note(job, "Warning", reason, f"{message}: {error}")
            raise

    # What stands beside the pods

    async def _keep_claims(self, job: Job, claims: Iterable[Claim], ledger: Ledger) -> None:
        for claim in claims:
            key = f"PersistentVolumeClaim/{claim.name}"
            if key in ledger.ensured:
                continue
            if claim.manifest is None:
                await self._find_claim(job, claim.name)
            else:
                try:
                    await self._client.create(CLAIMS, claim.manifest, job.metadata.namespace)
                except AlreadyExists:
                    await self._check_owner(CLAIMS, claim.name, job)
            ledger.ensured[key] = True

    async def _find_claim(self, job: Job, name: str) -> None:
        try:
            await self._client.get(CLAIMS, name, job.metadata.namespace)
        except NotFound:
            raise ClaimMissing(
                f"pvc {name} is not found, the job will be in the Pending state until the PVC is created"
            ) from None

    async def _attach(self, job: Job, attachments: Iterable[Attachment], ledger: Ledger) -> None:
        for attachment in attachments:
            reference = attachment.reference
            key = f"{reference.kind}/{reference.name}"
            contents = tracked(attachment.manifest, attachment)
            if key in ledger.ensured and ledger.ensured[key] == contents:
                continue
            await self._ensure(job, attachment)
            ledger.ensured[key] = contents

    async def _ensure(self, job: Job, attachment: Attachment) -> None:
        resource, name = ATTACHED[attachment.reference.kind], attachment.reference.name
        namespace = job.metadata.namespace
        manifest = attachment.manifest
        if attachment.needs_key_pair:
            try:
                await self._refresh(resource, name, job, attachment)
            except NotFound:
                pair = await asyncio.to_thread(new_key_pair)
                manifest = {**manifest, "data": {**manifest["data"], **pair}}
            else:
                return
        try:
            await self._client.create(resource, manifest, namespace)
        except AlreadyExists:
            await self._refresh(resource, name, job, attachment)

    async def _refresh(self, resource: Resource[JsonObject], name: str, job: Job, attachment: Attachment) -> None:
        """Bring the tracked fields of an existing attachment up to date."""
        present = await self._check_owner(resource, name, job)
        if tracked(present, attachment) == tracked(attachment.manifest, attachment):
            return
        for path in attachment.tracked:
            *parents, last = path.split(".")
            target, source = present, attachment.manifest
            for parent in parents:
                target, source = target.setdefault(parent, {}), source[parent]
            target[last] = source[last]
        await self._client.update(resource, present)

    async def _check_owner(self, resource: Resource[JsonObject], name: str, job: Job) -> JsonObject:
        """The object of this name; refuses one that is not the job's."""
        present = await self._client.get(resource, name, job.metadata.namespace)
        owners = present["metadata"].get("ownerReferences") or []
        if not any(owner.get("uid") == job.metadata.uid for owner in owners):
            raise NotOurs(
                f"{resource.kind} '{name}' exists and does not belong to job {job.metadata.key}: "
                "rename the job, or delete the object"
            )
        return present

    async def _detach(self, job: Job, references: Iterable[Reference], ledger: Ledger) -> None:
        for reference in references:
            ledger.ensured.pop(f"{reference.kind}/{reference.name}", None)
            resource = ATTACHED[reference.kind]
            try:
                present = await self._check_owner(resource, reference.name, job)
                uid = present["metadata"].get("uid")
                await self._client.delete(resource, reference.name, job.metadata.namespace, uid=uid)
            except (NotFound, NotOurs):
                continue  # gone already, or never the job's

    # The podgroup

    async def _keep_podgroup(self, job: Job, plan: Plan, ledger: Ledger) -> None:
        namespace = job.metadata.namespace
        if plan.podgroup_create is not None:
            name = plan.podgroup_create["metadata"]["name"]
            now = asyncio.get_running_loop().time()
            made = ledger.ensured.get(name)
            if isinstance(made, float) and now - made < PODGROUP_PATIENCE_SECONDS:
                return  # the watch has not shown it yet
            is_new = True
            try:
                await self._client.create(PODGROUP_HEADS, plan.podgroup_create, namespace)
            except AlreadyExists:
                await self._check_owner(PODGROUPS, name, job)
                is_new = False
            ledger.ensured[name] = now
            if plan.is_on_credit and not is_new:
                raise Waits(f"podgroup {namespace}/{name} was made before: it is as the watch will show")
        if plan.podgroup_patch is not None:
            name, change = plan.podgroup_patch
            await self._client.patch(PODGROUPS, name, change, namespace)

    async def _delete_podgroup(self, job: Job, name: str, podgroup: PodGroup | None, ledger: Ledger) -> None:
        uid = podgroup.metadata.uid if podgroup is not None else None
        with contextlib.suppress(NotFound):
            await self._client.delete(resources.PODGROUPS, name, job.metadata.namespace, uid=uid or None)
        ledger.podgroup_gone = uid or ""
        ledger.ensured.pop(name, None)

    # Pods

    async def _create(self, job: Job, plan: Plan, facts: Facts) -> None:
        tasks = {replica.task for replica in plan.create}
        moulds = {
            task: pods.mould(job, job.spec.tasks[task], facts.plugins, forwarding=facts.forwards) for task in tasks
        }

        async def create(replica: Replica) -> None:
            body = cast("JsonObject", msgspec.Raw(moulds[replica.task].body(replica.index)))  # encoded already
            self._pods.asked_for(job.metadata.uid, replica.name)
            try:
                pod = await self._client.create(POD_VIEWS, body, job.metadata.namespace)
            except AlreadyExists:
                pod = await self._existing_pod(job, replica.name)
            finally:
                self._pods.answered(job.metadata.uid, replica.name)
            self._pods.created(member_of(pod), asyncio.get_running_loop().time())

        failures = await each(plan.create, create, self._turns)
        if failures:
            self._fail(job, failures, "FailedCreate", "Error creating pods", "create", len(plan.create))

    async def _existing_pod(self, job: Job, name: str) -> PodView:
        """A pod of this name exists: ours from before a restart or a lost answer, or somebody else's."""
        pod = await self._client.get(POD_VIEWS, name, job.metadata.namespace)
        owner = controller_of(pod.metadata)
        if owner is None or owner.uid != job.metadata.uid:
            whose = f"{owner.kind} {owner.name} ({owner.uid})" if owner else "nobody"
            raise NotOurs(f"pod '{name}' exists and belongs to {whose}: it must go before the job can start")
        return pod

    async def look_for(self, job: Job, unseen: Iterable[Member]) -> list[Member]:
        """Those of the pods that are gone: made and ended while the watch was broken, so that it tells of neither."""
        gone = []
        for member in unseen:
            try:
                pod = await self._client.get(POD_VIEWS, member.name, job.metadata.namespace)
            except NotFound:
                gone.append(member)
            else:
                if pod.metadata.uid != member.uid:
                    gone.append(member)
        return gone

    async def _mark(self, job: Job, doomed: Sequence[Member]) -> None:
        """Mark pods before anything is written: looks at the job delete the marked ones, if we do not get there."""

        async def mark(member: Member) -> None:
            with contextlib.suppress(NotFound):
                await self._client.patch(POD_VIEWS, member.name, OUT_OF_SYNC_PATCH, job.metadata.namespace)

        failures = await each([member for member in doomed if not member.out_of_sync], mark, self._turns)
        if failures:
            self._fail(job, failures, "FailedDelete", "Error deleting pods", "mark", len(doomed))

    async def _evict(self, job: Job, doomed: Sequence[Member]) -> None:
        async def evict(member: Member) -> None:
            with contextlib.suppress(NotFound):
                await self._client.delete(POD_VIEWS, member.name, job.metadata.namespace, uid=member.uid or None)
            self._pods.ending(member)

        failures = await each(doomed, evict, self._turns)
        if failures:
            self._fail(job, failures, "FailedDelete", "Error deleting pods", "kill", len(doomed))

    def _fail(self, job: Job, failures: list[Exception], reason: str, message: str, verb: str, total: int) -> None:
        """Say what was refused, and let the whole be tried again."""
        texts = list(dict.fromkeys(str(failure) for failure in failures))[:_NAMED_ERRORS]
        self.note(job, "Warning", reason, f"{message}: [{'; '.join(texts)}]")
        if isinstance(failures[0], NotOurs):
            raise failures[0]
        text = f"failed to {verb} {len(failures)} pods of {total}: {texts[0]}"
        if any(isinstance(failure, Forbidden) and failure.lacks_right for failure in failures):
            raise NotAllowed(text)
        if all(is_a_matter_of_time(failure) for failure in failures):
            raise Waits(text)
        raise PlanFailed(text)


def is_a_matter_of_time(failure: Exception) -> bool:
    """Whether trying again may succeed without anybody changing the job."""
    if isinstance(failure, Forbidden):
        return "exceeded quota" in failure.message
    return isinstance(failure, (Waits, *SERVER_TROUBLE))


def tracked(document: JsonObject, attachment: Attachment) -> list[Any]:
    values = []
    for path in attachment.tracked:
        value: Any = document
        for part in path.split("."):
            value = (value or {}).get(part)
        values.append(value)
    return values
