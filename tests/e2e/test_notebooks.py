"""The numbered notebooks as a person meets them: opened in JupyterLab, run from the menu, looked at in both themes."""

import nbformat
import pytest

from mlxcel_lab.view.altair_renderer import VEGALITE

pytestmark = [pytest.mark.e2e, pytest.mark.slow]

NOTEBOOKS = ["00_tour", "10_supersede", "20_thrash"]


def _charts_in(path):
    cells = nbformat.read(path, as_version=4).cells
    outputs = [output for cell in cells for output in cell.get("outputs", [])]
    return sum(VEGALITE in output.get("data", {}) for output in outputs)


@pytest.mark.parametrize("name", NOTEBOOKS)
def test_it_runs_from_the_menu_and_its_charts_are_drawn_in_both_themes(lab, name):
    path = f"notebooks/{name}.ipynb"
    lab.open(path)
    lab.run_all()
    lab.save()
    charts = _charts_in(lab.server.root / path)
    assert charts > 0
    for theme in ("dark", "light"):
        lab.open(path, theme)
        drawn = lab.page.locator(".jp-RenderedVegaCommon5 svg.marks")
        drawn.nth(charts - 1).wait_for()
        assert drawn.count() == charts
        lab.screenshot(f"{name}-{theme}")
