"""The dashboard without a browser: what it runs, what every control does to the run, and how it is stopped."""

import threading

import pytest

from mlxcel_lab.store import Inserted, LookedUp
from mlxcel_lab.view.dashboard import Dashboard

from .traffic import story

SHORT = [
    "A: Hello there. => Good day to you.",
    "B: Is it cold? => It is.",
    "A: Go on. => I do.",
    "B: So? => So.",
]


def test_the_default_tells_the_story_of_supersede(dashboard):
    dash = dashboard()
    dash.run()
    off, origin = dash.summary()
    assert (off["cache"], origin["cache"]) == ("supersede off", "supersede origin")
    assert (off["hits"], off["evicted"], off["superseded"]) == (4, 8, 0)
    assert (origin["hits"], origin["evicted"], origin["superseded"]) == (8, 0, 8)


def test_a_model_with_weights_tells_the_same_story(dashboard):
    dry, live = dashboard(lines=SHORT), Dashboard(lines=SHORT)
    dry.run()
    live.run()
    assert [story(j) for j in dry.journals] == [story(j) for j in live.journals]
    live.close()


def test_both_caches_see_the_same_traffic(dashboard):
    dash = dashboard(lines=["A: Hello.", "B: Good day => Hi.", "A: Again."])
    dash.run()
    asked = [[e.tokens.tolist() for e in j if isinstance(e, LookedUp)] for j in dash.journals]
    assert asked[0] == asked[1]
    assert len(asked[0]) == 3


@pytest.mark.parametrize(
    ("settings", "effect"),
    [
        ({"rule": "off"}, lambda rows: rows[0]["superseded"] == 0 < rows[0]["evicted"]),
        ({"rule": "session", "boundary": True}, lambda rows: rows[0]["superseded"] == 18),
        ({"budget": 12.0}, lambda rows: rows[0]["evicted"] == 0),
        ({"budget": 1.0}, lambda rows: rows[0]["evicted"] > 0),
        ({"budget": 5000}, lambda rows: rows[0]["rejected"] == 10),
        ({"boundary": True, "budget": 12.0}, lambda rows: rows[0]["inserted"] == 20),
        ({"warmup": True, "budget": 12.0}, lambda rows: rows[0]["inserted"] > 10),
        ({"ttl_seconds": 30.0}, lambda rows: rows[0]["expired"] > 0),
        ({"ttl_seconds": 0.0}, lambda rows: rows[0]["expired"] == 0),
        ({"lines": ["A: Hi => Ho", "wait 7200"]}, lambda rows: rows[0]["expired"] == 1),
        ({"lines": ["A: Hi => Ho", "wait 7199"]}, lambda rows: rows[0]["expired"] == 0),
        ({"model": "dry/mamba2"}, lambda rows: rows[0]["resident_bytes"] == 2 * 40_448),
        ({"compare": "budget 1"}, lambda rows: rows[0]["hits"] < rows[1]["hits"]),
    ],
    ids=lambda part: str(part) if isinstance(part, dict) else "",
)
def test_a_setting_has_its_effect_on_the_run(dashboard, settings, effect):
    dash = dashboard(**{"compare": "", **settings})
    dash.run()
    assert effect(dash.summary())


def test_the_template_is_the_models_own(dashboard):
    plain, other = dashboard(compare=""), dashboard(compare="", template="{{ messages[-1].content }}")
    plain.step()
    other.step()
    plain_tokens, other_tokens = (d.summary()[0]["prompt_tokens"] for d in (plain, other))
    assert other_tokens < plain_tokens


def test_a_control_that_a_person_moves_runs_the_same_traffic_again(dashboard):
    dash = dashboard(compare="")
    dash.run()
    dash.controls.cache.rule.value = "off"
    dash.result()
    assert dash.setup.rule == "off"
    assert dash.summary()[0]["superseded"] == 0
    assert dash.summary()[0]["messages"] == 10
    dash.controls.compare.value = True
    dash.controls.other.budget.value = 6.0
    dash.result()
    assert [row["cache"] for row in dash.summary()] == [
        "supersede off, budget 6 snapshots",
        "supersede off, budget 2.5 snapshots",
    ]


@pytest.mark.parametrize(
    ("name", "value", "field", "wanted"),
    [
        ("cache.rule", "session", "rule", "session"),
        ("cache.budget", 4.0, "budget", 4.0),
        ("cache.boundary", True, "boundary", True),
        ("cache.warmup", True, "warmup", True),
        ("model", "dense", "model", "dense"),
        ("ttl_seconds", 60.0, "ttl_seconds", 60.0),
        ("budget_bytes", 500_000, "budget", 500_000),
        ("compare", False, "compare", ""),
        ("other.rule", "session", "compare", "rule session"),
        ("other.boundary", True, "compare", "rule off, boundary on"),
    ],
)
def test_every_control_sets_its_setting(dashboard, name, value, field, wanted):
    dash = dashboard()
    dash.runner.prepare().result()
    dash.refresh()
    chosen = []
    dash.controls._on_change = lambda: chosen.append(dash.controls.setup)
    owner = dash.controls
    *path, last = name.split(".")
    for part in path:
        owner = getattr(owner, part)
    getattr(owner, last).value = value
    assert getattr(chosen[-1], field) == wanted
    assert chosen[-1].parameters() == {**dash.setup.parameters(), field: wanted}


