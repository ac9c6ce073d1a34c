// The controls around the view: title, transport bar, layers, camera, modes and the card of a body.
import { format, scaled } from "jourdain/plots";

const ICONS = {
  play: "M7 4.5v15l12.5-7.5z",
  pause: "M6.5 4.5h4v15h-4zM13.5 4.5h4v15h-4z",
  back: "M6 5h2.2v14H6zM19 5v14l-10-7z",
  forth: "M15.8 5H18v14h-2.2zM5 5v14l10-7z",
  layers: "M12 3 2.5 8 12 13l9.5-5zM4.6 11.2 2.5 12.4 12 17.4l9.5-5-2.1-1.2L12 15.1zM4.6 15.4l-2.1 1.1L12 21.5l9.5-5-2.1-1.1L12 19.3z",
  home: "M4 10V4h6v2H6v4zM14 4h6v6h-2V6h-4zM4 14h2v4h4v2H4zM18 14h2v6h-6v-2h4z",
  plot: "M4 4h2v14h14v2H4zM8 15.2l3.6-5 3 2.6L19 6.6l1.6 1.2-5.6 7.8-3-2.6-2.4 3.4z",
  theme: "M12 3a9 9 0 1 0 9 9c0-.5 0-.9-.1-1.4A5.5 5.5 0 0 1 13.4 3.1 9 9 0 0 0 12 3z",
  loop: "M7 7h9.2l-2-2 1.4-1.4L20 8l-4.4 4.4-1.4-1.4 2-2H7a2 2 0 0 0-2 2v1H3v-1a4 4 0 0 1 4-4zM17 17H7.8l2 2-1.4 1.4L4 16l4.4-4.4L9.8 13l-2 2H17a2 2 0 0 0 2-2v-1h2v1a4 4 0 0 1-4 4z",
};

const svg = (name) => `<svg viewBox="0 0 24 24" aria-hidden="true"><path d="${ICONS[name]}"/></svg>`;

// Units of what is known of bodies.
const UNITS = { mass: "kg", inertia: "kg m²", volume: "m³", density: "kg/m³" };

const SPEEDS = [0.005, 0.01, 0.02, 0.05, 0.1, 0.25, 0.5, 1, 2, 5, 10];

export function make(tag, properties = {}, ...children) {
  const element = Object.assign(document.createElement(tag), properties);
  element.append(...children);
  return element;
}

function button(icon, title, action) {
  const element = make("button", { title, innerHTML: svg(icon), onclick: action });
  element.setAttribute("aria-label", title);
  return element;
}

export class Panel {
  constructor(app) {
    this.app = app;
    const { data } = app;
    document.querySelector("#head h1").textContent = data.name;
    const facts = Object.entries(data.metadata).filter(([, v]) => typeof v !== "object").slice(0, 4);
    document.querySelector("#head p").textContent = data.metadata.description || facts.map(([k, v]) => `${k} ${v}`).join(" · ");
    this.makeBar();
    this.makeTools();
    this.card = document.getElementById("card");
    app.player.onChange((what) => this.refresh(what));
    this.refresh("state");
  }

  makeBar() {
    const { player } = this.app, bar = document.getElementById("bar");
    this.playButton = button("play", "play / pause (space)", () => player.toggle());
    this.playButton.className = "main";
    this.slider = make("input", { type: "range", min: 0, max: 1, step: "any", value: 0, className: "time" });
    this.slider.setAttribute("aria-label", "time");
    this.slider.oninput = () => player.seek(Number(this.slider.value));
    this.marks = make("span", { className: "marks" });
    this.line = make("span", { className: "line" }, this.slider, this.marks);
    this.clock = make("output", { className: "clock" });
    this.speed = make("select", { title: "speed" }, ...SPEEDS.map((s) => new Option(`${s}×`, s)));
    // a run of a fraction of a second is shown in slow motion, over some four seconds
    const span = player.end - player.start;
    if (span > 0 && span < 2 && !this.app.data.live) player.speed = SPEEDS.findLast((s) => s <= span / 4) ?? SPEEDS[0];
    this.speed.value = String(player.speed);
    this.speed.onchange = () => { player.speed = Number(this.speed.value); };
    this.loop = button("loop", "repeat", () => { player.loop = !player.loop; this.loop.classList.toggle("on", player.loop); });
    this.loop.classList.add("on");
    this.live = make("span", { className: "live", textContent: "live", hidden: true });
    this.modeTools = this.makeModes();
    const steps = [button("back", "one step back (←)", () => player.step(-1)), button("forth", "one step on (→)", () => player.step(1))];
    bar.append(steps[0], this.playButton, steps[1], this.line, this.modeTools, this.clock, this.live, this.speed, this.loop);
    if (!player.moving && !this.app.data.live) bar.hidden = true;
  }

