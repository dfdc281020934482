// The widget's data: what the model's buffers hold, as typed arrays, and events in words. See payload.py for the buffers.

const REMOVED = ["superseded", "replaced", "evicted", "expired", "cleared"];
const RAIL = ["hit", "miss", ...REMOVED, "rejected"];

// ---- data -----------------------------------------------------------------------------------------------------------

function typed(view, Type) {
  const { buffer, byteOffset, byteLength } = view;
  return new Type(buffer.slice(byteOffset, byteOffset + byteLength));
}

const FLOATS = { points: ["x", "size", "total", "peak"], bars: ["start", "end", "size"] };
const INTS = {
  points: ["pos", "layer", "snapshot", "other", "tokens", "cached", "entries"],
  bars: ["bornPos", "diedPos", "lane", "row", "snapshot", "successor", "tokens", "hits"],
};

function table(raw, name) {
  const out = { count: raw.count };
  for (const key of FLOATS[name]) if (raw[key]) out[key] = typed(raw[key], Float64Array);
  for (const key of INTS[name]) if (raw[key]) out[key] = typed(raw[key], Int32Array);
  return out;
}

/** A panel's buffers as typed arrays; `stack[l][i]` is what layer l holds from point i on, in bytes. */
function decode(panel, look) {
  const points = table(panel.points, "points");
  const bars = table(panel.bars, "bars");
  bars.of = panel.bars.of;
  bars.cause = typed(panel.bars.cause, Uint8Array);
  const layers = 2 * (panel.sessions.length + 1);
  if (panel.exact) {
    points.kind = typed(panel.points.kind, Uint8Array);
    points.stack = accumulate(points, panel.points.base, layers, look);
  } else {
    const flat = typed(panel.points.stack, Float64Array);
    points.stack = Array.from({ length: layers }, (_, l) => flat.subarray(l * points.count, (l + 1) * points.count));
    points.kinds = typed(panel.points.kinds, Uint32Array);
  }
  const barOf = new Map();
  for (let b = 0; b < bars.count; b++) barOf.set(bars.snapshot[b], b);
  return { ...panel, points, bars, barOf, layers, most: most(points) };
}

/** The most bytes that the stack or a peak reaches. */
function most(points) {
  const sums = Float64Array.from(points.peak ?? new Float64Array(points.count));
  const ends = new Float64Array(points.count);
  for (const layer of points.stack) for (let i = 0; i < points.count; i++) ends[i] += layer[i];
  return sums.reduce((top, sum, i) => Math.max(top, sum, ends[i]), 1);
}

function accumulate(points, base, layers, look) {
  const sign = look.kinds.map((kind) => (kind === "inserted" ? 1 : REMOVED.includes(kind) ? -1 : 0));
  const stack = base.slice(0, layers).map((bytes) => new Float64Array(points.count).fill(bytes));
  const now = Float64Array.from(base);
  for (let i = 0; i < points.count; i++) {
    const layer = points.layer[i];
    if (layer >= 0) now[layer] += (sign[points.kind[i]] || 0) * points.size[i];
    for (let l = 0; l < layers; l++) stack[l][i] = now[l];
  }
  return stack;
}

function railOf(kind) {
  if (kind === "diverged" || kind === "no_candidate") return "miss";
  return RAIL.includes(kind) ? kind : null;
}

function railCounts(panel, look) {
  const counts = {};
  const add = (code, n) => {
    const row = railOf(look.kinds[code]);
    if (row && n) counts[row] = (counts[row] || 0) + n;
  };
  const { points } = panel;
  if (panel.exact) for (let i = 1; i < points.count; i++) add(points.kind[i], 1);
  else points.kinds.forEach((n, i) => add(Math.floor(i / points.count), n));
  return counts;
}

/** The point that shows a position: its own event, the bin that holds it, or the last event before it; -1 for none. */
function pointAt({ points, exact }, position) {
  if (exact) return lastAtOrBefore(points.pos, position) || -1; // point 0 is the window's edge, no event
  return Math.min(lastAtOrBefore(points.pos, position - 1) + 1, points.count - 1);
}

/** The last index whose value is <= wanted, or -1. */
function lastAtOrBefore(sorted, wanted) {
  let low = 0;
  let high = sorted.length;
  while (low < high) {
    const middle = (low + high) >> 1;
    if (sorted[middle] <= wanted) low = middle + 1;
    else high = middle;
  }
  return low - 1;
}

// ---- words ----------------------------------------------------------------------------------------------------------

