"""Two journals on one axis, and what of them is sent to be drawn."""

import numpy as np
import pytest

from mlxcel_lab.view import payload
from mlxcel_lab.view.frames import CODE, KINDS, FrameModel
from mlxcel_lab.view.payload import panel, shown_sessions
from mlxcel_lab.view.timeline import AXES, Timeline

from .traffic import MB, make_store, random_traffic, take_turn, two_conversations


def _model(store):
    model = FrameModel()
    model.feed(store.journal.events)
    return model


def _panel(store, axis="events", window=None):
    model = _model(store)
    line = Timeline([model])
    return model, panel(
        model, line.positions()[0], line.x(axis)[0], window or line.domain(axis), shown_sessions([model])
    )


def _floats(raw):
    return np.frombuffer(raw, "<f8")


def _ints(raw):
    return np.frombuffer(raw, "<i4")


def test_positions_of_two_runs_number_all_events_once_and_turn_by_turn():
    models = [_model(two_conversations("off")), _model(two_conversations("origin"))]
    first, second = Timeline(models).positions()
    assert sorted([*first, *second]) == list(range(len(first) + len(second)))
    assert (np.diff(first) > 0).all()
    assert (np.diff(second) > 0).all()
    turns = np.empty(len(first) + len(second), int)
    turns[first], turns[second] = models[0].events["turn"], models[1].events["turn"]
    assert (np.diff(turns) >= 0).all()


def test_the_same_turn_of_two_runs_begins_at_the_same_x():
    models = [_model(two_conversations("off")), _model(two_conversations("origin"))]
    for axis in ("turns", "time"):
        xs = Timeline(models).x(axis)
        starts = [x[np.asarray(m.events["kind"]) < CODE["inserted"]] for x, m in zip(xs, models, strict=True)]
        np.testing.assert_array_equal(*starts)


@pytest.mark.parametrize("axis", AXES)
def test_x_never_falls_and_lies_in_the_domain(axis):
    line = Timeline([_model(random_traffic(2))])
    low, high = line.domain(axis)
    (x,) = line.x(axis)
    assert (np.diff(x) >= 0).all()
    assert low <= x[0]
    assert x[-1] < high


def test_an_unknown_axis_is_refused_by_name():
    with pytest.raises(ValueError, match="unknown axis 'weeks': expected one of turns, time, events"):
        Timeline([FrameModel()]).x("weeks")


def test_an_empty_journal_has_a_time_line_and_a_panel():
    line = Timeline([FrameModel()])
    assert (len(line), line.domain("turns"), line.rows_at(-1)) == (0, (0.0, 1.0), [-1])
    _, drawn = _panel(make_store())
    assert drawn["points"]["count"] == 1
    assert drawn["bars"]["count"] == 0


def test_at_a_position_both_runs_are_seen_at_the_same_step_of_the_same_turn():
    models = [_model(two_conversations("off")), _model(two_conversations("origin"))]
    line = Timeline(models)

    def moment(model, row):
        return int(models[model].events["turn"][row]), int(models[model].events["step"][row])

    for owner, positions in enumerate(line.positions()):
        for row, position in enumerate(positions.tolist()):
            rows = line.rows_at(position)
            assert rows[owner] == row
            other = rows[1 - owner]
            assert other < 0 or moment(1 - owner, other) <= moment(owner, row)
            if other + 1 < len(models[1 - owner]):
                assert moment(1 - owner, other + 1) > moment(owner, row)


def test_the_drawn_stack_is_the_journals_bytes_by_session_and_origin():
    store = random_traffic(4, steps=80)
    model, drawn = _panel(store)
    points = drawn["points"]
    kinds, layers, sizes = (
        np.frombuffer(points["kind"], "u1"),
        _ints(points["layer"]),
        _floats(points["size"]),
    )
    held = np.array(points["base"])
    for i in range(1, points["count"]):
        kind = KINDS[kinds[i]]
        held[layers[i]] += {"inserted": 1}.get(kind, -1 if kind in KINDS[4:9] else 0) * sizes[i]
        seq = model.events["seq"][i - 1]
        resident = store.journal.state_at(int(seq))
        for s, label in enumerate(drawn["sessions"]):
            for o, origin in enumerate(("completion", "boundary")):
                wanted = sum(
                    e.size_bytes
                    for e in resident
                    if (e.key.session or "no session") == label and e.origin == origin
                )
                assert held[2 * s + o] == wanted


