// Draws a snapshot store's journal: occupancy over time, a rail of marks, and a lane a conversation.
//
// Imports nothing and asks no network. All it knows comes from the model's traits (see occupancy.py and payload.py);
// all it changes are the traits `cursor`, `window` and `axis`. One canvas a panel for the picture, one above it for
// what follows the pointer, so that moving the cursor never redraws the picture.
//
// Reading order: data (decode), geometry (layout), picture (draw...), pointer layer (overlay...), words, controls.

const GUTTER = 104;
const RIGHT = 14;
const RAIL_ROW = 17;
const LANE_GAP = 7;
const AXIS = 26;
const BASE_POINT = 255; // payload.py: the point for the state at the window's left edge
const REMOVED = ["superseded", "replaced", "evicted", "expired", "cleared"];
const RAIL = ["hit", "miss", ...REMOVED, "rejected"];

// ---- data -----------------------------------------------------------------------------------------------------------

function typed(view, Type) {
  const { buffer, byteOffset, byteLength } = view;
  return new Type(buffer.slice(byteOffset, byteOffset + byteLength));
}

const FLOATS = {
  points: ["x", "snapshot", "other", "tokens", "cached", "size", "total", "entries", "turn", "peak"],
  bars: ["start", "end", "row", "snapshot", "successor", "tokens", "size", "hits"],
};
const INTS = { points: ["pos", "layer"], bars: ["bornPos", "diedPos", "lane"] };

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
  return { ...panel, points, bars, barOf, layers };
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
  const after = `then ${whole(p.entries[i])} resident, ${bytes(p.total[i])}`;
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

// ---- geometry -------------------------------------------------------------------------------------------------------

const CLOCK_STEPS = [1, 2, 5, 10, 15, 30, 60, 120, 300, 600, 900, 1800, 3600, 7200, 10800, 21600, 43200, 86400];

function niceTicks(low, high, wanted, clock = false) {
  const rough = (high - low) / Math.max(wanted, 1);
  const power = 10 ** Math.floor(Math.log10(rough || 1));
  const steps = clock && rough > 0.5 && rough <= 86400 ? CLOCK_STEPS : [1, 2, 5, 10].map((k) => k * power);
  const step = steps.find((size) => size >= rough) || power;
  const ticks = [];
  for (let t = Math.ceil(low / step) * step; t <= high + step * 1e-9; t += step) ticks.push(t);
  return { ticks, step };
}

/** Rows of the lanes: per session the rows of its completions, then of its boundaries. */
function laneRows(panel) {
  const rows = new Array(panel.layers).fill(0);
  const { bars } = panel;
  for (let b = 0; b < bars.count; b++) rows[bars.lane[b]] = Math.max(rows[bars.lane[b]], bars.row[b] + 1);
  return rows;
}

function laneLayout(panel, top, room) {
  const rows = laneRows(panel);
  const count = rows.reduce((a, b) => a + b, 0);
  const sessions = panel.sessions.length;
  const height = Math.max(2, Math.min(15, (room - sessions * LANE_GAP) / Math.max(count, 1)));
  const lanes = [];
  const layerTop = [];
  let y = top;
  for (let s = 0; s < sessions; s++) {
    const start = y;
    for (const layer of [2 * s, 2 * s + 1]) {
      layerTop[layer] = y;
      y += rows[layer] * height;
    }
    if (y === start) y += height;
    lanes.push({ label: panel.sessions[s], session: s, top: start, bottom: y });
    y += LANE_GAP;
  }
  return { lanes, layerTop, rowHeight: height, bottom: y };
}

function layout(panel, width, rail, compact, last) {
  const top = 16;
  const occupancy = { top, bottom: top + (compact ? 118 : 190) };
  const railRows = rail.map((kind, i) => ({ kind, y: occupancy.bottom + 15 + i * RAIL_ROW }));
  const railBottom = occupancy.bottom + (rail.length ? 13 + rail.length * RAIL_ROW : 8);
  const lanes = laneLayout(panel, railBottom + 6, compact ? 130 : 240);
  return {
    left: GUTTER, right: width - RIGHT, width, occupancy, rail: railRows, lanes,
    bottom: lanes.bottom, height: lanes.bottom + (last ? AXIS : 4),
  };
}

function yTop(panels) {
  let most = 1;
  for (const { points } of panels) {
    for (let i = 0; i < points.count; i++) {
      let sum = 0;
      for (const layer of points.stack) sum += layer[i];
      most = Math.max(most, sum, points.peak ? points.peak[i] : 0);
    }
  }
  const budgets = panels.map((p) => p.capacity).filter((c) => c && c <= 3 * most);
  return Math.max(most, ...budgets) * 1.12;
}

// ---- picture --------------------------------------------------------------------------------------------------------

