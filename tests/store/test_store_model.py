"""The store against its contract written as a list: any sequence of operations gives the same answers on both.

The state machine finds small counterexamples; the crowded runs keep many related vectors resident, where most of what
can go wrong needs them.
"""

from __future__ import annotations

import random
from collections import Counter

import hypothesis.strategies as st
import pytest
from hypothesis import settings
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, rule

from mlxcel_lab.config import PromptCacheConfig
from mlxcel_lab.store import Bucket, CacheKey, Origin

from .pair import Pair

KEYS = [CacheKey(Bucket(model), session) for model in "mn" for session in ("a", "b", None)]
# Two tokens and short vectors make prefixes, forks and twins likely.
vectors = st.lists(st.integers(0, 1), min_size=1, max_size=7).map(tuple)
keys = st.sampled_from(KEYS[:1] * 4 + KEYS)
origins = st.sampled_from(Origin)
configs = st.builds(
    PromptCacheConfig,
    enabled=st.sampled_from([True] * 9 + [False]),
    min_prefix_tokens=st.integers(0, 3),
    snapshot_capacity_bytes=st.sampled_from([60, 30, 12, 0]),
    snapshot_max_entries=st.sampled_from([8, 5, 3, 1, 0]),
    snapshot_ttl_seconds=st.sampled_from([0, 3, 10]),
    supersede=st.sampled_from(["off", "session", "origin"]),
)


class StoreAgainstModel(RuleBasedStateMachine):
    @initialize(config=configs, max_events=st.sampled_from([None, 1, 5]))
    def open(self, config: PromptCacheConfig, max_events: int | None) -> None:
        self.pair = Pair(config, max_events)

    @rule(seconds=st.integers(0, 4))
    def wait(self, seconds: int) -> None:
        self.pair.now += seconds

    @rule(key=keys, tokens=vectors, size=st.integers(0, 12), origin=origins)
    def insert(self, key: CacheKey, tokens: tuple[int, ...], size: int, origin: Origin) -> None:
        self.pair.insert(key, tokens, size, origin)

    @rule(key=keys, tokens=vectors | st.just(()), reserve=st.integers(0, 2), cut=st.integers(-1, 3))
    def lookup(self, key: CacheKey, tokens: tuple[int, ...], reserve: int, cut: int) -> None:
        may_cut = None if cut < 0 else lambda snapshot_id, n: cut > 0 and (snapshot_id + n) % cut == 0
        self.pair.lookup(key, tokens, reserve, may_cut)

    @rule()
    def expire(self) -> None:
        self.pair.expire()

    @rule(chance=st.integers(0, 9))
    def clear(self, chance: int) -> None:
        if chance == 0:
            self.pair.clear()

    @invariant()
    def agrees(self) -> None:
        if hasattr(self, "pair"):
            self.pair.agree()


StoreAgainstModel.TestCase.settings = settings(max_examples=60, stateful_step_count=30, deadline=None)
TestStoreAgainstModel = StoreAgainstModel.TestCase


class _Crowd:
    """A seeded run: requests are built from what is resident, so that most of them touch something."""

    def __init__(self, seed: int) -> None:
        self.random = random.Random(seed)
        pick = self.random.choice
        self.pair = Pair(
            PromptCacheConfig(
                min_prefix_tokens=pick([1, 1, 2]),
                snapshot_capacity_bytes=pick([40, 60, 200]),
                snapshot_max_entries=pick([6, 10, 30]),
                snapshot_ttl_seconds=pick([0, 0, 12]),
                supersede=pick(["off", "off", "session", "origin"]),
            ),
            max_events=pick([None, 7]),
        )

    def vector(self) -> tuple[CacheKey, tuple[int, ...]]:
        """A known vector cut, gone on, or both: a prefix, a child, a twin or a fork of what was stored."""
        pick, known = self.random.choice, [*self.pair.model.entries, *self.pair.model.ghosts]
        if not known or self.random.random() < 0.2:
            return pick(KEYS[:2] * 3 + KEYS), tuple(
                self.random.choices([0, 1, 2], k=self.random.randint(1, 6))
            )
        of = pick(known)
        kept = (
            of.tokens[: self.random.randint(0, len(of.tokens))] if self.random.random() < 0.6 else of.tokens
        )
        grown = kept + tuple(self.random.choices([0, 1, 2], k=pick([0, 0, 1, 2])))
        return of.key, grown[:9] or (0,)

    def step(self) -> str:
        pick, (key, tokens) = self.random.choice, self.vector()
        what = self.random.choices(["insert", "lookup", "wait", "expire", "clear"], [45, 50, 3, 1, 0.3])[0]
        if what == "insert":
            self.pair.insert(key, tokens, self.random.randint(0, 12), pick([*Origin]))
        elif what == "lookup":
            cut = pick([0, 1, 2, 3])
            may_cut = (lambda snapshot_id, n: (snapshot_id + n) % cut == 0) if cut else None
            self.pair.lookup(key, tokens, pick([0, 0, 1, 2]), may_cut)
        elif what == "wait":
            self.pair.now += pick([1, 5])
        else:
            getattr(self.pair, what)()
        self.pair.agree()
        return what


@pytest.mark.parametrize("seed", range(24))
def test_a_crowded_store_and_its_model_agree_after_every_step(seed: int) -> None:
    crowd = _Crowd(seed)
    steps = Counter(crowd.step() for _ in range(200))
    hits = crowd.pair.store.stats().hits
    assert hits > steps["lookup"] / 5  # else the run proves little
