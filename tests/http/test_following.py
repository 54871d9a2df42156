"""Files that are replaced: read again once they changed, and what cannot be read keeps what there was."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from volcano.http.following import NEVER_READ, Followed, Reading, stamps_of

if TYPE_CHECKING:
    from pathlib import Path


def followed(path: Path) -> Followed[int]:
    return Followed.files([path], lambda: int(path.read_text()), ValueError, OSError)


def test_a_changed_file_is_read_once(tmp_path: Path) -> None:
    path = tmp_path / "number"
    path.write_text("1000")
    numbers = followed(path)
    first = numbers.look()
    assert first == 1000
    assert numbers.look() is first
    path.write_text("20000")
    assert (numbers.value, numbers.look(), numbers.value) == (1000, 20000, 20000)


def test_a_file_that_is_replaced_by_one_of_the_same_length_is_noticed(tmp_path: Path) -> None:
    path, other = tmp_path / "number", tmp_path / "other"
    path.write_text("1")
    numbers = followed(path)
    other.write_text("2")
    other.rename(path)
    assert numbers.look() == 2


def test_what_cannot_be_read_is_told_once_and_looked_at_again(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    path = tmp_path / "number"
    path.write_text("1")
    numbers = followed(path)
    path.write_text("half")
    assert (numbers.look(), numbers.look()) == (1, 1)
    assert caplog.text.count("what was read before stays in use") == 1
    assert numbers.problem is not None
    path.unlink()
    assert numbers.look() == 1
    assert "No such file" in (numbers.problem or "")
    path.write_text("22")
    assert (numbers.look(), numbers.problem) == (22, None)


def test_what_cannot_be_read_at_the_start_is_an_error(tmp_path: Path) -> None:
    with pytest.raises(FileNotFoundError):
        followed(tmp_path / "none")


def test_a_value_without_a_file_yet_is_read_as_soon_as_there_is_one(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    path = tmp_path / "number"

    def read() -> Reading[int]:
        stamps = stamps_of([path])
        return Reading(int(path.read_text()), (path,), stamps)

    numbers = Followed(Reading(0, (path,), NEVER_READ), read, (OSError,))
    assert numbers.look() == 0
    assert "it is read once it can be" in caplog.text
    path.write_text("7")
    assert numbers.look() == 7
