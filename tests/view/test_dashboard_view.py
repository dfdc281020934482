"""What the dashboard shows, against the journals that it was given, and what one takes away from it."""

import re

import numpy as np
import pytest
import yaml

from mlxcel_lab.config import PromptCacheConfig
from mlxcel_lab.engine import Engine, load_dry
from mlxcel_lab.store import Journal, LookedUp
from mlxcel_lab.view import payload
from mlxcel_lab.view.dashboard import Dashboard
from mlxcel_lab.view.frames import FrameModel
from mlxcel_lab.view.setup import Setup

from .traffic import MB, make_store, random_traffic, story, take_turn, two_conversations


def _text(html):
    return re.sub(r"\s+", " ", re.sub(r"<[^>]+>", " ", html))


@pytest.mark.parametrize("seed", range(3))
def test_every_panel_shows_the_store_as_it_was_at_the_cursor(dashboard, seed):
    store = random_traffic(seed, steps=25)
    dash = dashboard(store)
    model = FrameModel()
    model.feed(store.journal.events)
    for position in range(0, len(model), 3):
        dash.seek(position)
        seq = int(model.events["seq"][position])
        resident = store.journal.state_at(seq)
        shown = re.findall(r"<tr><td>(\d+)</td>", dash.stage.residents.value)
        newest_first = [str(e.snapshot_id) for e in sorted(resident, key=lambda e: -e.seq)]
        assert shown == newest_first[: len(shown)]
        hits = sum(isinstance(e, LookedUp) and e.outcome == "hit" for e in store.journal.events[: seq + 1])
        assert f"hits {hits} " in _text(dash.stage.counters.value)


def test_a_recorded_journal_shows_what_the_live_one_showed(dashboard, tmp_path):
    store = random_traffic(4, steps=60)
    path = store.journal.write(tmp_path / "recorded.parquet")
    live, recorded = dashboard(store), dashboard(path)
    for position in (0, 20, 50, -1):
        for dash in (live, recorded):
            dash.seek(position)
        for view in ("turn", "counters", "residents", "settings"):
            assert getattr(live.stage, view).value == getattr(recorded.stage, view).value
    assert live.stage.drawing() == recorded.stage.drawing()


def test_two_stores_are_compared_on_one_time_line(dashboard):
    stores = [two_conversations("off"), two_conversations("origin")]
    dash = dashboard(*stores)
    assert [p["title"] for p in dash.stage.occupancy.panels] == ["supersede off", "supersede origin"]
    assert dash.stage.occupancy.total == sum(p["events"] for p in dash.stage.occupancy.panels)


def test_what_a_store_does_after_the_dashboard_was_made_is_seen(dashboard):
    store = two_conversations("off", turns=1)
    dash = dashboard(store)
    before = dash.stage.occupancy.total
    take_turn(store, "C", 0)
    dash.refresh()
    assert dash.stage.occupancy.total == before + 2
    assert dash.stage.occupancy.panels[0]["sessions"] == ["A", "B", "C"]


def test_an_engine_of_ones_own_can_be_talked_to(dashboard):
    engine = Engine(load_dry("gated-delta"), config=PromptCacheConfig(min_prefix_tokens=8))
    dash = dashboard(engine, lines=["A: Hello => Good day."])
    dash.run()
    dash.say("A", "How are you?", "Well.")
    assert engine.store.stats().inserts >= 2
    assert len(dash.result()) == 2
    with pytest.raises(ValueError, match="clock of its own"):
        dash.wait(60)
    dash.reset()
    assert dash.journals == [engine.store.journal]
    dash.run()
    assert engine.store.stats().lookups == 3


def test_a_dashboard_of_a_journal_runs_nothing(dashboard):
    dash = dashboard(Journal())
    with pytest.raises(ValueError, match="only watches"):
        dash.run()
    with pytest.raises(TypeError, match="rule: settings are for a run of one's own"):
        Dashboard(Journal(), rule="off")


