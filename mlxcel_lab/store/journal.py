"""The journal: every change of the store and every lookup, in order."""

from __future__ import annotations

import threading
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar, overload

from .events import Event, Inserted, LookedUp, Note, Removed

if TYPE_CHECKING:
    from .frames import JournalFrames

_E = TypeVar("_E", Inserted, Removed, LookedUp, Note, Event)


class Journal(Sequence[Event]):
    """The events of one store, `seq` counting from 0 without gaps.

    `max_events` bounds how many are kept: older ones are folded into a base state (what was resident, and the settings
    then), so that `state_at`, frames and files stay right from the first kept event on. `keep_tokens=False` keeps no
    token vectors, for a long-running server.
    """

    def __init__(self, max_events: int | None = None, keep_tokens: bool = True) -> None:
        if max_events is not None and (isinstance(max_events, bool) or max_events < 1):
            raise ValueError(
                f"max_events={max_events!r}: expected a whole number, 1 or more, or None for no bound"
            )
        self.max_events = max_events
        self.keep_tokens = keep_tokens
        self._lock = threading.RLock()
        self._events: list[Event] = []
        self._start = 0  # slots of self._events before it are folded and empty
        self._first_seq = 0
        self._base = Residents()

    def append(self, kind: type[_E], /, **fields: Any) -> _E:
        """Record an event of that kind; the journal gives the `seq`, the caller all other fields."""
        if not self.keep_tokens:
            _drop_tokens(fields)
        with self._lock:
            kept = len(self._events) - self._start
            event = kind(seq=self._first_seq + kept, **fields)
            self._events.append(event)
            if kept == self.max_events:
                self._fold()
            return event

    @property
    def events(self) -> Sequence[Event]:
        """The kept events, oldest first, as they are now."""
        return self.since(-1)

    @property
    def first_seq(self) -> int:
        """The `seq` of the oldest kept event; greater than 0 where older ones were folded."""
        return self._first_seq

    @property
    def next_seq(self) -> int:
        return self._first_seq + len(self)

    @property
    def base(self) -> Residents:
        """What was resident, and the settings, before the first kept event."""
        return self._base.copy()

    def picture(self) -> tuple[Residents, int, list[Event]]:
        """`base`, `first_seq` and `events` of one moment, whatever is appended meanwhile."""
        with self._lock:
            return self.base, self._first_seq, self.since(-1)

    def since(self, seq: int) -> list[Event]:
        """The kept events after `seq`, oldest first: poll with the last seq you saw (-1 for all). O(answer)."""
        with self._lock:
            return self._events[self._start + max(seq + 1 - self._first_seq, 0) :]

    def state_at(self, seq: int) -> list[Inserted]:
        """What was resident after event `seq`, least recently used first, as the events that brought it in."""
        return list(self._replay(seq).entries.values())

    def config_at(self, seq: int) -> Mapping[str, Any]:
        """The store's settings in force after event `seq`: the data of the last `opened` note; empty before one."""
        return self._replay(seq).settings

    def frame(self, max_points: int | None = None) -> JournalFrames:
        """Polars frames of the journal as it is now; see `JournalFrames`."""
        from .frames import JournalFrames

        base, _, events = self.picture()
        return JournalFrames(events, base, max_points)

    def write(self, path: str | Path) -> Path:
        """Write everything, tokens included, to a parquet file; folders are made."""
        from .journal_file import write_journal

        return write_journal(self, Path(path))

    @classmethod
    def read(cls, path: str | Path) -> Journal:
        """The journal that `write` wrote. A file that isn't one raises a ValueError."""
        from .journal_file import read_journal

        return read_journal(Path(path))

    def restore(self, base: Residents, first_seq: int, events: Sequence[Event]) -> None:
        """Fill an empty journal with what another one held."""
        if self.next_seq:
            raise ValueError(f"this journal already holds {self.next_seq} events: restore into an empty one")
        self._base, self._first_seq, self._events = base, first_seq, list(events)

    def _replay(self, seq: int) -> Residents:
        with self._lock:
            if not self._first_seq - 1 <= seq < self.next_seq:
                kept = f"{self._first_seq} to {self.next_seq - 1}" if len(self) else "no events"
                raise ValueError(f"seq={seq}: this journal holds {kept}")
            state = self._base.copy()
            for event in self._events[self._start : self._start + seq + 1 - self._first_seq]:
                state.apply(event)
            return state

    def _fold(self) -> None:
        self._base.apply(self._events[self._start])
        self._events[self._start] = _FOLDED
        self._start += 1
        self._first_seq += 1
        if self._start > len(self._events) // 2:  # so that dropping costs O(1) an event on average
            del self._events[: self._start]
            self._start = 0

    def __len__(self) -> int:
        return len(self._events) - self._start

    @overload
    def __getitem__(self, index: int) -> Event: ...
    @overload
    def __getitem__(self, index: slice) -> Sequence[Event]: ...
    def __getitem__(self, index: int | slice) -> Event | Sequence[Event]:
        """By position among the kept events, not by `seq`."""
        if isinstance(index, slice):
            return self.since(-1)[index]
        with self._lock:
            size = len(self)
            if not -size <= index < size:
                raise IndexError(f"event {index} of {size}")
            return self._events[self._start + index % size]

    def __iter__(self) -> Iterator[Event]:
        return iter(self.since(-1))

    def __repr__(self) -> str:
        bound = "" if self.max_events is None else f" (at most {self.max_events} kept)"
        return f"Journal({len(self)} events, seq {self._first_seq} to {self.next_seq - 1}{bound})"


class Residents:
    """What is resident at one moment of a journal, least recently used first, and the settings in force."""

    def __init__(
        self,
        entries: dict[int, Inserted] | None = None,
        hits: dict[int, tuple[int, float]] | None = None,
        settings: Mapping[str, Any] | None = None,
    ) -> None:
        self.entries = entries if entries is not None else {}
        self.hits = hits if hits is not None else {}  # snapshot_id -> (how many, the last one's time)
        self.settings = settings if settings is not None else {}

    def copy(self) -> Residents:
        return Residents(dict(self.entries), dict(self.hits), self.settings)

    def apply(self, event: Event) -> None:
        if isinstance(event, Inserted):
            self.entries[event.snapshot_id] = event
        elif isinstance(event, Removed):
            self.entries.pop(event.snapshot_id, None)
            self.hits.pop(event.snapshot_id, None)
        elif isinstance(event, LookedUp) and event.outcome == "hit" and event.snapshot_id in self.entries:
            self.entries[event.snapshot_id] = self.entries.pop(event.snapshot_id)
            self.hits[event.snapshot_id] = (self.hits.get(event.snapshot_id, (0, 0.0))[0] + 1, event.time)
        elif isinstance(event, Note) and event.topic == "opened":
            self.settings = {**self.settings, **event.data}


_FOLDED: Any = None


def _drop_tokens(fields: dict[str, Any]) -> None:
    if "tokens" in fields:
        fields["tokens"] = None
    if fields.get("ghost") is not None:
        fields["ghost"] = replace(fields["ghost"], tokens=None)
