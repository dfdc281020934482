"""An Altair renderer that needs no network and no trust: the chart as Vega-Lite 5 and, beside it, as a picture.

JupyterLab and Notebook draw `application/vnd.vegalite.v5+json` themselves; GitHub, nbconvert and everything else show
the PNG. Altair's own renderers fetch their JavaScript from a CDN, or emit a type that nbformat (and so papermill)
rejects. Registered by `%load_ext mlxcel_lab`, never at import.
"""

from __future__ import annotations

import base64
from typing import Any

import altair as alt
import vl_convert

NAME = "mlxcel_lab"
VEGALITE = "application/vnd.vegalite.v5+json"
_SCHEMA = "https://vega.github.io/schema/vega-lite/v5.json"
_VL_VERSION = "5.20"
# The menu keeps what works offline: saving the picture. SVG, because text stays sharp when a page is zoomed.
_EMBED = {"renderer": "svg", "actions": {"export": True, "source": False, "compiled": False, "editor": False}}
_in_force: Any = None  # Altair's own handle, which remembers the renderer before ours


def mimebundle(spec: dict[str, Any], **_options: Any) -> tuple[dict[str, Any], dict[str, Any]]:
    """A Vega-Lite specification as (data, metadata) for a notebook's output.

    Raises ValueError where Vega-Lite 5 can't draw it, so that a broken chart fails the cell that makes it.
    """
    portable = {**spec, "$schema": _SCHEMA}
    data = {VEGALITE: portable, "image/png": base64.b64encode(png(portable)).decode()}
    return data, {VEGALITE: {"embed_options": _EMBED}}


def png(spec: dict[str, Any], scale: float = 2.0) -> bytes:
    """The chart as a PNG on a transparent ground, `scale` pixels for each of its units."""
    picture: bytes = vl_convert.vegalite_to_png(spec, vl_version=_VL_VERSION, scale=scale)
    return picture


def register() -> None:
    """Make it Altair's renderer in this process; the one in use before is kept for `unregister`."""
    global _in_force
    if _in_force is None:
        alt.renderers.register(NAME, mimebundle)
        _in_force = alt.renderers.enable(NAME)


def unregister() -> None:
    """Give Altair back the renderer that was in use before `register`."""
    global _in_force
    if _in_force is not None:
        _in_force.__exit__(None, None, None)
        _in_force = None
