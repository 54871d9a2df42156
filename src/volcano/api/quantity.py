"""Kubernetes quantities, exactly: "100m", "1.5Gi", 2, "3e3".

Amounts are whole billionths in a Python integer: sums and comparisons never round; `milli` and `units` round up.
"""

from __future__ import annotations

import re
from functools import lru_cache
from typing import Final, Literal

Format = Literal["DecimalSI", "BinarySI", "DecimalExponent"]

NANO: Final = 10**9
_LARGEST: Final = (2**63 - 1) * NANO
_DECIMAL: Final = {"n": -9, "u": -6, "m": -3, "": 0, "k": 3, "M": 6, "G": 9, "T": 12, "P": 15, "E": 18}
_DECIMAL_SUFFIXES: Final = {power: suffix for suffix, power in _DECIMAL.items()}
_BINARY: Final = {"Ki": 10, "Mi": 20, "Gi": 30, "Ti": 40, "Pi": 50, "Ei": 60}
_BINARY_SUFFIXES: Final = ("", *_BINARY)
_SHAPE: Final = re.compile(r"([+-]?)([0-9]*)(?:\.([0-9]*))?([eEinumkKMGTP]*[-+]?[0-9]*)")
_EXPONENT: Final = re.compile(r"[eE]([+-]?[0-9]+)")
_LARGEST_EXPONENT: Final = 40  # beyond it every amount is either nothing or more than can be held


LONGEST = 256
_SHORT: Final = 6


class QuantityError(ValueError):
    """The text is not a quantity."""


class Quantity:
    """An immutable exact amount that remembers how it was written, so that it prints canonically."""

    __slots__ = ("format", "nano")

    nano: int
    format: Format

    def __init__(self, nano: int, format: Format = "DecimalSI") -> None:  # noqa: A002 - the name Kubernetes gives it
        object.__setattr__(self, "nano", nano)
        object.__setattr__(self, "format", format)

    def __setattr__(self, name: str, value: object) -> None:
        raise AttributeError(f"a Quantity cannot change: {name} = {value!r}")

    def __reduce__(self) -> tuple[type[Quantity], tuple[int, Format]]:
        return Quantity, (self.nano, self.format)

    @property
    def milli(self) -> int:
        return _ceil(self.nano, 10**6)

    @property
    def units(self) -> int:
        return _ceil(self.nano, NANO)

    @property
    def is_zero(self) -> bool:
        return self.nano == 0

    def __add__(self, other: Quantity) -> Quantity:
        return Quantity(self.nano + other.nano, self.format if self.nano else other.format)

    def __sub__(self, other: Quantity) -> Quantity:
        return Quantity(self.nano - other.nano, self.format if self.nano else other.format)

    def __neg__(self) -> Quantity:
        return Quantity(-self.nano, self.format)

    def __mul__(self, factor: int) -> Quantity:
        return Quantity(self.nano * factor, self.format)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Quantity) and self.nano == other.nano

    def __hash__(self) -> int:
        return hash(self.nano)

    def __lt__(self, other: Quantity) -> bool:
        return self.nano < other.nano

    def __le__(self, other: Quantity) -> bool:
        return self.nano <= other.nano

    def __gt__(self, other: Quantity) -> bool:
        return self.nano > other.nano

    def __ge__(self, other: Quantity) -> bool:
        return self.nano >= other.nano

    def __bool__(self) -> bool:
        return self.nano != 0

    def __repr__(self) -> str:
        return f"Quantity({str(self)!r})"

    def __str__(self) -> str:
        if self.nano == 0:
            return "0"
        if self.format == "BinarySI" and abs(self.nano) >= 1024 * NANO:
            return _binary_text(self.units)
        return _decimal_text(self.nano, exponents=self.format == "DecimalExponent")


def parse(value: str | int | float | Quantity) -> Quantity:
    """The quantity that `value` says; JSON and YAML numbers count as they are written."""
    if isinstance(value, Quantity):
        return value
    try:
        return _parse(value)
    except TypeError:
        raise QuantityError(f"{value!r} is not a quantity: expected a number or a string such as 100m or 2Gi") from None


def milli(value: str | int | float | Quantity) -> int:
    """Thousandths, rounded up."""
    return parse(value).milli


def units(value: str | int | float | Quantity) -> int:
    """Whole units, rounded up."""
    return parse(value).units


def canonical(value: str | int | float | Quantity) -> str:
    """The one spelling Kubernetes gives to this amount."""
    return str(parse(value))