  makeModes() {
    const { player, data } = this.app, box = make("span", { className: "modes", hidden: !data.modes.length });
    const label = (m) => (m.name.includes("Hz") ? m.name : m.name + (m.frequency == null ? "" : ` · ${format(m.frequency)} Hz`) + (m.damping == null ? "" : ` · ζ ${format(m.damping, 3)}`));
    this.modeSelect = make("select", { title: "mode of vibration" });
    if (player.runs.length) this.modeSelect.append(new Option("motion", -1));
    this.modeSelect.append(...data.modes.map((m, k) => new Option(label(m), k)));
    this.modeSelect.value = String(player.mode);
    this.modeSelect.onchange = () => {
      player.setMode(Number(this.modeSelect.value));
      if (player.mode >= 0) player.play(); else player.pause();
    };
    this.amplitude = make("input", { type: "range", min: 0, max: 4, step: "any", value: 1, title: "amplitude" });
    this.amplitude.oninput = () => { player.amplitude = Number(this.amplitude.value); player.changed(); };
    this.amplitudeLabel = make("label", {}, "amplitude ", this.amplitude);
    box.append(this.modeSelect, this.amplitudeLabel);
    return box;
  }

  makeTools() {
    const { app } = this, tools = document.getElementById("tools");
    const menu = make("div", { className: "menu", hidden: true });
    const toggle = (name, layer) => {
      const box = make("input", { type: "checkbox", checked: layer.on });
      box.onchange = () => app.setLayer(name, box.checked);
      layer.box = box;
      return make("label", {}, box, make("span", {}, name));
    };
    for (const [name, layer] of Object.entries(app.layers)) if (layer.count) menu.append(toggle(name, layer));
    this.follow = make("select", { title: "camera follows" }, new Option("camera rests", ""),
      ...app.data.bodies.map((b) => new Option(`follows ${b.name}`, b.name)));
    this.follow.value = app.followed || "";
    this.follow.onchange = () => app.follow(this.follow.value || null);
    menu.append(make("hr"), this.follow);
    if (app.player.runs.length > 1) {
      const runs = make("select", { title: "run shown solid; the others are ghosts" }, ...app.player.runs.map((r, k) => new Option(r.name, k)));
      runs.onchange = () => app.player.setMain(Number(runs.value));
      menu.append(runs);
    }
    const views = make("div", { className: "views" });
    for (const [name, axis] of [["x", [1, 0, 0]], ["y", [0, 1, 0]], ["z", [0, 0, 1]]])
      for (const sign of [1, -1])
        views.append(make("button", { textContent: (sign < 0 ? "−" : "+") + name, title: `look from ${sign < 0 ? "−" : "+"}${name}`, onclick: () => app.lookFrom(axis.map((v) => sign * v)) }));
    menu.append(views);
    this.plotButton = button("plot", "diagrams (d)", () => app.showPlots());
    const menuButton = button("layers", "layers and camera", () => { menu.hidden = !menu.hidden; menuButton.classList.toggle("on", !menu.hidden); });
    tools.append(menuButton, button("home", "default view (f)", () => app.home()), this.plotButton, button("theme", "light / dark (t)", () => app.setTheme()), menu);
  }

