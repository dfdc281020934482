"""Why it missed, to look at: the tokens on both sides of a divergence, and where a whole run's lost tokens went."""

from __future__ import annotations

import html
from collections.abc import Iterable
from dataclasses import dataclass

import altair as alt
import polars as pl

from ..explain import MEANINGS, Evidence, Explanation, Piece
from ..store.types import RemovalCause
from . import theme

_SHARED = theme.HIT.colour
_DIFFERS = theme.CAUSES[RemovalCause.EVICTED].colour
_SHOWN = str.maketrans({"\n": "↵", "\t": "⇥", " ": "·", "\r": "␍"})
SCHEMA = {
    "cause": pl.String,
    "requests": pl.Int64,
    "lost_tokens": pl.Int64,
    "share": pl.Float64,
    "advice": pl.String,
}


@dataclass(frozen=True)
class TokenStrip:
    """An explanation with both sides' tokens around the place where they part; shows itself in a notebook.

    The difference is marked by colour and by underline; line breaks and spaces are drawn as signs. As plain text (a
    terminal, an untrusted notebook) the differing tokens stand in angle brackets.
    """

    explanation: Explanation

    def __repr__(self) -> str:
        seen = self.explanation.evidence
        return "\n".join(
            [
                f"{MEANINGS[self.explanation.cause].name}: {self.explanation.sentence}",
                f"  stored    {_as_text(seen.stored, seen.position)}",
                f"  requested {_as_text(seen.requested, seen.position)}",
                f"  advice    {self.explanation.advice}",
            ]
        )

    def _repr_html_(self) -> str:
        told = self.explanation
        return (
            f'<div style="font-family:{theme.FONT};color:inherit">'
            f"<b>{html.escape(MEANINGS[told.cause].name)}</b> — {html.escape(told.sentence)}"
            f"{both_sides(told.evidence)}<div><i>{html.escape(told.advice)}</i></div></div>"
        )


def both_sides(seen: Evidence) -> str:
    """The stored and the requested tokens around the place where they part, one above the other; "" without any."""
    sides = (("stored", seen.stored), ("requested", seen.requested))
    rows = "".join(
        f"<tr>{_cell(name, 'th')}{_cell(_as_html(pieces, seen.position), 'td')}</tr>"
        for name, pieces in sides
        if pieces
    )
    return f'<table style="border-collapse:collapse;background:transparent">{rows}</table>' if rows else ""


def _cell(content: str, tag: str) -> str:
    style = "text-align:left;vertical-align:top;padding:2px 8px 2px 0;background:transparent"
    whole = ";white-space:nowrap" if tag == "th" else ""  # a narrow card breaks the tokens, not the name
    return f'<{tag} style="{style}{whole}">{content}</{tag}>'


def _as_text(pieces: Iterable[Piece], position: int | None) -> str:
    return "".join(
        f"<{_signs(p.text)}>" if position is not None and p.index >= position else f"{_signs(p.text)}|"
        for p in pieces
    )


def _as_html(pieces: Iterable[Piece], position: int | None) -> str:
    return "".join(_token(p, position is not None and p.index >= position) for p in pieces)


def _token(piece: Piece, differs: bool) -> str:
    colour = _DIFFERS if differs else _SHARED
    line = f"border-bottom:3px {'solid' if differs else 'dotted'} {colour}"
    style = (
        f"font-family:monospace;white-space:pre;margin-right:2px;padding:0 1px;background:{colour}22;{line}"
    )
    title = f"token {piece.token} at {piece.index}" + (", differs" if differs else "")
    return (
        f'<span style="{style};display:inline-block" title="{title}">{html.escape(_signs(piece.text))}</span>'
    )


def _signs(text: str) -> str:
    return text.translate(_SHOWN) or "∅"


def where_lost(explanations: Iterable[Explanation | None]) -> pl.DataFrame:
    """Where a run's lost tokens went: a row a cause, most tokens first. None (nothing was lost) isn't counted.

    `share` is of all lost tokens; `advice` is what an operator would change.
    """
    told = [one for one in explanations if one is not None]
    total = sum(one.lost_tokens for one in told) or 1
    rows = []
    for cause in {one.cause for one in told}:
        lost = [one.lost_tokens for one in told if one.cause is cause]
        meaning = MEANINGS[cause]
        rows.append((meaning.name, len(lost), sum(lost), sum(lost) / total, meaning.advice))
    return pl.DataFrame(rows, SCHEMA, orient="row").sort(
        "lost_tokens", "requests", "cause", descending=[True, True, False]
    )


def lost_chart(frame: pl.DataFrame) -> alt.Chart:
    """`where_lost` as bars."""
    base = alt.Chart(frame.drop("advice")).encode(y=alt.Y("cause:N", sort=None, title=None))
    bars = base.mark_bar(color=_DIFFERS, opacity=0.85).encode(
        x=alt.X("lost_tokens:Q", title="tokens computed again"),
        tooltip=["cause:N", "requests:Q", "lost_tokens:Q", alt.Tooltip("share:Q", format=".0%")],
    )
    words = base.mark_text(align="left", dx=4, color=theme.INK).encode(x="lost_tokens:Q", text="requests:Q")
    chart = (bars + words).properties(width=420, height=alt.Step(22))
    return chart.configure(**theme.altair_config())
