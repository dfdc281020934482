"""A learnt size is what a dry run of any length holds, and says where it bends and where it passes a budget."""

import dataclasses

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from mlxcel_lab.engine.sizing import (
    ALLOCATORS,
    SizeMismatch,
    SizeModel,
    known_configs,
    snapshot_bytes,
)

from ..families import FAMILIES, GEOMETRIES, known


@settings(max_examples=8)
@given(
    family=st.sampled_from(sorted(FAMILIES)),
    allocator=st.sampled_from(sorted(ALLOCATORS)),
    generated=st.sampled_from([0, 1, 37]),
    trimmed=st.booleans(),
    seed=st.integers(0, 999),
)
def test_a_learnt_size_is_what_a_dry_run_of_any_length_holds(family, allocator, generated, trimmed, seed):
    geometry = GEOMETRIES[family]
    model = SizeModel.learn(geometry, allocator=allocator, generated=generated, trimmed=trimmed)
    model.check(samples=5, longest=9000, seed=seed)
    model.check(samples=2, longest=500, seed=seed, exact=True)


def test_sizes_learnt_from_a_short_prompt_are_not_its_bytes_per_token():
    model = SizeModel.learn(GEOMETRIES["gated"])
    assert model.bytes(37_000) < 500 * model.bytes(37)
    assert (
        model.bytes(37_000)
        == snapshot_bytes(GEOMETRIES["gated"], ALLOCATORS["mlx-lm"].split(37_000)).allocated
    )


def test_a_learnt_size_that_is_wrong_is_an_error_that_names_the_kind():
    wrong = SizeModel.learn(GEOMETRIES["gated"], trimmed=True)
    right = SizeModel.learn(GEOMETRIES["gated"])
    mixed = dataclasses.replace(right, curves={**right.curves, "kv": wrong.curves["kv"]})
    with pytest.raises(SizeMismatch, match=r"^kv at \d+ tokens: learnt"):
        mixed.check()


@pytest.mark.parametrize("family", FAMILIES)
@pytest.mark.parametrize("budget", [0, 40_000, 300_000, 5_000_000])
def test_the_longest_length_within_a_budget_is_the_last_that_fits(family, budget):
    model = SizeModel.learn(GEOMETRIES[family])
    longest = model.longest_within(budget)
    assert longest is not None
    assert model.bytes(longest + 1) > budget
    assert longest == 0 or model.many(range(1, longest + 1)).max() <= budget


def test_a_state_of_fixed_size_is_never_too_long():
    assert SizeModel.learn(known("rwkv7-world-0.1b")).longest_within(1 << 30) is None


def test_a_learnt_size_says_for_each_kind_how_it_grows():
    model = SizeModel.learn(GEOMETRIES["window"], allocator="mlxcel")
    assert model.growth == {
        "kv": "32,768 B, growing by 32,768 B every 256 tokens (128 B a token)",
        "window": "256 B a token",
        "scalars": "72 B whatever the length",
    }
    assert "window" in repr(model)


@pytest.mark.parametrize("name", known_configs())
def test_every_known_geometry_builds_as_it_is_and_its_rule_holds(name):
    model = SizeModel.learn(known(name))
    model.check(samples=3, longest=3000)
    assert not model.geometry.filled