@pytest.mark.parametrize(
    ("things", "error", "message"),
    [
        ((3,), TypeError, "can't watch int 3: expected an engine, a store, a journal"),
        (("nowhere.parquet",), ValueError, "'nowhere.parquet' isn't there"),
        ((Journal(), Journal(), Journal()), ValueError, "3 journals: a dashboard shows one, or compares two"),
    ],
)
def test_what_cannot_be_watched_is_refused(things, error, message):
    with pytest.raises(error, match=message):
        Dashboard(*things)


def test_the_selected_turn_says_why_it_missed(dashboard):
    dash = dashboard()
    dash.run()
    off, origin = dash.stage.turn.value.split("supersede origin")
    assert "evicted for the budget" in _text(off)
    assert "Raise the budget" in _text(off)
    assert "155 of 177 tokens come from snapshot" in _text(origin)


def test_the_settings_say_where_each_value_came_from(dashboard):
    dash = dashboard(ttl_seconds=60.0)
    dash.step()
    shown = _text(dash.stage.settings.value)
    assert "time to live 60 s (dashboard) 60 s (dashboard)" in shown
    assert "supersede off (dashboard) origin (default)" in shown
    assert "most entries 4096 (default)" in shown


def test_a_journal_alone_explains_a_divergence_by_its_tokens(dashboard):
    store = make_store()
    take_turn(store, "A", 0)
    take_turn(store, "A", 0, new=5)
    store.lookup(store.entries()[0].key, [1, 2, 3])
    dash = dashboard(store)
    assert "parts at token 0 of 3" in _text(dash.stage.turn.value)


def test_names_from_outside_cannot_be_markup(dashboard):
    store = make_store()
    take_turn(store, "<script>alert(1)</script>", 0)
    dash = dashboard(store)
    for view in ("turn", "counters", "residents", "settings"):
        assert "<script" not in getattr(dash.stage, view).value
    assert "<script" not in dash.stage.drawing()


def test_zooming_sends_the_window_and_the_axis_counts_what_it_says(dashboard):
    dash = dashboard(random_traffic(2, steps=50))
    shown = dash.stage.occupancy
    shown.axis = "events"
    shown.window = [10.0, 19.5]
    dash.refresh()
    points = shown.panels[0]["points"]
    np.testing.assert_array_equal(np.frombuffer(points["x"], "<f8")[1:], np.arange(10, 20))


def test_it_brings_a_picture_for_whoever_cannot_show_a_widget(dashboard):
    dash = dashboard(two_conversations())
    data, _ = dash._repr_mimebundle_()
    assert data["image/png"].startswith("iVBOR")
    assert "application/vnd.jupyter.widget-view+json" in data
    assert data["text/plain"].startswith("Dashboard(supersede origin")


def test_the_exported_parameters_reproduce_the_run(dashboard, tmp_path):
    dash = dashboard(budget=3.0, compare="rule session")
    dash.step()
    dash.say("B", "Something that isn't in the script.", "Indeed.")
    dash.step()
    dash.wait(7200)
    written = {path.name: path for path in dash.export(tmp_path / "out")}
    again = dashboard(**yaml.safe_load(written["parameters.yaml"].read_text()))
    again.run()
    assert [story(j) for j in again.journals] == [story(j) for j in dash.journals]
    recorded = Journal.read(written["journal-supersede-session.parquet"])
    assert story(recorded) == story(dash.journals[0])
    assert written["picture.png"].read_bytes().startswith(b"\x89PNG")
    assert written["picture.svg"].read_text().startswith("<svg")


def test_a_script_that_was_played_to_its_end_is_exported_by_name(dashboard, tmp_path):
    dash = dashboard()
    dash.run()
    (path,) = [p for p in dash.export(tmp_path) if p.suffix == ".yaml"]
    assert Setup.of(yaml.safe_load(path.read_text())) == dash.setup


def test_of_many_events_only_steps_are_sent(dashboard, monkeypatch):
    monkeypatch.setattr(payload, "EXACT", 500)
    store = make_store("off", capacity=60 * MB)
    for turn in range(300):
        take_turn(store, f"user-{turn % 40}", 0, new=2)
    dash = dashboard(store)
    sent = dash.stage.occupancy.panels[0]
    assert not sent["exact"]
    assert sent["points"]["count"] == 1200
