// The widget's picture: where everything lies, and how one panel is painted on its canvas. Knows nothing of the model.

const GUTTER = 104;
const RIGHT = 14;
const RAIL_ROW = 17;
const LANE_GAP = 7;
const AXIS = 26;

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

function yTop(panels, look) {
  const most = Math.max(1, ...panels.map((panel) => panel.most));
  const near = (capacity) => capacity && capacity <= look.farAbove * most;
  const budgets = panels.map((panel) => panel.capacity).filter(near);
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
    const mark = this.look.marks[kind];
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
    ctx.fillStyle = look.marks[kind].colour;
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
    return bars.diedPos[b] < 0 ? this.look.marks.resident.colour : this.look.marks[this.look.kinds[bars.cause[b]]].colour;
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
    if (box.h < 6 || width < 4) {  // too small to be rounded or hatched, and there may be thousands of them
      ctx.fillRect(box.x, box.y, width, box.h);
      ctx.globalAlpha = 1;
      return;
    }
    ctx.beginPath();
    ctx.roundRect(box.x, box.y, width, box.h, Math.min(3, box.h / 3, width / 3));
    ctx.fill();
    ctx.globalAlpha = 1;
    if (boundary) {
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
    const mark = this.look.marks[this.look.kinds[bars.cause[b]]];
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
      symbol(ctx, look.marks.hit.shape, this.x(points.x[i]), box.y + box.h / 2, Math.min(6, box.h * 0.55));
      ctx.fillStyle = look.marks.hit.colour;
      symbol(ctx, look.marks.hit.shape, this.x(points.x[i]), box.y + box.h / 2, Math.min(4.2, box.h * 0.4));
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
