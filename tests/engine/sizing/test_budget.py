"""The recommended capacity keeps what was wanted warm, to the byte, and the advice names where it all goes cold."""

import json

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from mlxcel_lab.engine.sizing import (
    ALLOCATORS,
    SizeModel,
    Workload,
    find_cliff,
    hits_in_the_last_round,
    mlxcel_default,
    recommend,
    resident,
    sizer,
)

from ..families import FAMILIES, GEOMETRIES, known

_MLX_LM = ALLOCATORS["mlx-lm"]
_PLENTY = 1 << 50


def _linear(prompt, generated):
    return 1000 + 10 * (prompt + generated)


def test_mlxcels_own_default_for_its_published_shape():
    policy = mlxcel_default(known("qwen3.8-27b"), _PLENTY)
    assert (policy.entry_bytes, policy.capacity_bytes) == (615_317_504, 3_691_905_024)
    assert policy.parts == {"KV": 536_870_912, "fixed": 78_446_592}
    assert policy.reason == "6 entries of 615,317,504 B (KV 536,870,912 + fixed 78,446,592) for 8,192 tokens"


def test_mlxcels_own_default_is_at_most_a_quarter_of_what_is_left():
    policy = mlxcel_default(known("qwen3.8-27b"), 8 << 30)
    assert (policy.capacity_bytes, policy.capped) == (2 << 30, True)
    assert "capped at a quarter of the free memory" in policy.reason


@pytest.mark.parametrize(("name", "gibibytes"), [("gemma-3-4b", 6.375), ("gemma-4-12b", 15.75)])
def test_mlxcels_default_gives_its_other_published_capacities(name, gibibytes):
    assert mlxcel_default(known(name), _PLENTY).capacity_bytes == gibibytes * 2**30


@pytest.mark.parametrize(
    ("rule", "append_only", "kept"),
    [
        ("session", True, [("completion", 300)]),
        ("origin", True, [("boundary", 290), ("completion", 300)]),
        ("origin", False, [("completion", 100), ("completion", 200), ("boundary", 290), ("completion", 300)]),
        ("session", False, [("completion", 100), ("completion", 200), ("completion", 300)]),
    ],
)
def test_what_a_conversation_keeps_depends_on_the_rule_and_on_the_template(rule, append_only, kept):
    workload = Workload(1, 300, 3, 10, append_only, rule=rule)
    assert [(s.origin, s.tokens) for s in resident(workload, _linear)] == kept


def test_without_boundaries_and_without_superseding_every_reply_stays():
    kept = resident(Workload(1, 300, 3, 10, boundary=False, rule="off"), _linear)
    assert [(s.origin, s.tokens, s.size_bytes) for s in kept] == [
        ("completion", n, 1000 + 10 * n) for n in (100, 200, 300)
    ]


@settings(max_examples=8)
@example(  # without supersede a second donation must not cost room that the first one's capacity hasn't
    family="dense", conversations=2, turns=1, tokens=100, rule="off", append_only=False, trimmed=False
)
@given(
    family=st.sampled_from(sorted(FAMILIES)),
    conversations=st.integers(1, 9),
    turns=st.integers(1, 4),
    tokens=st.integers(100, 3000),
    rule=st.sampled_from(["off", "session", "origin"]),
    append_only=st.booleans(),
    trimmed=st.booleans(),
)
def test_the_recommended_capacity_keeps_all_the_conversations_warm(
    family, conversations, turns, tokens, rule, append_only, trimmed
):
    advice = recommend(
        GEOMETRIES[family], conversations, tokens, turns,
        rule=rule, append_only=append_only, trimmed=trimmed, reply_tokens=9, free_bytes=_PLENTY,
    )  # fmt: skip
    assert advice.fits
    assert advice.capacity_bytes == conversations * sum(s.size_bytes for s in advice.snapshots)
    assert advice.entries == conversations * len(advice.snapshots)
    if (
        rule == "session" and not append_only
    ):  # the reply's snapshot has replaced the prompt's, and is no prefix
        assert advice.cliff.all_warm == 0
        assert advice.advice.startswith("Nothing hits at any capacity: the rule 'session' keeps no snapshot")
    else:
        assert advice.cliff.all_warm >= conversations


