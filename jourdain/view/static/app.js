// The page: reads the scene, puts it on the stage and connects time, controls and diagrams.
import * as THREE from "three";
import { inflate, readBlocks, Run } from "jourdain/tracks";
import { Stage } from "jourdain/stage";
import { setDetail } from "jourdain/shapes";
import { Bodies, DRAWN_TOGETHER, Links, Arrows, Traces, makeFrames, makeJoints, setLook } from "jourdain/items";
import { Player } from "jourdain/player";
import { Plots } from "jourdain/plots";
import { Panel } from "jourdain/panel";
import { Legend } from "jourdain/legend";
import { Controls } from "jourdain/controls";
import { Touches } from "jourdain/touches";

class App {
  constructor(data, runs, blocks) {
    this.data = data;
    this.exaggeration = data.exaggeration;
    this.frames = 0;
    this.frameTimes = [];
    this.shown = {};
    // pictures are drawn when they are taken, and not before
    this.manual = location.hash === "#picture";
    this.player = new Player(runs, data.modes);
    if (data.live) this.player.live = true;
    this.stage = new Stage(document.getElementById("canvas"), data);
    document.body.classList.toggle("plain", this.stage.plain);
    setLook(this.stage.plain);
    this.furniture = new Set(this.stage.scene.children);
    this.build(blocks);
    this.followed = data.follow;
    this.selected = null;
    this.panel = new Panel(this);
    this.legend = new Legend(this);
    this.plots = new Plots(document.getElementById("plots"), data.plots, (t) => this.player.seek(t), () => this.player.t);
    this.setTheme(data.theme);
    this.setRuns();
    this.showPlots(this.plots.any && window.innerWidth > 820);
    this.player.onChange((what) => this.changed(what));
    if (this.player.mode >= 0) this.setMode();
    this.controls = data.controls ? new Controls(this, data.controls) : null;
    this.listen();
    this.player.seek(data.live ? this.player.end : this.player.start);
    this.last = performance.now();
    requestAnimationFrame((now) => this.tick(now));
  }

  // Everything that belongs to the scene rather than to the stage.
  build(blocks) {
    const { data, stage } = this;
    setDetail(data.bodies.reduce((sum, body) => sum + body.shapes.length, 0), stage.plain);
    this.bodies = new Bodies(data, stage, blocks);
    this.links = new Links(data, this.bodies, stage);
    this.arrows = new Arrows(data, stage);
    this.traces = new Traces(data, this.bodies, stage);
    this.touches = new Touches(data, this.bodies, stage);
    this.makeLayers();
  }

  // Another scene of the same model in the place of this one: camera, time, diagrams and layers stay.
  async replace(scene, tracks) {
    const blocks = readBlocks(scene.blocks, await inflate(tracks)), { stage, player, data } = this;
    for (const object of [...stage.scene.children]) {
      if (this.furniture.has(object)) continue;
      stage.scene.remove(object);
      object.traverse((part) => part.geometry?.dispose());
    }
    for (const name of ["bodies", "points", "links", "arrows", "frames", "joints", "runs", "modes", "outline", "low", "high"]) data[name] = scene[name];
    this.build(blocks);
    player.runs = scene.runs.map((run) => new Run(run, blocks));
    this.anchor = null;
    this.setRuns();
    player.seek(player.t);
    player.changed("state");
    this.select(this.selected && this.bodies.groups.has(this.selected) ? this.selected : null);
    this.place();
    stage.include(this.bodies.groups.values());
    stage.contain();
    stage.dirty = true;
  }

