"""The journal as polars frames: its events, what was resident after each, and each snapshot's life."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cached_property
from typing import TYPE_CHECKING

import numpy as np
import polars as pl

from .event_table import KEY_COLUMNS, key_cells, to_frame
from .events import Event

if TYPE_CHECKING:
    from .journal import Residents


class JournalFrames:
    """Frames of one journal at one moment; each is made when it is first asked for.

    `max_points` thins `occupancy` to about so many events, the first and the last among them; None: all.
    """

    def __init__(self, events: Sequence[Event], base: Residents, max_points: int | None = None) -> None:
        if max_points is not None and max_points < 2:
            raise ValueError(f"max_points={max_points}: expected 2 or more, or None for every event")
        self._events = events
        self._base = base
        self._max_points = max_points

    @cached_property
    def events(self) -> pl.DataFrame:
        """One row an event; the columns are listed in `event_table`."""
        return to_frame(self._events)

    @cached_property
    def occupancy(self) -> pl.DataFrame:
        """Bytes and entries of each session and origin after each event, in long form.

        Columns: seq, time (s), session (null: no conversation), origin, bytes, entries. Every (session, origin) that
        was ever resident has a row at every event, 0 included, so that areas stack.
        """
        born = pl.col("kind") == "inserted"
        sign = pl.when(born).then(1).otherwise(-1)
        changes = self.events.filter(born | (pl.col("kind") == "removed")).select(
            "seq", "session", "origin", bytes=sign * pl.col("size_bytes"), entries=sign
        )
        changes = pl.concat([self._base_changes(), changes.cast({"entries": pl.Int64})])
        groups = changes.select("session", "origin").unique(maintain_order=True).with_row_index("group")
        numbered = changes.join(groups, on=["session", "origin"], nulls_equal=True, maintain_order="left")
        return self._running(groups, numbered)

    @cached_property
    def lifetimes(self) -> pl.DataFrame:
        """One row a snapshot, in order of birth.

        Columns: snapshot_id, model_id, lora_id, template_sig, mm_digest, session, origin, num_tokens, size_bytes,
        born_seq, born_time, died_seq, died_time, cause, successor, self_eviction (all null: still resident), hits,
        last_hit_time.
        """
        who = ["snapshot_id", *KEY_COLUMNS, "origin", "num_tokens", "size_bytes"]
        inserted = self.events.filter(pl.col("kind") == "inserted")
        born = pl.concat([to_frame(self._base.entries.values()), inserted])
        born = born.select(*who, born_seq="seq", born_time="time").sort("born_seq")
        died = self.events.filter(pl.col("kind") == "removed").select(
            "snapshot_id", "cause", "successor", "self_eviction", died_seq="seq", died_time="time"
        )
        lives = born.join(died, on="snapshot_id", how="left").join(self._hits(), on="snapshot_id", how="left")
        order = [
            *who,
            "born_seq",
            "born_time",
            "died_seq",
            "died_time",
            "cause",
            "successor",
            "self_eviction",
        ]
        return lives.select(*order, pl.col("hits").fill_null(0), "last_hit_time").sort("born_seq")

    def _hits(self) -> pl.DataFrame:
        schema = {"snapshot_id": pl.Int64, "hits": pl.Int64, "last_hit_time": pl.Float64}
        before = pl.DataFrame([(i, n, at) for i, (n, at) in self._base.hits.items()], schema, orient="row")
        hit = self.events.filter(pl.col("outcome") == "hit")
        after = hit.select("snapshot_id", pl.lit(1, pl.Int64).alias("hits"), last_hit_time="time")
        both = pl.concat([before, after])
        return both.group_by("snapshot_id").agg(pl.col("hits").sum(), pl.col("last_hit_time").max())

    def _base_changes(self) -> pl.DataFrame:
        rows = [
            (0, key_cells(e.key)[-1], e.origin.value, e.size_bytes, 1) for e in self._base.entries.values()
        ]
        schema = {
            "seq": pl.UInt32, "session": pl.String, "origin": pl.String, "bytes": pl.Int64, "entries": pl.Int64,
        }  # fmt: skip
        return pl.DataFrame(rows, schema, orient="row")

    def _running(self, groups: pl.DataFrame, changes: pl.DataFrame) -> pl.DataFrame:
        seqs, shown = self.events["seq"].to_numpy(), self._shown()
        # Cell (event, group): what changed there. The running sum down the events is what was resident after each.
        place = np.searchsorted(shown, np.searchsorted(seqs, changes["seq"].to_numpy()))
        which, event = np.tile(np.arange(len(groups)), len(shown)), np.repeat(shown, len(groups))
        after = {}
        for name in ("bytes", "entries"):
            table = np.zeros((len(shown), len(groups)), np.int64)
            np.add.at(table, (place, changes["group"].to_numpy()), changes[name].to_numpy())
            after[name] = table.cumsum(0).ravel()
        where = [self.events.select("seq", "time")[event], groups.select("session", "origin")[which]]
        return pl.concat([*where, pl.DataFrame(after)], how="horizontal")

    def _shown(self) -> np.ndarray:
        """Which events (by position) have rows in `occupancy`; a change in between shows at the next one."""
        count = len(self._events)
        if self._max_points is None or count <= self._max_points:
            return np.arange(count)
        return np.unique(np.linspace(0, count - 1, self._max_points).round().astype(np.int64))
