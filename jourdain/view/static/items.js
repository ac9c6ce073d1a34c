// What stands on the stage: bodies, ghosts, joints, frames, links, arrows and traces, each moved from the current run.
import * as THREE from "three";
import { geometryOf, Tube } from "jourdain/shapes";
import { Surface, SurfaceData } from "jourdain/surface";

const Z = new THREE.Vector3(0, 0, 1);
const AXES = ["#c8585a", "#5f9d63", "#4c78b8"];
const quaternion = (q) => new THREE.Quaternion(q[1], q[2], q[3], q[0]);

const look = { plain: false };

export function setLook(plain) { look.plain = plain; }

function material(colour, opacity = 1, { roughness = 0.52, metalness = 0.04 } = {}) {
  const common = { color: colour, transparent: opacity < 1, opacity, depthWrite: opacity > 0.5 };
  return look.plain ? new THREE.MeshLambertMaterial(common) : new THREE.MeshStandardMaterial({ ...common, roughness, metalness });
}

function solid(geometry, surface, shadow = true) {
  const mesh = new THREE.Mesh(geometry, surface);
  mesh.castShadow = mesh.receiveShadow = shadow;
  return mesh;
}

// Shapes from which on equal ones are drawn together.
const MANY = 60;
// The layer of meshes that can be picked but are drawn by their crowd.
export const DRAWN_TOGETHER = 1;

// Equal shapes of many bodies, each kind drawn in one call; the meshes themselves stay in their groups, unseen.
class Crowd {
  constructor(stage) {
    this.root = new THREE.Group();
    stage.scene.add(this.root);
    this.kinds = new Map();
    this.colour = new THREE.Color();
  }

  add(mesh, body) {
    mesh.layers.set(DRAWN_TOGETHER);
    if (!this.kinds.has(mesh.geometry)) this.kinds.set(mesh.geometry, []);
    this.kinds.get(mesh.geometry).push({ mesh, body, colour: mesh.material.color });
  }

  // Edges of all members in one call, by the same places.
  outline(geometry, edges, ink) {
    const { together, members } = this.sets.find((set) => set.together.geometry === geometry);
    const lines = new THREE.LineSegments(edges, ink);
    Object.assign(lines, { isInstancedMesh: true, instanceMatrix: together.instanceMatrix, instanceColor: null, morphTexture: null, count: members.length });
    lines.raycast = () => {};
    lines.frustumCulled = false;
    this.root.add(lines);
    return lines;
  }

  gather() {
    this.sets = [...this.kinds].map(([geometry, members]) => {
      const together = new THREE.InstancedMesh(geometry, material("#ffffff"), members.length);
      together.castShadow = together.receiveShadow = true;
      together.frustumCulled = false;
      members.forEach(({ colour }, i) => together.setColorAt(i, colour));
      this.root.add(together);
      return { together, members };
    });
  }

  update() {
    for (const { together, members } of this.sets) {
      members.forEach(({ mesh }, i) => together.setMatrixAt(i, mesh.matrixWorld));
      together.instanceMatrix.needsUpdate = true;
    }
  }

  highlight(name) {
    for (const { together, members } of this.sets) {
      members.forEach(({ body, colour }, i) => together.setColorAt(i, this.colour.copy(colour).multiplyScalar(body.name === name ? 1.6 : 1)));
      together.instanceColor.needsUpdate = true;
    }
  }
}

export class Bodies {
  constructor(data, stage, blocks) {
    this.data = data;
    this.groups = new Map();
    this.ghosts = [];
    this.exaggeration = data.exaggeration;
    // surfaces that deform: their arrays, those of the bodies, and those of each ghost
    this.arrays = new Map(data.bodies.filter((b) => b.surface).map((b) => [b.name, new SurfaceData(b.surface, blocks)]));
    this.skins = new Map();
    this.ghostSkins = [];
    this.root = new THREE.Group();
    this.ghostRoot = new THREE.Group();
    stage.scene.add(this.root, this.ghostRoot);
    this.surfaces = new Map();
    this.outlines = new Map();
    this.edges = [];
    this.outlined = 0;
    this.edgeInk = new THREE.LineBasicMaterial({ color: "#10151b", transparent: true, opacity: 0.32 });
    this.crowd = data.bodies.reduce((sum, body) => sum + body.shapes.length, 0) > MANY ? new Crowd(stage) : null;
    for (const body of data.bodies) {
      const group = this.make(body, (shape) => this.surface(shape.colour || body.colour, shape.opacity));
      group.userData.body = body;
      if (body.surface) this.skins.set(body.name, this.bend(group, body, 1));
      this.rest(group, body);
      this.groups.set(body.name, group);
      this.root.add(group);
    }
    this.crowd?.gather();
    for (const geometry of this.crowd?.kinds.keys() ?? [])
      if (this.outlines.has(geometry)) this.edges.push(this.crowd.outline(geometry, this.outlines.get(geometry), this.edgeInk));
    this.edgeInk = null;
    this.shift = new THREE.Vector3();
    this.turn = new THREE.Quaternion();
  }

