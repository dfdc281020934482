// Draws a snapshot store's journal: occupancy over time, a rail of marks, and a lane a conversation.
//
// Imports nothing and asks no network. occupancy.py puts occupancy_data.js and occupancy_paint.js before this file, and
// the three are one module. All it knows comes from the model's traits; all it changes are `cursor`, `window` and
// `axis`. Each panel has one canvas for the picture and one above it for what follows the pointer, so that moving the
// cursor never redraws the picture.

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
    const scales = makeScales(this.model.get("axis"), this.domain, this.window, yTop(this.panels, this.look));
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
      const node = this.stage.children[i]?.querySelector(".mlxl-caption");
      if (!node) return; // captions can come before the first drawing of their panel, which brings them again
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
    const { origins, marks } = this.look;
    const key = (className, colour, label) => {
      const item = make("span", "mlxl-key", node);
      make("i", className, item).style.setProperty("--c", colour);
      item.append(label);
    };
    painter.panel.sessions.forEach((label, s) => key("solid", painter.colour(s), label));
    if (painter.panel.others > 0) key("solid", this.look.noSession, `${whole(painter.panel.others)} more`);
    for (const [name, fill] of Object.entries(origins)) key(fill.hatched ? "hatched" : "solid", painter.page.soft, name);
    key("solid", marks.resident.colour, marks.resident.label);
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
    const [low, high] = this.window;
    let best = -1;
    for (let i = panel.exact ? 1 : 0; i < points.count; i++) {
      if (points.x[i] < low || points.x[i] > high) continue;
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