function bytes(n) {
  for (const [unit, size] of [["GB", 1e9], ["MB", 1e6], ["kB", 1e3]]) {
    if (Math.abs(n) >= size) return `${(n / size).toFixed(n / size < 10 ? 2 : 1)} ${unit}`;
  }
  return `${n} B`;
}

const whole = (n) => Math.round(n).toLocaleString("en-US");

function duration(seconds) {
  if (seconds >= 7200) return `${+(seconds / 3600).toFixed(2)} h`;
  if (seconds >= 120) return `${+(seconds / 60).toFixed(1)} min`;
  return seconds >= 1 || seconds === 0 ? `${+seconds.toFixed(2)} s` : `${+(seconds * 1e3).toFixed(2)} ms`;
}

function sessionOf(panel, layer) {
  return layer < 0 ? "" : panel.sessions[layer >> 1] ?? "another conversation";
}

/** One event of an exact panel in words: [heading, then a line each]. */
function eventWords(panel, i, look) {
  const { points: p } = panel;
  const kind = look.kinds[p.kind[i]];
  const who = sessionOf(panel, p.layer[i]);
  const origin = p.layer[i] % 2 ? "boundary" : "completion";
  const end = insertEnd(panel, i, look);
  const after = `then ${whole(p.entries[end])} resident, ${bytes(p.total[end])}`;
  const said = {
    hit: () => [`hit · ${who}`, `${whole(p.cached[i])} of ${whole(p.tokens[i])} tokens cached`, `restored from snapshot ${p.snapshot[i]}`],
    diverged: () => [`miss · ${who}`, `nothing stored is a prefix of its ${whole(p.tokens[i])} tokens`,
      `the nearest, snapshot ${p.snapshot[i]}, agrees for ${whole(p.other[i])}`],
    no_candidate: () => [`miss · ${who}`, `nothing is stored for this conversation`, `${whole(p.tokens[i])} tokens to compute`],
    inserted: () => [`snapshot ${p.snapshot[i]} stored · ${who}`, `${whole(p.tokens[i])} tokens, ${bytes(p.size[i])}, ${origin}`, after],
    rejected: () => [`refused · ${who}`, `${look.reasons[p.other[i]] ?? ""}: ${whole(p.tokens[i])} tokens, ${bytes(p.size[i])}`.replaceAll("_", " "), after],
  }[kind];
  if (said) return said();
  const by = p.other[i] < 0 ? "" : kind === "superseded" ? ` by snapshot ${p.other[i]}` : `, for snapshot ${p.other[i]}`;
  return [`snapshot ${p.snapshot[i]} ${kind}${by} · ${who}`, `${bytes(p.size[i])} freed: ${whole(p.tokens[i])} tokens, ${origin}`, after];
}

/** The last event of the insert that event i belongs to: nobody sees the store before what had to go is gone. */
function insertEnd({ points: p }, i, look) {
  const cause = (at) => {
    const kind = look.kinds[p.kind[at]];
    if (kind === "inserted") return p.snapshot[at];
    return REMOVED.includes(kind) ? p.other[at] : -1;
  };
  let end = i;
  while (end + 1 < p.count && cause(end + 1) >= 0 && cause(end + 1) === cause(i)) end += 1;
  return end;
}

function binWords(panel, i, look) {
  const { points: p } = panel;
  const total = p.stack.reduce((sum, layer) => sum + layer[i], 0);
  const counts = look.kinds.map((kind, k) => [kind, p.kinds[k * p.count + i]]).filter(([, n]) => n);
  const events = counts.reduce((sum, [, n]) => sum + n, 0);
  return [`${whole(events)} events`, counts.map(([kind, n]) => `${whole(n)} ${kind.replace("_", " ")}`).join(", "),
    `then ${bytes(total)}, at most ${bytes(p.peak[i])}`];
}

function barWords(panel, b, look) {
  const { bars } = panel;
  const end = bars.diedPos[b] < 0 ? "still resident" : look.kinds[bars.cause[b]];
  const by = bars.diedPos[b] >= 0 && bars.successor[b] >= 0 ? ` by snapshot ${bars.successor[b]}` : "";
  return [`snapshot ${bars.snapshot[b]} · ${sessionOf(panel, bars.lane[b])}`,
    `${whole(bars.tokens[b])} tokens, ${bytes(bars.size[b])}, ${bars.lane[b] % 2 ? "boundary" : "completion"}`,
    `${whole(bars.hits[b])} ${bars.hits[b] === 1 ? "hit" : "hits"}; ${end}${by}`];
}

const words = (panel, i, look) => (panel.exact ? eventWords : binWords)(panel, i, look);
