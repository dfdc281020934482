"""Every chart on any page: its ground is the page's, and no word of it is black, which a dark page swallows."""

from __future__ import annotations

import inspect
import re
from pathlib import Path

import httpx
import polars as pl
import pytest
import vl_convert

import mlxcel_lab
from mlxcel_lab.experiments import inside_mlx_lm
from mlxcel_lab.runs import charts as run_charts
from mlxcel_lab.store import SnapshotStore
from mlxcel_lab.view import charts, cure_charts, foreign, misses, replay_charts, size_charts

from .traffic import two_conversations

BYTES = pl.DataFrame(
    {"model": ["a", "b"] * 2, "tokens": [10, 10, 1000, 1000], "bytes": [100, 200, 300, 5000]}
)
SURVIVAL = {"family": "f", "mode": "plain", "scene": "talk", "why": "", "prompt": True, "completion": False,
            "boundary": True, "warmup": True}  # fmt: skip
RATES = pl.DataFrame(
    {"trace": ["t", "t"], "time": [0.0, 1.0], "rule": ["origin", "off"], "token_hit_rate": [0.5, 0.6]}
)
SAVED = {"model": "a", "tokens": 10, "origin": "boundary", "saved": 0.5, "allocated": 20, "trimmed": 10}


def _counters():
    answers = httpx.MockTransport(lambda _: httpx.Response(200, json=SnapshotStore().stats_payload()))
    return foreign.CounterWatch(httpx.Client(base_url="http://mlxcel", transport=answers)).chart()


def _journal():
    return two_conversations().journal


DRAWN = {
    charts.story: lambda: charts.story(_journal(), "title"),
    charts.occupancy: lambda: charts.occupancy(_journal()),
    charts.lanes: lambda: charts.lanes(_journal()),
    charts.turns: lambda: charts.turns(_journal()),
    charts.counters: lambda: charts.counters(_journal()),
    cure_charts.reuse_by_turn: lambda: cure_charts.reuse_by_turn(
        pl.DataFrame({"template": "plain", "cure": "no cure", "turn": [1, 2], "cached": [0, 5], "prompt": 10})
    ),
    cure_charts.survival_map: lambda: cure_charts.survival_map(pl.DataFrame([SURVIVAL])),
    misses.lost_chart: lambda: misses.lost_chart(pl.DataFrame([("c", 1, 9, 1.0, "a")], misses.SCHEMA, orient="row")),
    size_charts.against_tokens: lambda: size_charts.against_tokens(BYTES, 1000),
    size_charts.by_kind: lambda: size_charts.by_kind(BYTES.with_columns(kind=pl.lit("kv"), share=pl.lit(1.0))),
    size_charts.cliff: lambda: size_charts.cliff(
        pl.DataFrame({"n": [1, 2], "hits": [1, 0], "share": [1.0, 0.0]}), 2, "title", "told"
    ),
    size_charts.savings: lambda: size_charts.savings(pl.DataFrame([SAVED])),
    replay_charts.ahead: lambda: replay_charts.ahead(
        pl.DataFrame({"trace": ["t"], "step": [1], "best_rule": ["off"], "ahead": [0.001]}), "title"
    ),
    replay_charts.capacity: lambda: replay_charts.capacity(
        RATES.with_columns(capacity_bytes=pl.lit(2**30)), "title", current=2**30
    ),
    replay_charts.side_by_side: lambda: replay_charts.side_by_side(RATES),
    replay_charts.over_time: lambda: replay_charts.over_time(RATES, "title"),
    run_charts.compare: lambda: run_charts.compare(RATES, "token_hit_rate", "time", by="rule", panel="trace"),
    foreign.CounterWatch.chart: _counters,
    inside_mlx_lm.held_and_reused: lambda: inside_mlx_lm.held_and_reused(
        pl.DataFrame({"server": ["lab", "mlx-lm"], "cached_tokens": [1, 2], "bytes": [1, 2]})
    ),
}  # fmt: skip


@pytest.mark.parametrize("draw", DRAWN.values(), ids=[function.__qualname__ for function in DRAWN])
def test_the_page_shows_through_and_every_word_can_be_read_on_it(draw):
    spec = draw().to_dict()
    assert spec["config"]["background"] == "transparent"
    words = re.findall(r"<text[^>]*>", vl_convert.vegalite_to_svg(spec, vl_version="5.20"))
    assert words
    black = [word for word in words if not re.search(r'fill="(?!black|#000)', word)]
    assert black == []


@pytest.mark.parametrize("draw", DRAWN.values(), ids=[function.__qualname__ for function in DRAWN])
def test_every_word_of_a_legend_has_a_sign_that_can_be_seen(draw):
    svg = vl_convert.vegalite_to_svg(draw().to_dict(), vl_version="5.20")
    for group in re.findall(r'role-legend-symbol"[^>]*>(.*?)</g>', svg):
        for sign in re.findall(r"<path[^>]*>", group):
            filled = re.search(r'fill="(?!none|transparent)', sign)
            drawn = re.search(r'stroke="(?!none|transparent)', sign) and 'stroke-width="0"' not in sign
            assert filled or drawn, sign


def test_no_chart_is_missing_here():
    modules = (charts, cure_charts, misses, replay_charts, size_charts, run_charts)
    public = [
        function
        for module in modules
        for name, function in inspect.getmembers(module, inspect.isfunction)
        if function.__module__ == module.__name__
        and not name.startswith("_")
        and str(function.__annotations__.get("return")).startswith(("alt.", "Any"))
    ]
    assert {*public} <= {*DRAWN}


def test_colours_are_named_in_the_theme_alone():
    package = Path(mlxcel_lab.__file__).parent
    named = re.compile(r"""["']#[0-9A-Fa-f]{3,8}["']""")
    coloured = {
        str(p.relative_to(package)) for p in package.rglob("*.py") if named.search(p.read_text("utf-8"))
    }
    assert coloured == {"view/theme.py"}
