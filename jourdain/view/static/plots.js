// Line diagrams linked to the time cursor, drawn on canvases.

const COLOURS = ["#3f7fb0", "#d0853c", "#4f9a78", "#b85a63", "#7d6db3", "#4a9aa8"];

// Errors of a run, relative to the largest value of a unit, and changes of what is constant but for them, relative to itself.
const NOISE = 1e-9, CONSTANT = 1e-7;

function nice(range, count) {
  const raw = range / Math.max(count, 1), decade = 10 ** Math.floor(Math.log10(raw));
  return decade * [1, 2, 2.5, 5, 10].find((m) => m * decade >= raw * 0.9999);
}

export function format(value, digits = 4) {
  if (!Number.isFinite(value)) return "–";
  const size = Math.abs(value);
  if (size !== 0 && (size >= 1e5 || size < 1e-3)) return value.toExponential(digits - 2).replace("e+", "e").replace("-", "−");
  return Number(value.toPrecision(digits)).toString().replace("-", "−");
}

// Ticks with as many digits as tell them apart.
export function tickTexts(values) {
  if (values.length < 2) return values.map((v) => format(v));
  const step = Math.min(...values.slice(1).map((v, i) => v - values[i])), most = Math.max(...values.map(Math.abs));
  const fine = Math.floor(Math.log10(step * 1.0001)), decimals = Math.max(0, -fine + (Math.abs(step / 10 ** fine - 2.5) < 1e-6 ? 1 : 0));
  const plain = most < 1e5 && decimals <= 5;
  const digits = Math.max(0, Math.ceil(Math.log10(most / step)) + 1);
  return values.map((v) => {
    if (v === 0) return "0";
    return (plain ? v.toFixed(decimals) : v.toExponential(Math.min(digits, 12)).replace(/\.?0+e/, "e").replace("e+", "e").replace(/e0$/, "")).replaceAll("-", "−");
  });
}

function ticks(low, high, count) {
  const step = nice(high - low, count), result = [];
  for (let k = Math.ceil(low / step - 1e-9); k * step <= high + 1e-9 * step; k++) result.push(Math.abs(k * step) < 1e-12 * step ? 0 : k * step);
  return result;
}

class Plot {
  constructor(spec, panel) {
    Object.assign(this, { spec, panel });
    this.element = document.createElement("figure");
    const caption = document.createElement("figcaption");
    const title = document.createElement("b");
    const close = document.createElement("button");
    close.textContent = "×";
    close.title = "remove this diagram";
    close.onclick = () => panel.remove(this);
    title.textContent = spec.title || "";
    this.legend = document.createElement("span");
    caption.append(title, this.legend, close);
    this.canvas = document.createElement("canvas");
    this.element.append(caption, this.canvas);
    this.still = document.createElement("canvas");
    const scrub = (event) => {
      if (this.spec.x) return;
      const box = this.canvas.getBoundingClientRect(), { left, right } = this.area;
      const u = (event.clientX - box.left - left) / (right - left);
      panel.seek(this.x0 + Math.min(Math.max(u, 0), 1) * (this.x1 - this.x0));
    };
    this.canvas.onpointerdown = (event) => { this.canvas.setPointerCapture(event.pointerId); scrub(event); };
    this.canvas.onpointermove = (event) => { if (event.buttons) scrub(event); };
    this.curves = [];
  }

  load(runs) {
    this.curves = [];
    this.legend.textContent = "";
    runs.forEach((run, r) => this.spec.channels.forEach((name, k) => {
      const channel = run.channels.get(name);
      if (!channel) return;
      const x = this.spec.x ? run.channels.get(this.spec.x)?.column : run.times;
      if (!x) return;
      const curve = { run, column: channel.column, x, colour: COLOURS[k % COLOURS.length], ghost: r > 0, name, unit: channel.unit };
      if (!r) {
        const item = document.createElement("span");
        item.innerHTML = `<i style="background:${curve.colour}"></i><em></em><output></output>`;
        item.querySelector("em").textContent = name;
        curve.output = item.querySelector("output");
        this.legend.append(item);
      }
      this.curves.push(curve);
    }));
    if (!this.spec.title) this.element.querySelector("b").hidden = true;
  }

