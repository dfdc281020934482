"""What the widget draws of one journal: plain lists and little-endian buffers, never more than the eye can tell apart.

Up to `EXACT` events in the window each event is a point. Above that the window is cut into `BINS` equal pieces, each a
point that carries the state at its end, the peak within it and how many events of each kind it holds; the widget says
so. Zooming in asks again, until single events are back.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from .frames import KINDS, SIGNS, FrameModel
from .theme import session_label

EXACT = 10_000
BINS = 1_200
MAX_BARS = 4_000
MAX_SESSIONS = 8

Array = npt.NDArray[Any]


def shown_sessions(models: Sequence[FrameModel]) -> list[str]:
    """The labels of at most `MAX_SESSIONS` sessions: those that stored most bytes, in order of appearance."""
    stored: dict[str, int] = {}
    for model in models:
        by_layer = np.zeros(len(model.layers) + 1, np.int64)
        np.add.at(
            by_layer, np.asarray(model.bars["layer"], np.int64), np.asarray(model.bars["size"], np.int64)
        )
        for (session, _), size in zip(model.layers, by_layer[:-1].tolist(), strict=True):
            label = session_label(session)
            stored[label] = stored.get(label, 0) + size
    most = set(sorted(stored, key=lambda label: -stored[label])[:MAX_SESSIONS])
    return [label for label in stored if label in most]


def panel(
    model: FrameModel,
    positions: Array,
    x: Array,
    window: tuple[float, float],
    sessions: Sequence[str],
    title: str = "",
) -> dict[str, Any]:
    """One journal's part of a frame. `positions` and `x` come from a `Timeline`, a value a row."""
    layers = _display_layers(model, sessions)
    low = int(np.searchsorted(x, window[0], side="left"))
    high = int(np.searchsorted(x, window[1], side="right"))
    exact = high - low <= EXACT
    cut = _points if exact else _bins
    return {
        "title": title,
        "exact": exact,
        "events": len(model),
        "inWindow": high - low,
        "sessions": list(sessions),
        "others": len({session for session, _ in model.layers}) - len(sessions),
        "capacity": model.settings.get("capacity_bytes"),
        "points": cut(model, positions, x, window, (low, high), layers, 2 * (len(sessions) + 1)),
        "bars": _bars(model, positions, x, window, layers, 2 * len(sessions)),
    }


def _f8(values: Array) -> bytes:
    return np.asarray(values, "<f8").tobytes()


def _i4(values: Array) -> bytes:
    return np.asarray(values, "<i4").tobytes()


def _position_before(positions: Array, low: int) -> int:
    return int(positions[low - 1]) if low else -1


def _display_layers(model: FrameModel, sessions: Sequence[str]) -> Array:
    """Layer -> 2 * session + (0 completion, 1 boundary); sessions that aren't shown share the last one."""
    index = {label: i for i, label in enumerate(sessions)}
    found = [
        2 * index.get(session_label(session), len(sessions)) + (origin == "boundary")
        for session, origin in model.layers
    ]
    return np.array([*found, -1], np.int64)  # the last: events without a layer (-1)


def _deltas(model: FrameModel, rows: slice) -> Array:
    return SIGNS[model.events["kind"][rows]] * np.asarray(model.events["size"][rows], np.int64)


def _stack_before(model: FrameModel, low: int, layers: Array, count: int) -> Array:
    """Bytes by display layer just before row `low`."""
    return _sums(layers[model.events["layer"][:low]], _deltas(model, slice(0, low)), count)


def _sums(index: Array, weights: Array, count: int) -> Array:
    used = index >= 0
    return np.bincount(index[used], weights=weights[used], minlength=count)[:count]


def _points(
    model: FrameModel, positions: Array, x: Array, window: tuple[float, float], rows: tuple[int, int], layers: Array,
    count: int,
) -> dict[str, Any]:  # fmt: skip
    """A point an event, after one for the state at the window's left edge (kind 255)."""
    span = slice(*rows)
    shown = layers[model.events["layer"][span]]
    base = _stack_before(model, rows[0], layers, count)
    out: dict[str, Any] = {
        "count": rows[1] - rows[0] + 1,
        "base": base.tolist(),
        "x": _f8(np.concatenate([[window[0]], x[span]])),
        "pos": _i4(np.concatenate([[_position_before(positions, rows[0])], positions[span]])),
        "kind": np.concatenate([[255], model.events["kind"][span]]).astype(np.uint8).tobytes(),
        "layer": _i4(np.concatenate([[-1], shown])),
    }
    for name in ("snapshot", "other", "tokens", "cached", "entries"):
        out[name] = _i4(np.concatenate([[0], model.events[name][span]]))
    for name in ("size", "total"):
        out[name] = _f8(np.concatenate([[0], model.events[name][span]]))
    return out