  refresh(what) {
    const { player } = this.app, vibrating = player.mode >= 0;
    if (what !== "time") {
      this.playButton.innerHTML = svg(player.playing ? "pause" : "play");
      this.playButton.classList.toggle("playing", player.playing);
      this.line.hidden = vibrating;
      this.markEvents();
      this.amplitudeLabel.hidden = !vibrating;
      this.modeSelect.value = String(player.mode);
      this.slider.min = player.start;
      this.slider.max = player.end;
      this.clock.hidden = vibrating;
      document.getElementById("bar").classList.toggle("vibrating", vibrating);
    }
    if (vibrating || (what === "time" && !this.app.due("bar"))) return;
    this.slider.value = player.t;
    const span = player.end - player.start;
    this.slider.style.setProperty("--filled", `${span > 0 ? 100 * (player.t - player.start) / span : 0}%`);
    const digits = span >= 100 ? 2 : span >= 1 ? 3 : 5;
    this.clock.innerHTML = `<b>${player.t.toFixed(digits)}</b><span> / ${format(player.end)}</span> s`;
  }

  // Events of the run shown, a mark each; those of one instant share it.
  markEvents() {
    const { player } = this.app, span = player.end - player.start, at = new Map();
    for (const { t, name } of player.run?.events ?? []) at.set(t, [...(at.get(t) ?? []), name]);
    this.marks.replaceChildren(...[...at].filter(() => span > 0).map(([t, names]) => {
      const mark = make("i", { title: `${[...new Set(names)].join(", ")} at ${format(t, 6)} s`, onclick: () => player.seek(t) });
      mark.style.setProperty("--at", (t - player.start) / span);
      return mark;
    }));
  }

  extend() {
    const { player } = this.app;
    this.slider.min = player.start;
    this.slider.max = player.end;
    this.live.hidden = false;
    this.loop.hidden = true;
    document.getElementById("bar").hidden = false;
    this.refresh("time");
  }

  showCard(body, pose, probed) {
    this.card.hidden = !body;
    if (!body) return;
    const rows = make("dl");
    const row = (name, value) => rows.append(make("dt", { textContent: name }), make("dd", { textContent: value }));
    for (const [name, value] of Object.entries(body.info)) row(name, this.text(value) + (UNITS[name] && typeof value !== "string" ? ` ${UNITS[name]}` : ""));
    this.poseRows = [make("dd"), make("dd")];
    this.probeRows = [make("dt"), make("dd")];
    if (probed) rows.append(...this.probeRows);
    rows.append(make("dt", { textContent: "position" }), this.poseRows[0], make("dt", { textContent: "quaternion" }), this.poseRows[1]);
    const swatch = make("i");
    swatch.style.background = body.colour;
    const close = make("button", { textContent: "×", title: "close", onclick: () => this.app.select(null) });
    const follow = make("button", { textContent: "follow", className: "text", onclick: () => this.app.follow(body.name) });
    this.card.replaceChildren(make("h2", {}, swatch, body.name, follow, close), rows);
    this.updateCard(pose, probed);
  }

  updateCard(pose, probed) {
    if (this.card.hidden) return;
    if (probed) {
      this.probeRows[0].textContent = `${probed.name} at ${probed.place}`;
      const [factor, unit] = scaled(probed.value, probed.unit);
      this.probeRows[1].textContent = `${format(probed.value / factor, 4)} ${unit}`;
    }
    this.poseRows[0].textContent = `${pose.position.map((v) => format(v)).join(", ")} m`;
    this.poseRows[1].textContent = pose.quaternion.map((v) => format(v)).join(", ");
  }

  text(value) {
    if (typeof value === "number") return format(value, 6);
    if (Array.isArray(value)) {
      if (Array.isArray(value[0])) return value.map((row) => row.map((v) => format(v)).join("  ")).join("\n");
      return value.map((v) => (typeof v === "number" ? format(v) : v)).join(", ");
    }
    return String(value);
  }
}
