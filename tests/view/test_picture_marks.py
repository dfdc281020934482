"""The dashboard draws by itself what Vega draws for the charts: every shape of the theme, in Python and in JS."""

import pytest

from mlxcel_lab.view import picture_marks, theme
from mlxcel_lab.view.occupancy import module

JAVASCRIPT = module()


@pytest.mark.parametrize("mark", theme.MARKS.values(), ids=lambda mark: mark.label)
def test_every_mark_of_the_theme_can_be_drawn(mark):
    assert mark.colour in picture_marks.symbol(mark, 10, 10, 5)
    assert f'"{mark.shape}"' in JAVASCRIPT or f"{mark.shape}: [[" in JAVASCRIPT


def test_a_replaced_snapshot_has_its_mark():
    assert picture_marks.mark_of("replaced").shape == "triangle-right"
