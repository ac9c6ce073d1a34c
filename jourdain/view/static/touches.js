// Who touches whom: from the body under the mouse through the points of contact to the bodies that it touches, with the forces between them.
import * as THREE from "three";
import { format } from "jourdain/plots";

// Most lines of the list beside the mouse.
const LISTED = 8;

export class Touches {
  constructor(data, bodies, stage) {
    Object.assign(this, { bodies, stage });
    this.arrows = data.arrows.filter((arrow) => arrow.bodies);
    this.unseen = data.unseen ?? [];
    this.name = this.run = null;
    this.box = document.getElementById("touches");
    this.box.hidden = true;
    if (!this.arrows.length) return;
    // each force has two lines: from its body to the point, and on to the other body
    this.position = new THREE.BufferAttribute(new Float32Array(12 * this.arrows.length), 3);
    const geometry = new THREE.BufferGeometry().setAttribute("position", this.position);
    this.lines = new THREE.LineSegments(geometry, new THREE.LineBasicMaterial({ color: "#c94f4f", depthTest: false, transparent: true, opacity: 0.9 }));
    this.lines.frustumCulled = this.lines.visible = false;
    this.lines.renderOrder = 10;
    this.lines.raycast = () => {};
    stage.scene.add(this.lines);
    this.force = new THREE.Vector3();
  }

  // Forces that act on a body now, by who exerts them, with the points where they do.
  of(name, run) {
    const found = new Map();
    for (const arrow of this.arrows) {
      const side = arrow.bodies.indexOf(name), track = side >= 0 && run?.arrows.get(arrow.name);
      if (!track) continue;
      const [x, y, z, u, v, w] = track.map((column) => run.value(column));
      if (!(Math.hypot(u, v, w) > 0)) continue;
      const other = arrow.bodies[1 - side];
      if (!found.has(other)) found.set(other, { force: new THREE.Vector3(), points: [] });
      found.get(other).force.add(this.force.set(u, v, w).multiplyScalar(side ? -1 : 1));
      found.get(other).points.push([x, y, z]);
    }
    return found;
  }

  // The graph around a body (null: none), its list at a place of the window.
  show(name, run, x, y) {
    if (!this.arrows.length) return;
    this.name = name;
    if (x !== undefined) this.box.style.transform = `translate(${Math.round(x) + 14}px, ${Math.round(y) + 14}px)`;
    this.update(run);
  }

  update(run) {
    if (!this.arrows.length || (!this.name && !this.lines.visible)) return;
    const found = this.name ? this.of(this.name, run) : new Map(), p = this.position;
    let count = 0;
    const line = (a, b) => { p.setXYZ(count++, ...a); p.setXYZ(count++, ...b); };
    const centre = (body) => this.bodies.groups.get(body)?.position.toArray();
    for (const [other, { points }] of found) {
      for (const point of points) {
        if (this.name !== "ground") line(centre(this.name), point);
        if (other !== "ground") line(point, centre(other));
      }
    }
    this.lines.geometry.setDrawRange(0, count);
    this.lines.visible = count > 0;
    p.needsUpdate = true;
    const rows = [...found].map(([other, { force }]) => [force.length(), other]).sort((a, b) => b[0] - a[0]);
    // others that it touches in the run where no arrows stand: of these there is no force, or a part of it
    const unseen = this.unseen.filter((pair) => pair.includes(this.name)).map(([a, b]) => (a === this.name ? b : a));
    const all = rows.map(([size, other]) => `${other}  ${unseen.includes(other) ? "more than the shown " : ""}${format(size, 3)} N`);
    all.push(...unseen.filter((other) => !found.has(other)).map((other) => `${other}  (at times; no arrow)`));
    this.box.hidden = !all.length;
    const text = all.slice(0, LISTED);
    if (all.length > LISTED) text.push(`and ${all.length - LISTED} more`);
    this.box.replaceChildren(...[this.name, ...text].map((words) => Object.assign(document.createElement("span"), { textContent: words })));
    this.stage.dirty = true;
  }
}