function symbol(ctx, shape, x, y, r, hollow) {
  ctx.beginPath();
  if (shape === "circle") ctx.arc(x, y, r * 0.85, 0, 2 * Math.PI);
  else if (shape === "square") ctx.rect(x - r * 0.8, y - r * 0.8, r * 1.6, r * 1.6);
  else if (shape === "stroke") ctx.rect(x - r, y - r * 0.25, r * 2, r * 0.5);
  else if (shape === "cross") {
    const t = r * 0.36;
    ctx.rect(x - r, y - t, 2 * r, 2 * t);
    ctx.rect(x - t, y - r, 2 * t, 2 * r);
  } else polygon(ctx, { diamond: [[0, -1.15], [0.95, 0], [0, 1.15], [-0.95, 0]],
    "triangle-up": [[0, -1], [1, 0.8], [-1, 0.8]], "triangle-down": [[0, 1], [1, -0.8], [-1, -0.8]],
    "triangle-right": [[1, 0], [-0.8, 1], [-0.8, -1]] }[shape], x, y, r);
  if (hollow) ctx.stroke();
  else ctx.fill();
}

function polygon(ctx, corners, x, y, r) {
  corners.forEach(([dx, dy], i) => (i ? ctx.lineTo(x + dx * r, y + dy * r) : ctx.moveTo(x + dx * r, y + dy * r)));
  ctx.closePath();
}

function hatch(ctx, colour, scale) {
  const tile = document.createElement("canvas");
  const size = Math.round(6 * scale);
  tile.width = tile.height = size;
  const t = tile.getContext("2d");
  t.strokeStyle = colour;
  t.lineWidth = 1.3 * scale;
  for (const shift of [-size, 0, size]) {
    t.beginPath();
    t.moveTo(shift - 1, size + 1);
    t.lineTo(shift + size + 1, -1);
    t.stroke();
  }
  const pattern = ctx.createPattern(tile, "repeat");
  pattern.setTransform(new DOMMatrix().scale(1 / scale));
  return pattern;
}

function markOf(kind, look) {
  if (kind === "hit") return look.hit;
  if (kind === "miss") return look.miss;
  return kind === "rejected" ? look.rejected : look.causes[kind];
}

class Painter {
  constructor(ctx, panel, place, scales, look, page) {
    Object.assign(this, { ctx, panel, place, scales, look, page });
  }

  x = (value) => this.place.left + (this.place.right - this.place.left) * this.scales.fraction(value);

  y = (value) => {
    const { top, bottom } = this.place.occupancy;
    return bottom - ((bottom - top) * value) / this.scales.top;
  };

  colour(session) {
    const { sessions } = this.panel;
    if (session >= sessions.length || sessions[session] === "no session") return this.look.noSession;
    const named = sessions.slice(0, session).filter((label) => label !== "no session").length;
    return this.look.sessions[named % this.look.sessions.length];
  }

  paint() {
    const { ctx, place } = this;
    ctx.clearRect(0, 0, place.width, place.height);
    this.grid();
    ctx.save();
    ctx.beginPath();
    ctx.rect(place.left, 0, place.right - place.left, place.height);
    ctx.clip();
    this.stack();
    this.rail();
    this.bars();
    ctx.restore();
    this.budget();
    this.railLabels();
    this.laneLabels();
    if (place.height - place.bottom > 10) this.axis();
  }

  text(words, x, y, { align = "left", colour = this.page.soft, size = 11, weight = "" } = {}) {
    const { ctx } = this;
    ctx.font = `${weight} ${size}px ${this.look.font}`;
    ctx.fillStyle = colour;
    ctx.textAlign = align;
    ctx.textBaseline = "middle";
    ctx.fillText(words, x, y);
  }

  line(x1, y1, x2, y2, colour, width = 1, dash = []) {
    const { ctx } = this;
    ctx.strokeStyle = colour;
    ctx.lineWidth = width;
    ctx.setLineDash(dash);
    ctx.beginPath();
    ctx.moveTo(x1, y1);
    ctx.lineTo(x2, y2);
    ctx.stroke();
    ctx.setLineDash([]);
  }

  grid() {
    const { place, scales, page } = this;
    const { ticks } = niceTicks(0, scales.top, place.occupancy.bottom - place.occupancy.top > 150 ? 4 : 3);
    for (const tick of ticks) {
      const y = Math.round(this.y(tick)) + 0.5;
      this.line(place.left, y, place.right, y, page.grid);
      this.text(tick ? bytes(tick).replace(/\.0+ /, " ").replace(/(\.\d)0 /, "$1 ") : "0", place.left - 8, y, { align: "right" });
    }
    for (const tick of scales.ticks) {
      const x = Math.round(this.x(tick)) + 0.5;
      this.line(x, place.occupancy.top, x, place.bottom, page.grid);
    }
  }

  /** Points to draw: the last of each half pixel, so that the cost is that of the width and not of the events. */
  visible() {
    const { points } = this.panel;
    const [low, high] = this.scales.window;
    const first = Math.max(0, lastAtOrBefore(points.x, low));
    const out = [];
    let column = NaN;
    for (let i = first; i < points.count && points.x[i] <= high; i++) {
      const at = Math.round(2 * this.x(points.x[i]));
      if (at === column) out[out.length - 1] = i;
      else out.push(i);
      column = at;
    }
    return out;
  }

  stack() {
    const { points, layers } = this.panel;
    const shown = this.visible();
    let lower = new Float64Array(shown.length);
    for (let layer = 0; layer < layers; layer++) {
      const values = points.stack[layer];
      const upper = lower.map((below, k) => below + values[shown[k]]);
      if (shown.some((i) => values[i] > 0)) this.area(shown, lower, upper, layer);
      lower = upper;
    }
    if (points.peak) this.peaks(shown);
  }