def of_milli(amount: int) -> Quantity:
    """`amount` thousandths."""
    return Quantity(amount * 10**6)


def of_units(amount: int, format: Format = "DecimalSI") -> Quantity:  # noqa: A002 - the name Kubernetes gives it
    """`amount` whole units, such as bytes (then BinarySI reads best)."""
    return Quantity(amount * NANO, format)


@lru_cache(maxsize=8192, typed=True)
def _parse(value: str | int | float) -> Quantity:
    if isinstance(value, bool) or not isinstance(value, str | int | float):
        raise QuantityError(f"{value!r} is not a quantity: expected a number or a string such as 100m or 2Gi")
    text = value if isinstance(value, str) else repr(value)
    if not text:
        raise QuantityError(_wrong_format(text))
    if len(text) > LONGEST:
        raise QuantityError(f"{text[:20]!r}… is no quantity: it is longer than {LONGEST} characters")
    match = _SHAPE.fullmatch(text)
    if match is None:
        raise QuantityError(_wrong_format(text))
    sign, whole, fraction, suffix = match.groups()
    fraction = fraction or ""
    numerator, denominator, form = _scale(suffix, text)
    if not whole and not fraction:
        raise QuantityError(f"unable to parse numeric part of quantity {text!r}")
    nano = _round_up(int(whole + fraction) * NANO * numerator, denominator * 10 ** len(fraction))
    nano = min(nano, _LARGEST)
    if form == "BinarySI" and 0 < nano < NANO:
        form = "DecimalSI"
    return Quantity(-nano if sign == "-" else nano, form)


def _wrong_format(text: str) -> str:
    return (
        f"{text!r}: quantities must match the regular expression "
        "'^([+-]?[0-9.]+)([eEinumkKMGTP]*[-+]?[0-9]*)$', for example 500m, 2, 1.5Gi"
    )


def _scale(suffix: str, text: str) -> tuple[int, int, Format]:
    """The factor a suffix stands for, as numerator and denominator."""
    power = _DECIMAL.get(suffix)
    form: Format = "DecimalSI"
    if power is None:
        bits = _BINARY.get(suffix)
        if bits is not None:
            return 1 << bits, 1, "BinarySI"
        exponent = _EXPONENT.fullmatch(suffix)
        if exponent is None:
            raise QuantityError(f"unable to parse quantity's suffix {suffix!r} in {text!r}")
        form = "DecimalExponent"
        power = max(-_LARGEST_EXPONENT, min(_LARGEST_EXPONENT, int(exponent[1])))
    return (10**power, 1, form) if power >= 0 else (1, 10**-power, form)


def _round_up(numerator: int, denominator: int) -> int:
    return -(-numerator // denominator)


def _ceil(nano: int, unit: int) -> int:
    """`nano / unit`, away from zero: a request is never made smaller by rounding."""
    return -(-nano // unit) if nano >= 0 else nano // unit


def readable_bytes(amount: int) -> str:
    """An amount of bytes as people write it: 900Gi, 8G; rounded to a tenth (4.8Gi) where its exact text is long."""
    if amount < 0:
        return f"-{readable_bytes(-amount)}"
    exact = min(_binary_text(amount), _decimal_text(amount * NANO, exponents=False), key=len) if amount else "0"
    power = min((amount.bit_length() - 1) // 10, len(_BINARY_SUFFIXES) - 1) if amount else 0
    if len(exact) <= _SHORT or not power:
        return exact
    return f"{amount / 1024**power:.1f}".removesuffix(".0") + _BINARY_SUFFIXES[power]


def readable(resource: str, amount: Quantity | str | int | float) -> str:
    """An amount of a resource as people write it: memory and other room in bytes with a suffix."""
    parsed = parse(amount)
    is_bytes = "/" not in resource and any(word in resource for word in ("memory", "storage", "hugepages-"))
    return readable_bytes(parsed.units) if is_bytes else str(parsed)


def _binary_text(whole: int) -> str:
    step = 0
    while whole % 1024 == 0 and step < len(_BINARY_SUFFIXES) - 1:
        whole //= 1024
        step += 1
    return f"{whole}{_BINARY_SUFFIXES[step]}"


def _decimal_text(nano: int, *, exponents: bool) -> str:
    power = -9
    while nano % 1000 == 0 and (exponents or power < 18):
        nano //= 1000
        power += 3
    if exponents:
        return f"{nano}e{power}" if power else str(nano)
    return f"{nano}{_DECIMAL_SUFFIXES[power]}"
