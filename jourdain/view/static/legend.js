// What colours of surfaces stand for, how much deformations are exaggerated, and the value where one clicks.
import { make } from "jourdain/panel";
import { format, scaled } from "jourdain/plots";

// The slider goes from no deformation over the true one to a thousand times as much.
const toScale = (x) => (x <= 0 ? 0 : 10 ** (x - 1));
const toSlider = (s) => (s <= 0 ? 0 : Math.min(Math.max(Math.log10(s) + 1, 0.01), 4));

export class Legend {
  constructor(app) {
    this.app = app;
    this.box = document.getElementById("legend");
    const { bodies } = app;
    this.names = [...new Set([...bodies.skins.values()].flatMap((s) => s.data.fields.map((f) => f.name)))];
    this.box.hidden = !bodies.skins.size;
    if (this.box.hidden) return;
    this.choice = make("select", { title: "what colours show" }, new Option("plain", ""), ...this.names.map((n) => new Option(n, n)));
    this.choice.onchange = () => app.colour(this.choice.value || null);
    this.slider = make("input", { type: "range", min: 0, max: 4, step: "any", value: toSlider(app.exaggeration), title: "exaggeration of deformations" });
    this.slider.oninput = () => app.exaggerate(toScale(Number(this.slider.value)));
    this.times = make("output");
    this.bars = make("div", { className: "bars" });
    this.tools = make("div", { className: "tools" }, make("label", {}, "colour ", this.choice), make("label", {}, "deformation ", this.slider, this.times));
    this.box.append(this.bars, this.tools);
    this.refresh();
  }

  refresh() {
    if (this.box.hidden) return;
    const { app } = this, shown = new Map();
    for (const [, surface] of app.bodies.skins) if (surface.field) shown.set(surface.field.name, surface.field);
    this.choice.value = shown.size === 1 ? [...shown.keys()][0] : "";
    this.slider.value = toSlider(app.exaggeration);
    this.slider.style.setProperty("--filled", `${25 * Number(this.slider.value)}%`);
    this.times.textContent = `× ${format(app.exaggeration, 3)}`;
    this.bars.replaceChildren(...[...shown.values()].map((f) => this.bar(f)));
    this.box.classList.toggle("exaggerated", app.exaggeration !== 1);
    this.box.dataset.times = `deformation × ${format(app.exaggeration, 3)}`;
  }

  bar({ name, unit, low, high, colours }) {
    const ramp = make("i"), [factor, shown] = scaled(high, unit);
    ramp.style.background = `linear-gradient(to right, ${colours.join(", ")})`;
    const ticks = make("div", { className: "ticks" }, ...[low, 0.5 * (low + high), high].map((v) => make("span", { textContent: format(v / factor, 3) })));
    return make("div", { className: "bar" }, make("b", { textContent: name + (shown ? ` [${shown}]` : "") }), ramp, ticks);
  }
}
