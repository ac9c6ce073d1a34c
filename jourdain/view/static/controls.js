// Sliders and buttons by which a page asks where it came from: a server on this machine, or the notebook around it.
import * as THREE from "three";
import { make } from "jourdain/panel";
import { format } from "jourdain/plots";

// Questions go one at a time, so that answers are shown in the order in which things were done.
class Asker {
  constructor(way) {
    this.way = way;
    this.last = Promise.resolve();
    this.waiting = new Map();
    this.count = 0;
    if (way === "parent") window.addEventListener("message", (event) => this.heard(event));
  }

  heard({ source, data }) {
    if (source !== window.parent || !data || !this.waiting.has(data.answer)) return;
    this.waiting.get(data.answer)(data.value);
    this.waiting.delete(data.answer);
  }

  ask(question) {
    const answer = this.last.then(() => this.put(question));
    this.last = answer.catch(() => {});
    return answer;
  }

  async put(question) {
    if (this.way === "parent") {
      const number = ++this.count;
      const answer = new Promise((done) => this.waiting.set(number, done));
      window.parent.postMessage({ ask: number, value: question }, "*");
      return answer;
    }
    const reply = await fetch("ask", { method: "POST", headers: { "Content-Type": "application/json" }, body: JSON.stringify(question) });
    if (!reply.ok) throw new Error(`the program does not answer (${reply.status})`);
    return reply.json();
  }

  // While one is out only the newest of those that follow is kept; `take` gets the answers that are still wanted.
  async newest(question, take) {
    this.next = { question, take };
    if (this.busy) return;
    this.busy = true;
    try {
      while (this.next) {
        const { question: q, take: t } = this.next;
        this.next = null;
        let answer;
        try { answer = await this.ask(q); } catch (error) { answer = { error: error.message }; }
        await t(answer);
      }
    } finally { this.busy = false; }
  }
}

export class Controls {
  constructor(app, spec) {
    this.app = app;
    this.spec = spec;
    this.asker = new Asker(spec.way);
    this.answers = 0;
    this.box = document.getElementById("controls");
    this.box.hidden = false;
    this.rows = new Map();
    this.fold = make("button", { className: "fold", textContent: "−", title: "smaller / larger" });
    this.fold.onclick = () => { this.fold.textContent = this.box.classList.toggle("folded") ? "+" : "−"; };
    this.box.append(make("h2", {}, spec.title, this.fold));
    for (const slider of spec.sliders) this.add(slider);
    this.buttons = make("div", { className: "buttons" });
    for (const { name, text, title } of spec.buttons ?? []) this.buttons.append(make("button", { textContent: text, title: title ?? "", onclick: () => this.command(name) }));
    if (spec.sliders.length) this.buttons.append(make("button", { textContent: "reset", title: "all as at first", onclick: () => this.reset() }));
    this.box.append(this.buttons);
    this.note = make("p");
    this.plane = make("canvas", { width: 2, height: 2, hidden: true, title: "eigenvalues of small motions about the equilibrium" });
    this.plane.setAttribute("aria-label", "eigenvalues");
    this.box.append(this.plane, this.note);
    this.show(spec);
    document.body.classList.add("controlled");
    if (spec.pull) this.pulling();
    if (window.innerWidth <= 820) this.fold.onclick();
  }

  add(slider) {
    const input = make("input", { type: "range", min: slider.low, max: slider.high, step: "any", value: slider.value });
    input.setAttribute("aria-label", slider.name);
    const out = make("output"), row = { ...slider, first: slider.value, input, out };
    input.oninput = () => this.set(slider.name, Number(input.value));
    input.ondblclick = () => this.set(slider.name, row.first);
    this.rows.set(slider.name, row);
    this.box.append(make("label", { title: `${slider.name}: double click for ${format(slider.value)} ${slider.unit}` }, make("span", { textContent: slider.name }), input, out));
    this.mark(row);
  }

  mark(row) {
    const share = (row.value - row.low) / (row.high - row.low || 1);
    row.input.style.setProperty("--filled", `${100 * Math.min(Math.max(share, 0), 1)}%`);
    row.out.textContent = `${format(row.value)} ${row.unit}`;
  }

  set(name, value) {
    const row = this.rows.get(name);
    row.value = value;
    row.input.value = value;
    this.mark(row);
    this.send();
  }

  reset() {
    for (const row of this.rows.values()) { row.value = row.first; row.input.value = row.first; this.mark(row); }
    this.send();
  }

  get values() { return Object.fromEntries([...this.rows].map(([name, row]) => [name, row.value])); }

  send() {
    this.box.classList.add("asking");
    this.asker.newest({ values: this.values }, (answer) => this.take(answer));
  }

  command(name, more = {}) { return this.asker.ask({ command: name, ...more }).then((answer) => this.show(answer)).catch((error) => this.show({ error: error.message })); }

  async take(answer) {
    if (answer.scene) await this.app.replace(answer.scene, answer.tracks);
    this.show(answer);
    this.answers++;
    this.box.classList.remove("asking");
  }

