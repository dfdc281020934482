"""Capacity curves: one trace, many budgets and rules, in one call, on as many processes as there are cores."""

from __future__ import annotations

import multiprocessing
import os
from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor
from itertools import product

import numpy as np
import polars as pl

from .bound import most_tokens
from .costs import CostModel
from .resolved import Resolved, SizeOf, resolve
from .results import as_row
from .rules import RULES, Rule, rule_named
from .simulation import Budget, Outcome, simulate
from .trace import Trace

Progress = Callable[[int, int], None]
"""Called with how many simulations are done, and of how many."""


def curves(
    trace: Trace,
    size_of: SizeOf,
    budgets: Iterable[int | Budget],
    rules: Sequence[str | Rule] = ("off", "session", "origin", "learned", "lru"),
    *,
    costs: CostModel | None = None,
    workers: int | None = None,
    progress: Progress | None = None,
) -> pl.DataFrame:
    """A row for each rule and budget: hit rate, bytes, removals by cause, tokens and seconds saved.

    A budget is its bytes (then nothing else limits: no age, any number of entries), or a `Budget`. The trace is
    resolved once for the rules that keep sessions apart and once for those that don't. `workers` processes share the
    work; 1 stays in this one, which rules that aren't in `RULES` need. `costs` turns tokens into seconds.
    """
    limits = [b if isinstance(b, Budget) else Budget(b, max_entries=2**62, ttl_seconds=0) for b in budgets]
    chosen = [rule_named(rule) for rule in rules]
    spaces = {shared for shared in (False, True) if any(rule.shared is shared for rule in chosen)}
    resolved = {shared: resolve(trace, size_of, shared=shared) for shared in spaces}
    jobs = [(rule, limit) for rule, limit in product(chosen, limits)]
    workers = workers or min(os.cpu_count() or 1, max(1, len(jobs) * len(trace) // 20_000))
    rows = []
    for done, outcome in enumerate(_run(resolved, jobs, workers), 1):
        rows.append(as_row(resolved[rule_named(outcome.rule).shared], outcome, costs))
        if progress is not None:
            progress(done, len(jobs))
    return pl.DataFrame(rows).with_columns(trace=pl.lit(trace.name))


def budgets_for(trace: Trace, size_of: SizeOf, steps: int = 32) -> list[int]:
    """Budgets worth looking at, in even ratios: from the largest snapshot to all of them at once."""
    if steps < 2:
        raise ValueError(f"{steps} steps: expected at least 2")
    resolved = resolve(trace, size_of)
    largest = max(resolved.size, default=1)
    everything = max(resolved.distinct_bytes, largest + 1)
    return [int(budget) for budget in np.geomspace(largest, everything, steps).round()]


_RESOLVED: dict[bool, Resolved] = {}  # in a worker process: what all of its simulations share


def _run(resolved: dict[bool, Resolved], jobs: list[tuple[Rule, Budget]], workers: int) -> Iterator[Outcome]:
    known = [(rule.name, budget) for rule, budget in jobs if _is_known(rule)]
    if workers == 1 or len(known) < len(jobs):
        yield from (simulate(resolved[rule.shared], rule, budget) for rule, budget in jobs)
        return
    # Spawned, not forked: MLX's threads don't survive a fork.
    context = multiprocessing.get_context("spawn")
    with ProcessPoolExecutor(workers, context, _prepare, (resolved,)) as pool:
        yield from pool.map(_one, known, chunksize=max(1, len(known) // (4 * workers)))


def _is_known(rule: Rule) -> bool:
    """Whether another process finds the same rule under its name."""
    return RULES.get(rule.name) is rule


def _prepare(resolved: dict[bool, Resolved]) -> None:
    _RESOLVED.update(resolved)


def _one(job: tuple[str, Budget]) -> Outcome:
    rule = rule_named(job[0])
    return simulate(_RESOLVED[rule.shared], rule, job[1])


def bounded(trace: Trace, size_of: SizeOf, budgets: Iterable[int]) -> pl.DataFrame:
    """Upper bounds with knowledge of the future, a row a budget: `capacity_bytes`, `token_hit_rate`."""
    resolved = resolve(trace, size_of)
    asked = sum(resolved.prompt_tokens)
    rows = [
        {"capacity_bytes": budget, "token_hit_rate": most_tokens(resolved, budget) / max(1, asked)}
        for budget in budgets
    ]
    return pl.DataFrame(rows)
