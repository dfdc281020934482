"""The charts: each compiles as Vega-Lite 5 for any journal, an empty one included, and shows what is there."""

import itertools
import json

import pytest

from mlxcel_lab.config import PromptCacheConfig
from mlxcel_lab.store import CacheKey, Origin, Snapshot, SnapshotStore
from mlxcel_lab.view import altair_renderer, charts, theme

PICTURES = [charts.story, charts.occupancy, charts.lanes, charts.turns, charts.counters]


def _store(capacity=100):
    config = PromptCacheConfig(snapshot_capacity_bytes=capacity, min_prefix_tokens=1)
    return SnapshotStore(config, clock=itertools.count().__next__)


def _busy(capacity=100):
    store, key = _store(capacity), CacheKey(session="</script><b>x")
    for length in (3, 6, 9):
        store.lookup(key, range(length + 1))
        store.insert(key, Snapshot(range(length), 30))
        store.insert(key, Snapshot(range(length - 1), 20, Origin.BOUNDARY))
        store.insert(CacheKey(), Snapshot([length, 7, 7], 25))
    return store


def _told(chart):
    return json.dumps(chart.to_dict())


@pytest.mark.parametrize("picture", PICTURES)
@pytest.mark.parametrize(
    "store", [_store(), _busy(), _busy(capacity=10)], ids=["empty", "busy", "all refused"]
)
def test_every_picture_of_every_journal_can_be_drawn(picture, store):
    spec = picture(store.journal, "A <title>").to_dict()
    assert altair_renderer.png(spec, scale=1).startswith(b"\x89PNG")


@pytest.mark.parametrize("picture", [charts.story, charts.occupancy, charts.lanes])
def test_a_picture_over_time_can_be_drawn_too(picture):
    spec = picture(_busy().journal, over="time").to_dict()
    assert "seconds" in json.dumps(spec)
    assert altair_renderer.png(spec, scale=1)


def test_the_budget_is_a_line_where_it_is_in_sight_and_words_where_it_is_far_above():
    assert "lies far above" not in _told(charts.occupancy(_busy(100).journal))
    spec = charts.occupancy(_busy(100_000).journal).to_dict()
    assert "the budget, 100,000 bytes, lies far above" in spec["title"]["subtitle"]
    assert "budget '" not in json.dumps(spec)


def test_the_page_shows_through_and_nothing_is_black_or_white_but_the_figures_on_bars():
    spec = charts.story(_busy().journal).to_dict()
    assert spec["config"]["background"] == "transparent"
    assert spec["config"]["axis"]["labelColor"] == spec["config"]["title"]["color"] == theme.INK


def test_the_legend_of_fates_names_those_that_there_are():
    told = _told(charts.lanes(_busy().journal))
    assert '"superseded"' in told
    assert '"expired"' not in told