  edge(path, shown, level, back) {
    const { x } = this.panel.points;
    const end = Math.min(this.x(this.scales.end), this.place.right + 2);
    const corners = [];
    shown.forEach((i, k) => {
      corners.push([this.x(x[i]), this.y(level[k])], [k + 1 < shown.length ? this.x(x[shown[k + 1]]) : end, this.y(level[k])]);
    });
    if (back) corners.reverse();
    for (const [px, py] of corners) path.lineTo(px, py);
  }

  area(shown, lower, upper, layer) {
    const { ctx, look } = this;
    const colour = this.colour(layer >> 1);
    const fill = look.origins[layer % 2 ? "boundary" : "completion"];
    const path = new Path2D();
    this.edge(path, shown, upper, false);
    const top = new Path2D(path);
    this.edge(path, shown, lower, true);
    path.closePath();
    ctx.globalAlpha = fill.opacity * (fill.hatched ? 0.55 : 0.82);
    ctx.fillStyle = colour;
    ctx.fill(path);
    ctx.globalAlpha = 1;
    if (fill.hatched) {
      ctx.fillStyle = this.pattern(colour);
      ctx.fill(path);
    }
    if (shown.length > 400) return;
    ctx.strokeStyle = this.page.back;
    ctx.lineWidth = 1;
    ctx.stroke(top);
  }

  pattern(colour) {
    const cache = (this.ctx.hatches ??= new Map());
    if (!cache.has(colour)) cache.set(colour, hatch(this.ctx, colour, this.scales.ratio));
    return cache.get(colour);
  }

  peaks(shown) {
    const { ctx } = this;
    const { points } = this.panel;
    const path = new Path2D();
    this.edge(path, shown, shown.map((i) => points.peak[i]), false);
    ctx.strokeStyle = this.page.soft;
    ctx.lineWidth = 0.8;
    ctx.stroke(path);
  }

  budget() {
    const { capacity } = this.panel;
    const { place, look, scales } = this;
    if (!capacity) return;
    if (capacity > scales.top) {
      this.text(`budget ${bytes(capacity)}, far above`, place.right, place.occupancy.top - 7, { align: "right", colour: look.budget });
      return;
    }
    const y = Math.round(this.y(capacity)) + 0.5;
    this.line(place.left, y, place.right, y, look.budget, 1.6, [7, 4]);
    this.text(`budget ${bytes(capacity)}`, place.right, y - 8, { align: "right", colour: look.budget, weight: 600 });
  }

  rail() {
    for (const row of this.place.rail) {
      if (this.panel.exact) this.marks(row);
      else this.density(row);
    }
  }

  marks({ kind, y }) {
    const { points } = this.panel;
    const { ctx, place } = this;
    const mark = markOf(kind, this.look);
    const at = new Set();
    for (let i = 1; i < points.count; i++) {
      if (railOf(this.look.kinds[points.kind[i]]) !== kind) continue;
      const x = this.x(points.x[i]);
      if (x > place.left - 6 && x < place.right + 6) at.add(Math.round(2 * x) / 2);
    }
    const sparse = at.size < (place.right - place.left) / 9;
    ctx.fillStyle = ctx.strokeStyle = mark.colour;
    ctx.lineWidth = 1.4;
    for (const x of at) {
      if (sparse) symbol(ctx, mark.shape, x, y, 5, kind === "miss");
      else ctx.fillRect(x - 0.5, y - 5, 1, 10);
    }
  }

  density({ kind, y }) {
    const { points } = this.panel;
    const { ctx, look } = this;
    const codes = look.kinds.map((k, code) => (railOf(k) === kind ? code : -1)).filter((code) => code >= 0);
    const counts = new Float64Array(points.count);
    for (const code of codes) for (let i = 0; i < points.count; i++) counts[i] += points.kinds[code * points.count + i];
    const most = Math.log1p(counts.reduce((a, b) => Math.max(a, b), 1));
    const width = Math.max(1, this.x(points.x[1]) - this.x(points.x[0]));
    ctx.fillStyle = markOf(kind, look).colour;
    counts.forEach((n, i) => {
      if (!n) return;
      ctx.globalAlpha = 0.2 + (0.8 * Math.log1p(n)) / most;
      ctx.fillRect(this.x(points.x[i]), y - 6, width + 0.5, 12);
    });
    ctx.globalAlpha = 1;
  }

  railLabels() {
    for (const { kind, y } of this.place.rail) {
      const n = this.panel.counts[kind] || 0;
      this.text(kind, this.place.left - 8, y, { align: "right", colour: n ? this.page.ink : this.page.soft });
    }
  }

  barBox(b) {
    const { bars } = this.panel;
    const { layerTop, rowHeight } = this.place.lanes;
    const start = this.x(bars.start[b]);
    const end = Math.min(this.x(Math.min(bars.end[b], this.scales.end)), this.place.right + 8);
    const gap = rowHeight > 5 ? 1.5 : 0.25;
    return { x: start, y: layerTop[bars.lane[b]] + bars.row[b] * rowHeight + gap, w: Math.max(end - start, 1), h: rowHeight - 2 * gap };
  }

  barColour(b) {
    const { bars } = this.panel;
    return bars.diedPos[b] < 0 ? this.look.resident.colour : markOf(this.look.kinds[bars.cause[b]], this.look).colour;
  }

