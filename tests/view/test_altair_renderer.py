"""The renderer: a bundle that every front end shows, registered by `%load_ext` and by nothing else."""

import base64
import subprocess
import sys

import altair as alt
import nbformat.v4
import pytest
from IPython.testing.globalipapp import get_ipython, start_ipython

from mlxcel_lab.view import altair_renderer
from mlxcel_lab.view.altair_renderer import VEGALITE


@pytest.fixture
def shell():
    return start_ipython() or get_ipython()


@pytest.fixture
def registered():
    altair_renderer.register()
    yield
    altair_renderer.unregister()


def _chart(**encoding):
    return (
        alt.Chart(alt.Data(values=[{"a": 1, "b": 2}]))
        .mark_bar()
        .encode(**(encoding or {"x": "a:Q", "y": "b:Q"}))
    )


def _importing(statement):
    probe = f"{statement}; import sys; print(*sys.modules)"
    return subprocess.run(
        [sys.executable, "-c", probe], capture_output=True, text=True, check=True
    ).stdout.split()


def test_importing_the_package_registers_nothing_and_does_not_even_load_altair():
    assert "altair" not in _importing("import mlxcel_lab")
    assert "altair" not in _importing("import mlxcel_lab.view.theme")


def test_load_ext_makes_it_the_renderer_and_unload_ext_gives_back_the_one_before(shell):
    before = alt.renderers.active
    shell.run_line_magic("load_ext", "mlxcel_lab")
    assert alt.renderers.active == altair_renderer.NAME
    shell.run_line_magic("unload_ext", "mlxcel_lab")
    assert alt.renderers.active == before


def test_a_second_load_does_not_forget_the_renderer_before_the_first():
    before = alt.renderers.active
    altair_renderer.register()
    altair_renderer.register()
    altair_renderer.unregister()
    assert alt.renderers.active == before


def test_a_chart_is_vega_lite_5_and_a_png(registered):
    data, _ = _chart()._repr_mimebundle_()
    assert data[VEGALITE]["$schema"].endswith("/vega-lite/v5.json")
    assert base64.b64decode(data["image/png"]).startswith(b"\x89PNG")


def test_the_bundle_is_a_valid_notebook_output(registered):
    data, metadata = _chart()._repr_mimebundle_()
    output = nbformat.v4.new_output("display_data", data=data, metadata=metadata)
    cell = nbformat.v4.new_code_cell("chart", outputs=[output])
    nbformat.validate(nbformat.v4.new_notebook(cells=[cell]))


def test_the_menu_offers_nothing_that_needs_the_network(registered):
    _, metadata = _chart()._repr_mimebundle_()
    actions = metadata[VEGALITE]["embed_options"]["actions"]
    assert [name for name, offered in actions.items() if offered] == ["export"]


def test_a_chart_that_vega_lite_cannot_draw_fails_the_cell(registered):
    with pytest.raises(ValueError, match="Vega-Lite"):
        altair_renderer.mimebundle({**_chart().to_dict(), "mark": "nonsense"})