def test_slider_and_bytes_say_the_same_budget(dashboard):
    dash = dashboard()
    dash.runner.prepare().result()
    dash.refresh()
    assert dash.controls.budget_bytes.value == round(2.5 * dash.runner.unit)
    dash.controls._on_change = lambda: None
    dash.controls.cache.budget.value = 3.0
    assert dash.controls.budget_bytes.value == 3 * dash.runner.unit
    dash.controls.budget_bytes.value = 4 * dash.runner.unit
    assert dash.controls.cache.budget.value == 4.0


def test_steps_one_by_one_give_what_a_run_gives(dashboard):
    stepped, ran = dashboard(), dashboard()
    for done in range(1, 11):
        stepped.step()
        assert stepped.runner.done == done
    ran.run()
    assert [story(j) for j in stepped.journals] == [story(j) for j in ran.journals]


def test_a_typed_message_goes_to_its_conversation_before_the_script_goes_on(dashboard):
    dash = dashboard(compare="")
    dash.step()
    dash.bar.session.value, dash.bar.message.value = "A", "  And in June?  "
    dash.bar.send.click()
    turns = dash.result()
    assert [turn.session for turn in turns] == ["A", "A"]
    assert turns[1].cached_tokens == turns[0].prompt_tokens + turns[0].completion_tokens
    assert dash.bar.message.value == ""
    dash.run()
    assert len(dash.result()) == 11


def test_the_clock_that_is_moved_on_lets_snapshots_expire(dashboard):
    dash = dashboard(compare="", ttl_seconds=3600.0)
    dash.run()
    dash.bar.later.click()
    dash.result()
    assert dash.summary()[0]["expired"] == 2


def _stop_in_mid_turn(dash, wanted_tokens=3):
    """Stops a run from the worker's own callback, so that the turn is certainly going on."""
    seen, runner = [], dash.runner
    plain = runner._on_change

    def on_change():
        seen.append(runner.doing)
        if runner.doing.startswith("B") and seen.count(runner.doing) == wanted_tokens:
            dash.stop()
        plain()

    runner._on_change = on_change
    runner.run().result()
    runner._on_change = plain
    dash.refresh()


def test_stop_ends_a_turn_that_is_going_on_and_leaves_only_its_lookup(dashboard):
    dash = dashboard(model="gated-delta", compare="")
    _stop_in_mid_turn(dash)
    inserted = [e for e in dash.journals[0] if isinstance(e, Inserted)]
    looked = [e for e in dash.journals[0] if isinstance(e, LookedUp)]
    assert (dash.runner.done, len(inserted), len(looked)) == (1, 1, 2)
    assert not dash.runner.busy


def test_a_stopped_run_goes_on_where_it_was(dashboard):
    dash, straight = (dashboard(model="gated-delta", lines=SHORT) for _ in range(2))
    _stop_in_mid_turn(dash)
    dash.run()
    straight.run()
    kept = [[e for e in story(j) if e[0] != "LookedUp"] for j in dash.journals]
    assert kept == [[e for e in story(j) if e[0] != "LookedUp"] for j in straight.journals]


def test_a_message_typed_after_a_stop_reaches_both_caches(dashboard):
    dash = dashboard(lines=SHORT)
    runner, plain = dash.runner, dash.runner._on_change

    def stop_between_the_caches():
        if [run.done for run in runner.runs] == [2, 1]:
            dash.stop()
        plain()

    runner._on_change = stop_between_the_caches
    runner.run().result()
    runner._on_change = plain
    assert [run.done for run in runner.runs] == [2, 1]
    dash.say("A", "And now?", "Now.")
    stored = [[(e.key.session, e.num_tokens) for e in j if isinstance(e, Inserted)] for j in dash.journals]
    assert stored[0] == stored[1]
    assert [session for session, _ in stored[0]] == ["A", "B", "A"]


def test_stop_drops_what_was_submitted_behind(dashboard):
    dash = dashboard(compare="")
    dash.runner.prepare().result()
    begun, go = threading.Event(), threading.Event()
    dash.runner._pool.submit(lambda: (begun.set(), go.wait()))
    begun.wait()
    waiting = dash.runner.run()
    dash.stop()
    go.set()
    waiting.result()
    assert dash.runner.done == 0


def test_reset_begins_anew(dashboard):
    dash = dashboard(compare="")
    dash.run()
    dash.bar.reset.click()
    dash.result()
    assert (dash.runner.done, dash.stage.occupancy.total) == (0, 0)
    dash.reset(rule="session")
    assert dash.setup.rule == dash.controls.cache.rule.value == "session"


def test_an_error_of_the_worker_is_shown_and_raised(dashboard):
    dash = dashboard(model="no/such model")
    with pytest.raises(ValueError, match="unknown model 'no/such model'"):
        dash.run()
    dash.refresh()
    assert "unknown model" in dash.bar.error.value
    with pytest.raises(ValueError, match="unknown model"):
        dash.result()


def test_an_error_of_a_handler_is_shown_and_raised(dashboard):
    dash = dashboard(compare="")
    dash.controls.ttl_seconds.value = -1.0
    assert "ttl_seconds=-1.0" in dash.bar.error.value
    with pytest.raises(ValueError, match="ttl_seconds"):
        dash.result()
