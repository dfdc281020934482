"""The simulation against the real store: the same events in the same order, and the same counters."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from mlxcel_lab.config import PromptCacheConfig
from mlxcel_lab.replay.driving import drive
from mlxcel_lab.replay.resolved import linear_size, resolve
from mlxcel_lab.replay.rules import RULES
from mlxcel_lab.replay.simulation import Budget, simulate
from mlxcel_lab.replay.trace import Trace
from mlxcel_lab.store import rule_names
from mlxcel_lab.store.events import Event, Inserted, LookedUp, Note, Rejected, Removed

from .random_traces import random_budget, random_trace

SIZE = linear_size(10, 3)


def _as_config(budget: Budget) -> PromptCacheConfig:
    return PromptCacheConfig(
        snapshot_capacity_bytes=budget.capacity_bytes,
        snapshot_max_entries=budget.max_entries,
        snapshot_ttl_seconds=budget.ttl_seconds,
        min_prefix_tokens=budget.min_prefix_tokens,
    )


def _words(event: Event) -> tuple[str, int] | None:
    """An event in the simulation's words, with the tokens of the snapshot it is about."""
    if isinstance(event, LookedUp):
        return event.outcome, event.cached_tokens
    if isinstance(event, Inserted):
        return "inserted", event.num_tokens
    if isinstance(event, Removed):
        return str(event.cause), event.num_tokens
    if isinstance(event, Rejected):
        return f"rejected {event.reason}", event.num_tokens
    assert isinstance(event, Note)
    return None


def assert_equal_to_store(trace: Trace, rule: str, budget: Budget) -> None:
    store = drive(trace, SIZE, _as_config(budget), rule=rule)
    store.check_integrity()
    resolved = resolve(trace, SIZE)
    outcome = simulate(resolved, rule, budget, record=True)
    lookups = ("diverged", "no_candidate")
    ours = [(s.what, 0 if s.what in lookups else resolved.tokens[s.target]) for s in outcome.steps]
    assert ours == [words for event in store.journal if (words := _words(event)) is not None]
    stats = store.stats()
    for name in (
        "inserts", "lookups", "hits", "supersedes", "evictions_lru", "evictions_ttl", "self_evictions", "replacements",
        "tokens_reused", "peak_bytes",
    ):  # fmt: skip
        assert getattr(outcome, name) == getattr(stats, name), name
    assert (outcome.entries, outcome.bytes) == (len(store), store.total_bytes)


@pytest.mark.parametrize("rule", rule_names())
@given(seed=st.integers(0, 10**9), tight=st.integers(0, 10**9))
@settings(max_examples=250, deadline=None)
def test_a_simulation_does_what_the_store_does_event_by_event(rule: str, seed: int, tight: int) -> None:
    assert_equal_to_store(random_trace(seed), rule, random_budget(tight))


@pytest.mark.parametrize("rule", sorted(RULES))
@given(seed=st.integers(0, 10**9), capacity=st.integers(0, 2000))
@settings(max_examples=25, deadline=None)
def test_every_rule_keeps_the_budget_and_its_own_books(rule: str, seed: int, capacity: int) -> None:
    resolved = resolve(random_trace(seed), SIZE, shared=RULES[rule].shared)
    out = simulate(resolved, rule, Budget(capacity, 20, ttl_seconds=0, min_prefix_tokens=1), record=True)
    assert out.peak_bytes <= capacity
    assert out.entries <= 20
    assert out.inserts == out.entries + out.supersedes + out.replacements + out.evictions_lru
    assert all(
        0 <= cached < prompt
        for cached, prompt in zip(out.cached, resolved.prompt_tokens, strict=True)
        if cached
    )


def test_a_budget_that_cannot_be_is_refused_by_name() -> None:
    with pytest.raises(ValueError, match="capacity_bytes is -1"):
        Budget(capacity_bytes=-1)


def test_an_order_that_forgets_ages_refuses_a_time_to_live() -> None:
    with pytest.raises(ValueError, match=r"gdsf.*ttl_seconds=0"):
        simulate(resolve(random_trace(1), SIZE), "gdsf", Budget())


def test_an_unknown_rule_is_refused_with_the_known_ones() -> None:
    with pytest.raises(ValueError, match="unknown rule 'belay': expected one of off, session"):
        simulate(resolve(random_trace(1), SIZE), "belay")