  // A scene that has nothing to do with this one, for pictures: its own stage, drawn by the same renderer.
  async exchange(scene, tracks, theme) {
    const blocks = readBlocks(scene.blocks, await inflate(tracks)), { stage, player } = this;
    this.data = scene;
    this.exaggeration = scene.exaggeration;
    this.layers = null;
    stage.renew(scene);
    this.furniture = new Set(stage.scene.children);
    this.build(blocks);
    this.followed = scene.follow;
    this.anchor = this.selected = null;
    Object.assign(player, { runs: scene.runs.map((run) => new Run(run, blocks)), modes: scene.modes, main: 0 });
    player.mode = player.runs.length || !scene.modes.length ? -1 : 0;
    document.getElementById("legend").replaceChildren();
    this.legend = new Legend(this);
    this.setTheme(theme);
    this.setRuns();
    this.setMode();
    player.seek(player.start);
  }

  makeLayers() {
    const { data, stage, bodies } = this, before = this.layers ?? {};
    const frames = makeFrames(data, bodies, stage), joints = makeJoints(data, bodies, stage);
    const all = (list) => (on) => list.forEach((object) => { object.visible = on; });
    const solids = [...bodies.groups.values()].map((group) => group.userData.solids);
    this.layers = {
      bodies: { on: true, count: solids.length, set: all(bodies.crowd ? [...solids, bodies.crowd.root] : solids) },
      edges: { on: bodies.outlined < (stage.plain ? 40 : bodies.crowd ? 2000 : 150), count: bodies.outlined, set: all(bodies.edges) },
      joints: { on: true, count: joints.length, set: all(joints) },
      links: { on: true, count: data.links.length, set: all([this.links.root]) },
      forces: { on: true, count: data.arrows.length, set: all([this.arrows.root]) },
      traces: { on: true, count: data.points.length, set: all([this.traces.root]) },
      ghosts: { on: true, count: Math.max(this.player.runs.length - 1, 0), set: all([bodies.ghostRoot]) },
      frames: { on: data.frames.length > 0, count: frames.length, set: all(frames) },
      names: { on: false, count: data.bodies.length, set: (on) => this.showNames(on) },
      ground: { on: true, count: 1, set: all([stage.ground]) },
      shadows: { on: !(stage.plain && solids.length > 40), count: 1, set: (on) => stage.setShadows(on) },
    };
    for (const [name, layer] of Object.entries(this.layers)) {
      if (before[name]) Object.assign(layer, { on: before[name].on, box: before[name].box });
      layer.set(layer.on);
    }
  }

  setLayer(name, on) {
    const layer = this.layers[name];
    layer.on = on;
    layer.set(on);
    if (layer.box) layer.box.checked = on;
    this.stage.dirty = true;
  }

  showNames(on) {
    const box = document.getElementById("labels");
    box.replaceChildren();
    this.names = on ? this.data.bodies.map((body) => {
      const label = document.createElement("span");
      label.textContent = body.name;
      box.append(label);
      return { label, group: this.bodies.groups.get(body.name) };
    }) : [];
  }

  setTheme(name) {
    const dark = name ? name === "dark" || (name === "auto" && matchMedia("(prefers-color-scheme: dark)").matches)
      : document.body.dataset.theme !== "dark";
    document.body.dataset.theme = dark ? "dark" : "light";
    this.stage.setTheme(dark ? "dark" : "light");
    this.plots.redraw();
  }

  setRuns() {
    this.bodies.setGhosts(Math.max(this.player.runs.length - 1, 0));
    this.traces.rebuild(this.player.run);
    this.plots.setRuns(this.player.ordered);
  }

  showPlots(on = document.getElementById("plots").hidden) {
    document.getElementById("plots").hidden = !on;
    document.body.classList.toggle("with-plots", on);
    this.panel.plotButton.classList.toggle("on", on);
    this.panel.plotButton.hidden = !this.player.run?.channels.size;
    this.stage.resize();
    this.plots.redraw();
  }

  changed(what) {
    if (what === "run") this.setRuns();
    if (what === "mode") this.setMode();
    this.place();
    this.stage.dirty = true;
  }