  surface(colour, opacity) {
    const key = `${colour} ${opacity}`;
    if (!this.surfaces.has(key)) this.surfaces.set(key, material(colour, opacity));
    return this.surfaces.get(key);
  }

  make(body, surface) {
    const group = new THREE.Group();
    group.name = body.name;
    const solids = new THREE.Group();
    for (const shape of body.shapes) {
      const mesh = solid(geometryOf(shape), surface(shape), true);
      if (shape.opacity < 0.6) mesh.castShadow = false;
      mesh.position.set(...shape.position);
      mesh.quaternion.copy(quaternion(shape.quaternion));
      solids.add(mesh);
      const joins = this.edgeInk && this.crowd && shape.opacity === 1;
      if (joins) this.crowd.add(mesh, body);
      if (this.edgeInk && !["sphere", "capsule", "torus"].includes(shape.kind)) this.outline(mesh, joins);
    }
    group.add(solids);
    group.userData.solids = solids;
    return group;
  }

  bend(group, body, opacity) {
    const flat = { side: THREE.DoubleSide, flatShading: !body.surface.smooth };
    const plain = Object.assign(material(body.colour, opacity), flat), painted = Object.assign(material("#ffffff", opacity), flat, { vertexColors: true });
    const surface = new Surface(this.arrays.get(body.name), plain, painted);
    if (opacity === 1) surface.show(surface.data.shown ? surface.data.field(surface.data.shown) : null);
    surface.mesh.userData.surface = surface;
    group.userData.solids.add(surface.group);
    return surface;
  }

  outline(mesh, together) {
    if (!this.outlines.has(mesh.geometry)) this.outlines.set(mesh.geometry, new THREE.EdgesGeometry(mesh.geometry, 32));
    this.outlined++;
    if (together) return;
    const lines = new THREE.LineSegments(this.outlines.get(mesh.geometry), this.edgeInk);
    lines.raycast = () => {};
    this.edges.push(lines);
    mesh.add(lines);
  }

  rest(group, body) {
    group.position.set(...body.position);
    group.quaternion.copy(quaternion(body.quaternion));
  }

  setGhosts(count) {
    this.ghostRoot.clear();
    this.ghostSkins = Array.from({ length: count }, () => new Map());
    this.ghosts = Array.from({ length: count }, (_, k) => {
      const groups = new Map();
      for (const body of this.data.bodies) {
        const ghost = this.make(body, (shape) => this.surface(shape.colour || body.colour, 0.26));
        if (body.surface) this.ghostSkins[k].set(body.name, this.bend(ghost, body, 0.26));
        ghost.traverse((mesh) => { mesh.castShadow = mesh.receiveShadow = false; });
        groups.set(body.name, ghost);
        this.rest(ghost, body);
        this.ghostRoot.add(ghost);
      }
      return groups;
    });
  }

  update(run, others) {
    if (run) this.place(run, this.groups, this.skins);
    else for (const [, surface] of this.skins) surface.deform(surface.data.rest, this.exaggeration);
    others.forEach((other, k) => this.place(other, this.ghosts[k], this.ghostSkins[k]));
  }

  place(run, groups, surfaces) {
    for (const [name, group] of groups) run.pose(name, group.position, group.quaternion, this.turn);
    for (const [name, surface] of surfaces) surface.deform(run.bent(name) || surface.data.rest, this.exaggeration);
  }

