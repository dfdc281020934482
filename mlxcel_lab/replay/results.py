"""Outcomes as frames: one row a simulation, one row a session, and over time."""

from __future__ import annotations

from typing import Any

import numpy as np
import polars as pl

from .costs import CostModel
from .resolved import Resolved
from .simulation import Outcome

_REASONS = ("prefix_too_short", "oversized", "rule")


def as_row(resolved: Resolved, outcome: Outcome, costs: CostModel | None = None) -> dict[str, Any]:
    """All of an outcome's figures. `prefill_seconds_saved` is there where the costs are given."""
    asked = sum(resolved.prompt_tokens)
    row: dict[str, Any] = {
        "rule": outcome.rule,
        "capacity_bytes": outcome.budget.capacity_bytes,
        "max_entries": outcome.budget.max_entries,
        "ttl_seconds": float(outcome.budget.ttl_seconds),
        "requests": outcome.lookups,
        "prompt_tokens": asked,
        "tokens_saved": outcome.tokens_reused,
        "token_hit_rate": outcome.tokens_reused / max(1, asked),
        "hits": outcome.hits,
        "inserts": outcome.inserts,
        "superseded": outcome.supersedes,
        "replaced": outcome.replacements,
        "evicted": outcome.evictions_lru,
        "expired": outcome.evictions_ttl,
        "self_evicted": outcome.self_evictions,
        **{f"rejected_{reason}": outcome.rejections.get(reason, 0) for reason in _REASONS},
        "entries": outcome.entries,
        "bytes": outcome.bytes,
        "peak_bytes": outcome.peak_bytes,
    }
    if costs is not None:
        prompt = np.asarray(resolved.prompt_tokens)
        row["prefill_seconds"] = float(costs.prefill(prompt, outcome.cached).sum())
        row["prefill_seconds_saved"] = float(costs.prefill(prompt).sum()) - row["prefill_seconds"]
    return row


def by_request(resolved: Resolved, outcome: Outcome) -> pl.DataFrame:
    """A row a request: session, bucket, time, prompt and cached tokens."""
    return pl.DataFrame(
        {
            "session": [resolved.sessions[key] for key in resolved.request_key],
            "bucket": [resolved.buckets[key] for key in resolved.request_key],
            "time": resolved.time,
            "prompt_tokens": resolved.prompt_tokens,
            "cached_tokens": outcome.cached,
        },
        schema_overrides={"session": pl.String},
    )


def by_session(resolved: Resolved, outcome: Outcome) -> pl.DataFrame:
    """A row a conversation, the one with the most prompt tokens first."""
    return (
        by_request(resolved, outcome)
        .group_by("session", "bucket", maintain_order=True)
        .agg(pl.len().alias("requests"), pl.sum("prompt_tokens", "cached_tokens"))
        .with_columns(token_hit_rate=pl.col("cached_tokens") / pl.col("prompt_tokens"))
        .sort("prompt_tokens", descending=True, maintain_order=True)
    )


def over_time(resolved: Resolved, outcome: Outcome, steps: int = 100) -> pl.DataFrame:
    """The token hit rate of `steps` stretches with equally many requests each, and when each begins."""
    if steps < 1:
        raise ValueError(f"{steps} steps: expected at least 1")
    frame = by_request(resolved, outcome).with_row_index("request")
    stretch = (pl.col("request") * steps // max(1, frame.height)).alias("step")
    return (
        frame.group_by(stretch, maintain_order=True)
        .agg(pl.first("time"), pl.len().alias("requests"), pl.sum("prompt_tokens", "cached_tokens"))
        .with_columns(token_hit_rate=pl.col("cached_tokens") / pl.col("prompt_tokens"))
    )
