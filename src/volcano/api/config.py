"""config.volcano.sh/v1alpha1: ColocationConfiguration, memory protection of the pods it selects."""

from __future__ import annotations

from typing import Annotated

from msgspec import field

from volcano.api.constraints import Schema
from volcano.api.meta import Condition, LabelSelector, Model, ObjectMeta


class MemoryQos(Model, kw_only=True):
    """All ratios are percentages."""

    high_ratio: Annotated[int, Schema(default=100, minimum=0, maximum=100, doc="Of the limit: throttle above.")] = 0
    low_ratio: Annotated[int, Schema(default=0, minimum=0, maximum=100, doc="Of the request: protect below.")] = 0
    min_ratio: Annotated[int, Schema(default=0, minimum=0, maximum=100, doc="Of the request: never reclaim.")] = 0


class ColocationConfigurationSpec(Model, kw_only=True):
    selector: Annotated[LabelSelector | None, Schema(map_type="atomic", doc="Pods it applies to.")] = None
    memory_qos: Annotated[MemoryQos | None, Schema(doc="How their memory is protected.")] = None


class ColocationConfigurationStatus(Model, kw_only=True):
    conditions: Annotated[
        list[Condition], Schema(list_type="map", list_map_keys=("type",), doc="State of the configuration.")
    ] = []


class ColocationConfiguration(Model, kw_only=True):
    """How pods that share nodes with others are protected."""

    api_version: str = ""
    kind: str = ""
    metadata: ObjectMeta = field(default_factory=ObjectMeta)
    spec: Annotated[ColocationConfigurationSpec, Schema(required=True, doc="What applies to which pods.")] = field(
        default_factory=ColocationConfigurationSpec
    )
    status: Annotated[ColocationConfigurationStatus, Schema(doc="What was done.")] = field(
        default_factory=ColocationConfigurationStatus
    )
