// Surfaces that deform: vertices p + s Σ φ_k e_k, coloured by a field that is linear in the amplitudes e, too.
import * as THREE from "three";

const columns = (block) => block.map((column) => (column.values ? column.values : Float32Array.from({ length: column.length }, (_, i) => column.at(i))));

// Colours from low to high as a table of 256 linear rgb triples.
function ramp(stops) {
  const table = new Float32Array(256 * 3), ends = stops.map((s) => new THREE.Color(s)), colour = new THREE.Color();
  for (let i = 0; i < 256; i++) {
    const u = (i / 255) * (ends.length - 1), k = Math.min(Math.floor(u), ends.length - 2);
    colour.copy(ends[k]).lerp(ends[k + 1], u - k).toArray(table, 3 * i);
  }
  return table;
}

// Arrays of a surface, read once and shared by the body and its ghosts.
export class SurfaceData {
  constructor(data, blocks) {
    this.vertices = columns(blocks[data.vertices]);
    this.count = this.vertices[0].length;
    const integers = (block) => columns(blocks[block]);
    const [a, b, c] = integers(data.faces);
    this.faces = Uint32Array.from({ length: 3 * a.length }, (_, i) => [a, b, c][i % 3][Math.floor(i / 3)]);
    const [p, q] = integers(data.lines);
    this.lines = Uint32Array.from({ length: 2 * p.length }, (_, i) => (i % 2 ? q : p)[Math.floor(i / 2)]);
    this.shapes = columns(blocks[data.shapes]);
    this.modes = this.shapes.length / 3;
    this.fields = data.fields.map((f) => ({ ...f, rows: columns(blocks[f.rows]), table: ramp(f.colours) }));
    this.places = data.places === null ? null : columns(blocks[data.places])[0];
    this.labels = data.labels;
    this.smooth = data.smooth;
    this.nodes = data.nodes;
    this.shown = data.shown;
    this.rest = data.amplitudes;
  }

  // Makes colours stand for a mode of vibration (real and imaginary parts of amplitudes, and their size), or for the motion again.
  stretch(bent, size) {
    for (const f of this.fields) {
      f.known ||= [f.low, f.high];
      [f.low, f.high] = f.known;
      if (!bent) continue;
      let most = 0;
      for (let phase = 0; phase < 12; phase++) {
        const c = size * Math.cos(phase * Math.PI / 12), s = size * Math.sin(phase * Math.PI / 12);
        const e = this.rest.map((x, k) => x + c * bent[0][k] - s * bent[1][k]);
        most = Math.max(most, this.most(f, e));
      }
      f.high = most;
      f.low = f.metric ? 0 : -most;
    }
  }

  field(name) { return this.fields.find((f) => f.name === name) || null; }

  // Values of a field at the vertices from `first` on: rows · e, or √(rᵀ Q r) with a metric.
  values(field, e, first = 0, last = this.count) {
    const { rows, components: c, metric } = field, n = last - first;
    const parts = Array.from({ length: c }, () => new Float64Array(n));
    for (let k = 0; k * c < rows.length; k++) {
      const x = e[k] || 0;
      if (x === 0) continue;
      parts.forEach((r, i) => { const row = rows[k * c + i]; for (let v = 0; v < n; v++) r[v] += x * row[first + v]; });
    }
    if (!metric) return parts[0];
    const sum = new Float64Array(n);
    for (let i = 0; i < c; i++)
      for (let j = 0; j < c; j++)
        if (metric[i][j] !== 0) for (let v = 0; v < n; v++) sum[v] += metric[i][j] * parts[i][v] * parts[j][v];
    return sum.map((x) => Math.sqrt(Math.max(x, 0)));
  }

  value(field, vertex, e) { return this.values(field, e, vertex, vertex + 1)[0]; }

  most(field, e) { return this.values(field, e).reduce((most, x) => Math.max(most, Math.abs(x)), 0); }
}

