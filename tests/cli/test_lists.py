"""Lists of whole numbers on the command line, the same for every command that takes them."""

import click
import pytest

from mlxcel_lab.cli.lists import WholeNumbers


@pytest.mark.parametrize(
    ("text", "thousands", "numbers"),
    [("256", False, (256,)), ("256, 1024", False, (256, 1024)), ("1k,8K,0.5k,7", True, (1000, 8000, 500, 7))],
)
def test_a_list_is_read(text, thousands, numbers):
    kind = WholeNumbers(thousands=thousands)
    assert kind.convert(text, None, None) == numbers
    assert kind.convert(numbers, None, None) == numbers


@pytest.mark.parametrize("text", ["", ",", "0", "-1", "1,", "1.5", "many", "1k", "8,0"])
def test_what_is_no_list_of_whole_numbers_is_refused_by_name(text):
    with pytest.raises(click.BadParameter, match=f"'{text}': expected whole numbers, 1 or more"):
        WholeNumbers().convert(text, None, None)


@pytest.mark.parametrize("text", ["k", "0k", "infk", "nank", "1.0005k", "-1k", "1kk"])
def test_thousands_are_whole_numbers_too(text):
    with pytest.raises(click.BadParameter, match=r"expected whole numbers \(8k for 8000\)"):
        WholeNumbers(thousands=True).convert(text, None, None)