  bars() {
    const { bars } = this.panel;
    for (let b = 0; b < bars.count; b++) this.bar(b);
    if (this.place.lanes.rowHeight < 6) return;
    for (let b = 0; b < bars.count; b++) this.successor(b);
    if (this.panel.exact) this.served();
  }

  bar(b) {
    const { ctx } = this;
    const { bars } = this.panel;
    const box = this.barBox(b);
    if (box.x > this.place.right || box.x + box.w < this.place.left) return;
    const colour = this.barColour(b);
    const boundary = bars.lane[b] % 2 === 1;
    const width = Math.max(box.w - (box.h > 5 ? 2 : 0), 0.7);
    ctx.globalAlpha = boundary ? 0.28 : 0.62;
    ctx.fillStyle = colour;
    ctx.beginPath();
    ctx.roundRect(box.x, box.y, width, box.h, Math.min(3, box.h / 3, width / 3));
    ctx.fill();
    ctx.globalAlpha = 1;
    if (boundary && box.h > 4 && width > 4) {
      ctx.fillStyle = this.pattern(colour);
      ctx.fill();
    }
    if (box.h >= 11 && box.w > 64) this.barLabel(b, box);
  }

  barLabel(b, box) {
    const { bars } = this.panel;
    const label = box.w > 130 ? `${whole(bars.tokens[b])} tokens` : whole(bars.tokens[b]);
    const x = Math.max(box.x, this.place.left) + 8;
    if (bars.lane[b] % 2) {
      this.ctx.fillStyle = this.page.back;
      this.ctx.globalAlpha = 0.75;
      this.ctx.font = `10px ${this.look.font}`;
      this.ctx.fillRect(x - 3, box.y + 1, this.ctx.measureText(label).width + 6, box.h - 2);
      this.ctx.globalAlpha = 1;
    }
    this.text(label, x, box.y + box.h / 2 + 0.5, { size: 10, colour: this.page.ink });
  }

  /** A link from where a bar ended to the snapshot that ended it. */
  successor(b) {
    const { bars, barOf } = this.panel;
    const next = bars.diedPos[b] < 0 ? undefined : barOf.get(bars.successor[b]);
    const box = this.barBox(b);
    const x = box.x + box.w;
    if (bars.diedPos[b] < 0 || box.w < 10 || x < this.place.left - 4 || x > this.place.right + 4) return;
    const mark = markOf(this.look.kinds[bars.cause[b]], this.look);
    const { ctx } = this;
    const middle = box.y + box.h / 2;
    if (next !== undefined && this.look.kinds[bars.cause[b]] === "superseded") {
      const to = this.barBox(next);
      if (to.y !== box.y) this.line(x - 1, middle, to.x, to.y + to.h / 2, mark.colour, 1);
    }
    ctx.fillStyle = ctx.strokeStyle = this.page.back;
    symbol(ctx, mark.shape, x - 1, middle, Math.min(6.5, box.h * 0.6));
    ctx.fillStyle = mark.colour;
    symbol(ctx, mark.shape, x - 1, middle, Math.min(4.6, box.h * 0.42));
  }

  /** A small mark on the bar of the snapshot that served a hit. */
  served() {
    const { points, barOf } = this.panel;
    const { ctx, look } = this;
    const hit = look.kinds.indexOf("hit");
    for (let i = 1; i < points.count; i++) {
      const b = points.kind[i] === hit ? barOf.get(points.snapshot[i]) : undefined;
      if (b === undefined) continue;
      const box = this.barBox(b);
      if (box.w < 10) continue;
      ctx.fillStyle = this.page.back;
      symbol(ctx, look.hit.shape, this.x(points.x[i]), box.y + box.h / 2, Math.min(6, box.h * 0.55));
      ctx.fillStyle = look.hit.colour;
      symbol(ctx, look.hit.shape, this.x(points.x[i]), box.y + box.h / 2, Math.min(4.2, box.h * 0.4));
    }
  }

  laneLabels() {
    const { ctx, place } = this;
    for (const { label, session, top, bottom } of place.lanes.lanes) {
      this.line(place.left, Math.round(bottom + LANE_GAP / 2) + 0.5, place.right, Math.round(bottom + LANE_GAP / 2) + 0.5, this.page.grid);
      const y = Math.min((top + bottom) / 2, top + 40);
      ctx.fillStyle = this.colour(session);
      ctx.beginPath();
      ctx.roundRect(place.left - 6, top, 3, bottom - top, 1.5);
      ctx.fill();
      this.text(fitted(ctx, label, GUTTER - 24, this.look.font), place.left - 13, y, { align: "right", colour: this.page.ink, weight: 600 });
    }
  }

  axis() {
    const { place, scales } = this;
    for (const tick of scales.ticks) {
      const x = this.x(tick);
      if (x <= place.right + 1) this.text(scales.tick(tick), x, place.bottom + 11, { align: x > place.right - 20 ? "right" : "center" });
    }
    this.text(scales.label, place.left - 8, place.bottom + 11, { align: "right" });
  }
}

function fitted(ctx, label, width, font) {
  ctx.font = `600 11px ${font}`;
  if (ctx.measureText(label).width <= width) return label;
  let short = label;
  while (short.length > 1 && ctx.measureText(`${short}…`).width > width) short = short.slice(0, -1);
  return `${short}…`;
}

