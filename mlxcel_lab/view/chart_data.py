"""The tables behind the charts: snapshots, what happened at which event, turns, counts and the budget.

Everything comes from a journal's frames, so a live store, a replay and a recorded file draw alike. `x` is the number of
the operation or seconds since the first event. Altair takes 5,000 rows: a longer story is thinned here, and
`Shaped.note` says in words how.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal, TypeAlias

import polars as pl

from ..store.events import Note
from .theme import CAUSES, HIT, MISS, NO_SESSION, REJECTED, RESIDENT, TURN_PARTS

if TYPE_CHECKING:
    from ..store import Journal

Over: TypeAlias = Literal["operation", "time"]
MAX_ROWS = 4_000  # of one layer; Altair refuses a table above 5,000
SESSIONS_APART = 12

_LABELS = {cause.value: mark.label for cause, mark in CAUSES.items()}


@dataclass(frozen=True, slots=True)
class Shaped:
    """Rows ready to draw, and what was left out of them, in words ("" where nothing was)."""

    rows: pl.DataFrame
    note: str = ""


class Axis:
    """One x for all tables of a journal, from 0 to `end`.

    An insert removes, adds and evicts in several events; they are one operation and have one x, as nobody outside ever
    sees the store between them. An operation fills the space up to the next one.
    """

    def __init__(self, events: pl.DataFrame, over: Over) -> None:
        if over not in ("operation", "time"):
            raise ValueError(f"over={over!r}: expected 'operation' or 'time'")
        self.over = over
        self.events = events.with_columns(x=_operation() if over == "operation" else _seconds())
        last = 0.0 if events.is_empty() else float(self.events["x"][-1])
        self.end = last + 1 if over == "operation" else max(last, 1e-9)

    def place(self, frame: pl.DataFrame, seq: str, x: str) -> pl.DataFrame:
        """The frame with a column `x`, where its column `seq` lies on the axis (null where `seq` is null)."""
        return frame.join(
            self.events.select(pl.col("seq").alias(seq), pl.col("x").alias(x)), on=seq, how="left"
        )


def _operation() -> pl.Expr:
    """Whose insert an event belongs to, or that it stands for itself, counted from 1 whenever it changes.

    Notes change nothing: they lie with the operation before them, or at 0.
    """
    newcomer = pl.when(pl.col("kind") == "inserted").then("snapshot_id").otherwise("successor")
    own = pl.when(pl.col("kind") != "note").then(-1 - pl.col("seq").cast(pl.Int64))
    by = pl.coalesce(newcomer, own).forward_fill()
    return by.ne_missing(by.shift()).fill_null(False).cum_sum().cast(pl.Float64)


def _seconds() -> pl.Expr:
    return pl.col("time") - pl.col("time").first()


def snapshots(lifetimes: pl.DataFrame, axis: Axis) -> Shaped:
    """One row a snapshot, oldest first: a journal's lifetimes with x (birth), x2 (death, or the end) and `fate`.

    Beyond `SESSIONS_APART` sessions the smallest are shown as one.
    """
    placed = axis.place(axis.place(lifetimes.sort("born_seq"), "born_seq", "x"), "died_seq", "x2")
    alive = placed.with_columns(
        pl.col("x").fill_null(0.0),  # born before a bounded journal's first kept event
        pl.col("x2").fill_null(axis.end),
        session=pl.col("session").fill_null(NO_SESSION),
        fate=pl.col("cause").replace_strict(_LABELS, default=RESIDENT.label, return_dtype=pl.String),
    )
    return _fold_sessions(alive)


def _fold_sessions(alive: pl.DataFrame) -> Shaped:
    sizes = alive.group_by("session", maintain_order=True).agg(pl.col("size_bytes").sum())
    if sizes.height <= SESSIONS_APART:
        return Shaped(alive)
    largest = sizes.sort("size_bytes", descending=True, maintain_order=True).head(SESSIONS_APART - 1)[
        "session"
    ]
    others = f"{sizes.height - len(largest):,} other sessions"
    folded = pl.when(pl.col("session").is_in(largest.implode())).then("session").otherwise(pl.lit(others))
    return Shaped(alive.with_columns(session=folded), f"{others} in one colour")


def happenings(axis: Axis) -> Shaped:
    """One row a mark of the time line: x, `what` (a theme label), session, snapshot and the event in words."""
    named = axis.events.with_columns(what=_what(), session=pl.col("session").fill_null(NO_SESSION))
    told = named.drop_nulls("what")
    every = max(1, -(-told.height // MAX_ROWS))
    note = f"one in {every} of {told.height:,} marks" if every > 1 else ""
    shown = told.gather_every(every).with_columns(words=_words())
    return Shaped(shown.select("x", "what", "session", "snapshot_id", "words", "seq"), note)


def _what() -> pl.Expr:
    """The label of an event's mark; null where it has none (an insert is seen as its block)."""
    looked_up = pl.when(pl.col("outcome") == "hit").then(pl.lit(HIT.label)).otherwise(pl.lit(MISS.label))
    removed = pl.col("cause").replace_strict(_LABELS, default=None, return_dtype=pl.String)
    named = pl.when(pl.col("kind") == "looked_up").then(looked_up)
    return named.when(pl.col("kind") == "rejected").then(pl.lit(REJECTED.label)).otherwise(removed)


