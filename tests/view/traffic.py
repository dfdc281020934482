"""Traffic for the view's tests: a real store driven by random or by told conversations, no model."""

import random

from mlxcel_lab.config import PromptCacheConfig
from mlxcel_lab.store import Bucket, CacheKey, Note, Origin, Snapshot, SnapshotStore

MB = 1_000_000


class Clock:
    """Seconds that only move when told."""

    def __init__(self):
        self.now = 0.0

    def __call__(self):
        return self.now


def make_store(rule="origin", capacity=40 * MB, max_entries=64, ttl=0.0, journal=None):
    clock = Clock()
    config = PromptCacheConfig(
        min_prefix_tokens=1,
        snapshot_capacity_bytes=capacity,
        snapshot_max_entries=max_entries,
        snapshot_ttl_seconds=ttl,
        supersede=rule,
    )
    store = SnapshotStore(config, clock=clock, journal=journal)
    store.test_clock = clock
    return store


def key(session):
    return CacheKey(Bucket("model"), session)


def take_turn(store, session, history, *, new=10, size=10 * MB, boundary=False, seconds=20.0):
    """One turn of a conversation whose tokens are the first ones of a session's own sequence; its new length."""
    store.test_clock.now += seconds
    base = 1000 * (sum(map(ord, str(session))) + 1)
    prompt = list(range(base, base + history + new))
    store.lookup(key(session), prompt, reserve=1)
    if boundary:
        store.insert(key(session), Snapshot(prompt[:-2], size, Origin.BOUNDARY))
    reply = [*prompt, *range(base + len(prompt), base + len(prompt) + new)]
    store.insert(key(session), Snapshot(reply, size))
    return len(reply)


def two_conversations(rule="origin", turns=4, **options):
    """The default story: A and B take turns."""
    store = make_store(rule, **options)
    lengths = {"A": 0, "B": 0}
    for _ in range(turns):
        for session in lengths:
            lengths[session] = take_turn(store, session, lengths[session])
    return store


def random_traffic(seed, steps=200, **options):
    """Every kind of event: hits, misses, all causes of removal, refusals, notes."""
    rng = random.Random(seed)
    store = make_store(
        rng.choice(["off", "session", "origin"]), capacity=60 * MB, max_entries=5, ttl=300.0, **options
    )
    lengths = dict.fromkeys(("A", "B", "C", None), 0)
    for _ in range(steps):
        session = rng.choice([*lengths])
        if rng.random() < 0.1:
            lengths[session] = rng.randrange(5)
        if rng.random() < 0.04:
            store.test_clock.now += 400
        if rng.random() < 0.02:
            store.clear()
        if rng.random() < 0.05:
            store.note("turn", {"session": session})
        size = 70 * MB if rng.random() < 0.05 else rng.randrange(1, 20) * MB
        lengths[session] = take_turn(store, session, lengths[session], size=size, boundary=rng.random() < 0.5)
    return store


def story(journal):
    """What happened, without the times and texts that a run measures."""
    told = []
    for event in journal:
        if isinstance(event, Note):
            continue
        what = (
            getattr(event, "outcome", None) or getattr(event, "cause", None) or getattr(event, "reason", None)
        )
        told.append((type(event).__name__, event.time, event.key.session, event.num_tokens, what))
    return told