// ---- scales and page ------------------------------------------------------------------------------------------------

const AXIS_NAMES = { turns: "turn", time: "time", events: "event" };

function makeScales(axis, domain, window, top) {
  const [low, high] = window;
  const found = niceTicks(low, high, 9, axis === "time");
  const ticks = axis === "time" ? found.ticks : found.ticks.filter((t) => Number.isInteger(+t.toFixed(9)));
  return {
    axis, domain, window, top, ticks,
    end: domain[1],
    ratio: globalThis.devicePixelRatio || 1,
    fraction: (value) => (value - low) / (high - low || 1),
    label: AXIS_NAMES[axis],
    tick: (t) => (axis === "time" ? duration(t) : whole(t)),
  };
}

/** Ink, softer ink, grid and ground as the page has them: JupyterLab, Notebook 7, VS Code, or a bare page. */
function pageColours(el, look) {
  const style = getComputedStyle(el);
  const read = (...names) => names.map((name) => style.getPropertyValue(name).trim()).find(Boolean);
  const dark = matchMedia?.("(prefers-color-scheme: dark)").matches;
  return {
    back: read("--mlxl-back") || (dark ? "#1e1e1e" : "#ffffff"),
    ink: read("--mlxl-ink") || (dark ? "#e0e0e0" : "#212121"),
    soft: read("--mlxl-soft") || look.ink,
    grid: look.grid,
  };
}

// ---- the view -------------------------------------------------------------------------------------------------------

function make(tag, className, parent, attributes = {}) {
  const node = document.createElement(tag);
  node.className = className;
  for (const [name, value] of Object.entries(attributes)) node.setAttribute(name, value);
  parent?.append(node);
  return node;
}

class View {
  constructor(model, el) {
    Object.assign(this, { model, panels: [], painters: [], places: [], draws: 0, timer: null, asked: null });
    // JupyterLab's shortcuts would otherwise take the arrow keys away from the chart.
    this.root = make("div", "mlxl", el, { tabindex: 0, role: "group", "aria-label": "Snapshot store over time", "data-lm-suppress-shortcuts": "true" });
    this.bar = this.makeBar();
    this.stage = make("div", "mlxl-stage", this.root);
    this.scrub = this.makeScrubber();
    this.said = make("div", "mlxl-said", this.root, { role: "status", "aria-live": "polite" });
    this.tip = make("div", "mlxl-tip", this.root, { role: "tooltip" });
    this.listen();
    this.load();
  }

  get look() { return this.model.get("look"); }
  get domain() { return this.model.get("domain"); }
  get cursor() { return this.model.get("cursor"); }
  get window() {
    const window = this.model.get("window");
    return window.length === 2 ? window : this.domain;
  }

  set(name, value) {
    this.model.set(name, value);
    this.model.save_changes();
  }

  // loading and drawing

  load() {
    this.panels = this.model.get("panels").map((panel) => decode(panel, this.look));
    for (const panel of this.panels) panel.counts = railCounts(panel, this.look);
    this.draw();
  }

  draw() {
    cancelAnimationFrame(this.frame);
    this.frame = requestAnimationFrame(() => this.drawNow());
  }

  drawNow() {
    const width = this.stage.clientWidth;
    if (width < 200) return;
    const page = pageColours(this.root, this.look);
    const rail = RAIL.filter((kind) => this.panels.some((panel) => panel.counts[kind]));
    const scales = makeScales(this.model.get("axis"), this.domain, this.window, yTop(this.panels));
    this.fitStage(this.panels.length);
    this.painters = this.panels.map((panel, i) => {
      const place = layout(panel, width, rail, this.panels.length > 1, i === this.panels.length - 1);
      const holder = this.stage.children[i];
      const [base, over] = holder.querySelectorAll("canvas");
      const painter = new Painter(sized(base, place), panel, place, scales, this.look, page);
      painter.over = sized(over, place);
      painter.paint();
      return painter;
    });
    this.draws += 1;
    Object.assign(this.root.dataset, { draws: this.draws, events: this.model.get("total"), panels: this.panels.length });
    this.caption();
    this.legend();
    this.overlay();
  }

  fitStage(count) {
    while (this.stage.children.length > count) this.stage.lastChild.remove();
    while (this.stage.children.length < count) {
      const holder = make("div", "mlxl-panel", this.stage);
      make("div", "mlxl-caption", holder);
      const wrap = make("div", "mlxl-canvas", holder);
      make("canvas", "", wrap);
      make("canvas", "mlxl-over", wrap);
    }
  }

  // what follows the cursor and the pointer

  overlay() {
    const x = this.cursorX();
    for (const painter of this.painters) {
      const { over: ctx, place, page } = painter;
      ctx.clearRect(0, 0, place.width, place.height);
      if (x !== null && this.cursor >= 0) this.veil(ctx, painter, Math.min(Math.max(painter.x(x), place.left), place.right), page);
      if (this.brush) this.drawBrush(ctx, place);
      else if (this.hover) this.drawHover(ctx, painter);
    }
    this.saySlider();
  }