  show({ error, note, eigenvalues }) {
    this.note.textContent = error || note || "";
    this.note.classList.toggle("failed", Boolean(error));
    if (eigenvalues !== undefined) this.drawPlane(eigenvalues);
  }

  // A body is pulled by the point at which it is held to where the mouse is, in the plane through it across the line of sight.
  pulling() {
    const { app } = this, { stage } = app, { canvas } = stage;
    this.spring = new THREE.Line(new THREE.BufferGeometry().setAttribute("position", new THREE.BufferAttribute(new Float32Array(6), 3)),
      new THREE.LineBasicMaterial({ color: "#c94f4f", depthTest: false, transparent: true }));
    this.spring.visible = this.spring.frustumCulled = false;
    this.spring.renderOrder = 9;
    stage.scene.add(this.spring);
    const plane = new THREE.Plane(), target = new THREE.Vector3(), normal = new THREE.Vector3();
    // before the camera hears of it
    window.addEventListener("pointerdown", (event) => {
      if (event.target !== canvas || event.button !== 0) return;
      const held = app.hit(event);
      if (!held || !app.player.live) return;
      const group = app.bodies.groups.get(held.name);
      this.held = { body: held.name, group, point: group.worldToLocal(held.place.clone()), vertex: held.vertex };
      stage.camera.getWorldDirection(normal);
      plane.setFromNormalAndCoplanarPoint(normal, held.place);
      stage.controls.enabled = false;
      this.drag(held.place);
    }, true);
    window.addEventListener("pointermove", (event) => {
      if (this.held && app.ray(event).ray.intersectPlane(plane, target)) this.drag(target);
    });
    const release = () => {
      if (!this.held) return;
      this.held = null;
      this.spring.visible = false;
      stage.controls.enabled = true;
      this.asker.newest({ command: "let go" }, (answer) => this.show(answer));
    };
    window.addEventListener("pointerup", release);
    window.addEventListener("pointercancel", release);
  }

  drag(target) {
    const { body, point, vertex } = this.held;
    this.target = target.clone();
    this.follow();
    this.asker.newest({ command: "pull", body, point: point.toArray(), target: target.toArray(), vertex }, (answer) => this.show(answer));
  }

  // The line of the spring goes with the body.
  follow() {
    if (!this.held) return;
    const skin = this.held.vertex === null ? null : this.app.bodies.skins.get(this.held.body);
    if (skin) this.held.point.fromBufferAttribute(skin.position, this.held.vertex);
    const from = this.held.group.localToWorld(this.held.point.clone()), places = this.spring.geometry.attributes.position;
    places.setXYZ(0, ...from);
    places.setXYZ(1, ...this.target);
    places.needsUpdate = true;
    this.spring.visible = true;
    this.app.stage.dirty = true;
  }

  // Eigenvalues as crosses; those that grow in another colour. The axes only widen, so that a motion of the crosses is seen.
  drawPlane(values) {
    this.eigenvalues = values ?? [];
    this.plane.hidden = !this.eigenvalues.length;
    if (this.plane.hidden) return;
    const w = 232, h = 120, ratio = window.devicePixelRatio || 1, style = getComputedStyle(document.body);
    Object.assign(this.plane, { width: w * ratio, height: h * ratio });
    const g = this.plane.getContext("2d"), ink = style.getPropertyValue("--ink-soft");
    g.setTransform(ratio, 0, 0, ratio, 0, 0);
    const most = Math.max(...values.map(([re, im]) => Math.hypot(re, im)), 1e-9);
    const need = [0, 1].map((k) => Math.max(...values.map((v) => Math.abs(v[k])), 0.02 * most) * 1.2);
    this.reach = need.map((x, k) => Math.max(x, Math.min(this.reach?.[k] ?? 0, 3 * x)));
    g.strokeStyle = ink; g.globalAlpha = 0.4;
    g.beginPath(); g.moveTo(4, h / 2); g.lineTo(w - 4, h / 2); g.moveTo(w / 2, 4); g.lineTo(w / 2, h - 4); g.stroke();
    g.globalAlpha = 1; g.fillStyle = ink; g.font = "10px system-ui, sans-serif";
    g.fillText(`Im ${format(this.reach[1], 3)} 1/s`, w / 2 + 5, 12);
    g.textAlign = "right"; g.fillText(`Re ${format(this.reach[0], 3)} 1/s`, w - 4, h / 2 - 5);
    g.lineWidth = 1.7;
    for (const [re, im, grows] of values) {
      const x = w / 2 + (w / 2 - 12) * re / this.reach[0], y = h / 2 - (h / 2 - 8) * im / this.reach[1];
      g.strokeStyle = grows ? "#c94f4f" : "#3f7fb0";
      g.beginPath(); g.moveTo(x - 4, y - 4); g.lineTo(x + 4, y + 4); g.moveTo(x - 4, y + 4); g.lineTo(x + 4, y - 4); g.stroke();
    }
  }

  state() { return { values: this.values, answers: this.answers, note: this.note.textContent, failed: this.note.classList.contains("failed"), eigenvalues: this.eigenvalues ?? [] }; }
}