  setMode() {
    const vibrating = this.player.mode >= 0;
    this.arrows.root.visible = this.traces.root.visible = this.bodies.ghostRoot.visible = !vibrating;
    if (!vibrating) for (const name of ["forces", "traces", "ghosts"]) this.setLayer(name, this.layers[name].on);
    const mode = this.data.modes[this.player.mode];
    for (const [name, skin] of this.bodies.skins) skin.data.stretch(mode ? mode.amplitudes[name] : null, mode ? mode.amplitude : 1);
    this.shareColours();
  }

  // The same colour stands for the same value on all bodies.
  shareColours() {
    const skins = [...this.bodies.skins.values()], fields = skins.flatMap((skin) => skin.data.fields), most = new Map();
    for (const f of fields) most.set(f.name, Math.max(f.high, most.get(f.name) ?? 0));
    for (const f of fields) {
      f.high = most.get(f.name);
      f.low = f.metric ? 0 : -f.high;
    }
    for (const skin of skins) skin.paint();
    this.legend.refresh();
  }

  // Puts everything where it is at the player's time (or phase).
  place() {
    const { player } = this, mode = this.data.modes[player.mode];
    if (mode) this.bodies.vibrate(mode, player.phase, player.amplitude * mode.amplitude);
    else this.bodies.update(player.run, player.others);
    if (this.data.live && !mode) this.widen();
    this.links.update(player.run, !mode);
    if (!mode) {
      this.arrows.update(player.run);
      this.traces.update(player.run);
      this.touches.update(player.run);
    }
    this.track();
    this.stage.scene.updateMatrixWorld();
    this.controls?.follow();
    this.bodies.crowd?.update();
    if (this.due("plots")) this.plots.update();
    if (this.selected && this.due("card")) this.panel.updateCard(this.pose(this.selected), this.probing());
  }

  // A motion that is still computed may leave the range that its colours were made for.
  widen() {
    let wider = false;
    for (const [, skin] of this.bodies.skins) {
      const f = skin.field, most = f ? skin.data.most(f, skin.amplitudes) : 0;
      if (!f || most <= f.high) continue;
      f.high = most;
      wider = true;
    }
    if (wider) this.shareColours();
  }

  // While playing on a slow machine numbers and cursors follow ten times a second: text costs more than bodies there.
  due(what) {
    const now = performance.now(), since = now - (this.shown[what] ?? -Infinity);
    if (this.stage.plain && this.player.playing && since < 100) return false;
    this.shown[what] = now;
    return true;
  }

  track() {
    const group = this.followed && this.bodies.groups.get(this.followed);
    if (!group) return;
    if (this.anchor) this.stage.move(group.position.clone().sub(this.anchor));
    this.anchor = group.position.clone();
  }

  follow(name) {
    this.followed = name;
    this.anchor = null;
    this.panel.follow.value = name || "";
    const group = name && this.bodies.groups.get(name);
    if (group) this.stage.move(group.position.clone().sub(this.stage.controls.target));
    this.track();
    this.stage.dirty = true;
  }

  home() {
    const group = this.followed && this.bodies.groups.get(this.followed);
    this.stage.reset(group ? group.position.clone() : null);
  }

  lookFrom(axis) {
    const direction = new THREE.Vector3(...axis);
    if (Math.abs(direction.dot(this.stage.up)) > 0.9) direction.addScaledVector(this.stage.home.offset.clone().normalize(), 0.002);
    this.stage.view(direction);
  }

  // Colours surfaces by the field of that name, plainly where they have none.
  colour(name) {
    for (const [, surface] of this.bodies.skins) surface.show(name && surface.data.field(name));
    this.legend.refresh();
    this.stage.dirty = true;
  }

  exaggerate(scale) {
    this.exaggeration = this.bodies.exaggeration = scale;
    this.legend.refresh();
    if (this.data.points.some((p) => p.node)) this.traces.rebuild(this.player.run);
    this.place();
    this.stage.dirty = true;
  }

