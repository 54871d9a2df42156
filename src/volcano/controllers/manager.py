"""`vc-controller-manager`: read the flags, reach the API server, take the lease, reconcile until told to stop.

`runtime.py` has the loop, each room its controller.
"""

from __future__ import annotations

import asyncio
import logging
import sys
from collections.abc import Callable, Iterator, Sequence
from contextlib import AsyncExitStack
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from volcano.controllers.flags import Flags
    from volcano.controllers.runtime import Context, Controller, Runtime
    from volcano.http.health import Check, Papers
    from volcano.http.metrics import Registry
    from volcano.kube.client import Client
    from volcano.kube.leader import LeaderElector

PROGRAM = "vc-controller-manager"
log = logging.getLogger(PROGRAM)


def main(argv: list[str] | None = None) -> int:
    from volcano.controllers.flags import Flags
    from volcano.kube import flags as command_line

    return launch(PROGRAM, lambda arguments: command_line.parse(Flags, arguments, PROGRAM), argv)


def launch(program: str, read: Callable[[Sequence[str]], Flags], argv: Sequence[str] | None) -> int:
    """Be `program`, whose command line `read` understands; the exit status."""
    from volcano.http.lifetime import LOG_FORMAT, loop_factory
    from volcano.http.server import ListenError
    from volcano.kube.config import ConfigError

    try:
        flags = read(sys.argv[1:] if argv is None else argv)
        if flags.version:
            from volcano import __version__

            sys.stdout.write(f"{program} {__version__}\n")
            return 0
        level = logging.DEBUG if flags.verbosity >= 4 else logging.INFO
        logging.basicConfig(level=level, format=LOG_FORMAT)
        with asyncio.Runner(loop_factory=loop_factory()) as runner:
            runner.run(_serve(program, flags))
    except (ConfigError, ListenError, ValueError) as problem:
        sys.stderr.write(f"{program}: {problem}\n")
        return 1
    return 0


async def _serve(program: str, flags: Flags) -> None:
    from volcano.http.lifetime import stop_on_signals
    from volcano.http.resting import resting_in_a_rush
    from volcano.kube.client import Client
    from volcano.kube.config import load
    from volcano.kube.transport import HttpTransport

    client = Client(HttpTransport(load(flags.kubeconfig or None, None, flags.master or None)), user_agent=program)
    try:
        with stop_on_signals() as stop:
            async with resting_in_a_rush():
                await run(client, flags, stop)
    finally:
        await client.close()


async def run(client: Client, flags: Flags, stop: asyncio.Event) -> None:
    """The daemon on a client of its own or of its host, until `stop`."""
    from volcano.http.health import Papers
    from volcano.http.lifetime import until_stopped
    from volcano.kube.leader import elector_of

    elector = elector_of(client, flags)
    papers = Papers.of(flags.tls_cert_file, flags.tls_private_key_file, flags.ca_cert_file)
    terms = Terms(client, flags, elector, papers)
    async with AsyncExitStack() as cleanup:
        await _listen(flags, terms, elector, papers, cleanup)
        work = [terms.current.follow(terms.complaint), terms.lead() if elector is None else elector.run(terms.lead)]
        await until_stopped(stop, *(asyncio.create_task(each) for each in work))


class Terms:
    """The controllers of each time that this daemon leads: what those before them remember may be wrong by now."""

    def __init__(self, client: Client, flags: Flags, elector: LeaderElector | None, papers: Papers | None) -> None:
        self._client, self._flags, self._elector = client, flags, elector
        self._papers = papers
        self.current = self._built(None)
        self._begun = False

    async def lead(self) -> None:
        """Reconcile until cancelled, on informers that have followed the server all the time."""
        if self._begun:
            self.current = self._built(self.current.context)
        self._begun = True
        await self.current.reconcile()

    def problem(self) -> str | None:
        return self.current.problem()

    def complaint(self) -> str | None:
        """What somebody has to put right: in this term, and with what is shown to those who ask for our health."""
        shown = None if self._papers is None else self._papers.problem()
        return "; ".join(filter(None, (self.current.complaint(), self.lease(), shown))) or None

    def lease(self) -> str | None:
        """Why nobody can lead: a note for /readyz, for standbys are ready."""
        return None if self._elector is None else self._elector.problem()

    def render(self) -> bytes:
        """What is measured in this term."""
        return self.current.context.metrics.render()

    def _built(self, earlier: Context | None) -> Runtime:
        from volcano.http.metrics import Registry

        return build(self._client, self._flags, Registry(), self._elector, earlier)


