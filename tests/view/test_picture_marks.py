"""The dashboard draws by itself what Vega draws for the charts: every shape of the theme, in Python and in JS."""

import re

import pytest

from mlxcel_lab.view import picture_marks, theme
from mlxcel_lab.view.occupancy import Occupancy, module

JAVASCRIPT = module()


@pytest.mark.parametrize("mark", theme.MARKS.values(), ids=lambda mark: mark.label)
def test_every_mark_of_the_theme_can_be_drawn(mark):
    assert mark.colour in picture_marks.symbol(mark, 10, 10, 5)
    assert f'"{mark.shape}"' in JAVASCRIPT or f"{mark.shape}: [[" in JAVASCRIPT


@pytest.mark.parametrize("kind", picture_marks.RAIL)
def test_every_row_of_the_rail_has_a_mark_by_the_name_of_its_kind(kind):
    assert theme.MARKS[kind].label == kind


def test_the_javascript_reads_only_what_the_look_has():
    look = Occupancy.make_look()
    taken = {
        name.strip()
        for names in re.findall(r"\{([^{}]*)\} = this\.look", JAVASCRIPT)
        for name in names.split(",")
    }
    assert {*re.findall(r"\blook\.(\w+)", JAVASCRIPT), *taken} == {*look}
    assert {*re.findall(r"\blook\.marks\.(\w+)", JAVASCRIPT)} <= {*look["marks"]}