  // What a surface shows at a vertex; it follows the motion while its card is open.
  probe(name, vertex) {
    const surface = this.bodies.skins.get(name), { data, amplitudes: e } = surface;
    const field = surface.field || data.field("displacement");
    return { place: surface.label(vertex), name: field.name, unit: field.unit, value: data.value(field, vertex, e), vertex };
  }

  select(name, vertex = null) {
    this.selected = name;
    this.probed = vertex;
    this.bodies.highlight(name);
    this.panel.showCard(name && this.data.bodies.find((b) => b.name === name), name && this.pose(name), this.probing());
    this.stage.dirty = true;
  }

  probing() { return this.selected && this.probed !== null ? this.probe(this.selected, this.probed) : null; }

  pose(name) {
    const group = this.bodies.groups.get(name);
    if (!group) throw new Error(`no body '${name}'`);
    const p = new THREE.Vector3(), q = new THREE.Quaternion(), s = new THREE.Vector3();
    group.updateWorldMatrix(true, false);
    group.matrixWorld.decompose(p, q, s);
    return { position: p.toArray(), quaternion: [q.w, q.x, q.y, q.z] };
  }

  ray(event) {
    const box = this.stage.canvas.getBoundingClientRect();
    const pointer = new THREE.Vector2((event.clientX - box.left) / box.width * 2 - 1, 1 - (event.clientY - box.top) / box.height * 2);
    const ray = new THREE.Raycaster();
    ray.setFromCamera(pointer, this.stage.camera);
    ray.layers.enable(DRAWN_TOGETHER);
    return ray;
  }

  // The body under the mouse, where it is hit, and by which vertex of a surface.
  hit(event) {
    const hit = this.ray(event).intersectObjects([...this.bodies.groups.values()].map((g) => g.userData.solids), true)[0];
    let object = hit && hit.object;
    while (object && !object.userData.body) object = object.parent;
    if (!object) return null;
    const surface = hit.object.userData.surface;
    const vertex = surface ? surface.nearest([hit.face.a, hit.face.b, hit.face.c], hit.object.worldToLocal(hit.point.clone())) : null;
    return { name: object.userData.body.name, place: hit.point, vertex };
  }

  pick(event) {
    const hit = this.hit(event);
    this.select(hit?.name ?? null, hit?.vertex ?? null);
  }

  // Whom the body under the mouse touches, looked for once a frame at most and not while the view is turned.
  hover(event) {
    if (!this.touches.arrows.length || this.hovering) return;
    this.hovering = requestAnimationFrame(() => {
      this.hovering = null;
      const over = event.type === "pointermove" && !event.buttons && this.player.mode < 0;
      this.touches.show(over ? this.hit(event)?.name ?? null : null, this.player.run, event.clientX, event.clientY);
    });
  }

  listen() {
    const { canvas } = this.stage;
    let pressed = null;
    for (const kind of ["pointermove", "pointerleave"]) canvas.addEventListener(kind, (e) => this.hover(e));
    canvas.addEventListener("pointerdown", (e) => { pressed = [e.clientX, e.clientY]; });
    canvas.addEventListener("pointerup", (e) => {
      if (pressed && Math.hypot(e.clientX - pressed[0], e.clientY - pressed[1]) < 4 && e.button === 0) this.pick(e);
      pressed = null;
    });
    new ResizeObserver(() => { this.stage.resize(); this.plots.redraw(); }).observe(canvas.parentElement);
    document.addEventListener("change", (event) => event.target.blur());
    window.addEventListener("keydown", (event) => this.key(event));
    if (this.data.live) this.connect();
  }

  key(event) {
    if (event.ctrlKey || event.metaKey || event.altKey || /SELECT/.test(event.target.tagName)) return;
    const many = event.shiftKey ? 10 : 1, { player } = this;
    const actions = {
      " ": () => player.toggle(), ArrowLeft: () => player.step(-many), ArrowRight: () => player.step(many),
      Home: () => player.seek(player.start), End: () => player.seek(player.end), f: () => this.home(),
      t: () => this.setTheme(), d: () => this.showPlots(), Escape: () => this.select(null),
    };
    if (!actions[event.key]) return;
    event.preventDefault();
    actions[event.key]();
  }

