"""Quantities are exact, print canonically and refuse what Kubernetes refuses."""

from __future__ import annotations

from fractions import Fraction

import pytest
from hypothesis import given, strategies as st

from volcano.api import quantity
from volcano.api.quantity import NANO, Quantity, QuantityError

SUFFIXES = {
    "n": Fraction(1, 10**9),
    "u": Fraction(1, 10**6),
    "m": Fraction(1, 1000),
    "": Fraction(1),
    "k": Fraction(10**3),
    "M": Fraction(10**6),
    "G": Fraction(10**9),
    "Ki": Fraction(2**10),
    "Mi": Fraction(2**20),
    "Gi": Fraction(2**30),
    "e3": Fraction(1000),
    "E2": Fraction(100),
    "e-3": Fraction(1, 1000),
}
texts = st.builds(
    lambda sign, number, places, suffix: (sign, number, places, suffix),
    st.sampled_from(["", "-", "+"]),
    st.integers(0, 10**6),
    st.integers(0, 4),
    st.sampled_from(sorted(SUFFIXES)),
)
quantities = st.builds(
    Quantity, st.integers(-(10**24), 10**24), st.sampled_from(["DecimalSI", "BinarySI", "DecimalExponent"])
)


@pytest.mark.parametrize(
    ("text", "canonical"),
    [
        ("0", "0"),
        ("100m", "100m"),
        ("0.1", "100m"),
        ("1000m", "1"),
        ("1500m", "1500m"),
        ("100000", "100k"),
        ("1.5Gi", "1536Mi"),
        ("1024", "1024"),
        ("1024Ki", "1Mi"),
        ("0.5Ki", "512"),
        ("2000Mi", "2000Mi"),
        ("1e3", "1e3"),
        ("12E6", "12e6"),
        ("1E", "1E"),
        (".5", "500m"),
        ("5.", "5"),
        ("+3", "3"),
        ("-1.5Gi", "-1536Mi"),
        ("0.1n", "1n"),
        ("0.0001Ki", "102400u"),
        ("100e-3", "100e-3"),
        (2, "2"),
        (0.25, "250m"),
        (1e16, "10e15"),
    ],
)
def test_a_quantity_prints_canonically(text: str | float, canonical: str) -> None:
    assert str(quantity.parse(text)) == canonical


@pytest.mark.parametrize(
    ("text", "milli", "units"),
    [("100m", 100, 1), ("1", 1000, 1), ("1.5", 1500, 2), ("1u", 1, 1), ("-1.5", -1500, -2), ("1Ki", 1024000, 1024)],
)
def test_reading_in_coarser_units_rounds_away_from_zero(text: str, milli: int, units: int) -> None:
    assert (quantity.milli(text), quantity.units(text)) == (milli, units)


@pytest.mark.parametrize("text", ["", "abc", "1.2.3", "1x", "1 Gi", "--1", "1Kib", "1e", "Ki", ".", "１", "1_0", "NaN"])
def test_what_is_no_quantity_is_refused_with_its_text(text: str) -> None:
    with pytest.raises(QuantityError, match="quantit"):
        quantity.parse(text)


@pytest.mark.parametrize("value", [True, None, [], {}])
def test_other_types_are_refused(value: object) -> None:
    with pytest.raises(QuantityError, match="is not a quantity"):
        quantity.parse(value)  # type: ignore[arg-type]


def test_what_is_too_large_is_capped() -> None:
    assert quantity.parse("10E") == quantity.parse("1e99999999") == Quantity((2**63 - 1) * NANO)
    assert quantity.parse("-10E") == -quantity.parse("10E")


def test_a_quantity_cannot_change() -> None:
    with pytest.raises(AttributeError):
        quantity.parse("1").nano = 2


@given(texts)
def test_parsing_is_exact_to_the_billionth_and_rounds_up(parts: tuple[str, int, int, str]) -> None:
    sign, number, places, suffix = parts
    shown = f"{number / 10**places:.{places}f}"
    exact = Fraction(number, 10**places) * SUFFIXES[suffix] * NANO
    parsed = quantity.parse(f"{sign}{shown}{suffix}")

    magnitude = -parsed.nano if sign == "-" else parsed.nano

    assert magnitude == -(-exact.numerator // exact.denominator)


@given(quantities)
def test_the_canonical_text_means_the_same(amount: Quantity) -> None:
    again = quantity.parse(str(amount))

    if amount.format == "BinarySI" and abs(amount.nano) >= 1024 * NANO:
        assert again == Quantity(amount.units * NANO)
    else:
        assert again == amount
    if again.format == amount.format:  # an amount without suffix does not say that it was binary
        assert str(again) == str(amount)


@given(quantities, quantities)
def test_sums_and_comparisons_are_those_of_numbers(a: Quantity, b: Quantity) -> None:
    assert (a + b).nano == a.nano + b.nano
    assert a + b - b == a
    assert (a < b) == (a.nano < b.nano)
    assert (a <= b) == (not b < a)
    assert (a == b) == (hash(a) == hash(b) and a.nano == b.nano)


@given(quantities)
def test_rounding_never_makes_a_request_smaller(amount: Quantity) -> None:
    assert abs(amount.milli) * 10**6 >= abs(amount.nano)
    assert abs(amount.milli) * 10**6 - abs(amount.nano) < 10**6
    assert abs(amount.units) * NANO >= abs(amount.nano)


def test_a_sum_keeps_the_way_its_first_part_was_written() -> None:
    assert str(quantity.parse("1Gi") + quantity.parse("1073741824")) == "2Gi"
    assert str(quantity.parse("0") + quantity.parse("2Gi")) == "2Gi"


@pytest.mark.parametrize(
    ("resource", "amount", "text"),
    [
        ("memory", 966367641600, "900Gi"),
        ("memory", "419430400", "400Mi"),
        ("requests.memory", 8_000_000_000, "8G"),
        ("ephemeral-storage", 5153960755, "4.8Gi"),
        ("memory", 1023, "1023"),
        ("memory", 0, "0"),
        ("memory", -(1 << 30), "-1Gi"),
        ("cpu", "4800m", "4800m"),
        ("volcano.sh/vgpu-memory", 8192, "8192"),
    ],
)
def test_people_read_bytes_with_a_suffix(resource: str, amount: str | int, text: str) -> None:
    assert quantity.readable(resource, amount) == text
