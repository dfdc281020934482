"""The frame model: a journal's events, taken in as they come, as plain columns that a view can draw.

Everything that the dashboard shows is computed from these columns, so a live run, a replay and a recorded file look the
same. Nothing here knows of widgets, of MLX or of the store itself.

Three tables:
- `events`: a row a change of the store or a lookup, in journal order. Notes have no row: they tell the settings, or are
  read from the journal by whoever shows a turn. `other` is the successor of a removed snapshot, the common prefix of a
  lookup, the index in `REASONS` of a refusal;
- `bars`: a row a snapshot, from birth to death (`died` is -1 while it is resident);
- `layers`: the (session, origin) pairs in order of appearance; rows name a layer by its index here.

A *turn* starts with each lookup (turn 0 is what happened before the first). `step` counts what the store did in it: an
insert and all that it removed are one step, because nobody ever sees the store in between.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from heapq import heappop, heappush
from typing import Any

import numpy as np
import numpy.typing as npt

from ..store.events import Event, Inserted, LookedUp, Note, Rejected, Removed
from ..store.journal import Journal
from ..store.types import CacheKey, Diverged, Hit, NoCandidate, Origin, RejectReason, RemovalCause
from .columns import Columns

KINDS = (
    *(outcome.name for outcome in (Hit, Diverged, NoCandidate)),
    "inserted",
    *(cause.value for cause in RemovalCause),
    "rejected",
)
"""What an event is, by its code in the column `kind`."""
CODE: Mapping[str, int] = {kind: code for code, kind in enumerate(KINDS)}
SIGNS = np.array([(kind == "inserted") - (kind in [*RemovalCause]) for kind in KINDS])
"""By code: whether an event adds its bytes to what is resident (1), takes them away (-1), or neither (0)."""

REASONS = tuple(str(reason) for reason in RejectReason)

_EVENTS = {
    "seq": "i8", "time": "f8", "kind": "u1", "layer": "i8", "turn": "i8", "step": "i8", "snapshot": "i8", "other": "i8",
    "tokens": "i8", "cached": "i8", "size": "i8", "total": "i8", "entries": "i8", "own": "u1",
}  # fmt: skip
_BARS = {
    "snapshot": "i8", "layer": "i8", "row": "i8", "born": "i8", "died": "i8", "cause": "u1", "successor": "i8",
    "tokens": "i8", "size": "i8", "hits": "i8",
}  # fmt: skip

_Row = Inserted | Removed | Rejected | LookedUp
Layer = tuple[str | None, str]
"""Session and origin; the origin of a lookup is the empty string."""


class Follower:
    """Keeps a frame model up with a journal that grows, also with a bounded one that forgets."""

    def __init__(self, journal: Journal) -> None:
        self.journal = journal
        self.model = FrameModel()
        self._last_seq: int | None = None

    def poll(self) -> bool:
        """Take in what is new; whether anything was."""
        if self._last_seq is None or self.journal.first_seq > self._last_seq + 1:
            self._start_over()
        events = self.journal.since(self._last_seq if self._last_seq is not None else -1)
        self.model.feed(events)
        if events:
            self._last_seq = events[-1].seq
        return bool(events)

    def _start_over(self) -> None:
        """From the base state of a journal that has dropped its oldest events."""
        self.model = FrameModel()
        base = self.journal.base
        self.model.settings.update(base.settings)
        self.model.feed(sorted(base.entries.values(), key=lambda entry: entry.seq))
        self._last_seq = self.journal.first_seq - 1


class FrameModel:
    """Columns out of a journal; `len` is the number of rows. A `Follower` feeds it."""

    def __init__(self) -> None:
        self.events = Columns(_EVENTS)
        self.bars = Columns(_BARS)
        self.layers: list[Layer] = []
        self.settings: dict[str, Any] = {}
        self._layer_ids: dict[Layer, int] = {}
        self._resident: dict[int, int] = {}  # snapshot id -> bar
        self._free_rows: dict[int, list[int]] = {}  # layer -> rows of its lane that are free, lowest first
        self._rows: dict[int, int] = {}  # layer -> rows in use or free
        self._total = self._turn = self._step = 0
        self._cause = -1  # the snapshot whose insert is going on
        self._take: dict[type, Callable[[Any], None]] = {
            Inserted: self._inserted, Removed: self._removed, Rejected: self._rejected,
            LookedUp: self._looked_up, Note: self._noted,
        }  # fmt: skip

    def __len__(self) -> int:
        return len(self.events)

    def feed(self, events: Iterable[Event]) -> int:
        """Take in events, in journal order from its beginning, and say how many rows came of them."""
        before, take = len(self.events), self._take
        for event in events:
            take[type(event)](event)
        return len(self.events) - before

    # one event kind each -----------------------------------------------------------------------------------------

    def _inserted(self, event: Inserted) -> None:
        layer = self._layer(event.key, event.origin)
        self._total += event.size_bytes
        self._resident[event.snapshot_id] = len(self.bars)
        self.bars.append(
            event.snapshot_id, layer, self._take_row(layer), len(self.events), -1, 0, -1, event.num_tokens,
            event.size_bytes, 0,
        )  # fmt: skip
        self._advance(event.snapshot_id)
        self._row(event, "inserted", layer, event.snapshot_id, size=event.size_bytes)

    def _removed(self, event: Removed) -> None:
        layer = self._layer(event.key, event.origin)
        self._total -= event.size_bytes
        successor = -1 if event.successor is None else event.successor
        self._end_bar(self._resident.pop(event.snapshot_id), layer, CODE[event.cause], successor)
        self._advance(successor)
        self._row(event, event.cause, layer, event.snapshot_id, successor, size=event.size_bytes,
                  own=event.self_eviction)  # fmt: skip

    def _rejected(self, event: Rejected) -> None:
        layer = self._layer(event.key, event.origin)
        self._advance(-1)
        self._row(event, "rejected", layer, other=REASONS.index(event.reason), size=event.size_bytes)

    def _looked_up(self, event: LookedUp) -> None:
        self._turn, self._step, self._cause = self._turn + 1, 0, -1
        served = -1 if event.snapshot_id is None else event.snapshot_id
        if event.outcome == "hit" and served in self._resident:
            bar = self._resident[served]
            self.bars.set("hits", bar, self.bars.get("hits", bar) + 1)
        layer = self._layer(event.key, "")
        self._row(event, event.outcome, layer, served, event.common_prefix_len, cached=event.cached_tokens)

    def _noted(self, event: Note) -> None:
        if event.topic == "opened":
            self.settings.update(event.data)

    # bookkeeping -------------------------------------------------------------------------------------------------

    def _advance(self, cause: int) -> None:
        """Begin the next step, unless the event belongs to the insert of snapshot `cause` that is going on."""
        self._step += cause < 0 or cause != self._cause
        self._cause = cause

    def _row(
        self, event: _Row, kind: str, layer: int, snapshot: int = -1, other: int = -1, *, cached: int = 0,
        size: int = 0, own: bool = False,
    ) -> None:  # fmt: skip
        self.events.append(
            event.seq, event.time, CODE[kind], layer, self._turn, self._step, snapshot, other, event.num_tokens, cached,
            size, self._total, len(self._resident), own,
        )  # fmt: skip

    def _layer(self, key: CacheKey, origin: Origin | str) -> int:
        layer = (key.session, str(origin))
        found = self._layer_ids.get(layer)
        if found is None:
            found = self._layer_ids[layer] = len(self.layers)
            self.layers.append(layer)
        return found

    def _take_row(self, layer: int) -> int:
        """The lowest free row of the lane: a successor continues in the row that its predecessor just left."""
        free = self._free_rows.setdefault(layer, [])
        if free:
            return heappop(free)
        self._rows[layer] = self._rows.get(layer, 0) + 1
        return self._rows[layer] - 1

    def _end_bar(self, bar: int, layer: int, cause: int, successor: int) -> None:
        for name, value in (("died", len(self.events)), ("cause", cause), ("successor", successor)):
            self.bars.set(name, bar, value)
        heappush(self._free_rows[layer], int(self.bars.get("row", bar)))

    # as it was ---------------------------------------------------------------------------------------------------

    def resident_at(self, row: int) -> npt.NDArray[np.intp]:
        """The bars of what was resident after event `row`, in order of birth."""
        born, died = self.bars["born"], self.bars["died"]
        return np.flatnonzero((born <= row) & ((died < 0) | (died > row)))

    def counts_at(self, row: int) -> dict[str, int]:
        """How many events of each kind there were up to and including `row`; and `self_eviction`, `reused` and `asked`
        tokens."""
        upto = slice(0, row + 1)
        kinds = self.events["kind"][upto]
        counted = np.bincount(kinds, minlength=len(KINDS))
        looked = kinds <= CODE["no_candidate"]
        return {
            **{kind: int(count) for kind, count in zip(KINDS, counted, strict=True)},
            "self_eviction": int(self.events["own"][upto].sum()),
            "reused": int(self.events["cached"][upto].sum()),
            "asked": int(self.events["tokens"][upto][looked].sum()),
        }
