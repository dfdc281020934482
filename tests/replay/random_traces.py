"""Random small traces: several sessions and buckets that extend, fork, go back, repeat and start anew."""

from __future__ import annotations

import random

from mlxcel_lab.replay.interner import Interner
from mlxcel_lab.replay.simulation import Budget
from mlxcel_lab.replay.trace import Request, Runs, Trace, cut, num_ids, trace_from


def random_trace(seed: int, num_requests: int = 30) -> Trace:
    """A trace in which much coincides: few token values, few sessions, times that stand still or jump."""
    rng = random.Random(seed)
    unit = rng.choice([1, 1, 4])
    interner, vectors, time, requests = Interner(), {}, 0.0, []
    sessions = [None, "a", "b", "c"][: rng.randint(1, 4)]
    for number in range(num_requests):
        session, bucket = rng.choice(sessions), rng.choice(["m", "m", "n"])
        time += rng.choice([0.0, 1.0, 1.0, 7.0, 60.0])
        known = vectors.setdefault((session, bucket), [[]])
        prompt = _grown(rng, rng.choice(known[-3:] if rng.random() < 0.8 else known))
        reply = [rng.randint(0, 2) for _ in range(rng.choice([0, 2, 2, 5]))]
        warm = _grown(rng, prompt) if rng.random() < 0.15 else []
        known += [prompt, prompt + reply]
        runs = _runs(rng, interner, bucket, prompt, -1000 * number - 1000)
        whole = interner.runs(prompt + reply, bucket) if all(start >= 0 for start, _ in runs) else runs
        ids = num_ids(runs)
        requests.append(
            Request(
                session, time, runs, ids * unit + rng.randrange(unit), len(reply), bucket,
                boundaries=sorted(rng.sample(range(1, ids + 1), min(ids, rng.choice([0, 1, 1, 2])))),
                reply=cut(whole, ids, num_ids(whole)),
                warm=interner.runs(warm, bucket) if warm else [],
            )
        )  # fmt: skip
    return trace_from(f"random {seed}", requests, tokens_per_id=unit)


def _grown(rng: random.Random, vector: list[int]) -> list[int]:
    kept = vector if rng.random() < 0.7 else vector[: rng.randint(0, len(vector))]
    return kept + [rng.randint(0, 2) for _ in range(rng.randint(0, 6))]


def _runs(rng: random.Random, interner: Interner, bucket: str, prompt: list[int], private: int) -> Runs:
    runs = interner.runs(prompt, bucket)
    return [*runs, (private, 2)] if rng.random() < 0.1 else runs


def random_budget(seed: int) -> Budget:
    rng = random.Random(seed)
    return Budget(
        capacity_bytes=rng.choice([0, 60, 150, 400, 1000, 10_000]),
        max_entries=rng.choice([0, 1, 2, 5, 4096, 4096]),
        ttl_seconds=rng.choice([0, 5, 60, 7200]),
        min_prefix_tokens=rng.choice([0, 1, 4, 12]),
    )
