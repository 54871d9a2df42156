"""Prometheus metrics: counters, gauges and histograms in a registry of one daemon, rendered as text.

Served by `health`. Metrics are plain objects handed to the code that counts; nothing is global.
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import accumulate
from typing import Generic, Protocol, TypeVar

CONTENT_TYPE = "text/plain; version=0.0.4; charset=utf-8"
DEFAULT_BUCKETS = (0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0)

Sample = tuple[str, str, float]
"""Name suffix, extra label in braces' text form, value."""


class Metric(Protocol):
    """One time series, or the several of a histogram."""

    def samples(self) -> Iterator[Sample]:
        """The current values."""


class Counter:
    """A value that only grows."""

    __slots__ = ("value",)
    kind = "counter"

    def __init__(self) -> None:
        self.value = 0.0

    def inc(self, amount: float = 1.0) -> None:
        if amount < 0:
            raise ValueError(f"a counter cannot go down (by {amount})")
        self.value += amount

    def samples(self) -> Iterator[Sample]:
        yield "", "", self.value


class Gauge:
    """A value that goes up and down."""

    __slots__ = ("value",)
    kind = "gauge"

    def __init__(self) -> None:
        self.value = 0.0

    def set(self, value: float) -> None:
        self.value = value

    def inc(self, amount: float = 1.0) -> None:
        self.value += amount

    def dec(self, amount: float = 1.0) -> None:
        self.value -= amount

    def samples(self) -> Iterator[Sample]:
        yield "", "", self.value


class Histogram:
    """How often observed values fell below each bound."""

    __slots__ = ("_bounds", "_counts", "sum")
    kind = "histogram"

    def __init__(self, bounds: Sequence[float] = DEFAULT_BUCKETS) -> None:
        self._bounds = tuple(bounds)
        self._counts = [0] * (len(self._bounds) + 1)
        self.sum = 0.0

    @property
    def count(self) -> int:
        return sum(self._counts)

    def observe(self, value: float) -> None:
        self._counts[bisect_left(self._bounds, value)] += 1
        self.sum += value

    def samples(self) -> Iterator[Sample]:
        totals = list(accumulate(self._counts))
        for bound, total in zip(self._bounds, totals, strict=False):
            yield "_bucket", f'le="{number(bound)}"', total
        yield "_bucket", 'le="+Inf"', totals[-1]
        yield "_sum", "", self.sum
        yield "_count", "", totals[-1]


M = TypeVar("M", bound=Metric)


class Family(Generic[M]):
    """The metrics of one name, told apart by their label values."""

    def __init__(self, label_names: Sequence[str], make: Callable[[], M]) -> None:
        self.label_names = tuple(label_names)
        self._make = make
        self._children: dict[tuple[str, ...], M] = {}

    def labels(self, *values: str) -> M:
        """The metric with these label values, in the order of the label names; made when first asked for."""
        child = self._children.get(values)
        if child is None:
            if len(values) != len(self.label_names):
                raise ValueError(f"expected the labels {', '.join(self.label_names)}, got {values}")
            child = self._children[values] = self._make()
        return child

    def remove(self, *values: str) -> None:
        """Stop reporting the metric with these label values."""
        self._children.pop(values, None)

    def clear(self) -> None:
        self._children.clear()

    def series(self) -> Iterator[tuple[str, M]]:
        """Each metric with its labels in text form."""
        for values, child in self._children.items():
            pairs = zip(self.label_names, values, strict=True)
            yield ",".join(f'{name}="{escape(value)}"' for name, value in pairs), child


@dataclass(frozen=True, slots=True)
class Description:
    """What a metric is called, what it counts, and by which labels it is told apart."""

    name: str
    kind: str
    help_text: str
    label_names: tuple[str, ...] = ()


class Registry:
    """The metrics of one daemon. Registering a name twice is an error."""

    def __init__(self, prefix: str = "") -> None:
        self._prefix = prefix
        self._entries: dict[str, tuple[Description, Callable[[], Iterable[tuple[str, Metric]]]]] = {}
        self._before_scrape: list[Callable[[], None]] = []

    def counter(self, name: str, help_text: str) -> Counter:
        return self._single(name, help_text, Counter())

    def gauge(self, name: str, help_text: str) -> Gauge:
        return self._single(name, help_text, Gauge())

    def histogram(self, name: str, help_text: str, buckets: Sequence[float] = DEFAULT_BUCKETS) -> Histogram:
        return self._single(name, help_text, Histogram(buckets))

    def counters(self, name: str, help_text: str, *label_names: str) -> Family[Counter]:
        return self._family(name, help_text, Counter.kind, Family(label_names, Counter))

    def gauges(self, name: str, help_text: str, *label_names: str) -> Family[Gauge]:
        return self._family(name, help_text, Gauge.kind, Family(label_names, Gauge))

    def histograms(
        self, name: str, help_text: str, *label_names: str, buckets: Sequence[float] = DEFAULT_BUCKETS
    ) -> Family[Histogram]:
        return self._family(name, help_text, Histogram.kind, Family(label_names, lambda: Histogram(buckets)))

    def before_scrape(self, callback: Callable[[], None]) -> None:
        """Call `callback` before every rendering, to set gauges that are costly to keep current."""
        self._before_scrape.append(callback)

    def render(self) -> bytes:
        """All metrics in the text exposition format."""
        for callback in self._before_scrape:
            callback()
        lines: list[str] = []
        for name, (about, series) in sorted(self._entries.items()):
            rows = [(labels, sample) for labels, metric in series() for sample in metric.samples()]
            if not rows:
                continue
            lines += [f"# HELP {name} {escape_help(about.help_text)}", f"# TYPE {name} {about.kind}"]
            for labels, (suffix, extra, value) in rows:
                both = ",".join(filter(None, (labels, extra)))
                lines.append(f"{name}{suffix}{{{both}}} {number(value)}" if both else f"{name}{suffix} {number(value)}")
        return "\n".join([*lines, ""]).encode()

    def descriptions(self) -> list[Description]:
        """Every metric that may be reported, also one without a value so far."""
        return [about for about, _ in self._entries.values()]

    def _single(self, name: str, help_text: str, metric: S) -> S:
        self._enter(Description(self._prefix + name, metric.kind, help_text), lambda: (("", metric),))
        return metric

    def _family(self, name: str, help_text: str, kind: str, family: Family[M]) -> Family[M]:
        self._enter(Description(self._prefix + name, kind, help_text, family.label_names), family.series)
        return family

    def _enter(self, about: Description, series: Callable[[], Iterable[tuple[str, Metric]]]) -> None:
        if about.name in self._entries:
            raise ValueError(f"the metric {about.name} is registered twice")
        self._entries[about.name] = (about, series)


S = TypeVar("S", Counter, Gauge, Histogram)


def number(value: float) -> str:
    """A sample value as Prometheus writes it: whole numbers without a fraction."""
    if value == int(value) if abs(value) < 1e15 else False:
        return str(int(value))
    text = repr(float(value))
    return {"inf": "+Inf", "-inf": "-Inf", "nan": "NaN"}.get(text, text)


def escape(value: str) -> str:
    return value.replace("\\", "\\\\").replace('"', '\\"').replace("\n", "\\n")


def escape_help(text: str) -> str:
    return text.replace("\\", "\\\\").replace("\n", "\\n")