  // Rest pose plus the real part of amplitude × (displacement, rotation vector) × e^{iφ}.
  vibrate(mode, phase, amplitude) {
    const c = amplitude * Math.cos(phase), s = amplitude * Math.sin(phase);
    for (const body of this.data.bodies) {
      const group = this.groups.get(body.name), part = mode.bodies[body.name];
      this.rest(group, body);
      const surface = this.skins.get(body.name), bent = mode.amplitudes[body.name];
      if (surface) surface.deform(surface.data.rest.map((x, k) => (bent ? x + c * bent[0][k] - s * bent[1][k] : x)), 1);
      if (!part) continue;
      const [dr, di, rr, ri] = part;
      group.position.add(this.shift.set(...dr.map((x, k) => c * x - s * di[k])));
      this.shift.set(...rr.map((x, k) => c * x - s * ri[k]));
      const angle = this.shift.length();
      if (angle > 0) group.quaternion.premultiply(this.turn.setFromAxisAngle(this.shift.divideScalar(angle), angle));
    }
  }

  // The group that something on a body hangs in, and where its place in the body's frame is in there.
  home(item, stage) {
    const position = new THREE.Vector3(...(item.position || [0, 0, 0]));
    if (!item.body) return { group: stage, position };
    const group = this.groups.get(item.body), surface = item.node && this.skins.get(item.body);
    if (!surface) return { group, position };
    return { group: surface.node(item.node, group), position: position.sub(new THREE.Vector3(...surface.data.nodes[item.node].position)) };
  }

  // A point of a body's frame, or fixed to a node of its surface, in the world.
  point(body, node, out) {
    const group = this.groups.get(body), surface = node && this.skins.get(body);
    if (surface) {
      const holder = surface.node(node, group);
      out.sub(this.shift.set(...surface.data.nodes[node].position)).applyQuaternion(holder.quaternion).add(holder.position);
    }
    return out.applyQuaternion(group.quaternion).add(group.position);
  }

  highlight(name) {
    this.crowd?.highlight(name);
    for (const [key, group] of this.groups) {
      group.userData.solids.traverse((mesh) => {
        if (!mesh.isMesh) return;
        mesh.userData.plain ||= mesh.material;
        if (mesh.material !== mesh.userData.plain) mesh.material.dispose();
        mesh.material = mesh.userData.plain;
        if (key !== name) return;
        mesh.material = mesh.material.clone();
        mesh.material.emissive.copy(mesh.material.color).multiplyScalar(mesh.material.vertexColors ? 0.06 : 0.35);
      });
    }
  }
}

export function makeFrames(data, bodies, stage) {
  const layer = [];
  const add = (parent, position, turn, size) => {
    const group = new THREE.Group();
    [[1, 0, 0], [0, 1, 0], [0, 0, 1]].forEach((axis, k) => {
      const surface = material(AXES[k], 1, { roughness: 0.7 });
      const arrow = new THREE.Group();
      const shaft = solid(new THREE.CylinderGeometry(0.016, 0.016, 0.82, 12).rotateX(Math.PI / 2).translate(0, 0, 0.41), surface, false);
      const head = solid(new THREE.ConeGeometry(0.05, 0.2, 16).rotateX(Math.PI / 2).translate(0, 0, 0.9), surface, false);
      arrow.add(shaft, head);
      arrow.quaternion.setFromUnitVectors(Z, new THREE.Vector3(...axis));
      group.add(arrow);
    });
    group.position.set(...position);
    group.quaternion.copy(quaternion(turn));
    group.scale.setScalar(size);
    parent.add(group);
    layer.push(group);
  };
  const size = 0.12 * data.modelSize;
  for (const frame of data.frames) {
    const { group, position } = bodies.home(frame, stage.scene);
    add(group, position.toArray(), frame.quaternion, frame.size || size);
  }
  if (!data.frames.length) {
    add(stage.scene, [0, 0, 0], [1, 0, 0, 0], size);
    for (const body of data.bodies) add(bodies.groups.get(body.name), [0, 0, 0], [1, 0, 0, 0], 0.6 * size);
  }
  return layer;
}

