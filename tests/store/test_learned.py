"""The learned rule of the real store: what it sees, what it does because of it, and its switches."""

from __future__ import annotations

import itertools

import numpy as np
import pytest

from mlxcel_lab.config import PromptCacheConfig
from mlxcel_lab.store import Bucket, CacheKey, Hit, Origin, Snapshot, SnapshotStore
from mlxcel_lab.store.learned import Learned
from mlxcel_lab.store.policy import Learning, Room, rungs

KEY = CacheKey(Bucket("m"), "s")


class _Chat:
    """A conversation against a store, by a template that keeps replies or renders them anew."""

    def __init__(self, store: SnapshotStore, key: CacheKey, keeps: bool) -> None:
        self.store, self.key, self.keeps = store, key, keeps
        self.fresh = itertools.count(abs(hash((key.session, keeps))) % 1_000_000 * 1000)
        self.history = self._new(40)

    def _new(self, count: int) -> list[int]:
        return [next(self.fresh) for _ in range(count)]

    def turn(self) -> int:
        self.history += self._new(10)
        prompt = self.history + self._new(2)
        outcome = self.store.lookup(self.key, prompt, reserve=1)
        self._donate(self.history, Origin.BOUNDARY)
        whole = prompt + self._new(8)
        self._donate(whole, Origin.COMPLETION)
        self.history = whole if self.keeps else prompt + self._new(5)
        return outcome.cached_tokens if isinstance(outcome, Hit) else 0

    def _donate(self, tokens: list[int], origin: Origin) -> None:
        self.store.insert(self.key, Snapshot(np.array(tokens, np.int32), len(tokens), origin))


def _store(capacity: int, **switches: object) -> tuple[SnapshotStore, Learned]:
    rule = Learned(Learning(quiet=50, **switches))  # type: ignore[arg-type]
    config = PromptCacheConfig(min_prefix_tokens=1, snapshot_capacity_bytes=capacity)
    return SnapshotStore(config, rule=rule, clock=lambda: 0.0), rule


def _played(
    keeps: bool, capacity: int, turns: int = 12, **switches: object
) -> tuple[SnapshotStore, Learned, int]:
    store, rule = _store(capacity, **switches)
    chats = [_Chat(store, CacheKey(KEY.bucket, name), keeps) for name in "stuv"]
    cached = sum(chat.turn() for _ in range(turns) for chat in chats)
    store.check_integrity()
    return store, rule, cached


def test_with_memory_to_spare_nothing_is_superseded_and_the_rule_says_why() -> None:
    store, rule, _ = _played(keeps=True, capacity=10**9)
    assert store.stats().supersedes == 0
    assert rule.choice(KEY).room is Room.ALL
    assert "nothing is superseded" in rule.explain(KEY)


def test_where_replies_survive_and_memory_is_short_only_the_completion_stays() -> None:
    _, rule, _ = _played(keeps=True, capacity=700)
    assert rule.choice(KEY).room is Room.LEAF
    assert rule.choice(KEY).leaf is Origin.COMPLETION
    assert "only the newest completion stays" in rule.explain(KEY)


def test_where_replies_are_rendered_anew_completions_are_not_stored() -> None:
    store, rule, cached = _played(keeps=False, capacity=700)
    assert rule.choice(KEY).declines
    assert store.stats().rejections["rule"] > 0
    assert "completions are not stored" in rule.explain(KEY)
    assert cached > 2 * _cached_by("origin", keeps=False)


def _cached_by(rule: str, keeps: bool) -> int:
    config = PromptCacheConfig(min_prefix_tokens=1, snapshot_capacity_bytes=700, supersede=rule)
    store = SnapshotStore(config, clock=lambda: 0.0)
    chats = [_Chat(store, CacheKey(KEY.bucket, name), keeps) for name in "stuv"]
    return sum(chat.turn() for _ in range(12) for chat in chats)