@settings(max_examples=10)
@given(budget=st.integers(2_000, 60_000), turns=st.integers(1, 4), append_only=st.booleans())
def test_at_the_cliff_all_are_warm_and_beyond_it_all_are_cold(budget, turns, append_only):
    workload = Workload(1, 400, turns, 10, append_only)
    cliff = find_cliff(workload, _linear, budget, SizeModel.learn(GEOMETRIES["dense"]))
    if cliff.all_warm:
        assert hits_in_the_last_round(workload, _linear, cliff.all_warm, budget) == cliff.all_warm
    assert hits_in_the_last_round(workload, _linear, cliff.all_warm + 1, budget) < cliff.all_warm + 1
    if cliff.all_cold is not None:
        assert cliff.all_cold > cliff.all_warm
        assert hits_in_the_last_round(workload, _linear, cliff.all_cold, budget) == 0


def test_a_budget_for_just_its_conversations_has_its_cliff_right_behind_them():
    workload = Workload(5, 400, 1, 0, boundary=False)
    cliff = find_cliff(workload, _linear, 5 * _linear(400, 0), SizeModel.learn(GEOMETRIES["dense"]))
    assert (cliff.all_warm, cliff.all_cold) == (5, 6)


def test_the_advice_names_the_cliff_and_the_first_prompt_that_is_oversized():
    advice = recommend(GEOMETRIES["gated"], 5, 1000, boundary=False, free_bytes=_PLENTY)
    size = sizer(GEOMETRIES["gated"], _MLX_LM, False)
    first = advice.cliff.oversized_from
    assert size(first, 0) > advice.capacity_bytes >= size(first - 1, 0)
    assert "5 stay warm" in advice.advice
    assert "all go cold from 6 on" in advice.advice
    assert f"A prompt of {first:,} tokens is refused as oversized." in advice.advice


def test_memory_that_is_short_lowers_the_capacity_and_the_advice_says_what_that_keeps():
    plenty = recommend(GEOMETRIES["dense"], 20, 2000, free_bytes=_PLENTY)
    taken = plenty.weights_bytes + plenty.working_bytes
    short = recommend(GEOMETRIES["dense"], 20, 2000, free_bytes=taken + plenty.wanted_bytes // 2)
    assert not short.fits
    assert short.capacity_bytes == short.ceiling_bytes == plenty.wanted_bytes // 2
    assert short.limited.all_warm < 20 <= short.cliff.all_warm
    assert f"Only {short.ceiling_bytes:,} B are free beside the model" in short.advice


def test_no_memory_at_all_keeps_nothing():
    advice = recommend(GEOMETRIES["dense"], 2, 500, free_bytes=0)
    assert advice.capacity_bytes == 0
    assert "No snapshot can be kept." in advice.advice


def test_a_loaded_model_has_taken_its_weights_already():
    fresh, loaded = (recommend(GEOMETRIES["dense"], free_bytes=_PLENTY, loaded=b) for b in (False, True))
    assert loaded.ceiling_bytes - fresh.ceiling_bytes == fresh.weights_bytes > 0


def test_a_recommendation_is_plain_values_for_programs():
    told = json.loads(json.dumps(recommend(GEOMETRIES["window"], 3, 700, 2, reply_tokens=20).to_dict()))
    assert told["capacity_bytes"] == min(told["wanted_bytes"], told["ceiling_bytes"])
    assert told["workload"]["conversations"] == 3
    assert {s["origin"] for s in told["snapshots"]} == {"boundary", "completion"}


@pytest.mark.parametrize(
    ("wrong", "message"),
    [
        ({"conversations": 0}, "conversations=0: expected a whole number, 1 or more"),
        ({"turns": 1.5}, "turns=1.5: expected a whole number"),
        ({"tokens": 10, "turns": 5, "reply_tokens": 2}, "leave no prompt beside 2 reply tokens"),
        ({"rule": "fifo"}, "fifo"),
    ],
)
def test_a_workload_that_makes_no_sense_is_refused(wrong, message):
    with pytest.raises(ValueError, match=message):
        recommend(GEOMETRIES["dense"], **wrong)