def test_a_window_begins_with_the_state_at_its_left_edge():
    store = two_conversations("off", turns=6, capacity=1000 * MB)
    _, drawn = _panel(store, window=(12.5, 20.0))
    assert sum(drawn["points"]["base"]) == sum(e.size_bytes for e in store.journal.state_at(13))
    assert drawn["inWindow"] == 8


def test_bins_hold_the_state_at_their_end_and_count_every_event(monkeypatch):
    store = random_traffic(5, steps=300)
    monkeypatch.setattr(payload, "EXACT", 100)
    monkeypatch.setattr(payload, "BINS", 40)
    model, drawn = _panel(store)
    points = drawn["points"]
    assert not drawn["exact"]
    stack = _floats(points["stack"]).reshape(-1, 40)
    for bin_, position in enumerate(_ints(points["pos"])):
        assert stack[:, bin_].sum() == model.events["total"][position]
    counted = np.frombuffer(points["kinds"], "<u4").reshape(len(KINDS), 40).sum(axis=1)
    np.testing.assert_array_equal(counted, np.bincount(model.events["kind"], minlength=len(KINDS)))


def test_a_bins_peak_never_shows_more_than_the_budget_that_the_store_kept(monkeypatch):
    store = random_traffic(0, steps=300)
    monkeypatch.setattr(payload, "EXACT", 100)
    _, drawn = _panel(store)
    peaks = _floats(drawn["points"]["peak"])
    assert peaks.max() == store.peak_bytes <= 60 * MB


def test_only_the_sessions_that_stored_most_have_a_lane_and_the_rest_share_one_layer():
    store = make_store(capacity=1000 * MB, max_entries=100)
    for i in range(11):
        take_turn(store, f"user-{i}", 0, size=(1 + i % 5) * MB)
    model, drawn = _panel(store)
    assert len(drawn["sessions"]) == 8
    assert drawn["others"] == 3
    others = _ints(drawn["points"]["layer"]) >> 1
    assert (others == 8).sum() == 2 * 3
    assert drawn["sessions"] == [
        s for s in dict.fromkeys(s for s, _ in model.layers) if s in drawn["sessions"]
    ]


def test_the_longest_bars_are_kept_when_there_are_too_many(monkeypatch):
    store = two_conversations("origin", turns=40)
    monkeypatch.setattr(payload, "MAX_BARS", 10)
    _, drawn = _panel(store)
    assert (drawn["bars"]["count"], drawn["bars"]["of"]) == (10, 80)


def test_what_is_sent_stays_small_however_many_events_there_are(monkeypatch):
    monkeypatch.setattr(payload, "EXACT", 500)
    small, large = (_panel(random_traffic(7, steps=steps))[1] for steps in (400, 2000))

    def volume(value):
        if isinstance(value, dict):
            return sum(map(volume, value.values()))
        return len(value) if isinstance(value, bytes) else 0

    assert volume(large["points"]) == volume(small["points"])


def test_a_recorded_journal_gives_the_same_frames(tmp_path):
    from mlxcel_lab.store import Journal

    store = random_traffic(6)
    again = Journal.read(store.journal.write(tmp_path / "journal.parquet"))
    models = [FrameModel(), FrameModel()]
    models[0].feed(store.journal.events)
    models[1].feed(again.events)
    sent = []
    for model in models:
        line = Timeline([model])
        sent.append(
            panel(
                model, line.positions()[0], line.x("turns")[0], line.domain("turns"), shown_sessions([model])
            )
        )
    assert sent[0] == sent[1]
