"""Which ColocationConfiguration applies to a pod, and the annotations that say so.

Pure. Called by controller.py.
"""

from __future__ import annotations

import datetime
import json
from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING, Final

from volcano.api import keys
from volcano.scheduler.cluster.selectors import selects

if TYPE_CHECKING:
    from volcano.api.config import ColocationConfiguration

NOTHING: Final = "{}"
"""Tells the agent to put a pod back as it was."""
_LONG_AGO: Final = datetime.datetime.min.replace(tzinfo=datetime.UTC)


def choose(
    configurations: Iterable[ColocationConfiguration], labels: Mapping[str, str]
) -> ColocationConfiguration | None:
    """The newest whose selector chooses the pod; an empty selector chooses every pod, none at all chooses none."""
    newest_first = sorted(
        configurations, key=lambda one: (one.metadata.creation_timestamp or _LONG_AGO, one.metadata.name), reverse=True
    )
    return next((one for one in newest_first if selects(one.spec.selector, labels)), None)


def annotations_for(configuration: ColocationConfiguration | None, present: Mapping[str, str]) -> dict[str, str | None]:
    """What to change in a pod's annotations; None takes one away."""
    wanted: dict[str, str | None]
    if configuration is not None:
        wanted = {
            keys.COLOCATION_CONFIG_NAME: configuration.metadata.name,
            keys.COLOCATION_CONFIG: settings_of(configuration),
        }
    elif keys.COLOCATION_CONFIG_NAME in present or keys.COLOCATION_CONFIG in present:
        wanted = {keys.COLOCATION_CONFIG_NAME: None, keys.COLOCATION_CONFIG: NOTHING}
    else:
        wanted = {}
    return {key: value for key, value in wanted.items() if present.get(key) != value}


def settings_of(configuration: ColocationConfiguration) -> str:
    """The settings as the agent reads them; ratios of zero are left out."""
    memory = configuration.spec.memory_qos
    if memory is None:
        return NOTHING
    ratios = {"highRatio": memory.high_ratio, "lowRatio": memory.low_ratio, "minRatio": memory.min_ratio}
    return json.dumps({"memoryQos": {name: ratio for name, ratio in ratios.items() if ratio}}, separators=(",", ":"))