def _words() -> pl.Expr:
    """The event in words, for the tooltip."""
    looked_up = pl.format("{}: {} of {} tokens cached", "outcome", "cached_tokens", "num_tokens")
    went = pl.format("{} {}: {} tokens, {} bytes", "origin", "cause", "num_tokens", "size_bytes")
    return pl.when(pl.col("kind") == "looked_up").then(looked_up).otherwise(went)


def counts(events: pl.DataFrame) -> pl.DataFrame:
    """How often each thing happened: `what` (a theme label) and `count`, the most frequent first."""
    happened = events.select(what=_what()).drop_nulls()
    return happened.group_by("what").agg(count=pl.len()).sort("count", "what", descending=[True, False])


def turns(journal: Journal) -> pl.DataFrame:
    """The engine's turns, as its notes tell them: a row a turn and `part` of `theme.TURN_PARTS`, with its `tokens`."""
    told = [event.data for event in journal.events if isinstance(event, Note) and event.topic == "turn"]
    rows = [
        (number, turn["session"] or NO_SESSION, turn["reason"], part, tokens)
        for number, turn in enumerate(told[-MAX_ROWS // len(TURN_PARTS) :], 1)
        for part, tokens in zip(TURN_PARTS, _tokens(turn), strict=True)
    ]
    schema = {
        "turn": pl.Int64,
        "session": pl.String,
        "reason": pl.String,
        "part": pl.String,
        "tokens": pl.Int64,
    }
    return pl.DataFrame(rows, schema, orient="row")


def _tokens(turn: Mapping[str, Any]) -> tuple[int, int, int]:
    cached = turn["cached_tokens"]
    return cached, turn["prompt_tokens"] - cached, turn["completion_tokens"]


def budget(journal: Journal, axis: Axis) -> pl.DataFrame:
    """The budget in force, as the journal itself tells it: x, x2, capacity_bytes; a change begins a new row."""
    opened = [event for event in journal.events if isinstance(event, Note) and event.topic == "opened"]
    told = [(event.seq, event.data["capacity_bytes"]) for event in opened if "capacity_bytes" in event.data]
    rows = axis.place(
        pl.DataFrame(told, {"seq": pl.UInt32, "capacity_bytes": pl.Int64}, orient="row"), "seq", "x"
    )
    before = journal.base.settings.get("capacity_bytes")  # of a bounded journal, whose first note was folded
    sizes = [*([] if before is None else [before]), *rows["capacity_bytes"]]
    x = [*([] if before is None else [0.0]), *rows["x"]]
    schema = {"x": pl.Float64, "x2": pl.Float64, "capacity_bytes": pl.Int64}
    return pl.DataFrame({"x": x, "x2": [*x[1:], axis.end][: len(x)], "capacity_bytes": sizes}, schema)