def build(
    client: Client,
    flags: Flags,
    registry: Registry,
    elector: LeaderElector | None = None,
    earlier: Context | None = None,
) -> Runtime:
    """The runtime with the controllers that the flags ask for; on the informers of an earlier one, if there was any."""
    from volcano.api.meta import ObjectReference
    from volcano.api.resources import LEASES
    from volcano.controllers.runtime import COMPONENT, Context, Informers, Runtime
    from volcano.kube.events import EventRecorder
    from volcano.kube.fence import fenced
    from volcano.kube.rivals import Rivals

    informers = Informers(client) if earlier is None else earlier.informers
    recorder = EventRecorder(client, COMPONENT) if earlier is None else earlier.recorder
    context = Context(fenced(client, elector), informers, recorder, registry)
    lease = ObjectReference(
        kind=LEASES.kind,
        api_version=LEASES.api_version,
        namespace=flags.lease_namespace,
        name=flags.leader_elect_resource_name,
    )
    rivals = Rivals(client, lease.name, lease.namespace) if flags.leader_elect else None
    runtime = Runtime(context, max_requeues=flags.max_requeue_num, about=lease, rivals=rivals)
    makers = dict(_makers(flags))
    for name in flags.enabled_controllers:
        if name in makers:
            runtime.add(makers[name])
        else:
            log.info("%s is switched off by a feature gate", name)
    return runtime


def _makers(flags: Flags) -> Iterator[tuple[str, Callable[[Context], Controller]]]:
    """How each controller is made. The imports are here: a controller that does not run costs nothing."""
    from volcano.controllers.colocation.controller import ColocationController
    from volcano.controllers.cronjob.controller import CronJobController
    from volcano.controllers.gc.controller import GarbageCollector
    from volcano.controllers.hypernode.controller import HyperNodeController
    from volcano.controllers.job.controller import JobController
    from volcano.controllers.jobflow.controller import JobFlowController
    from volcano.controllers.jobtemplate.controller import JobTemplateController
    from volcano.controllers.podgroup.controller import PodGroupController
    from volcano.controllers.queue.controller import QueueController
    from volcano.controllers.sharding.config import from_flags
    from volcano.controllers.sharding.controller import ShardingController

    commands = flags.gate("QueueCommandSync")
    if flags.gate("VolcanoJobSupport"):
        yield (
            JobController.name,
            lambda context: JobController(context, workers=flags.worker_threads, commands=commands),
        )
        if flags.gate("CronVolcanoJobSupport"):
            yield (
                CronJobController.name,
                lambda context: CronJobController(context, workers=flags.worker_threads_for_cronjob),
            )
        yield JobFlowController.name, JobFlowController
        yield JobTemplateController.name, JobTemplateController
        yield GarbageCollector.name, lambda context: GarbageCollector(context, workers=flags.worker_threads_for_gc)
    yield ColocationController.name, ColocationController
    yield HyperNodeController.name, HyperNodeController
    yield (
        ShardingController.name,
        lambda context: ShardingController(
            context,
            from_flags(flags.scheduler_configs, flags.shard_sync_period, trigger=flags.enable_node_event_trigger),
            configmap=(flags.sharding_configmap_namespace, flags.sharding_configmap),
        ),
    )
    yield (
        PodGroupController.name,
        lambda context: PodGroupController(
            context,
            workers=flags.worker_threads_for_podgroup,
            scheduler_names=flags.scheduler_name,
            inherit_owner_annotations=flags.inherit_owner_annotations,
            workloads=flags.gate("WorkLoadSupport"),
        ),
    )
    yield (
        QueueController.name,
        lambda context: QueueController(context, workers=flags.worker_threads_for_queue, commands=commands),
    )


async def _listen(
    flags: Flags, terms: Terms, elector: LeaderElector | None, papers: Papers | None, cleanup: AsyncExitStack
) -> None:
    """Metrics and health, before anything else: standbys answer too."""
    from volcano.http.health import HealthApp, serve_health
    from volcano.http.process import process_metrics

    alive: dict[str, Check] = {"leader-election": elector.health} if elector is not None else {}
    current = terms.current
    remarks = {"version": current.server_version.remark, "rivals": current.rivalry, "lease": terms.lease}
    ready = {"controllers": terms.problem}
    app = HealthApp(terms, process_metrics(), alive=alive, ready=ready, remarks=remarks)
    if flags.enable_metrics:
        server = await serve_health(app, flags.listen_address)
        cleanup.push_async_callback(server.close, 1.0)
        log.info("metrics on port %d", server.port)
    if flags.enable_healthz:
        server = await serve_health(app, flags.healthz_address, papers)
        cleanup.push_async_callback(server.close, 1.0)
        log.info("health on port %d", server.port)


if __name__ == "__main__":
    sys.exit(main())
