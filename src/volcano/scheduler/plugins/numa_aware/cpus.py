"""What the kubelet's static CPU manager does: which cells could serve a request, and which CPUs it then takes."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from itertools import combinations
from typing import TYPE_CHECKING

from volcano.scheduler.plugins.numa_aware import bits
from volcano.scheduler.plugins.numa_aware.policies import Hint

if TYPE_CHECKING:
    from volcano.api.nodeinfo import CpuInfo


@dataclass(frozen=True, slots=True)
class Layout:
    """CPUs of a node by NUMA cell, socket and core."""

    cells: Mapping[int, int]
    sockets: Mapping[int, int]
    cores: Mapping[tuple[int, int], int]
    """By socket and core: some machines number the cores of each socket anew."""

    @classmethod
    def of(cls, detail: Mapping[str, CpuInfo]) -> Layout:
        cells: dict[int, int] = {}
        sockets: dict[int, int] = {}
        cores: dict[tuple[int, int], int] = {}
        for name, info in detail.items():
            cpu = 1 << int(name)
            cells[info.numa] = cells.get(info.numa, 0) | cpu
            sockets[info.socket] = sockets.get(info.socket, 0) | cpu
            core = (info.socket, info.core)
            cores[core] = cores.get(core, 0) | cpu
        return cls(dict(sorted(cells.items())), dict(sorted(sockets.items())), dict(sorted(cores.items())))

    @property
    def all(self) -> int:
        return bits.of(cpu for cpus in self.cells.values() for cpu in bits.members(cpus))

    def cpus_of(self, cells: int) -> int:
        cpus = 0
        for cell in bits.members(cells):
            cpus |= self.cells.get(cell, 0)
        return cpus

    def cells_of(self, cpus: int) -> int:
        return bits.of(cell for cell, own in self.cells.items() if own & cpus)


def hints(layout: Layout, available: int, number: int) -> list[Hint]:
    """Sets of cells with that many available CPUs; as few cells as could ever do are preferred."""
    smallest = len(layout.cells) + 1
    found: list[int] = []
    for size in range(1, len(layout.cells) + 1):
        for chosen in combinations(layout.cells, size):
            cells = bits.of(chosen)
            cpus = layout.cpus_of(cells)
            if cpus.bit_count() >= number:
                smallest = min(smallest, size)
            if (cpus & available).bit_count() >= number:
                found.append(cells)
    return [Hint(cells, cells.bit_count() == smallest) for cells in found]


def take(layout: Layout, available: int, number: int) -> int | None:
    """Whole sockets, then whole cores, then single CPUs that fill up what is in use; None if there are too few."""
    if available.bit_count() < number:
        return None
    taken = 0
    for group in _whole(layout.sockets.values(), available):
        if number - taken.bit_count() >= group.bit_count():
            taken |= group
    for group in _whole(_cores_by_socket(layout, available & ~taken), available & ~taken):
        if number - taken.bit_count() >= group.bit_count():
            taken |= group
    free = available & ~taken
    wanted = number - taken.bit_count()
    for cpu in _singles(layout, free, taken)[:wanted]:
        taken |= 1 << cpu
    return taken


def take_near(layout: Layout, available: int, cells: int | None, number: int) -> int | None:
    """As many as possible from the cells, the rest from anywhere."""
    near = available if cells is None else available & layout.cpus_of(cells)
    first = take(layout, near, min(number, near.bit_count())) or 0
    rest = take(layout, available & ~first, number - first.bit_count())
    return None if rest is None else first | rest


def _whole(groups: Iterable[int], available: int) -> list[int]:
    """Groups of which nothing is in use."""
    return [group for group in groups if group and group & available == group]


def _cores_by_socket(layout: Layout, free: int) -> list[int]:
    """Cores of the fullest sockets first."""
    left = {socket: (cpus & free).bit_count() for socket, cpus in layout.sockets.items()}
    ordered = sorted(layout.cores, key=lambda core: (left[core[0]], core))
    return [layout.cores[core] for core in ordered]


def _singles(layout: Layout, free: int, taken: int) -> list[int]:
    """CPUs, those first that fill up sockets and cores that are in use."""
    places: dict[int, tuple[int, int, int, int]] = {}
    for (socket, _), core in layout.cores.items():
        own = layout.sockets[socket]
        here = (-(own & taken).bit_count(), (own & free).bit_count(), (core & free).bit_count())
        for cpu in bits.members(core & free):
            places[cpu] = (*here, cpu)
    return sorted(places, key=lambda cpu: places[cpu])