  limits() {
    let [x0, x1, y0, y1] = [Infinity, -Infinity, Infinity, -Infinity];
    for (const { column, x } of this.curves)
      for (let i = 0; i < column.length; i++) {
        const u = x.at(i), v = column.at(i);
        if (!Number.isFinite(v)) continue;
        if (u < x0) x0 = u;
        if (u > x1) x1 = u;
        if (v < y0) y0 = v;
        if (v > y1) y1 = v;
      }
    if (!(x1 >= x0)) [x0, x1, y0, y1] = [0, 1, 0, 1];
    if (x1 === x0) x1 = x0 + 1;
    // what does not differ beyond the rounding of its unit is drawn as the line that it is
    const scale = this.panel.scale(this.curves.map((c) => c.unit));
    if (y1 - y0 <= Math.max(NOISE * scale, CONSTANT * Math.max(Math.abs(y0), Math.abs(y1)))) {
      const middle = Math.max(Math.abs(y0), Math.abs(y1)) <= NOISE * scale ? 0 : 0.5 * (y0 + y1), reach = Math.abs(middle) * 0.1 || scale || 1;
      [y0, y1] = [middle - reach, middle + reach];
    }
    const pad = (y1 - y0) * 0.07 || Math.abs(y1) * 0.1 || 1;
    const side = this.spec.x ? (x1 - x0) * 0.06 : 0;
    Object.assign(this, { x0: x0 - side, x1: x1 + side, y0: y0 - pad, y1: y1 + pad });
  }

  redraw() {
    const ratio = window.devicePixelRatio || 1, w = this.canvas.clientWidth, h = this.canvas.clientHeight;
    if (!w || !h) return;
    for (const c of [this.canvas, this.still]) { c.width = Math.round(w * ratio); c.height = Math.round(h * ratio); }
    this.limits();
    const style = getComputedStyle(document.body), ink = style.getPropertyValue("--ink-soft"), rule = style.getPropertyValue("--rule");
    this.ink = style.getPropertyValue("--ink");
    const g = this.still.getContext("2d");
    g.setTransform(ratio, 0, 0, ratio, 0, 0);
    g.clearRect(0, 0, w, h);
    g.font = "11px system-ui, sans-serif";
    const ys = ticks(this.y0, this.y1, h / 34), told = tickTexts(ys);
    this.ticks = told;
    const left = 10 + Math.max(...told.map((y) => g.measureText(y).width), 12);
    this.area = { left, right: w - 10, top: 8, bottom: h - 21 };
    const { right, top, bottom } = this.area;
    this.px = (x) => left + (x - this.x0) / (this.x1 - this.x0) * (right - left);
    this.py = (y) => bottom - (y - this.y0) / (this.y1 - this.y0) * (bottom - top);
    g.lineWidth = 1;
    g.fillStyle = ink;
    g.strokeStyle = rule;
    g.textAlign = "right";
    g.textBaseline = "middle";
    for (const [i, y] of ys.entries()) {
      const at = Math.round(this.py(y)) + 0.5;
      g.beginPath(); g.moveTo(left, at); g.lineTo(right, at); g.stroke();
      g.fillText(told[i], left - 6, at);
    }
    g.textAlign = "center";
    g.textBaseline = "top";
    const xs = ticks(this.x0, this.x1, (right - left) / 70), under = tickTexts(xs);
    xs.forEach((x, i) => g.fillText(under[i], this.px(x), bottom + 6));
    g.save();
    g.beginPath(); g.rect(left, top - 2, right - left, bottom - top + 4); g.clip();
    if (!this.spec.x) this.markEvents(g, ink, top, bottom);
    for (const curve of [...this.curves].reverse()) this.stroke(g, curve);
    g.restore();
    this.update();
  }

  markEvents(g, ink, top, bottom) {
    g.strokeStyle = ink;
    g.globalAlpha = 0.5;
    g.setLineDash([2, 3]);
    for (const { t } of this.curves[0]?.run.events ?? []) {
      g.beginPath(); g.moveTo(this.px(t), top); g.lineTo(this.px(t), bottom); g.stroke();
    }
  }

  stroke(g, curve) {
    const { column, x } = curve, n = column.length, columns = Math.ceil(this.area.right - this.area.left);
    g.strokeStyle = curve.colour;
    g.globalAlpha = curve.ghost ? 0.45 : 1;
    g.setLineDash(curve.ghost ? [4, 3] : []);
    g.lineWidth = 1.6;
    g.lineJoin = "round";
    g.beginPath();
    let pen = false;
    const point = (i) => {
      const v = column.at(i);
      if (!Number.isFinite(v)) { pen = false; return; }
      if (pen) g.lineTo(this.px(x.at(i)), this.py(v)); else g.moveTo(this.px(x.at(i)), this.py(v));
      pen = true;
    };
    if (this.spec.x || n < 4 * columns) for (let i = 0; i < n; i++) point(i);
    else for (let k = 0; k < columns; k++) {
      const a = Math.floor(k * n / columns), b = Math.floor((k + 1) * n / columns);
      let least = a, most = a;
      for (let i = a; i < b; i++) {
        if (column.at(i) < column.at(least)) least = i;
        if (column.at(i) > column.at(most)) most = i;
      }
      point(Math.min(least, most));
      point(Math.max(least, most));
    }
    g.stroke();
    g.globalAlpha = 1;
    g.setLineDash([]);
  }