export class Surface {
  constructor(data, material, coloured) {
    this.data = data;
    const geometry = new THREE.BufferGeometry();
    this.position = new THREE.BufferAttribute(new Float32Array(3 * data.count), 3);
    this.colour = new THREE.BufferAttribute(new Float32Array(3 * data.count).fill(1), 3);
    geometry.setAttribute("position", this.position);
    geometry.setAttribute("color", this.colour);
    geometry.setIndex(new THREE.BufferAttribute(data.faces, 1));
    this.geometry = geometry;
    this.plain = material;
    this.painted = coloured;
    this.mesh = new THREE.Mesh(geometry, material);
    this.mesh.frustumCulled = false;
    this.mesh.castShadow = this.mesh.receiveShadow = true;
    this.group = new THREE.Group();
    if (data.faces.length) this.group.add(this.mesh);
    if (data.lines.length) {
      const bars = new THREE.BufferGeometry();
      bars.setAttribute("position", this.position);
      bars.setAttribute("color", this.colour);
      bars.setIndex(new THREE.BufferAttribute(data.lines, 1));
      this.bars = new THREE.LineSegments(bars, new THREE.LineBasicMaterial({ color: material.color }));
      this.bars.frustumCulled = false;
      this.group.add(this.bars);
    }
    this.nodes = new Map();
    this.amplitudes = [...data.rest];
    this.turn = new THREE.Vector3();
    this.show(null);
    this.deform(data.rest, 1);
  }

  // Groups for things that are fastened to a node; they move with it.
  node(name, parent) {
    if (!this.nodes.has(name)) {
      const group = new THREE.Group();
      parent.add(group);
      this.nodes.set(name, group);
      this.place(name, group);
    }
    return this.nodes.get(name);
  }

  place(name, group) {
    const { position, shift, turn, axes } = this.data.nodes[name], e = this.amplitudes, s = this.scale;
    const p = [...position], w = [0, 0, 0];
    const add = (sum, rows) => rows.forEach((row, k) => { const x = s * (e[k] || 0); if (x !== 0) row.forEach((r, i) => { sum[i] += x * r; }); });
    add(p, shift);
    group.position.set(...p);
    if (axes) return this.orient(group, axes, add);
    add(w, turn);
    const angle = this.turn.set(...w).length();
    if (angle > 0) group.quaternion.setFromAxisAngle(this.turn.divideScalar(angle), angle); else group.quaternion.identity();
  }

  // Turns a group of a node that turns far: its axes y and z by the amplitudes, made orthonormal.
  orient(group, axes, add) {
    const sum = [0, 1, 0, 0, 0, 1];
    add(sum, axes);
    const y = new THREE.Vector3(...sum.slice(0, 3)).normalize(), x = y.clone().cross(new THREE.Vector3(...sum.slice(3))).normalize();
    group.quaternion.setFromRotationMatrix(new THREE.Matrix4().makeBasis(x, y, x.clone().cross(y)));
  }

  show(field) {
    this.field = field;
    this.mesh.material = field ? this.painted : this.plain;
    if (this.bars) { this.bars.material.vertexColors = Boolean(field); this.bars.material.color.set(field ? "#ffffff" : this.plain.color); this.bars.material.needsUpdate = true; }
    this.mesh.userData.plain = this.mesh.material;
    this.paint();
  }

  deform(e, scale) {
    const { vertices, shapes, count, modes } = this.data, p = this.position.array;
    this.amplitudes = e;
    this.scale = scale;
    for (let i = 0; i < count; i++) for (let a = 0; a < 3; a++) p[3 * i + a] = vertices[a][i];
    for (let k = 0; k < modes; k++) {
      const x = scale * (e[k] || 0);
      if (x === 0) continue;
      for (let a = 0; a < 3; a++) {
        const shape = shapes[3 * k + a];
        for (let i = 0; i < count; i++) p[3 * i + a] += x * shape[i];
      }
    }
    this.position.needsUpdate = true;
    if (this.data.smooth) this.geometry.computeVertexNormals();
    this.geometry.boundingSphere = null;
    for (const [name, group] of this.nodes) this.place(name, group);
    this.paint();
  }

  paint() {
    if (!this.field) return;
    const { low, high, table } = this.field, colours = this.colour.array, span = high - low;
    const values = this.data.values(this.field, this.amplitudes);
    for (let i = 0; i < this.data.count; i++) {
      const u = span > 0 ? (values[i] - low) / span : 0.5;
      const at = 3 * Math.round(255 * Math.min(Math.max(u, 0), 1));
      colours[3 * i] = table[at]; colours[3 * i + 1] = table[at + 1]; colours[3 * i + 2] = table[at + 2];
    }
    this.colour.needsUpdate = true;
  }

  // The vertex of a face (three numbers) that is nearest to a point in the body's frame.
  nearest(face, point) {
    let best = face[0], distance = Infinity;
    const p = this.position.array;
    for (const i of face) {
      const d = Math.hypot(p[3 * i] - point.x, p[3 * i + 1] - point.y, p[3 * i + 2] - point.z);
      if (d < distance) { best = i; distance = d; }
    }
    return best;
  }

  label(vertex) { return this.data.places ? this.data.labels[this.data.places[vertex]] || "" : ""; }
}