  veil(ctx, { place }, x, page) {
    ctx.globalAlpha = 0.72;
    ctx.fillStyle = page.back;
    ctx.fillRect(x, 0, place.right - x + 8, place.bottom);
    ctx.globalAlpha = 1;
    ctx.fillStyle = page.ink;
    ctx.fillRect(x - 0.75, 4, 1.5, place.bottom - 4);
    symbol(ctx, "triangle-down", x, 6, 5);
  }

  drawBrush(ctx, place) {
    const [a, b] = [Math.min(...this.brush), Math.max(...this.brush)];
    ctx.fillStyle = this.look.grid;
    ctx.fillRect(a, place.occupancy.top, b - a, place.bottom - place.occupancy.top);
  }

  drawHover(ctx, painter) {
    const x = painter.x(this.hover.x);
    ctx.globalAlpha = 0.6;
    ctx.fillStyle = painter.page.ink;
    ctx.fillRect(x - 0.5, painter.place.occupancy.top, 1, painter.place.bottom - painter.place.occupancy.top);
    ctx.globalAlpha = 1;
  }

  /** Where the cursor stands on the x axis: that of the last drawn event at or before it, over all panels. */
  cursorX() {
    if (this.cursor < 0) return null;
    let best = null;
    for (const panel of this.panels) {
      const i = pointAt(panel, this.cursor);
      if (i >= 0 && (best === null || panel.points.x[i] > best)) best = panel.points.x[i];
    }
    return best ?? this.window[0];
  }

  // words around the picture

  caption() {
    const captions = this.model.get("captions");
    this.panels.forEach((panel, i) => {
      const node = this.stage.children[i].querySelector(".mlxl-caption");
      node.replaceChildren();
      if (panel.title) make("strong", "", node).textContent = panel.title;
      for (const [label, value] of captions[i] || []) {
        const figure = make("span", "mlxl-figure", node);
        make("b", "", figure).textContent = value;
        figure.append(` ${label}`);
      }
      const note = this.aggregation(panel);
      if (note) make("em", "", node).textContent = note;
    });
  }

  aggregation(panel) {
    const said = [];
    if (!panel.exact) said.push(`${whole(panel.inWindow)} events in ${whole(panel.points.count)} steps; zoom in for single ones`);
    if (panel.bars.of > panel.bars.count) said.push(`the ${whole(panel.bars.count)} longest of ${whole(panel.bars.of)} snapshots`);
    if (panel.others > 0) said.push(`lanes of ${panel.sessions.length} of ${whole(panel.sessions.length + panel.others)} conversations`);
    return said.join(" · ");
  }

  legend() {
    const painter = this.painters[0];
    const node = this.bar.querySelector(".mlxl-legend");
    node.replaceChildren();
    if (!painter) return;
    const { origins, resident } = this.look;
    const key = (className, colour, label) => {
      const item = make("span", "mlxl-key", node);
      make("i", className, item).style.setProperty("--c", colour);
      item.append(label);
    };
    painter.panel.sessions.forEach((label, s) => key("solid", painter.colour(s), label));
    if (painter.panel.others > 0) key("solid", this.look.noSession, `${whole(painter.panel.others)} more`);
    for (const [name, fill] of Object.entries(origins)) key(fill.hatched ? "hatched" : "solid", painter.page.soft, name);
    key("solid", resident.colour, resident.label);
  }

  saySlider() {
    const total = this.model.get("total");
    const at = this.cursor < 0 ? total - 1 : this.cursor;
    Object.assign(this.slider, { max: Math.max(total - 1, 0), value: at, disabled: !total });
    this.root.dataset.cursor = this.cursor;
    this.live.setAttribute("aria-pressed", String(this.cursor < 0));
    const found = total ? this.eventAt(at) : null;
    const event = found ? words(found.panel, found.i, this.look) : [];
    this.count.textContent = total ? `event ${whole(at + 1)} of ${whole(total)}` : "no event yet";
    this.said.textContent = event.join(" · ");
    this.slider.setAttribute("aria-valuetext", `${this.count.textContent}: ${event.join(", ")}`);
  }

  eventAt(position) {
    for (const panel of this.panels) {
      const i = pointAt(panel, position);
      if (i >= 0 && (!panel.exact || panel.points.pos[i] === position)) return { panel, i };
    }
    return null;
  }

  // time travel

  go(position) {
    const total = this.model.get("total");
    if (!total) return;
    const to = Math.max(0, position);
    this.set("cursor", to >= total - 1 && this.cursor >= 0 && position >= total ? -1 : Math.min(to, total - 1));
  }

  stepBy(n) {
    const total = this.model.get("total");
    this.go((this.cursor < 0 ? total - 1 : this.cursor) + n);
  }

  play(on = this.timer === null) {
    clearInterval(this.timer);
    this.timer = null;
    if (on) {
      const total = this.model.get("total");
      if (this.cursor < 0 || this.cursor >= total - 1) this.set("cursor", 0);
      const step = Math.max(1, Math.ceil(total / 240));
      this.timer = setInterval(() => {
        if (this.cursor < 0 || this.cursor + step >= this.model.get("total")) {
          this.set("cursor", -1);
          this.play(false);
        } else this.set("cursor", this.cursor + step);
      }, Math.max(60, Math.min(220, 9000 / Math.max(total, 1))));
    }
    this.player.textContent = on ? "❚❚" : "▶";
    this.player.setAttribute("aria-label", on ? "Pause" : "Play");
  }

