"""The selected turn: how much of its prompt was cached, its outcome and cause in words, what the store did in order."""

from __future__ import annotations

from collections.abc import Sequence
from html import escape
from typing import Any

from ..explain import MEANINGS, Evidence, Explanation
from ..store import Journal
from ..store.events import Event, LookedUp, Note
from ..store.words import kind_of, outcome, sentence, size
from . import theme
from .frames import FrameModel
from .misses import both_sides
from .panels import heading

_QUIET = ("opened", "turn")  # notes that the card tells in other words


def turn_events(journal: Journal, model: FrameModel, row: int) -> list[Event]:
    """The journal's events of the turn that event `row` belongs to, notes included; empty where they were dropped."""
    if row < 0 or not len(model):
        return []
    turns, seqs = model.events["turn"], model.events["seq"]
    first = int(seqs[turns == turns[row]][0])
    later = seqs[turns > turns[row]]
    last = int(later[0]) if len(later) else journal.next_seq
    return (
        [event for event in journal.since(first - 1) if event.seq < last]
        if first >= journal.first_seq
        else []
    )


def lookup_of(events: Sequence[Event]) -> LookedUp | None:
    return next((event for event in events if isinstance(event, LookedUp)), None)


def turn_card(
    events: Sequence[Event],
    turn: int,
    selected_seq: int,
    explanation: Explanation | None = None,
    title: str = "",
) -> str:
    """The HTML of one turn; `selected_seq` is the event to point out."""
    looked, note = lookup_of(events), _note(events)
    if not events:
        return heading("Turn", title) + "<div>no event yet, or the journal no longer has it</div>"
    who = theme.session_label(looked.key.session) if looked else ""
    parts = [heading(f"Turn {turn} · {who}" if looked else "Before the first turn", title)]
    if message := note.get("message", {}).get("content"):
        parts.append(f'<div class="mlxl-quote">{escape(str(message))}</div>')
    if looked:
        parts += [_bar(looked, int(note.get("completion_tokens", 0))), _outcome(looked, explanation)]
    parts.append(_doings(events, selected_seq))
    return "".join(parts)


def _note(events: Sequence[Event]) -> dict[str, Any]:
    """The figures that the engine noted of the turn; empty for journals without an engine."""
    return next((dict(e.data) for e in events if isinstance(e, Note) and e.topic == "turn"), {})


def _bar(looked: LookedUp, reply: int) -> str:
    parts = [
        ("cached", looked.cached_tokens),
        ("new", looked.num_tokens - looked.cached_tokens),
        ("reply", reply),
    ]
    cells = "".join(
        f'<div class="mlxl-{name}" style="flex:{count}" title="{count:,} {name}">'
        f"{_number(count, name, looked, reply)}</div>"
        for name, count in parts
        if count
    )
    return f'<div class="mlxl-tokens" role="img" aria-label="{_aria(parts)}">{cells}</div>'


def _number(count: int, name: str, looked: LookedUp, reply: int) -> str:
    """A part too narrow for its words keeps them in its title."""
    return f"{count:,} {name}" if count > 0.16 * (looked.num_tokens + reply) else ""


def _aria(parts: Sequence[tuple[str, int]]) -> str:
    return ", ".join(f"{count} tokens {name}" for name, count in parts)


def _outcome(looked: LookedUp, explanation: Explanation | None) -> str:
    said = f"<div>{_mark(kind_of(looked))} <b>{kind_of(looked)}</b>: {escape(outcome(looked))}</div>"
    if explanation is None:
        return said
    meaning = MEANINGS[explanation.cause]
    why = f"<div><b>{escape(meaning.name)}</b>: {escape(meaning.what)}</div>"
    advice = f'<div class="mlxl-advice">{escape(meaning.advice)}</div>'
    return said + why + _strips(explanation.evidence) + _facts(explanation) + advice


def _strips(seen: Evidence) -> str:
    return "" if seen.position is None else f'<div class="mlxl-strips">{both_sides(seen)}</div>'


def _facts(explanation: Explanation) -> str:
    """The evidence in numbers."""
    seen = explanation.evidence
    facts = (
        {} if seen.position is None else {"parts at token": f"{seen.position:,} of {seen.requested_len:,}"}
    )
    if seen.message is not None:
        facts["in message"] = f"{seen.message + 1} ({seen.role})"
    facts |= {
        name.replace("_", " "): _fact(name, value) for name, value in seen.details.items() if name != "tokens"
    }
    said = "".join(f"<span>{escape(name)} <b>{escape(value)}</b></span>" for name, value in facts.items())
    return f'<div class="mlxl-facts">{said}</div>' if said else ""


def _fact(name: str, value: Any) -> str:
    return size(value) if name.startswith("bytes") and isinstance(value, int) else str(value)


def _doings(events: Sequence[Event], selected_seq: int) -> str:
    lines = []
    for event in events:
        if isinstance(event, LookedUp) or (isinstance(event, Note) and event.topic in _QUIET):
            continue
        here = ' class="mlxl-here"' if event.seq == selected_seq else ""
        lines.append(f"<li{here}>{_mark(kind_of(event))} {escape(sentence(event))}</li>")
    return f'<ol class="mlxl-doings">{"".join(lines)}</ol>' if lines else ""


def _mark(kind: str) -> str:
    mark = theme.MARKS.get(kind)
    symbol, colour = (mark.sign, mark.colour) if mark else ("+", theme.INK)
    return f'<span style="color:{colour}" aria-hidden="true">{symbol}</span>'
