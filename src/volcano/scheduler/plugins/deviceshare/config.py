"""Which families of devices are in use, by the plugin's arguments and the ConfigMap that describes the devices."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from functools import lru_cache
from typing import Any, Final

import msgspec
import yaml

from volcano.api import yaml_text
from volcano.scheduler.plugins.deviceshare import exclusive
from volcano.scheduler.plugins.deviceshare.device import Family
from volcano.scheduler.plugins.deviceshare.gpushare import GpuShare
from volcano.scheduler.plugins.deviceshare.hami import Hami
from volcano.scheduler.plugins.deviceshare.hami_config import BUILT_IN, HamiConfig
from volcano.scheduler.plugins.deviceshare.vgpu import Names, Vgpu

DATA_KEY: Final = "device-config.yaml"
CONFIG_MAP: Final = "volcano-vgpu-device-config"
CONFIG_NAMESPACE: Final = "kube-system"


class Arguments(msgspec.Struct, frozen=True):
    gpu_sharing: bool = msgspec.field(default=False, name="deviceshare.GPUSharingEnable")
    gpu_number: bool = msgspec.field(default=False, name="deviceshare.GPUNumberEnable")
    vgpu: bool = msgspec.field(default=False, name="deviceshare.VGPUEnable")
    mind_cluster: bool = msgspec.field(default=False, name="deviceshare.AscendMindClusterVNPUEnable")
    hami: bool = msgspec.field(default=False, name="deviceshare.AscendHAMiVNPUEnable")
    node_lock: bool = msgspec.field(default=False, name="deviceshare.NodeLockEnable")
    policy: str = msgspec.field(default="", name="deviceshare.SchedulePolicy")
    weight: int = msgspec.field(default=0, name="deviceshare.ScheduleWeight")
    config_map: str = msgspec.field(default=CONFIG_MAP, name="deviceshare.KnownGeometriesCMName")
    config_namespace: str = msgspec.field(default=CONFIG_NAMESPACE, name="deviceshare.KnownGeometriesCMNamespace")
    exclusive_rules: list[dict[str, Any]] = msgspec.field(default=[], name="deviceshare.GPUExclusiveRules")


class DeviceConfig(msgspec.Struct, frozen=True):
    nvidia: Names = Names()
    vnpus: HamiConfig = BUILT_IN


class ConfigError(ValueError):
    """The ConfigMap cannot be understood; the message says where."""


@lru_cache(maxsize=1)
def parse(text: str) -> tuple[DeviceConfig, Sequence[str]]:
    """What the text says, and a sentence for each key that it has twice. `vnpus` may be the bare list of chips."""
    try:
        document, repeated = yaml_text.read(text)
        if isinstance(document, Mapping) and isinstance(document.get("vnpus"), list):
            document = {**document, "vnpus": {"configs": document["vnpus"]}}
        return msgspec.convert(document or {}, DeviceConfig), repeated
    except (yaml.YAMLError, ValueError, RecursionError) as problem:  # also a date that is none
        raise ConfigError(" ".join(str(problem).split())) from problem


def families(arguments: Arguments, config: DeviceConfig) -> Iterator[Family]:
    """In the order in which they are asked."""
    if arguments.gpu_sharing or arguments.gpu_number:
        yield GpuShare(by_memory=arguments.gpu_sharing)
    elif arguments.vgpu:
        yield Vgpu(arguments.policy, config.nvidia, exclusive.parse(arguments.exclusive_rules))
    if arguments.hami:
        for chip in config.vnpus.chips:
            yield Hami(chip, config.vnpus.core_support, arguments.policy)


def conflicts(arguments: Arguments) -> Iterator[str]:
    """Arguments that have no effect, and why."""
    if arguments.gpu_sharing and arguments.gpu_number:
        yield "deviceshare.GPUNumberEnable has no effect beside deviceshare.GPUSharingEnable: turn one of them off"
    if arguments.vgpu and (arguments.gpu_sharing or arguments.gpu_number):
        yield "deviceshare.VGPUEnable has no effect beside gpushare: turn one of them off"
    if arguments.mind_cluster:
        yield "deviceshare.AscendMindClusterVNPUEnable has no effect: use deviceshare.AscendHAMiVNPUEnable"