export function makeJoints(data, bodies, stage) {
  const surface = material("#59636f", 1, { roughness: 0.4, metalness: 0.25 });
  const pin = (r, l) => new THREE.CylinderGeometry(r, r, l, 28).rotateX(Math.PI / 2);
  const loop = material("#b4626a", 1, { roughness: 0.4 });
  const glyphs = {
    revolute: () => [pin(0.5, 1.5)],
    prismatic: () => [new THREE.BoxGeometry(0.8, 0.8, 2)],
    cylindrical: () => [pin(0.5, 2.2), new THREE.TorusGeometry(0.6, 0.12, 12, 32)],
    spherical: () => [new THREE.SphereGeometry(0.7, 28, 20)],
    universal: () => [pin(0.28, 2).rotateX(Math.PI / 2), pin(0.28, 2).rotateY(Math.PI / 2)],
    planar: () => [new THREE.BoxGeometry(1.8, 1.8, 0.2)],
    fixed: () => [new THREE.BoxGeometry(0.9, 0.9, 0.9)],
    free: () => [],
    loop: () => [new THREE.TorusGeometry(0.8, 0.22, 14, 36)],
  };
  return data.joints.map((joint) => {
    const group = new THREE.Group();
    for (const geometry of glyphs[joint.kind]()) group.add(solid(geometry, joint.kind === "loop" ? loop : surface));
    const home = bodies.home(joint, stage.scene);
    group.position.copy(home.position);
    group.quaternion.setFromUnitVectors(Z, new THREE.Vector3(...joint.axis));
    group.scale.setScalar(joint.size || 0.014 * data.modelSize);
    home.group.add(group);
    return group;
  });
}

// Lines, rods, dampers, belts and coil springs between two anchors or along a track.
export class Links {
  constructor(data, bodies, stage) {
    this.bodies = bodies;
    this.root = new THREE.Group();
    stage.scene.add(this.root);
    const scale = data.modelSize;
    this.items = data.links.map((link) => this.make(link, scale));
    this.a = new THREE.Vector3();
    this.b = new THREE.Vector3();
    this.axis = new THREE.Vector3();
  }

  make(link, scale) {
    const base = { line: 0.0028, rod: 0.009, spring: 0.022, damper: 0.018, "spring-damper": 0.026, belt: 0.006 }[link.kind];
    const item = { link, radius: link.radius || base * scale, group: new THREE.Group(), tubes: new Map() };
    const colour = link.colour || { line: "#6f7985", rod: "#7d8797", damper: "#59626d", belt: "#3d444d" }[link.kind] || "#a3adb8";
    item.surface = material(colour, 1, { roughness: 0.35, metalness: link.kind.startsWith("spring") ? 0.35 : 0.2 });
    if (["line", "rod"].includes(link.kind)) {
      item.bar = solid(new THREE.CylinderGeometry(1, 1, 1, 20).rotateX(Math.PI / 2).translate(0, 0, 0.5), item.surface);
      item.group.add(item.bar);
    }
    if (link.kind.endsWith("damper")) this.makeDamper(item);
    this.root.add(item.group);
    return item;
  }

  makeDamper(item) {
    const part = (r) => solid(new THREE.CylinderGeometry(r, r, 1, 24).rotateX(Math.PI / 2).translate(0, 0, 0.5), item.surface);
    const r = item.radius * (item.link.kind === "damper" ? 1 : 0.5);
    item.pot = part(r);
    item.piston = part(0.35 * r);
    item.foot = part(0.35 * r);
    item.damper = new THREE.Group();
    item.damper.add(item.pot, item.piston, item.foot);
    item.group.add(item.damper);
  }

  anchor([body, point], node, out) {
    out.set(...point);
    if (body) this.bodies.point(body, node, out);
  }

  update(run, useTracks) {
    for (const item of this.items) {
      const track = useTracks && run && run.links.get(item.link.name);
      if (track && track.length > 6) { this.line(item, run, track); continue; }
      if (track) {
        this.a.set(...[0, 1, 2].map((k) => run.value(track[k])));
        this.b.set(...[3, 4, 5].map((k) => run.value(track[k])));
      } else {
        this.anchor(item.link.a, item.link.nodes[0], this.a);
        this.anchor(item.link.b, item.link.nodes[1], this.b);
      }
      this.stretch(item);
    }
  }

