"""vcctl jobtemplate: the jobs that flows are made of."""

from __future__ import annotations

from typing import TYPE_CHECKING

from volcano.api.resources import JOB_TEMPLATES
from volcano.cli.cells import age_of, name_and_namespace
from volcano.cli.text import columns, fitted
from volcano.cli.verbs import Noun

if TYPE_CHECKING:
    from collections.abc import Sequence

    from volcano.api.meta import JsonObject

HEADER = ("Name", "Namespace")


def table(templates: Sequence[JsonObject]) -> str:
    """Padded as upstream pads it."""
    return fitted(HEADER, [name_and_namespace(each) for each in templates], beyond_title=4, beyond_value=4)


def wide_table(templates: Sequence[JsonObject]) -> str:
    """With the tasks, and the jobs that were made from each."""
    rows = []
    for each in templates:
        spec, status = each.get("spec") or {}, each.get("status") or {}
        tasks = ",".join(f"{task.get('name', '')}={task.get('replicas', 0)}" for task in spec.get("tasks") or ())
        jobs = ",".join(status.get("jobDependsOnList") or ())
        rows.append([*name_and_namespace(each), spec.get("queue", ""), tasks, jobs or "-", age_of(each)])
    return columns((*HEADER, "Queue", "Tasks", "Jobs", "Age"), rows)


jobtemplate = Noun(JOB_TEMPLATES, "job template", table, wide_table).group(
    "Create, list, get, describe and delete templates of jobs."
)
