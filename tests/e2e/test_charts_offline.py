"""A chart in a real JupyterLab without a network: drawn when run, and when a stranger's executed notebook is opened."""

import nbformat
import pytest
from nbclient import NotebookClient

pytestmark = [pytest.mark.e2e, pytest.mark.slow]

CELLS = (
    "%load_ext mlxcel_lab",
    "import altair as alt\n"
    "rows = alt.Data(values=[{'turn': n, 'bytes': n * 4} for n in range(1, 6)])\n"
    "alt.Chart(rows, title='five bars').mark_bar().encode(x='turn:O', y='bytes:Q')",
)


def _notebook():
    notebook = nbformat.v4.new_notebook(cells=[nbformat.v4.new_code_cell(source) for source in CELLS])
    notebook.metadata["kernelspec"] = {"name": "python3", "display_name": "Python 3", "language": "python"}
    return notebook


def _assert_bars_are_drawn(lab):
    drawn = lab.page.locator(".jp-RenderedVegaCommon5 svg .mark-rect path")
    drawn.first.wait_for()
    assert drawn.count() == 5


@pytest.mark.parametrize("theme", ["light", "dark"])
def test_a_chart_is_drawn_when_its_cell_runs(lab, theme):
    nbformat.write(_notebook(), lab.server.root / "bars.ipynb")
    lab.open("bars.ipynb", theme)
    lab.run_all()
    _assert_bars_are_drawn(lab)
    lab.screenshot(f"bars-{theme}")


def test_an_untrusted_executed_notebook_shows_its_charts(lab, tmp_path):
    executed = NotebookClient(_notebook(), kernel_name="python3").execute()
    nbformat.write(executed, lab.server.root / "from-a-stranger.ipynb")
    lab.open("from-a-stranger.ipynb")
    _assert_bars_are_drawn(lab)