  stretch(item) {
    const length = this.axis.subVectors(this.b, this.a).length();
    item.group.visible = length > 0;
    if (!length) return;
    item.length ||= length;
    item.group.position.copy(this.a);
    item.group.quaternion.setFromUnitVectors(Z, this.axis.divideScalar(length));
    if (item.bar) item.bar.scale.set(item.radius, item.radius, length);
    if (item.damper) {
      const pot = 0.45 * item.length, foot = 0.12 * item.length;
      item.foot.scale.z = foot;
      item.pot.position.z = foot;
      item.pot.scale.z = Math.min(pot, Math.max(length - foot, 0.02 * item.length));
      item.piston.position.z = foot;
      item.piston.scale.z = Math.max(length - foot, 0.02 * item.length);
    }
    if (item.link.kind.startsWith("spring")) this.coil(item, length);
    if (item.link.kind === "belt") this.straight(item, length);
  }

  tube(item, count, radial) {
    if (!item.tubes.has(count)) {
      const tube = new Tube(count, radial);
      const mesh = solid(tube.geometry, item.surface);
      mesh.frustumCulled = false;
      item.group.add(mesh);
      item.tubes.set(count, tube);
    }
    return item.tubes.get(count);
  }

  straight(item, length) {
    const tube = this.tube(item, 2, 12);
    tube.points[0].set(0, 0, 0);
    tube.points[1].set(0, 0, length);
    tube.sweep(item.radius);
  }

  // The coil keeps its wire and its diameter; its ends stay straight over an eighth of the first length.
  coil(item, length) {
    const coils = item.link.coils, each = look.plain ? 12 : 18, ends = 4, count = coils * each + 1 + 2 * ends;
    const tube = this.tube(item, count, look.plain ? 5 : 8);
    const end = Math.min(0.1 * item.length, 0.25 * length), body = length - 2 * end;
    const radius = item.radius, wire = Math.min(0.17 * radius, 0.35 * body / coils);
    tube.points.forEach((p, i) => {
      const k = i - ends, u = Math.min(Math.max(k / (coils * each), 0), 1);
      const ramp = Math.min(1, 3 * coils * Math.min(u, 1 - u));
      const r = (radius - wire) * (k < 0 || u >= 1 && k > coils * each ? 0 : ramp), angle = 2 * Math.PI * coils * u;
      const z = k < 0 ? end * (i / ends) : k > coils * each ? length - end * (count - 1 - i) / ends : end + body * u;
      p.set(r * Math.cos(angle), r * Math.sin(angle), z);
    });
    tube.sweep(wire);
  }

  line(item, run, track) {
    const count = track.length / 3, tube = this.tube(item, count, 8);
    tube.points.forEach((p, i) => p.set(run.value(track[3 * i]), run.value(track[3 * i + 1]), run.value(track[3 * i + 2])));
    tube.sweep(item.radius);
    item.group.position.set(0, 0, 0);
    item.group.quaternion.identity();
    if (item.bar) item.bar.visible = false;
  }
}

export class Arrows {
  constructor(data, stage) {
    this.root = new THREE.Group();
    stage.scene.add(this.root);
    const colours = { force: "#c94f4f", moment: "#8a5fb0", velocity: "#3f8f8a" };
    this.thick = 0.0055 * data.modelSize;
    this.items = data.arrows.map((arrow) => {
      const surface = material(arrow.colour || colours[arrow.kind], 1, { roughness: 0.6 });
      const group = new THREE.Group();
      const shaft = solid(new THREE.CylinderGeometry(1, 1, 1, 16).rotateX(Math.PI / 2).translate(0, 0, 0.5), surface, false);
      const heads = Array.from({ length: arrow.kind === "moment" ? 2 : 1 }, () =>
        solid(new THREE.ConeGeometry(1, 1, 24).rotateX(Math.PI / 2).translate(0, 0, 0.5), surface, false));
      shaft.castShadow = true;
      group.add(shaft, ...heads);
      this.root.add(group);
      return { arrow, group, shaft, heads };
    });
    this.direction = new THREE.Vector3();
  }

  // Arrows without a scale of their own: the longest so far takes 30 % of the model.
  stretch(run, size) {
    for (const kind of new Set(this.items.map(({ arrow }) => arrow.kind))) {
      const same = this.items.filter(({ arrow }) => arrow.automatic && arrow.kind === kind);
      let longest = 0;
      for (const { arrow } of same) {
        const track = run.arrows.get(arrow.name);
        for (let i = 0; track && i < track[3].length; i++) longest = Math.max(longest, Math.hypot(track[3].at(i), track[4].at(i), track[5].at(i)) || 0);
      }
      for (const { arrow } of same) if (longest) arrow.scale = 0.3 * size / longest;
    }
  }

