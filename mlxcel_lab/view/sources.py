"""What a dashboard can watch: each source is a titled journal, and knows how to bring it up to date.

A journal is all that the views need, so whatever can fill one can be watched: a store in this process, a recorded file,
a server elsewhere.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from ..store import Journal, SnapshotStore
from .remote import RemoteJournal, client_for, is_address


def _nothing() -> None:
    """A journal that others fill needs no bringing up to date."""


@dataclass(frozen=True, slots=True)
class Source:
    """A journal to watch. `update` is called before each look at it, on the dashboard's own thread; it may raise.

    `live`: whether the journal can still grow, so that it is worth looking again.
    """

    title: str
    journal: Journal
    live: bool = True
    update: Callable[[], None] = _nothing


def as_source(thing: Any, api_key: str | None = None) -> Source:
    """A source of a journal, a store, an engine (anything with a `store`), a journal's file, or a server's address.

    `api_key` is what a guarded server asks for.
    """
    if isinstance(thing, Source):
        return thing
    if isinstance(thing, Journal):
        return Source("journal", thing)
    if isinstance(thing, SnapshotStore):
        return Source(f"supersede {thing.rule.name}", thing.journal)
    if isinstance(getattr(thing, "store", None), SnapshotStore):
        return as_source(thing.store)
    if is_address(thing):
        return _server(thing, api_key)
    if isinstance(thing, str | Path):
        return _file(Path(thing))
    raise TypeError(
        f"can't watch {type(thing).__name__} {thing!r}: expected an engine, a store, a journal, a journal's file, or "
        "a server's address"
    )


def as_sources(things: Sequence[Any], api_key: str | None = None) -> list[Source]:
    """One source, or two to compare; they get titles that differ."""
    if len(things) > 2:
        raise ValueError(f"{len(things)} journals: a dashboard shows one, or compares two")
    if api_key is not None and not any(map(is_address, things)):
        raise TypeError("api_key is for a server that is watched at its address")
    sources = [as_source(thing, api_key) for thing in things]
    if len(sources) == 2 and sources[0].title == sources[1].title:
        return [
            Source(f"{s.title} ({n})", s.journal, s.live, s.update) for n, s in enumerate(sources, start=1)
        ]
    return sources


def _server(address: str, api_key: str | None) -> Source:
    copy = RemoteJournal(client_for(address, api_key))
    return Source(address, copy.journal, update=copy.update)


def _file(path: Path) -> Source:
    if not path.is_file():
        raise ValueError(f"{str(path)!r} isn't there: expected a journal's parquet file")
    return Source(path.stem, Journal.read(path), live=False)
