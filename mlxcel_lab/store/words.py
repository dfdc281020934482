"""Events of a journal in words: the one place for what a turn shows, the dashboard's panels and a picture."""

from __future__ import annotations

from .events import Event, Inserted, LookedUp, Note, Rejected, Removed
from .types import Hit, NoCandidate, RemovalCause


def size(num_bytes: float) -> str:
    """Decimal units, as mlxcel's figures have them."""
    for unit, factor in (("GB", 1e9), ("MB", 1e6), ("kB", 1e3)):
        if abs(num_bytes) >= factor:
            return f"{num_bytes / factor:.{2 if num_bytes < 10 * factor else 1}f} {unit}"
    return f"{num_bytes:.0f} B"


def percent(part: float, whole: float) -> str:
    return f"{100 * part / whole:.0f} %" if whole else "-"


def kind_of(event: Event) -> str:
    """The event's mark: `hit`, `miss`, `inserted`, a cause of removal, `rejected`, or a note's topic."""
    if isinstance(event, LookedUp):
        return "hit" if event.outcome == Hit.name else "miss"
    if isinstance(event, Removed):
        return str(event.cause)
    if isinstance(event, Note):
        return event.topic
    return "rejected" if isinstance(event, Rejected) else "inserted"


def outcome(event: LookedUp) -> str:
    """A lookup's outcome with the cause that the store itself knows."""
    if event.outcome == Hit.name:
        cut = f", cut from {event.stored_len:,}" if event.truncated else ""
        return f"{event.cached_tokens:,} of {event.num_tokens:,} tokens come from snapshot {event.snapshot_id}{cut}"
    gone = "" if event.ghost is None else f"; the one that would have served is gone: {event.ghost.cause}"
    if event.outcome == NoCandidate.name:
        return f"nothing is stored for this conversation{gone}"
    return (
        f"the nearest, snapshot {event.snapshot_id}, agrees for {event.common_prefix_len:,} of its "
        f"{event.stored_len:,} tokens{gone}"
    )


def sentence(event: Event) -> str:
    """What the store did, with sizes."""
    if isinstance(event, LookedUp):
        return f"{kind_of(event)}: {outcome(event)}"
    if isinstance(event, Note):
        return event.topic.replace("_", " ")
    what = f"{event.num_tokens:,} tokens, {size(event.size_bytes)}, {event.origin}"
    if isinstance(event, Inserted):
        return f"snapshot {event.snapshot_id} stored: {what}"
    if isinstance(event, Rejected):
        return f"refused, {event.reason.replace('_', ' ')}: {what}"
    whose = "" if event.key.session is None else f" of {event.key.session}"
    return f"snapshot {event.snapshot_id}{whose} {event.cause}{_by(event)}: {what}"


def _by(event: Removed) -> str:
    if event.successor is None:
        return ""
    return f" {'for' if event.cause == RemovalCause.EVICTED else 'by'} snapshot {event.successor}"
