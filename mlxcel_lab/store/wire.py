"""Events as plain JSON objects and back: what a server sends of its journal, a line each.

The one place that reads events from plain values: a journal's file (`journal_file`) only says which column is which.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import asdict, fields
from typing import Any

from .event_table import KINDS
from .events import Event, Inserted
from .journal import Journal, Residents
from .tokens import as_tokens
from .types import Bucket, CacheKey, Ghost, Origin, RejectReason, RemovalCause

BASE = "base"
_TYPES = {kind: type_ for type_, kind in KINDS.items()}
_CAUSES: dict[str, RemovalCause | RejectReason] = {
    cause.value: cause for causes in (RemovalCause, RejectReason) for cause in causes
}


def event_to_json(event: Event, *, tokens: bool = True) -> dict[str, Any]:
    """The event as an object with its `kind`; without `tokens`, token vectors are null."""
    plain = {f.name: getattr(event, f.name) for f in fields(event)}
    return {"kind": KINDS[type(event)], **{name: _plain(value, tokens) for name, value in plain.items()}}


def event_from_json(row: Mapping[str, Any]) -> Event:
    """The event that `event_to_json` wrote. Raises ValueError for an object that isn't one."""
    values = dict(row)
    kind = values.pop("kind", None)
    if kind not in _TYPES:
        raise ValueError(f"kind={kind!r}: expected one of {', '.join(_TYPES)}")
    try:
        return _TYPES[kind](**{name: _READ.get(name, _same)(value) for name, value in values.items()})
    except (TypeError, KeyError) as error:
        raise ValueError(f"not a journal event of kind {kind!r}: {error}") from None


def base_to_json(journal: Journal, *, tokens: bool = True) -> tuple[dict[str, Any], list[Event]]:
    """What a journal's kept events stand on, as an object of kind `base`, and those events: one consistent picture."""
    base, first, events = journal.picture()
    entries = [event_to_json(event, tokens=tokens) for event in base.entries.values()]
    hits = [[snapshot_id, *seen] for snapshot_id, seen in base.hits.items()]
    return {
        "kind": BASE,
        "first_seq": first,
        "settings": dict(base.settings),
        "entries": entries,
        "hits": hits,
    }, events


def journal_from_json(base: Mapping[str, Any], events: Iterable[Mapping[str, Any]]) -> Journal:
    """A journal like the one whose base and events were sent."""
    inserted = [event_from_json(row) for row in base["entries"]]
    entries = {event.snapshot_id: event for event in inserted if isinstance(event, Inserted)}
    hits = {snapshot_id: (count, time) for snapshot_id, count, time in base["hits"]}
    journal = Journal()
    journal.restore(
        Residents(entries, hits, base["settings"]), base["first_seq"], [*map(event_from_json, events)]
    )
    return journal


def _plain(value: Any, tokens: bool) -> Any:
    if isinstance(value, CacheKey):
        return {"bucket": asdict(value.bucket), "session": value.session}
    if isinstance(value, Ghost):
        shown = {f.name: getattr(value, f.name) for f in fields(value)}
        return {name: _plain(part, tokens) for name, part in shown.items()}
    if isinstance(value, Mapping):
        return dict(value)
    if hasattr(value, "tolist"):
        return value.tolist() if tokens else None
    return value


def _same(value: Any) -> Any:
    return value


def _key(value: Any) -> CacheKey | None:
    return None if value is None else CacheKey(Bucket(**value["bucket"]), value["session"])


def _vector(value: Any) -> Any:
    return None if value is None else as_tokens(value)


def _ghost(value: Any) -> Ghost | None:
    return None if value is None else Ghost(**{n: _READ.get(n, _same)(part) for n, part in value.items()})


_READ: dict[str, Any] = {
    "key": _key,
    "tokens": _vector,
    "ghost": _ghost,
    "origin": Origin,
    "cause": _CAUSES.__getitem__,
    "reason": RejectReason,
}
