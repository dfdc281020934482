"""What a capacity curve says to do: which rule, how much memory, what the next GiB would buy."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import polars as pl

GIB = 2**30


@dataclass(frozen=True, slots=True)
class Advice:
    """A setting and its reason in words; rates are shares of the prompt tokens."""

    rule: str
    capacity_bytes: int
    token_hit_rate: float
    reason: str

    @property
    def flags(self) -> str:
        """The setting as the server's flags."""
        return (
            f"--prompt-cache-supersede {self.rule} "
            f"--prompt-cache-snapshot-capacity-bytes {self.capacity_bytes}"
        )


def advise(
    frame: pl.DataFrame, *, at_most: int | None = None, within: float = 0.01, rules: tuple[str, ...] = ()
) -> Advice:
    """The smallest budget that comes `within` so much of the best that any of the rules reaches, and that rule.

    `frame` is of `curves`. `at_most` bytes are to be had; `rules` are those to choose from, by default the store's own.
    Among rules that reach it at the same budget the one that serves most is taken.
    """
    from ..store.rules import rule_names

    choice = rules or rule_names()
    allowed = frame.filter(pl.col("rule").is_in(list(choice)))
    if allowed.is_empty():
        raise ValueError(
            f"none of the rules {', '.join(choice)} was simulated: there is nothing to choose from"
        )
    if at_most is not None:
        smallest, allowed = (
            min(allowed["capacity_bytes"]),
            allowed.filter(pl.col("capacity_bytes") <= at_most),
        )
        if allowed.is_empty():
            raise ValueError(
                f"the smallest simulated budget is {smallest:,} bytes: expected one of at most {at_most:,}"
            )
    best = allowed.sort("token_hit_rate", descending=True).row(0, named=True)
    good = allowed.filter(pl.col("token_hit_rate") >= best["token_hit_rate"] - within)
    taken = good.sort(["capacity_bytes", "token_hit_rate"], descending=[False, True]).row(0, named=True)
    return Advice(
        taken["rule"], taken["capacity_bytes"], taken["token_hit_rate"], _reason(allowed, taken, best, within)
    )


def _reason(allowed: pl.DataFrame, taken: dict[str, Any], best: dict[str, Any], within: float) -> str:
    told = (
        f"{taken['capacity_bytes'] / GIB:,.2f} GiB under rule {taken['rule']!r} serve {taken['token_hit_rate']:.1%} of "
        f"the prompt tokens, within {within:.0%} of the {best['token_hit_rate']:.1%} that "
        f"{best['capacity_bytes'] / GIB:,.2f} GiB reach under {best['rule']!r}"
    )
    others = allowed.filter(
        (pl.col("capacity_bytes") == taken["capacity_bytes"]) & (pl.col("rule") != taken["rule"])
    ).sort("token_hit_rate", descending=True)
    rest = ", ".join(f"{row['rule']} {row['token_hit_rate']:.1%}" for row in others.iter_rows(named=True))
    return told + (f"; in the same memory the others serve: {rest}" if rest else "")


def next_gib(frame: pl.DataFrame, capacity_bytes: int, step_bytes: int = GIB) -> pl.DataFrame:
    """What `step_bytes` more would buy each rule, between the simulated budgets by straight lines.

    Columns: rule, hit_rate_now, hit_rate_then (of the prompt tokens), tokens_bought, and seconds_bought where the
    curve has seconds. Beyond the largest budget nothing is bought.
    """
    rows = []
    values = ["tokens_saved"] + ["prefill_seconds_saved"] * ("prefill_seconds_saved" in frame.columns)
    for (rule,), curve in frame.sort("capacity_bytes").group_by("rule", maintain_order=True):
        now, then = (_at(curve, values, capacity_bytes + more) for more in (0, step_bytes))
        asked = curve["prompt_tokens"][0]
        row = {
            "rule": rule,
            "hit_rate_now": now[0] / asked,
            "hit_rate_then": then[0] / asked,
            "tokens_bought": round(then[0] - now[0]),
        }
        rows.append(row | ({"seconds_bought": then[1] - now[1]} if len(values) > 1 else {}))
    return pl.DataFrame(rows).sort("tokens_bought", descending=True)


def _at(curve: pl.DataFrame, values: list[str], budget: int) -> list[float]:
    return [float(np.interp(budget, curve["capacity_bytes"], curve[value])) for value in values]