  update() {
    if (!this.area) return;
    const g = this.canvas.getContext("2d"), ratio = window.devicePixelRatio || 1;
    g.setTransform(1, 0, 0, 1, 0, 0);
    g.clearRect(0, 0, this.canvas.width, this.canvas.height);
    g.drawImage(this.still, 0, 0);
    g.setTransform(ratio, 0, 0, ratio, 0, 0);
    if (!this.spec.x) {
      const at = Math.min(Math.max(this.px(this.panel.time()), this.area.left), this.area.right);
      g.strokeStyle = this.ink;
      g.globalAlpha = 0.55;
      g.lineWidth = 1;
      g.beginPath(); g.moveTo(at, this.area.top - 4); g.lineTo(at, this.area.bottom); g.stroke();
      g.globalAlpha = 1;
    }
    for (const curve of this.curves) {
      if (!curve.column.length) continue;
      const u = curve.run.value(curve.x), v = curve.run.value(curve.column);
      // A page keeps channels to 1e-5 of their span: what is smaller is not a number but rounding.
      if (curve.output) curve.output.textContent = ` ${format(Math.abs(v) < 3e-5 * (this.y1 - this.y0) ? 0 : v)} ${curve.unit}`;
      if (!Number.isFinite(v)) continue;
      g.fillStyle = curve.colour;
      g.globalAlpha = curve.ghost ? 0.45 : 1;
      g.beginPath(); g.arc(this.px(u), this.py(v), 3.2, 0, 7); g.fill();
      g.globalAlpha = 1;
    }
  }
}

export class Plots {
  constructor(element, specs, seek, time) {
    Object.assign(this, { element, seek, time });
    this.list = document.createElement("div");
    this.adder = document.createElement("select");
    this.adder.title = "add a diagram of a channel";
    this.adder.onchange = () => {
      if (this.adder.value) this.add({ channels: [this.adder.value], title: "" });
      this.adder.value = "";
    };
    element.append(this.list, this.adder);
    this.plots = [];
    this.specs = specs;
    this.runs = [];
  }

  setRuns(runs) {
    this.runs = runs;
    const names = runs.length ? [...runs[0].channels.keys()] : [];
    this.adder.replaceChildren(new Option("add a diagram …", ""), ...names.map((name) => new Option(name, name)));
    if (!this.plots.length && !this.started) {
      this.started = true;
      for (const spec of this.specs.length ? this.specs : this.groups(runs[0])) this.add(spec);
    } else for (const plot of this.plots) plot.load(runs);
    this.redraw();
  }

  // The largest value among all channels of some units.
  scale(units) {
    let most = 0;
    for (const run of this.runs)
      for (const { unit, column } of run.channels.values()) {
        if (!units.includes(unit)) continue;
        for (let i = 0; i < column.length; i++) { const v = Math.abs(column.at(i)); if (v > most && v < Infinity) most = v; }
      }
    return most > 1e-12 ? most : 1;
  }

  groups(run) {
    const units = new Map();
    for (const [name, { unit }] of run ? run.channels : []) units.set(unit, [...(units.get(unit) || []), name]);
    return [...units.values()].slice(0, 4).map((channels) => ({ channels: channels.slice(0, 4), title: "" }));
  }

  get any() { return this.plots.length > 0; }

  add(spec) {
    const plot = new Plot(spec, this);
    this.plots.push(plot);
    this.list.append(plot.element);
    plot.load(this.runs);
    requestAnimationFrame(() => this.redraw());
  }

  remove(plot) {
    this.plots = this.plots.filter((p) => p !== plot);
    plot.element.remove();
    this.redraw();
  }

  redraw() { if (!this.element.hidden) for (const plot of this.plots) plot.redraw(); }

  update() { if (!this.element.hidden) for (const plot of this.plots) plot.update(); }
}

// Stresses and displacements in units that make their numbers short.
const PREFIXES = { Pa: [[1e9, "GPa"], [1e6, "MPa"], [1e3, "kPa"]], m: [[1, "m"], [1e-3, "mm"], [1e-6, "µm"]] };

export function scaled(largest, unit) {
  return (PREFIXES[unit] || []).find(([factor]) => Math.abs(largest) >= factor) || [1, unit];
}
