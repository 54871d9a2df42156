"""What containers hold of shared devices, and how annotations say it: `uuid,type,memory,cores:` per device."""

from __future__ import annotations

from collections.abc import Sequence

import msgspec

from volcano.scheduler.plugins.deviceshare.device import whole


class Holding(msgspec.Struct, frozen=True):
    """What a container holds of one device."""

    uuid: str
    kind: str
    memory: int
    cores: int


def encode(groups: Sequence[Sequence[Holding]]) -> str:
    """`uuid,type,memory,cores:` for each device of a container, containers joined by `;`."""
    return ";".join("".join(f"{h.uuid},{h.kind},{h.memory},{h.cores}:" for h in group) for group in groups)


def decode(text: str) -> list[list[Holding]]:
    return [decode_container(group) for group in text.split(";")] if text else []


def decode_container(text: str) -> list[Holding]:
    """Entries that are no assignments are left out."""
    found = []
    for entry in text.split(":"):
        fields = entry.split(",")
        if len(fields) != len(Holding.__struct_fields__):
            continue
        memory, cores = whole(fields[2]), whole(fields[3])
        if memory is not None and cores is not None:
            found.append(Holding(fields[0], fields[1], memory, cores))
    return found
