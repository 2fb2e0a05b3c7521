"""Seeds of documents and command lines."""

from __future__ import annotations

import pytest

from faultkit.base.documents.values import read_seed, seed_of_text
from faultkit.base.errors import InputError


@pytest.mark.parametrize("value", [0, 7, 2**70, "seven", "7"])
def test_a_whole_number_or_a_text_is_a_seed(value: int | str) -> None:
    assert read_seed(value) == value


@pytest.mark.parametrize(
    ("value", "got"),
    [(-1, "-1"), ("", '""'), (True, "true"), (None, "nothing"), (1.5, "1.5"), ([], "a list")],
)
def test_anything_else_is_refused(value: object, got: str) -> None:
    with pytest.raises(InputError) as caught:
        read_seed(value)
    assert caught.value.problem == f"expected a whole number of at least 0 or a text, got {got}"


def test_a_format_may_accept_more() -> None:
    assert read_seed(-1, negative=True) == -1
    assert read_seed("", empty=True) == ""
    with pytest.raises(InputError, match="expected a whole number or a text, got true"):
        read_seed(True, negative=True)


@pytest.mark.parametrize(
    ("text", "seed"), [("7", 7), ("007", 7), ("-7", "-7"), ("seven", "seven"), ("", ""), ("٧", "٧")]
)
def test_digits_of_a_command_line_are_a_number(text: str, seed: int | str) -> None:
    assert seed_of_text(text) == seed


def test_more_digits_than_a_number_may_have_are_a_text_or_a_mistake() -> None:
    assert seed_of_text("9" * 4301, longest=4300) == "9" * 4301
    with pytest.raises(ValueError, match="4300"):
        seed_of_text("9" * 4301)