def test_one_bucket_with_two_habits_gets_each_conversation_its_own_choice() -> None:
    store, rule = _store(600, leaf=False)
    chats = {name: _Chat(store, CacheKey(KEY.bucket, name), keeps=name < "m") for name in "abyz"}
    for _ in range(20):
        for chat in chats.values():
            chat.turn()
    assert not rule.choice(chats["a"].key).declines
    assert rule.choice(chats["z"].key).declines


def test_a_template_that_changes_is_noticed_within_its_memory() -> None:
    store, rule = _store(300)
    chats = [_Chat(store, CacheKey(KEY.bucket, name), keeps=True) for name in "stuv"]
    for number in range(60):
        for chat in chats:
            chat.keeps = number < 20
            chat.turn()
        if number == 19:
            assert not rule.choice(KEY).declines
    assert rule.choice(KEY).declines


@pytest.mark.parametrize(
    ("switch", "room"), [({"keep_all": False}, Room.LEAF), ({"keep_all": False, "leaf": False}, Room.NEWEST)]
)
def test_a_switch_that_is_off_leaves_the_safer_mode(switch: dict[str, bool], room: Room) -> None:
    _, rule, _ = _played(keeps=True, capacity=10**9, rungs=False, **switch)
    assert rule.choice(KEY).room is room


def test_declining_can_be_switched_off() -> None:
    store, _, _ = _played(keeps=False, capacity=700, decline=False, leaf=False)
    assert store.stats().rejections.get("rule", 0) == 0


def test_without_a_session_nothing_is_learned_or_superseded() -> None:
    store, rule = _store(700)
    chat = _Chat(store, CacheKey(KEY.bucket, None), keeps=False)
    for _ in range(12):
        chat.turn()
    assert store.stats().supersedes == 0
    assert store.stats().rejections.get("rule", 0) == 0
    assert "without a session" in rule.explain(chat.key)


def test_rungs_are_boundaries_at_doubling_lengths() -> None:
    assert rungs([10, 15, 20, 39, 40, 90], lambda n: n) == [10, 20, 40, 90]


def test_what_it_remembers_is_bounded_by_the_conversations_seen_last() -> None:
    rule = Learned(Learning(most_conversations=4))
    store = SnapshotStore(PromptCacheConfig(min_prefix_tokens=1), rule=rule, clock=lambda: 0.0)
    for number in range(40):
        chat = _Chat(store, CacheKey(Bucket(f"m{number}"), f"s{number}"), keeps=True)
        chat.turn(), chat.turn()
    held = [known for part in (rule._survival, rule._pressure) for known in vars(part).values()]
    assert max(len(known) for known in held if hasattr(known, "__len__")) == 4


def test_looking_at_the_evidence_of_an_unknown_key_forgets_no_conversation() -> None:
    rule = Learned(Learning(most_conversations=1))
    store = SnapshotStore(PromptCacheConfig(min_prefix_tokens=1), rule=rule, clock=lambda: 0.0)
    chat = _Chat(store, KEY, keeps=True)
    chat.turn(), chat.turn()
    known = rule.evidence(KEY)
    assert rule.evidence(CacheKey(Bucket("other"), "t"))["requests"] == 0
    assert rule.explain(CacheKey(Bucket("other"), "t"))
    assert rule.evidence(KEY) == known
    assert known["requests"] > 0


def test_the_evidence_is_plain_numbers() -> None:
    _, rule, _ = _played(keeps=True, capacity=700)
    seen = rule.evidence(KEY)
    assert seen["completion_tokens"] > seen["boundary_tokens"] > 0
    assert 0 < seen["lost_to_budget_share"] < 1


def test_a_constant_that_cannot_be_is_refused_by_name() -> None:
    with pytest.raises(ValueError, match="memory is 0"):
        Learning(memory=0)


def test_the_configuration_knows_the_rule() -> None:
    assert isinstance(SnapshotStore(PromptCacheConfig(supersede="learned")).rule, Learned)
