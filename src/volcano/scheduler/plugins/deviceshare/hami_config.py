"""Which Ascend chips there are: their resources, sizes and templates. From the device configuration, or built in."""

from __future__ import annotations

from collections.abc import Sequence

import msgspec


class Template(msgspec.Struct, frozen=True):
    name: str
    memory: int


class Chip(msgspec.Struct, frozen=True):
    word: str = msgspec.field(name="commonWord")
    resource: str = msgspec.field(name="resourceName")
    memory_resource: str = msgspec.field(default="", name="resourceMemoryName")
    memory_allocatable: int = msgspec.field(default=0, name="memoryAllocatable")
    memory_capacity: int = msgspec.field(default=0, name="memoryCapacity")
    templates: tuple[Template, ...] = ()

    def template_for(self, memory: int) -> tuple[int, str]:
        """The smallest template with that much memory; beyond all of them the whole chip, which has no name."""
        for template in sorted(self.templates, key=lambda template: template.memory):
            if memory <= template.memory:
                return template.memory, template.name
        return (self.memory_allocatable if memory <= self.memory_capacity else 0), ""


class HamiConfig(msgspec.Struct, frozen=True):
    """Section `vnpus` of the device configuration."""

    chips: Sequence[Chip] = msgspec.field(default=(), name="configs")
    core_support: bool = msgspec.field(default=False, name="hamiVnpuCore")


BUILT_IN = HamiConfig(
    (
        Chip(
            "Ascend310P",
            "huawei.com/Ascend310P",
            "huawei.com/Ascend310P-memory",
            21527,
            24576,
            (Template("vir01", 3072), Template("vir02", 6144), Template("vir04", 12288)),
        ),
    )
)
