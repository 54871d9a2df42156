"""Validating policies, one per kind. Texts and limits are those of `webhooks.rules`.

Not covered, because an expression sees one object only: states and hierarchies of queues, cycles, pod templates.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import TYPE_CHECKING, Final

from volcano.api import keys, resources
from volcano.webhooks.policies.objects import CHANGE, CREATE, WRITE, Check, Validation, listed, quoted
from volcano.webhooks.rules.cronjobs import NAME_LIMIT
from volcano.webhooks.rules.job_policies import ACTIONS, ANY_EVENT, EVENTS
from volcano.webhooks.rules.jobflows import NOT_A_DAG
from volcano.webhooks.rules.jobs import PLUGINS, TWO_CLAIMS
from volcano.webhooks.rules.pods import BUDGET_ANNOTATIONS
from volcano.webhooks.rules.queues import PROTECTED, STATES
from volcano.webhooks.rules.topology import TIER_CONFLICT

if TYPE_CHECKING:
    from volcano.webhooks.rules.model import Settings

DNS_LABEL: Final = quoted("^[a-z0-9]([-a-z0-9]*[a-z0-9])?$")
QUALIFIED: Final = quoted("^([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9]$")
CREATED: Final = "request.operation != 'CREATE' || "
UPDATED: Final = "request.operation != 'UPDATE' || "
KEPT: Final = "request.operation == 'DELETE' || "
TASKS: Final = "(has(object.spec.tasks) ? object.spec.tasks : [])"
OLD_TASKS: Final = "(has(oldObject.spec.tasks) ? oldObject.spec.tasks : [])"


def validations(settings: Settings) -> list[Validation]:
    schedulers = listed(settings.scheduler_names)
    return [
        Validation(
            "job-validation-policy",
            resources.JOBS,
            WRITE,
            variables=(
                ("tasks", TASKS),
                ("replicas", "variables.tasks.map(t, has(t.replicas) ? t.replicas : 0)"),
                ("policies", "has(object.spec.policies) ? object.spec.policies : []"),
            ),
            checks=[*_job_sizes(), *_job_tasks(), *_job_policies(), *_job_volumes(), *_job_rest()],
        ),
        Validation("queue-validation-policy", resources.QUEUES, CHANGE, checks=list(_queue())),
        Validation("podgroup-validation-policy", resources.PODGROUPS, CREATE, checks=list(_podgroup())),
        Validation(
            "pod-validation-policy",
            resources.PODS,
            CREATE,
            conditions=(
                ("ours", f"has(object.spec.schedulerName) && object.spec.schedulerName in {schedulers}"),
                ("budget", "has(object.metadata.annotations)"),
            ),
            checks=list(_pod()),
        ),
        Validation("hypernode-validation-policy", resources.HYPERNODES, WRITE, checks=list(_hypernode())),
        Validation(
            "jobflow-validation-policy",
            resources.JOB_FLOWS,
            WRITE,
            variables=(("flows", "has(object.spec.flows) ? object.spec.flows : []"),),
            checks=list(_jobflow()),
        ),
        Validation("cronjob-validation-policy", resources.CRON_JOBS, WRITE, checks=list(_cronjob())),
    ]


# Jobs


def _job_sizes() -> Iterator[Check]:
    for name, message in (
        ("minAvailable", "job 'minAvailable' must be >= 0"),
        ("maxRetry", "'maxRetry' cannot be less than zero"),
        ("ttlSecondsAfterFinished", "'ttlSecondsAfterFinished' cannot be less than zero"),
    ):
        yield Check(f"!has(object.spec.{name}) || object.spec.{name} >= 0", message)
    total = "!has(object.spec.minAvailable) || variables.replicas.sum() >= object.spec.minAvailable"
    yield Check(CREATED + total, "job 'minAvailable' should not be greater than total replicas in tasks;")
    yield Check(UPDATED + total, "job 'minAvailable' must not be greater than total replicas")


def _job_tasks() -> Iterator[Check]:
    yield Check(f"{CREATED}size(variables.tasks) > 0", "No task specified in job spec")
    named = "has(t.name)"
    yield Check(
        f"variables.tasks.all(t, !{named} || variables.tasks.exists_one(o, has(o.name) && o.name == t.name))",
        "duplicated task name found",
    )
    yield Check(
        f"variables.tasks.all(t, !{named} || (t.name.matches({DNS_LABEL}) && size(t.name) <= 63))",
        "task name must be a DNS label of at most 63 characters",
    )
    too_large = "has(t.minAvailable) && t.minAvailable > (has(t.replicas) ? t.replicas : 0)"
    yield Check(
        f"!variables.tasks.exists(t, {too_large})",
        "'minAvailable' is greater than 'replicas' in a task",
        "\" 'minAvailable' is greater than 'replicas' in task: \" + "
        f"variables.tasks.filter(t, {too_large}).map(t, {named} ? t.name : '')[0] + "
        "', job: ' + object.metadata.name + ';'",
    )
    yield Check("variables.replicas.all(r, r >= 0)", "'replicas' must be >= 0 in every task")
    yield Check(
        f"{UPDATED}size(variables.tasks) == size{OLD_TASKS}",
        "job updates may not add or remove tasks",
    )


def _job_policies() -> Iterator[Check]:
    named = "(has(p.events) ? p.events : []) + (has(p.event) && p.event != '' ? [p.event] : [])"
    events = f"({named})"
    yield Check(
        f"{CREATED}variables.policies.all(p, !(has(p.exitCode) && size{events} > 0))",
        "must not specify event and exitCode simultaneously",
    )
    yield Check(
        f"{CREATED}variables.policies.all(p, has(p.exitCode) || size{events} > 0)",
        "either event and exitCode should be specified",
    )
    yield Check(
        f"{CREATED}variables.policies.all(p, {events}.all(e, e in {listed(EVENTS)}))",
        f"invalid policy event: valid events are {', '.join(EVENTS)}",
    )
    yield Check(
        f"{CREATED}variables.policies.all(p, has(p.action) && p.action in {listed(ACTIONS)})",
        f"invalid policy action: valid actions are {', '.join(ACTIONS)}",
    )
    yield Check(
        f"{CREATED}variables.policies.all(p, !has(p.exitCode) || p.exitCode != 0)", "0 is not a valid error code"
    )
    yield Check(
        f"{CREATED}variables.policies.all(p, !has(p.exitCode) || "
        "variables.policies.exists_one(o, has(o.exitCode) && o.exitCode == p.exitCode))",
        "duplicate exitCode",
    )
    of_other = named.replace("p.", "o.")
    yield Check(
        f"{CREATED}variables.policies.all(p, {events}.all(e, variables.policies.exists_one(o, e in ({of_other}))))",
        "duplicate event across different policy",
    )
    yield Check(
        f"{CREATED}size(variables.policies) < 2 || !variables.policies.exists(p, {quoted(ANY_EVENT)} in {events})",
        "if there's * here, no other policy should be here",
    )


def _job_volumes() -> Iterator[Check]:
    volumes = "(has(object.spec.volumes) ? object.spec.volumes : [])"
    name = "has(v.volumeClaimName) && v.volumeClaimName != ''"
    yield Check(f"{CREATED}{volumes}.all(v, has(v.mountPath) && v.mountPath != '')", "mountPath is required;")
    yield Check(
        f"{CREATED}{volumes}.all(v, {volumes}.exists_one(o, o.mountPath == v.mountPath))", "duplicated mountPath"
    )
    yield Check(
        f"{CREATED}{volumes}.all(v, has(v.volumeClaim) || ({name}))",
        "either VolumeClaim or VolumeClaimName must be specified;",
    )
    yield Check(f"{CREATED}{volumes}.all(v, !(has(v.volumeClaim) && {name}))", TWO_CLAIMS)


def _job_rest() -> Iterator[Check]:
    yield Check(
        f"{CREATED}!has(object.spec.plugins) || object.spec.plugins.all(p, p in {listed(PLUGINS)})",
        f"unable to find job plugin: there are {', '.join(PLUGINS)}",
    )
    yield Check(
        f"{UPDATED}(has(object.spec.queue) ? object.spec.queue : '') == "
        "(has(oldObject.spec.queue) ? oldObject.spec.queue : '')",
        "job updates may not change the queue",
    )
    yield _qualified_name("job")
    yield _one_bound("object.spec")
    yield Check(
        "variables.tasks.all(t, !has(t.partitionPolicy) || " + _bounds("t.partitionPolicy") + ")", TIER_CONFLICT
    )


# The other kinds


def _queue() -> Iterator[Check]:
    yield Check(
        f"{KEPT}!has(object.status) || !has(object.status.state) || object.status.state in {listed(STATES)}",
        "queue state must be in [Open Closed]",
    )
    for path in ("capability", "deserved", "guarantee.resource"):
        amounts, given = f"object.spec.{path}", _present("object.spec", path)
        good = f"isQuantity(string({amounts}[r])) && !{_amount(amounts, 'r')}.isLessThan(quantity('0'))"
        yield Check(
            f"{KEPT}!({given}) || {amounts}.all(r, {good})",
            f"spec.{path}: amounts must be quantities of at least 0",
        )
    for smaller, larger, words, optional in (
        ("deserved", "capability", "must be <= capability", True),
        ("guarantee.resource", "deserved", "must be >= guarantee", False),
    ):
        less, more = f"object.spec.{smaller}", f"object.spec.{larger}"
        fits = f"!{_amount(less, 'r')}.isGreaterThan({_amount(more, 'r')})"
        missing, there = _present("object.spec", smaller), _present("object.spec", larger)
        covered = f"!(r in {more}) || {fits}" if optional else f"r in {more} && {fits}"
        without = "true" if optional else f"size({less}) == 0"
        yield Check(f"{KEPT}!({missing}) || (({there}) ? {less}.all(r, {covered}) : {without})", f"deserved {words}")
    yield from _queue_annotations()
    names = listed(PROTECTED)
    yield Check(
        f"request.operation != 'DELETE' || !(request.name in {names})",
        "the queues default and root can not be deleted",
        "'`' + request.name + '` queue can not be deleted'",
    )


def _queue_annotations() -> Iterator[Check]:
    annotations = "object.metadata.annotations"
    path, weights = (f"{annotations}[{quoted(key)}]" for key in (keys.HIERARCHY, keys.HIERARCHY_WEIGHTS))
    path_key, weights_key = quoted(keys.HIERARCHY), quoted(keys.HIERARCHY_WEIGHTS)
    both = f"has({annotations}) && {path_key} in {annotations} && {weights_key} in {annotations}"
    yield Check(
        f"{KEPT}!({both}) || size({path}.split('/')) == size({weights}.split('/'))",
        f"{keys.HIERARCHY} must have the same length with {keys.HIERARCHY_WEIGHTS}",
    )
    number = quoted("^[+]?([0-9]+[.]?[0-9]*|[.][0-9]+)$")
    yield Check(
        f"{KEPT}!({both}) || {weights}.split('/').all(w, w.matches({number}) && double(w) > 0.0)",
        f"weights in {keys.HIERARCHY_WEIGHTS} must be numbers larger than 0",
    )


def _podgroup() -> Iterator[Check]:
    yield _one_bound("object.spec")
    yield Check(
        "!has(object.spec.subGroupPolicy) || object.spec.subGroupPolicy.all(g, " + _bounds("g") + ")", TIER_CONFLICT
    )


def _pod() -> Iterator[Check]:
    annotations = "object.metadata.annotations"
    for key in BUDGET_ANNOTATIONS:
        value = f"{annotations}[{quoted(key)}]"
        yield Check(
            f"!({quoted(key)} in {annotations}) || {value}.matches({quoted('^[+]?0*[1-9][0-9]{0,8}$')}) || "
            f"{value}.matches({quoted('^[+]?0*[1-9][0-9]?%$')})",
            f"{key} must be a positive integer or a percentage between 1% ~ 99%",
            f"'invalid value <\"' + {value} + '\"> for {key}, it must be a positive integer "
            "or a valid percentage which between 1% ~ 99%'",
        )
    given = " && ".join(f"{quoted(key)} in {annotations}" for key in BUDGET_ANNOTATIONS)
    message = f"not allow configure multiple annotations <[{' '.join(BUDGET_ANNOTATIONS)}]> at same time"
    yield Check(f"!({given})", message)


def _hypernode() -> Iterator[Check]:
    members = "(has(object.spec.members) ? object.spec.members : [])"
    yield Check(f"size({members}) > 0", "member must have at least one member")
    ways = ("exactMatch", "regexMatch", "labelMatch")
    chosen = " + ".join(f"(has(m.selector.{way}) ? 1 : 0)" for way in ways)
    yield Check(
        f"{members}.all(m, has(m.selector) && {chosen} == 1)",
        "each member must have exactly one of exactMatch, regexMatch and labelMatch",
    )
    exact = "m.selector.exactMatch"
    yield Check(
        f"{members}.all(m, !has(m.selector) || !has({exact}) || {exact}.name.matches({QUALIFIED}))",
        "member exactMatch name must be a qualified name",
    )
    pattern = "m.selector.regexMatch.pattern"
    balanced = " && ".join(
        f"size({pattern}.split({quoted(opening)})) == size({pattern}.split({quoted(closing)}))"
        for opening, closing in ("()", "[]")
    )
    yield Check(
        f"{members}.all(m, !has(m.selector) || !has(m.selector.regexMatch) || ({balanced}))",
        "member regexMatch pattern is invalid: brackets do not match",
    )


def _jobflow() -> Iterator[Check]:
    targets = "(has(f.dependsOn) && has(f.dependsOn.targets) ? f.dependsOn.targets : [])"
    yield Check(
        f"variables.flows.all(f, {targets}.all(t, variables.flows.exists(o, o.name == t)))",
        f"{NOT_A_DAG}: vertex is not defined",
    )
    yield Check(f"variables.flows.all(f, !(f.name in {targets}))", f"{NOT_A_DAG}: a flow depends on itself")


def _cronjob() -> Iterator[Check]:
    yield Check("object.spec.schedule != ''", "schedule is required, but got empty")
    yield Check(
        "!object.spec.schedule.contains('TZ')",
        "schedule should not contain TZ or CRON_TZ, TZ should only be set in the timeZone field",
    )
    yield Check(
        "!has(object.spec.timeZone) || object.spec.timeZone != ''",
        "timeZone must be nil or non-empty string, got empty string",
    )
    yield Check(
        "!has(object.spec.timeZone) || object.spec.timeZone.lowerAscii() != 'local'",
        "timeZone can't be Local, and must be defined in https://www.iana.org/time-zones",
    )
    yield Check(
        f"size(object.metadata.name) <= {NAME_LIMIT}",
        f"cronJob name must be no more than {NAME_LIMIT} characters to accommodate job name suffix (max 63 total)",
    )
    yield _qualified_name("cronJob")


# Pieces


def _qualified_name(kind: str) -> Check:
    name = "object.metadata.name"
    return Check(
        f"size({name}) <= 63 && {name}.matches({QUALIFIED})",
        f"{kind} name must be a qualified name of at most 63 characters",
    )


def _one_bound(owner: str) -> Check:
    return Check(_bounds(owner), TIER_CONFLICT)


def _bounds(owner: str) -> str:
    topology = f"{owner}.networkTopology"
    return (
        f"!(has({topology}) && has({topology}.highestTierAllowed) && "
        f"has({topology}.highestTierName) && {topology}.highestTierName != '')"
    )


def _present(owner: str, path: str) -> str:
    """Whether a field is there, and all fields around it."""
    return " && ".join(f"has({step})" for step in _steps(owner, path.split(".")))


def _steps(owner: str, names: Iterable[str]) -> Iterator[str]:
    for name in names:
        owner = f"{owner}.{name}"
        yield owner


def _amount(amounts: str, name: str) -> str:
    return f"quantity(string({amounts}[{name}]))"
