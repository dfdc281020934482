"""mlx-lm's own server on its own prompt cache and on the lab's store: the same traffic through both."""

from __future__ import annotations

import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import altair as alt
import polars as pl

from ..config import resolve
from ..engine import lab_models
from .peer import compare
from .serving import SYSTEM, TALKS

WIDTH = 320


def same_traffic(model: str, turns: int, max_tokens: int) -> pl.DataFrame:
    """A row a turn and server: prompt and cached tokens as the client sees them, entries and bytes held after it."""
    from ..engine import backend  # noqa: F401, I001  (before mlx: see there)
    from mlx_lm.models.cache import LRUPromptCache

    from ..serve.mlx_lm_server import prompt_cache

    # Two turns' worth a conversation and turn: neither side evicts, so that what piles up shows.
    caches = {
        "mlx-lm": LRUPromptCache(max_size=1000),
        "lab": prompt_cache(resolve({"min_prefix_tokens": 8}, {})),
    }
    talks = {who: [said[turn % len(said)] for turn in range(turns)] for who, said in TALKS.items()}
    with model_folder(model) as folder:
        return compare(folder, caches, talks, system=SYSTEM, max_tokens=max_tokens)


def held_and_reused(frame: pl.DataFrame) -> alt.HConcatChart:
    """Cached tokens a turn, and bytes held after each request, server by server."""
    from ..view import theme

    colours = alt.Scale(domain=["mlx-lm", "lab"], range=list(theme.SESSION_COLOURS[:2]))
    colour = alt.Color("server:N", scale=colours, title=None)
    base = alt.Chart(
        frame.with_columns(pl.int_range(1, pl.len() + 1).over("server").alias("request"))
    ).encode(x=alt.X("request:Q", title="request", axis=alt.Axis(tickMinStep=1)), color=colour)
    bars = base.mark_bar().encode(
        xOffset="server:N", x=alt.X("request:O", title="request", axis=alt.Axis(labelAngle=0))
    )
    reused = bars.encode(y=alt.Y("cached_tokens:Q", title="cached tokens"))
    line = base.mark_line(point=True, strokeWidth=2)
    held = line.encode(y=alt.Y("bytes:Q", title="bytes held", axis=alt.Axis(format="~s")))
    charts = [chart.properties(width=WIDTH, height=180) for chart in (reused, held)]
    return alt.hconcat(*charts).configure(**theme.altair_config())


@contextmanager
def model_folder(model: str) -> Iterator[Path]:
    """A folder that mlx-lm's server can load: a lab model's written out, or the folder that is named."""
    from ..serve.mlx_lm_server import save_lab_model

    if model not in lab_models():
        yield Path(model)
        return
    with tempfile.TemporaryDirectory(prefix="mlxcel-lab-") as folder:
        save_lab_model(model, Path(folder))
        yield Path(folder)