  tick(now) {
    const elapsed = now - this.last;
    this.last = now;
    this.player.advance(Math.min(elapsed, 250) / 1000);
    this.stage.update(elapsed);
    if (this.stage.dirty && !this.manual) {
      this.stage.dirty = false;
      this.draw();
      if (this.player.playing && elapsed < 1000) {
        this.frameTimes.push(elapsed);
        if (this.frameTimes.length > 120) this.frameTimes.shift();
        this.stage.adapt(elapsed);
      }
    }
    requestAnimationFrame((next) => this.tick(next));
  }

  draw() {
    this.stage.render();
    this.frames++;
    const { clientWidth: w, clientHeight: h } = this.stage.canvas, p = new THREE.Vector3();
    for (const { label, group } of this.names || []) {
      p.copy(group.position).project(this.stage.camera);
      label.hidden = p.z > 1;
      label.style.transform = `translate(${(p.x + 1) / 2 * w}px, ${(1 - p.y) / 2 * h}px) translate(-50%, -50%)`;
    }
  }

  connect() {
    const { player } = this, run = player.run;
    run.grow();
    this.plots.setRuns(player.ordered);
    this.traces.rebuild(null);
    this.arrows.stretch(run, this.data.modelSize);
    let redraw = 0;
    const source = new EventSource("events");
    source.onmessage = (event) => {
      const following = player.t >= player.end - 1e-9 || !run.times.length;
      const known = run.channels.size;
      run.append(JSON.parse(event.data));
      if (run.channels.size > known) { this.plots.started = false; this.plots.setRuns(player.ordered); this.showPlots(this.plots.any); }
      if (following) player.seek(player.end); else player.seek(player.t);
      this.panel.extend();
      const now = performance.now();
      if (now - redraw < 250) return;
      redraw = now;
      this.plots.redraw();
      this.traces.rebuild(run);
      this.arrows.stretch(run, this.data.modelSize);
      this.stage.include(this.bodies.groups.values());
      this.place();
    };
    source.addEventListener("end", () => {
      source.close();
      player.live = false;
      this.traces.rebuild(run);
      this.arrows.stretch(run, this.data.modelSize);
      this.stage.include(this.bodies.groups.values());
      this.plots.redraw();
      this.panel.live.hidden = true;
      this.panel.loop.hidden = false;
      this.place();
    });
  }

  stats() {
    const mean = this.frameTimes.reduce((a, b) => a + b, 0) / (this.frameTimes.length || 1);
    const info = this.stage.renderer.info.render;
    return {
      fps: this.frameTimes.length ? 1000 / mean : 0, slowest: Math.max(0, ...this.frameTimes), frames: this.frames,
      triangles: info.triangles, calls: info.calls, bodies: this.data.bodies.length, ratio: this.stage.ratio,
      shadows: this.stage.key.castShadow, time: this.player.t, start: this.player.start, end: this.player.end,
      playing: this.player.playing, tolerance: this.data.tolerance, loading: this.loading, samples: this.player.run ? this.player.run.times.length : 0,
    };
  }
}