  update(run) {
    for (const { arrow, group, shaft, heads } of this.items) {
      const track = run && run.arrows.get(arrow.name);
      group.visible = false;
      if (!track) continue;
      const [x, y, z, u, v, w] = track.map((column) => run.value(column));
      const length = this.direction.set(u, v, w).multiplyScalar(arrow.scale).length(), r = this.thick;
      if (!(length > 0.2 * r)) continue;
      group.visible = true;
      group.position.set(x, y, z);
      group.quaternion.setFromUnitVectors(Z, this.direction.divideScalar(length));
      const head = Math.min(6.5 * r, 0.6 * length / heads.length);
      shaft.scale.set(r, r, Math.max(length - head, 1e-9));
      heads.forEach((cone, k) => {
        cone.position.z = length - head - 0.8 * k * head;
        cone.scale.set(0.42 * head, 0.42 * head, head);
      });
    }
  }
}

// Paths of points: faint for the whole run, strong up to the current time.
export class Traces {
  constructor(data, bodies, stage) {
    Object.assign(this, { data, bodies });
    this.root = new THREE.Group();
    stage.scene.add(this.root);
    this.items = [];
    this.scratch = { p: new THREE.Vector3(), q: new THREE.Quaternion(), s: new THREE.Quaternion(), x: new THREE.Vector3() };
  }

  // Where point `point` is at sample i of the run.
  sample(run, point, i, out) {
    const own = run.points.get(point.name);
    if (own) return out.set(own[0].at(i), own[1].at(i), own[2].at(i));
    out.set(...point.position);
    const surface = point.node && this.bodies.skins.get(point.body), bent = surface && run.bent(point.body, i);
    if (bent) {
      const { shift } = surface.data.nodes[point.node], s = this.bodies.exaggeration;
      shift.forEach((phi, k) => out.add(this.scratch.p.set(...phi).multiplyScalar(s * bent[k])));
    }
    const c = point.body && run.bodies.get(point.body);
    if (c) {
      this.scratch.q.set(c[4].at(i), c[5].at(i), c[6].at(i), c[3].at(i)).normalize();
      out.applyQuaternion(this.scratch.q).add(this.scratch.p.set(c[0].at(i), c[1].at(i), c[2].at(i)));
    }
    return out;
  }

  rebuild(run) {
    this.root.traverse((mesh) => mesh.geometry && mesh.geometry.dispose());
    this.root.clear();
    this.items = [];
    if (!run || run.times.length < 2) return;
    const count = Math.min(run.times.length, look.plain ? 1000 : 3000), thick = 0.003 * this.data.modelSize;
    this.data.points.forEach((point, k) => {
      const colour = point.colour || ["#c8675a", "#3f7fb0", "#5f9e6a", "#9a6fb0"][k % 4];
      const dot = solid(new THREE.SphereGeometry(2.6 * thick, 20, 14), material(colour, 1, { roughness: 0.6 }), false);
      this.root.add(dot);
      const item = { point, dot, count };
      if (point.trace) {
        item.tube = new Tube(count, look.plain ? 3 : 5);
        item.samples = Array.from({ length: count }, (_, i) => Math.round(i * (run.times.length - 1) / (count - 1)));
        item.samples.forEach((i, at) => this.sample(run, point, i, item.tube.points[at]));
        item.tube.sweep(thick);
        const whole = item.tube.geometry.clone();
        whole.setDrawRange(0, Infinity);
        const faint = new THREE.Mesh(whole, new THREE.MeshBasicMaterial({ color: colour, transparent: true, opacity: 0.16, depthWrite: false }));
        this.root.add(faint, new THREE.Mesh(item.tube.geometry, new THREE.MeshBasicMaterial({ color: colour })));
      }
      this.items.push(item);
    });
  }

  update(run) {
    if (!run || !run.times.length) return;
    for (const { point, dot, tube, samples } of this.items) {
      this.sample(run, point, run.i, dot.position);
      if (run.f > 0) dot.position.lerp(this.sample(run, point, run.j, this.scratch.x), run.f);
      if (!tube) continue;
      let shown = samples.length;
      if (samples[shown - 1] > run.i) shown = samples.findIndex((i) => i > run.i);
      tube.show(Math.max(shown, 1));
    }
  }
}