  // zoom

  zoomTo(low, high) {
    const [a, b] = this.domain;
    const width = Math.min(Math.max(high - low, (b - a) * 1e-7), b - a);
    const start = Math.min(Math.max(low, a), b - width);
    const whole = width >= (b - a) * 0.999;
    this.model.set("window", whole ? [] : [start, start + width]);
    this.draw();
    clearTimeout(this.asked);
    this.asked = setTimeout(() => this.model.save_changes(), 120);
  }

  zoomBy(factor, centre) {
    const [low, high] = this.window;
    const at = centre ?? (low + high) / 2;
    this.zoomTo(at - (at - low) * factor, at + (high - at) * factor);
  }

  panBy(fraction) {
    const [low, high] = this.window;
    const by = (high - low) * fraction;
    this.zoomTo(low + by, high + by);
  }

  // pointer

  at(event) {
    const holder = event.target.closest?.(".mlxl-panel");
    const painter = this.painters[[...this.stage.children].indexOf(holder)];
    if (!painter) return null;
    const box = holder.querySelector("canvas").getBoundingClientRect();
    const [px, py] = [event.clientX - box.left, event.clientY - box.top];
    const { left, right } = painter.place;
    const [low, high] = this.window;
    return { painter, px, py, value: low + ((high - low) * (px - left)) / (right - left) };
  }

  /** What lies under the pointer: a bar of a lane, an event of that rail row, or the nearest event. */
  pick({ painter, px, py }) {
    const bar = this.pickBar(painter, px, py);
    if (bar !== null) return bar;
    const { place, panel } = painter;
    const row = place.rail.find(({ y }) => Math.abs(y - py) <= RAIL_ROW / 2);
    return this.pickEvent(painter, panel, px, row?.kind);
  }

  pickBar(painter, px, py) {
    const { bars } = painter.panel;
    for (let b = bars.count - 1; b >= 0; b--) {
      const box = painter.barBox(b);
      if (px < box.x || px > box.x + box.w || py < box.y - 1 || py > box.y + box.h + 1) continue;
      const end = bars.diedPos[b] >= 0 && px - box.x > box.w / 2;
      return { x: end ? bars.end[b] : bars.start[b], pos: end ? bars.diedPos[b] : bars.bornPos[b], words: barWords(painter.panel, b, this.look) };
    }
    return null;
  }

  pickEvent(painter, panel, px, kind) {
    const { points } = panel;
    let best = -1;
    for (let i = panel.exact ? 1 : 0; i < points.count; i++) {
      if (kind && panel.exact && railOf(this.look.kinds[points.kind[i]]) !== kind) continue;
      if (best < 0 || Math.abs(painter.x(points.x[i]) - px) < Math.abs(painter.x(points.x[best]) - px)) best = i;
    }
    return best < 0 ? null : { x: points.x[best], pos: points.pos[best], words: words(panel, best, this.look) };
  }

  showTip(event, found) {
    this.tip.replaceChildren();
    found.words.forEach((line, i) => { make(i ? "div" : "strong", "", this.tip).textContent = line; });
    const box = this.root.getBoundingClientRect();
    this.tip.style.display = "block";
    const x = Math.min(event.clientX - box.left + 14, box.width - this.tip.offsetWidth - 6);
    this.tip.style.transform = `translate(${Math.max(x, 0)}px, ${event.clientY - box.top + 16}px)`;
  }

  hide() {
    this.hover = null;
    this.tip.style.display = "none";
    this.overlay();
  }

  onMove(event) {
    const here = this.at(event);
    if (!here || this.drag) return this.drag ? this.onDrag(event) : this.hide();
    const { place } = here.painter;
    if (here.px < place.left - 4 || here.px > place.right + 4 || here.py > place.bottom) return this.hide();
    this.hover = this.pick(here);
    if (!this.hover) return this.hide();
    this.showTip(event, this.hover);
    this.overlay();
  }

  onDown(event) {
    const here = this.at(event);
    if (!here || event.button) return;
    this.drag = { ...here, window: this.window, pan: event.shiftKey || here.py > here.painter.place.bottom, moved: false };
    this.root.focus({ preventScroll: true });
    this.stage.setPointerCapture?.(event.pointerId);
  }

  onDrag(event) {
    const { painter, px, window, pan } = this.drag;
    const box = this.stage.getBoundingClientRect();
    const to = event.clientX - box.left;
    if (Math.abs(to - px) > 4) this.drag.moved = true;
    if (!this.drag.moved) return;
    const { left, right } = painter.place;
    const per = (window[1] - window[0]) / (right - left);
    if (pan) this.zoomTo(window[0] - (to - px) * per, window[1] - (to - px) * per);
    else this.brush = [px, Math.min(Math.max(to, left), right)];
    this.overlay();
  }

  onUp(event) {
    const { drag, brush } = this;
    this.drag = this.brush = null;
    if (!drag) return;
    if (!drag.moved) {
      const found = this.pick(drag);
      if (found) this.go(found.pos);
    } else if (brush) {
      const { left, right } = drag.painter.place;
      const value = (px) => drag.window[0] + ((drag.window[1] - drag.window[0]) * (px - left)) / (right - left);
      this.zoomTo(value(Math.min(...brush)), value(Math.max(...brush)));
    }
    this.overlay();
  }

