"""Curves, bounds, frames and costs: many simulations in one call, and what is made of them."""

from __future__ import annotations

from pathlib import Path
from types import ModuleType

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from mlxcel_lab import replay
from mlxcel_lab.replay.bound import most_tokens
from mlxcel_lab.replay.capacity import budgets_for, curves
from mlxcel_lab.replay.costs import CostModel, fitted
from mlxcel_lab.replay.generators import generate
from mlxcel_lab.replay.resolved import linear_size, resolve
from mlxcel_lab.replay.results import by_request, by_session, over_time
from mlxcel_lab.replay.rules import RULES
from mlxcel_lab.replay.simulation import Budget, simulate

from .random_traces import random_trace

SIZE = linear_size(1000, 10)


@pytest.mark.parametrize("rule", [name for name, rule in RULES.items() if not rule.shared])
@given(seed=st.integers(0, 10**9), capacity=st.integers(1, 1500))
@settings(max_examples=25)
def test_no_rule_beats_the_bound(rule: str, seed: int, capacity: int) -> None:
    resolved = resolve(random_trace(seed), linear_size(10, 3))
    outcome = simulate(resolved, rule, Budget(capacity, 2**60, ttl_seconds=0, min_prefix_tokens=0))
    assert outcome.tokens_reused <= most_tokens(resolved, capacity) + 1e-6


def test_an_endless_budget_makes_the_bound_what_off_serves() -> None:
    resolved = resolve(generate("forks", requests=200), SIZE)
    off = simulate(resolved, "off", Budget(10**15, 2**60, ttl_seconds=0))
    assert most_tokens(resolved, 10**15) == off.tokens_reused


@pytest.mark.parametrize("workers", [1, 2])
def test_curves_are_the_single_simulations_in_one_frame(workers: int) -> None:
    trace = generate("append_only", requests=150)
    seen: list[tuple[int, int]] = []
    frame = curves(
        trace, SIZE, [300_000, 10**9], ["origin", "lru"], workers=workers,
        progress=lambda done, of: seen.append((done, of)), costs=CostModel.of_throughput(1000),
    )  # fmt: skip
    assert frame.select("rule", "capacity_bytes").rows() == [
        ("origin", 300_000), ("origin", 10**9), ("lru", 300_000), ("lru", 10**9),
    ]  # fmt: skip
    assert seen == [(done, 4) for done in range(1, 5)]
    alone = simulate(resolve(trace, SIZE), "origin", Budget(300_000, 2**62, ttl_seconds=0))
    first = frame.row(0, named=True)
    assert (first["tokens_saved"], first["evicted"]) == (alone.tokens_reused, alone.evictions_lru)
    assert first["prefill_seconds_saved"] == pytest.approx(first["tokens_saved"] / 1000)


def test_more_budget_never_hurts_a_rule_that_only_evicts_the_oldest_of_equal_sizes() -> None:
    trace = generate("thinking", requests=200)
    frame = curves(trace, linear_size(1000, 0), [1000 * n for n in range(1, 40)], ["off"], workers=1)
    assert (np.diff(frame["tokens_saved"].to_numpy()) >= 0).all()


def test_budgets_reach_from_the_largest_snapshot_to_all_of_them() -> None:
    trace = generate("agent", requests=60)
    resolved = resolve(trace, SIZE)
    budgets = budgets_for(trace, SIZE, 8)
    assert (budgets[0], budgets[-1], len(budgets)) == (max(resolved.size), resolved.distinct_bytes, 8)


def test_frames_by_request_session_and_time_add_up() -> None:
    resolved = resolve(generate("agent", requests=120), SIZE)
    outcome = simulate(resolved, "origin", Budget(2_000_000, ttl_seconds=0))
    totals = {int(f["cached_tokens"].sum()) for f in (
        by_request(resolved, outcome), by_session(resolved, outcome), over_time(resolved, outcome, 7)
    )}  # fmt: skip
    assert totals == {outcome.tokens_reused}
    assert over_time(resolved, outcome, 7).height == 7


def test_a_fit_recovers_the_costs_it_was_made_of() -> None:
    lengths = (64, 128, 256, 512)
    true = CostModel(1e-3, 1e-7, 0.05)
    found = fitted(lengths, [float(true.prefill(n)) for n in lengths])
    assert [found.per_token, found.per_square, found.per_request] == pytest.approx([1e-3, 1e-7, 0.05])


def test_a_fit_never_has_a_cost_below_zero() -> None:
    found = fitted((64, 128, 256), [0.10, 0.15, 0.2])
    assert min(found.per_token, found.per_square, found.per_request) >= 0


def test_a_hit_costs_its_restore_and_saves_its_prefill() -> None:
    costs = CostModel(0.001, per_restore=0.5)
    assert costs.prefill([1000, 1000], [0, 900]).tolist() == pytest.approx([1.0, 0.6])


@pytest.mark.parametrize("bad", [{"per_token": -1.0}, {"per_token": float("nan")}])
def test_costs_that_cannot_be_are_refused(bad: dict[str, float]) -> None:
    with pytest.raises(ValueError, match="per_token"):
        CostModel(**bad)


def test_no_public_name_of_the_replays_hides_a_module() -> None:
    modules = {path.stem for path in Path(replay.__file__).parent.glob("[!_]*.py")}
    assert [name for name in modules if not isinstance(getattr(replay, name, replay), ModuleType)] == []
