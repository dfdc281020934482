"""The dashboard's widget on a bare page in a real browser: what one redraw costs there."""

from __future__ import annotations

import base64
import json
import shutil
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from ..view.occupancy import STYLE, module

FLAGS = ("--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage", "--disable-background-networking")

_PAGE = """<!doctype html><meta charset="utf-8"><style>%(style)s</style><div id="el" style="width:1000px"></div>
<script type="module">
%(module)s
const unpack = (o) => o && o.$bytes !== undefined
  ? new DataView(Uint8Array.from(atob(o.$bytes), (c) => c.charCodeAt(0)).buffer)
  : Array.isArray(o) ? o.map(unpack)
  : o && typeof o === "object" ? Object.fromEntries(Object.entries(o).map(([k, v]) => [k, unpack(v)])) : o;
const state = unpack(%(state)s);
const handlers = {};
const model = {
  get: (name) => state[name],
  set: (name, value) => { state[name] = value; (handlers["change:" + name] || []).forEach((act) => act()); },
  save_changes: () => {}, off: () => {}, on: (name, act) => { (handlers[name] ??= []).push(act); },
};
const el = document.getElementById("el");
render({ model, el });
const timed = (act) => { const start = performance.now(); act(); return performance.now() - start; };
// Reading a pixel back makes the browser finish what was drawn.
const finish = () => document.querySelectorAll("canvas").forEach((c) => c.getContext("2d").getImageData(0, 0, 1, 1));
window.measure = (rounds) => {
  const view = el.mlxl, out = { load: [], redraw: [], cursor: [] };
  for (let i = 0; i < rounds; i++) {
    out.load.push(timed(() => view.load()));
    out.redraw.push(timed(() => { view.drawNow(); finish(); }));
    out.cursor.push(timed(() => { state.cursor = (i * 37) %% state.total; view.overlay(); finish(); }));
  }
  return out;
};
</script>"""


def page(state: Mapping[str, Any]) -> str:
    """A page that shows the widget in that state (its traits by name), without Jupyter."""
    body = module().replace("export default { render };", "")
    return _PAGE % {"style": STYLE.read_text(), "module": body, "state": json.dumps(_plain(state))}


def measure(state: Mapping[str, Any], folder: Path, rounds: int) -> dict[str, list[float]] | None:
    """Milliseconds to take a frame in, to redraw it, to move the cursor; None where there is no browser to drive."""
    chromium = shutil.which("chromium") or shutil.which("google-chrome")
    try:
        from playwright.sync_api import sync_playwright
    except ImportError:
        return None
    if chromium is None:
        return None
    path = folder / "frame.html"
    path.write_text(page(state), encoding="utf-8")
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=chromium, args=FLAGS)
        shown = browser.new_page(viewport={"width": 1100, "height": 900})
        shown.goto(path.as_uri())
        shown.wait_for_selector(".mlxl[data-draws]")
        found: dict[str, list[float]] = shown.evaluate(f"measure({rounds})")
        browser.close()
    return found


def _plain(value: Any) -> Any:
    if isinstance(value, bytes):
        return {"$bytes": base64.b64encode(value).decode()}
    if isinstance(value, Mapping):
        return {name: _plain(item) for name, item in value.items()}
    return [_plain(item) for item in value] if isinstance(value, list | tuple) else value