  onWheel(event) {
    const here = this.at(event);
    if (!here || !(event.ctrlKey || event.metaKey)) return; // a plain wheel scrolls the notebook
    event.preventDefault();
    this.zoomBy(Math.exp(event.deltaY * 0.002), here.value);
  }

  onKey(event) {
    if (event.target !== this.root && event.target !== this.slider) return;
    const acts = {
      ArrowLeft: () => this.stepBy(event.shiftKey ? -10 : -1), ArrowRight: () => this.stepBy(event.shiftKey ? 10 : 1),
      Home: () => this.go(0), End: () => this.set("cursor", -1), Escape: () => this.set("cursor", -1),
      " ": () => this.play(), "+": () => this.zoomBy(0.6), "=": () => this.zoomBy(0.6), "-": () => this.zoomBy(1.7),
      "0": () => this.zoomTo(...this.domain), "[": () => this.panBy(-0.25), "]": () => this.panBy(0.25),
    };
    const act = acts[event.key];
    if (!act || event.ctrlKey || event.metaKey || event.altKey) return;
    event.preventDefault();
    event.stopPropagation();
    act();
  }

  // controls

  button(parent, text, label, act) {
    const node = make("button", "", parent, { type: "button", "aria-label": label, title: label });
    node.textContent = text;
    node.addEventListener("click", act);
    return node;
  }

  makeBar() {
    const bar = make("div", "mlxl-bar", this.root);
    make("div", "mlxl-legend", bar);
    const tools = make("div", "mlxl-tools", bar);
    this.axes = Object.keys(AXIS_NAMES).map((axis) => this.button(tools, axis, `x axis: ${axis}`, () => {
      this.model.set("window", []);
      this.set("axis", axis);
    }));
    this.button(tools, "−", "Zoom out (key -)", () => this.zoomBy(1.7));
    this.button(tools, "+", "Zoom in (key +, or drag over a part, or Ctrl and wheel)", () => this.zoomBy(0.6));
    this.button(tools, "fit", "Show all (key 0, or double click)", () => this.zoomTo(...this.domain));
    return bar;
  }

  makeScrubber() {
    const row = make("div", "mlxl-scrub", this.root);
    this.button(row, "«", "To the first event (Home)", () => this.go(0));
    this.button(row, "‹", "One event back (left arrow)", () => this.stepBy(-1));
    this.player = this.button(row, "▶", "Play", () => this.play());
    this.button(row, "›", "One event on (right arrow)", () => this.stepBy(1));
    this.slider = make("input", "", row, { type: "range", min: 0, step: 1, "aria-label": "Event" });
    this.slider.addEventListener("input", () => this.set("cursor", +this.slider.value));
    this.live = this.button(row, "latest", "Follow the latest event (End)", () => this.set("cursor", -1));
    this.count = make("span", "mlxl-count", row);
    return row;
  }

  listen() {
    const on = (names, act) => names.split(" ").forEach((name) => this.model.on(`change:${name}`, act));
    this.acts = { load: () => this.load(), draw: () => this.draw(), overlay: () => this.overlay(), caption: () => this.caption(), axis: () => this.sayAxis() };
    on("panels look", this.acts.load);
    on("window domain", this.acts.draw);
    on("cursor", this.acts.overlay);
    on("captions", this.acts.caption);
    on("axis", this.acts.axis);
    this.sayAxis();
    const { stage } = this;
    stage.addEventListener("pointermove", (event) => this.onMove(event));
    stage.addEventListener("pointerdown", (event) => this.onDown(event));
    stage.addEventListener("pointerup", (event) => this.onUp(event));
    stage.addEventListener("pointercancel", () => { this.drag = this.brush = null; });
    stage.addEventListener("pointerleave", () => this.drag || this.hide());
    stage.addEventListener("dblclick", () => this.zoomTo(...this.domain));
    stage.addEventListener("wheel", (event) => this.onWheel(event), { passive: false });
    this.root.addEventListener("keydown", (event) => this.onKey(event));
    this.resize = new ResizeObserver(() => this.draw());
    this.resize.observe(this.stage);
    this.themes = new MutationObserver(() => this.draw());
    this.themes.observe(document.body, { attributes: true });
  }

  sayAxis() {
    this.axes.forEach((node) => node.setAttribute("aria-pressed", String(node.textContent === this.model.get("axis"))));
  }

  close() {
    this.play(false);
    cancelAnimationFrame(this.frame);
    this.resize.disconnect();
    this.themes.disconnect();
    for (const act of Object.values(this.acts)) this.model.off(null, act);
  }
}

/** A canvas at the device's resolution; setting the size clears it, so it is set only when it changed. */
function sized(canvas, { width, height }) {
  const ratio = globalThis.devicePixelRatio || 1;
  const [w, h] = [Math.round(width * ratio), Math.round(height * ratio)];
  if (canvas.width !== w || canvas.height !== h) Object.assign(canvas, { width: w, height: h });
  Object.assign(canvas.style, { width: `${width}px`, height: `${height}px` });
  const ctx = canvas.getContext("2d");
  ctx.setTransform(ratio, 0, 0, ratio, 0, 0);
  return ctx;
}

function render({ model, el }) {
  const view = new View(model, el);
  el.mlxl = view;
  return () => view.close();
}

export default { render };