def _bins(
    model: FrameModel, positions: Array, x: Array, window: tuple[float, float], rows: tuple[int, int], layers: Array,
    count: int,
) -> dict[str, Any]:  # fmt: skip
    """A point a bin: the stack at its end, the peak within it, events by kind."""
    span = slice(*rows)
    edges = np.linspace(*window, BINS + 1)
    settled = _settled(model)
    ends = np.minimum(_after_insert(settled, np.searchsorted(x, edges[1:], side="right")), rows[1])
    of_bin = np.minimum(np.searchsorted(ends, np.arange(*rows), side="right"), BINS - 1)
    layer = layers[model.events["layer"][span]]
    index = np.where(layer >= 0, layer * BINS + of_bin, -1)
    steps = _sums(index, _deltas(model, span), count * BINS).reshape(count, BINS)
    stack = _stack_before(model, rows[0], layers, count)[:, None] + np.cumsum(steps, axis=1)
    kinds = np.bincount(
        model.events["kind"][span].astype(np.int64) * BINS + of_bin, minlength=len(KINDS) * BINS
    )
    return {
        "count": BINS,
        "x": _f8(edges[:-1]),
        "pos": _i4(positions[np.maximum(ends - 1, 0)]),
        "stack": stack.astype("<f8").tobytes(),
        "peak": _f8(
            _peaks(np.where(settled, model.events["total"], 0), np.append(rows[0], ends), stack.sum(axis=0))
        ),
        "kinds": kinds.astype("<u4").tobytes(),
    }


def _settled(model: FrameModel) -> Array:
    """Whether a row ends its step: within an insert nobody sees the store before what had to go is gone."""
    turn, step = model.events["turn"], model.events["step"]
    return np.append((turn[:-1] != turn[1:]) | (step[:-1] != step[1:]), True)


def _after_insert(settled: Array, ends: Array) -> Array:
    """The ends of bins, moved on so that none cuts an insert in two."""
    last = np.flatnonzero(settled)
    return np.where(ends > 0, last[np.searchsorted(last, np.maximum(ends - 1, 0))] + 1, 0)


def _peaks(total: Array, cuts: Array, ends: Array) -> Array:
    """The most bytes within each bin [cuts[i], cuts[i + 1]); a bin without events has what it ends with."""
    peaks = ends.astype(np.float64)
    full = np.flatnonzero(np.diff(cuts) > 0)
    if len(full):
        peaks[full] = np.maximum(peaks[full], np.maximum.reduceat(total[: cuts[-1]], cuts[full]))
    return peaks


def _bars(
    model: FrameModel, positions: Array, x: Array, window: tuple[float, float], layers: Array, lanes: int
) -> dict[str, Any]:
    """The snapshots that lived in the window, the longest `MAX_BARS` of those that have a lane."""
    born, died = np.asarray(model.bars["born"], np.int64), np.asarray(model.bars["died"], np.int64)
    start = x[born] if len(born) else np.empty(0)
    end = np.where(died >= 0, x[np.maximum(died, 0)], np.inf) if len(died) else np.empty(0)
    lane = layers[model.bars["layer"]]
    alive = np.flatnonzero((start <= window[1]) & (end >= window[0]) & (lane < lanes))
    chosen = alive
    if len(alive) > MAX_BARS:
        width = np.minimum(end[alive], window[1]) - np.maximum(start[alive], window[0])
        chosen = np.sort(alive[np.argpartition(-width, MAX_BARS)[:MAX_BARS]])
    out: dict[str, Any] = {
        "count": len(chosen),
        "of": len(alive),
        "start": _f8(start[chosen]),
        "end": _f8(end[chosen]),
        "bornPos": _i4(positions[born[chosen]]),
        "diedPos": _i4(np.where(died[chosen] >= 0, positions[np.maximum(died[chosen], 0)], -1)),
        "lane": _i4(lane[chosen]),
        "cause": model.bars["cause"][chosen].astype(np.uint8).tobytes(),
    }
    for name in ("row", "snapshot", "successor", "tokens", "hits"):
        out[name] = _i4(model.bars[name][chosen])
    out["size"] = _f8(model.bars["size"][chosen])
    return out