// What scripts and tests may call.
function open(app) {
  const { player, stage } = app;
  return {
    time(t) { if (t !== undefined) player.seek(t); return player.t; },
    pose: (name) => app.pose(name),
    play: () => player.play(),
    pause: () => player.pause(),
    stats: () => app.stats(),
    mode(index, phase, amplitude) {
      player.pause();
      player.setMode(index);
      player.phase = phase;
      player.amplitude = amplitude / app.data.modes[index].amplitude;
      player.changed();
    },
    select: (name) => app.select(name),
    colour: (name) => app.colour(name),
    exaggerate: (scale) => app.exaggerate(scale),
    probe: (name, vertex) => app.probe(name, vertex),
    // vertices and colours of a surface in the body's frame, and where a node of it is (or a point fixed to the node)
    surface(name) {
      const s = app.bodies.skins.get(name);
      return { vertices: Array.from(s.position.array), colours: Array.from(s.colour.array), field: s.field && { name: s.field.name, low: s.field.low, high: s.field.high } };
    },
    node(name, node, arm = [0, 0, 0]) {
      const place = new THREE.Vector3(...app.bodies.arrays.get(name).nodes[node].position).add(new THREE.Vector3(...arm));
      return app.bodies.point(name, node, place).toArray();
    },
    follow: (name) => app.follow(name),
    layer: (name, on) => app.setLayer(name, on),
    theme: (name) => app.setTheme(name),
    run: (k) => player.setMain(k),
    link(name) {
      const item = app.links.items.find((i) => i.link.name === name);
      const box = new THREE.Box3().setFromObject(item.group, true);
      return { low: box.min.toArray(), high: box.max.toArray() };
    },
    arrow(name) {
      const { group, arrow } = app.arrows.items.find((i) => i.arrow.name === name), run = player.run, track = run.arrows.get(name);
      const foot = group.position.toArray();
      return { foot, tip: foot.map((x, k) => x + arrow.scale * run.value(track[3 + k])), shown: group.visible };
    },
    // where the origin of a body is in the window, px
    screen(name) {
      const { x, y } = new THREE.Vector3(...app.pose(name).position).project(stage.camera), box = stage.canvas.getBoundingClientRect();
      return [box.left + (x + 1) / 2 * box.width, box.top + (1 - y) / 2 * box.height];
    },
    touches: () => [...app.touches.of(app.touches.name, player.run)].map(([other, { force, points }]) => ({ other, force: force.toArray(), points })),
    ticks: () => app.plots.plots.map((plot) => plot.ticks),
    counts: () => ({ traces: app.traces.items.filter((i) => i.tube).length, ghosts: app.bodies.ghosts.length }),
    camera(position, target, fov) {
      if (position) {
        stage.camera.position.set(...position);
        stage.controls.target.set(...target);
        stage.touched = true;
        if (fov) { app.data.camera.fov = fov; stage.resize(); }
        stage.controls.enableDamping = false;
        stage.controls.update();
        stage.controls.enableDamping = true;
        stage.dirty = true;
      }
      return { position: stage.camera.position.toArray(), target: stage.controls.target.toArray() };
    },
    // Pictures show the scene alone, at full quality, and are drawn at once.
    picture(t, ratio) {
      document.body.classList.add("picture");
      app.showPlots(false);
      stage.ratio = ratio || stage.ratio;
      stage.adapt = () => {};
      stage.resize();
      if (t !== undefined) player.seek(t);
      if (!app.manual) app.draw();
    },
    draw: () => app.draw(),
    replace: (scene, tracks) => app.replace(scene, tracks),
    exchange: (scene, tracks, theme) => app.exchange(scene, tracks, theme),
    // The scene at a time, drawn once, when the browser has put it on the screen.
    photograph(t) {
      player.seek(t);
      app.draw();
      stage.dirty = false;
      return new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(() => done(0))));
    },
    controls: () => app.controls?.state(),
    set: (name, value) => app.controls.set(name, value),
  };
}

export async function start() {
  const began = performance.now();
  const data = JSON.parse(document.getElementById("scene").textContent);
  const source = document.getElementById("tracks");
  const blocks = readBlocks(data.blocks, await inflate(source.textContent));
  source.remove();
  const app = new App(data, data.runs.map((run) => new Run(run, blocks)), blocks);
  app.loading = performance.now() - began;
  document.getElementById("loading").remove();
  window.jourdain = open(app);
  // a motion moves, unless it comes in while it is computed, or the reader wants none
  const calm = matchMedia("(prefers-reduced-motion: reduce)").matches || ["#still", "#picture"].includes(location.hash);
  if (location.hash === "#play" || !(calm || data.live)) app.player.play();
}
