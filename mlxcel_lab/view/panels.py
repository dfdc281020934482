"""The panels under the picture, as HTML: figures, what is resident, the settings, all as they were at the cursor.

Plain text from outside (session names, messages, settings) is always escaped. The classes are styled in occupancy.css.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from html import escape
from typing import Any

import numpy as np

from ..store.words import percent, size
from . import theme
from .frames import CODE, FrameModel

MOST_RESIDENTS = 10

_COUNTERS = (
    ("lookups", lambda n: n["hit"] + n["diverged"] + n["no_candidate"]),
    ("hits", lambda n: n["hit"]),
    ("hit rate", lambda n: percent(n["hit"], n["hit"] + n["diverged"] + n["no_candidate"])),
    ("prompt tokens", lambda n: n["asked"]),
    ("tokens saved", lambda n: f"{n['reused']:,} ({percent(n['reused'], n['asked'])})"),
    ("inserts", lambda n: n["inserted"]),
    ("superseded", lambda n: n["superseded"]),
    ("evicted", lambda n: n["evicted"]),
    ("of these its own", lambda n: n["self_eviction"]),
    ("replaced", lambda n: n["replaced"]),
    ("expired", lambda n: n["expired"]),
    ("rejected", lambda n: n["rejected"]),
)


def captions(model: FrameModel, row: int) -> list[tuple[str, str]]:
    """The figures in the line above a panel: (what, value)."""
    n = model.counts_at(row)
    looked = n["hit"] + n["diverged"] + n["no_candidate"]
    total, entries = (int(model.events[name][row]) if row >= 0 else 0 for name in ("total", "entries"))
    capacity = model.settings.get("capacity_bytes")
    of_budget = "resident" if capacity is None else f"of {size(capacity)}"
    return [
        ("hit rate", percent(n["hit"], looked)),
        (f"of {n['asked']:,} prompt tokens saved", f"{n['reused']:,}"),
        ("snapshot" if entries == 1 else "snapshots", f"{entries:,}"),
        (of_budget, size(total)),
    ]


def summary(model: FrameModel) -> dict[str, int]:
    """The counters at the end, under plain names."""
    n = model.counts_at(len(model))
    misses = n["diverged"] + n["no_candidate"]
    kept = ("inserted", "superseded", "evicted", "replaced", "expired", "rejected")
    return {
        "messages": n["hit"] + misses, "hits": n["hit"], "misses": misses, "prompt_tokens": n["asked"],
        "tokens_saved": n["reused"], **{kind: n[kind] for kind in kept},
        "resident_bytes": int(model.events["total"][-1]) if len(model) else 0,
    }  # fmt: skip


def counters(models: Sequence[FrameModel], rows: Sequence[int], titles: Sequence[str]) -> str:
    """A row a counter, a column a journal."""
    counts = [model.counts_at(row) for model, row in zip(models, rows, strict=True)]
    lines = [[name, *(_figure(value(n)) for n in counts)] for name, value in _COUNTERS]
    return heading("Counters") + table(lines, ["", *titles] if len(titles) > 1 else ())


def residents(model: FrameModel, row: int, title: str = "") -> str:
    """What was in the store after event `row`, the newest first."""
    bars = model.resident_at(row)[::-1]
    columns = {name: model.bars[name][bars] for name in ("snapshot", "layer", "tokens", "size")}
    hits = _hits(model, row)
    lines = []
    for i in range(min(len(bars), MOST_RESIDENTS)):
        session, origin = model.layers[columns["layer"][i]]
        snapshot = int(columns["snapshot"][i])
        lines.append(
            [f"{snapshot}", theme.session_label(session), origin, f"{columns['tokens'][i]:,}", size(columns["size"][i]),
             f"{hits.get(snapshot, 0)}"]
        )  # fmt: skip
    older = len(bars) - len(lines)
    more = f'<div class="mlxl-more">and {older:,} older ones</div>' if older else ""
    body = (
        table(lines, ["#", "session", "origin", "tokens", "size", "hits"]) if lines else "<div>nothing</div>"
    )
    return heading("In the store", title) + body + more


def settings(models: Sequence[FrameModel], titles: Sequence[str]) -> str:
    """The settings in force and where each came from, a column a journal."""
    names = [name for name in _SETTINGS if any(name in model.settings for model in models)]
    lines = []
    for name in names:
        values = [_setting(model.settings, name) for model in models]
        lines.append([_SETTINGS[name], *values])
    return heading("Settings") + table(lines, ["", *titles] if len(titles) > 1 else ())


def heading(text: str, detail: str = "") -> str:
    return f'<h4 class="mlxl-h">{escape(text)} <small>{escape(detail)}</small></h4>'


def table(lines: Iterable[Sequence[str]], head: Sequence[str] = ()) -> str:
    """A table of escaped cells; the first column names the rows."""
    top = "".join(f"<th>{escape(cell)}</th>" for cell in head)
    body = "".join("<tr>" + "".join(f"<td>{escape(cell)}</td>" for cell in line) + "</tr>" for line in lines)
    return f'<table class="mlxl-table">{f"<tr>{top}</tr>" if top else ""}{body}</table>'


_SETTINGS = {
    "rule": "supersede",
    "capacity_bytes": "budget",
    "max_entries": "most entries",
    "ttl_seconds": "time to live",
    "min_prefix_tokens": "shortest prefix",
    "boundary": "boundary",
    "warmup": "warm-up",
    "enabled": "enabled",
}
_FIELDS = {"rule": "supersede", "capacity_bytes": "snapshot_capacity_bytes", "max_entries": "snapshot_max_entries",
           "ttl_seconds": "snapshot_ttl_seconds"}  # fmt: skip


def _setting(found: Mapping[str, Any], name: str) -> str:
    value = found.get(name, "-")
    if name == "capacity_bytes" and isinstance(value, int):
        text = size(value)
    elif name == "ttl_seconds":
        text = "never" if value == 0 else f"{value:g} s"
    else:
        text = {True: "on", False: "off"}.get(value, str(value)) if isinstance(value, bool) else str(value)
    source = dict(found.get("sources") or {}).get(_FIELDS.get(name, name))
    return f"{text} ({source})" if source else text


def _hits(model: FrameModel, row: int) -> dict[int, int]:
    kinds, served = model.events["kind"][: row + 1], model.events["snapshot"][: row + 1]
    found, counts = np.unique(served[kinds == CODE["hit"]], return_counts=True)
    return dict(zip(found.tolist(), counts.tolist(), strict=True))


def _figure(value: int | str) -> str:
    return value if isinstance(value, str) else f"{value:,}"
