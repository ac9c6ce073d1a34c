// Geometry of the primitive shapes, in the body's frame: axis z, centred.
import * as THREE from "three";

let radial = 40;

// Scenes with many shapes get fewer facets for each.
const cache = new Map();

export function setDetail(shapes, plain) {
  radial = shapes > 60 ? (plain ? 16 : 40) : plain ? 32 : 64;
  cache.clear();
}

function turned(points) {
  const geometry = new THREE.LatheGeometry(points.map(([r, z]) => new THREE.Vector2(r, z)), radial);
  return geometry.rotateX(Math.PI / 2);
}

function area(points) {
  return points.reduce((sum, [x, y], i) => {
    const [u, v] = points[(i + 1) % points.length];
    return sum + x * v - u * y;
  }, 0);
}

// Normals averaged only over faces that meet at less than 35°, so that edges of meshes stay sharp.
function smooth(vertices, faces) {
  const position = new Float32Array(faces.length * 9), normal = new Float32Array(faces.length * 9);
  const face = [], around = new Map();
  const a = new THREE.Vector3(), b = new THREE.Vector3(), c = new THREE.Vector3();
  faces.forEach((corners, k) => {
    [a, b, c].forEach((v, i) => v.fromArray(vertices[corners[i]]));
    corners.forEach((vertex, i) => {
      position.set(vertices[vertex], k * 9 + i * 3);
      if (!around.has(vertex)) around.set(vertex, []);
      around.get(vertex).push(k);
    });
    face.push(new THREE.Vector3().crossVectors(b.clone().sub(a), c.clone().sub(a)));
  });
  const unit = face.map((n) => n.clone().normalize()), sum = new THREE.Vector3();
  faces.forEach((corners, k) => corners.forEach((vertex, i) => {
    sum.set(0, 0, 0);
    for (const other of around.get(vertex)) if (unit[other].dot(unit[k]) > 0.82) sum.add(face[other]);
    sum.normalize().toArray(normal, k * 9 + i * 3);
  }));
  const geometry = new THREE.BufferGeometry();
  geometry.setAttribute("position", new THREE.BufferAttribute(position, 3));
  geometry.setAttribute("normal", new THREE.BufferAttribute(normal, 3));
  return geometry;
}

const build = {
  box: ({ lx, ly, lz }) => new THREE.BoxGeometry(lx, ly, lz),
  cylinder: ({ radius, length }) => new THREE.CylinderGeometry(radius, radius, length, radial).rotateX(Math.PI / 2),
  cone: ({ r1, r2, length }) => new THREE.CylinderGeometry(r2, r1, length, radial).rotateX(Math.PI / 2),
  sphere: ({ radius }) => new THREE.SphereGeometry(radius, radial, Math.ceil(0.6 * radial)).rotateX(Math.PI / 2),
  capsule: ({ radius, length }) => new THREE.CapsuleGeometry(radius, length, Math.ceil(radial / 4), radial).rotateX(Math.PI / 2),
  torus: ({ major, minor }) => new THREE.TorusGeometry(major, minor, Math.ceil(radial / 2), Math.ceil(1.6 * radial)),
  tube: ({ outer, inner, length }) => {
    const h = length / 2;
    return tidied(turned(sharp([[inner, -h], [outer, -h], [outer, h], [inner, h], [inner, -h]])));
  },
  prism: ({ polygon, length }) => {
    const shape = new THREE.Shape(polygon.map(([x, y]) => new THREE.Vector2(x, y)));
    return new THREE.ExtrudeGeometry(shape, { depth: length, bevelEnabled: false }).translate(0, 0, -length / 2);
  },
  revolved: ({ profile }) => {
    const points = area(profile) < 0 ? [...profile].reverse() : [...profile];
    points.push(points[0]);
    return tidied(turned(sharp(points)));
  },
  mesh: ({ vertices, faces }) => smooth(vertices, faces),
};

// A lathe averages normals along the profile; doubling the corners that turn by more than 30° keeps them sharp.
function sharp(points) {
  const result = [];
  points.forEach((p, i) => {
    result.push(p);
    if (i === 0 || i === points.length - 1) return;
    const [q, r] = [points[i - 1], points[i + 1]];
    const turn = Math.atan2(r[1] - p[1], r[0] - p[0]) - Math.atan2(p[1] - q[1], p[0] - q[0]);
    if (Math.cos(turn) < 0.866) result.push(p);
  });
  return result;
}

// Rows that coincide give triangles without area, which are dropped so that they do not spoil the normals.
function tidied(geometry) {
  const position = geometry.getAttribute("position"), index = geometry.getIndex().array, kept = [];
  const a = new THREE.Vector3(), b = new THREE.Vector3(), c = new THREE.Vector3();
  geometry.computeBoundingSphere();
  const least = 1e-12 * geometry.boundingSphere.radius ** 2;
  for (let i = 0; i < index.length; i += 3) {
    [a, b, c].forEach((v, k) => v.fromBufferAttribute(position, index[i + k]));
    if (b.sub(a).cross(c.sub(a)).lengthSq() > least ** 2) kept.push(index[i], index[i + 1], index[i + 2]);
  }
  geometry.setIndex(kept);
  geometry.computeVertexNormals();
  weldSeam(geometry);
  return geometry;
}

// The first and last column of a lathe are the same points: give them the same normals.
function weldSeam(geometry) {
  const normal = geometry.getAttribute("normal"), rows = normal.count / (radial + 1);
  for (let r = 0; r < rows; r++) {
    const first = r, last = radial * rows + r;
    const sum = new THREE.Vector3().fromBufferAttribute(normal, first)
      .add(new THREE.Vector3().fromBufferAttribute(normal, last)).normalize();
    normal.setXYZ(first, sum.x, sum.y, sum.z);
    normal.setXYZ(last, sum.x, sum.y, sum.z);
  }
}

export function geometryOf(shape) {
  const key = shape.kind === "mesh" ? shape : JSON.stringify([shape.kind, shape.sizes]);
  if (!cache.has(key)) cache.set(key, build[shape.kind](shape.sizes));
  return cache.get(key);
}

// A tube of the given radius along points; `path` writes point k into a vector. Used for traces, belts and coils.
export class Tube {
  constructor(count, around = 6) {
    this.count = count;
    this.around = around;
    this.geometry = new THREE.BufferGeometry();
    this.position = new THREE.BufferAttribute(new Float32Array(count * around * 3), 3);
    this.normal = new THREE.BufferAttribute(new Float32Array(count * around * 3), 3);
    const index = [];
    for (let i = 0; i + 1 < count; i++)
      for (let k = 0; k < around; k++) {
        const a = i * around + k, b = i * around + (k + 1) % around;
        index.push(a, b, b + around, a, b + around, a + around);
      }
    this.geometry.setIndex(index);
    this.geometry.setAttribute("position", this.position);
    this.geometry.setAttribute("normal", this.normal);
    this.points = Array.from({ length: count }, () => new THREE.Vector3());
  }

  sweep(radius) {
    const { points, count, around } = this, tangent = new THREE.Vector3(), side = new THREE.Vector3(1, 0, 0);
    const over = new THREE.Vector3(), p = this.position.array, n = this.normal.array;
    let seeded = false;
    for (let i = 0; i < count; i++) {
      tangent.subVectors(points[Math.min(i + 1, count - 1)], points[Math.max(i - 1, 0)]);
      if (tangent.lengthSq() > 0) tangent.normalize(); else tangent.set(0, 0, 1);
      if (!seeded) {
        side.set(Math.abs(tangent.x) < 0.8 ? 1 : 0, Math.abs(tangent.x) < 0.8 ? 0 : 1, 0);
        seeded = true;
      }
      side.addScaledVector(tangent, -side.dot(tangent));
      if (side.lengthSq() < 1e-12) side.set(tangent.y, -tangent.x, 0.1).addScaledVector(tangent, -side.dot(tangent));
      side.normalize();
      over.crossVectors(tangent, side);
      for (let k = 0; k < around; k++) {
        const angle = 2 * Math.PI * k / around, c = Math.cos(angle), s = Math.sin(angle), at = 3 * (i * around + k);
        const x = c * side.x + s * over.x, y = c * side.y + s * over.y, z = c * side.z + s * over.z;
        n[at] = x; n[at + 1] = y; n[at + 2] = z;
        p[at] = points[i].x + radius * x; p[at + 1] = points[i].y + radius * y; p[at + 2] = points[i].z + radius * z;
      }
    }
    this.position.needsUpdate = this.normal.needsUpdate = true;
    this.geometry.boundingSphere = null;
  }

  show(count) { this.geometry.setDrawRange(0, Math.max(count - 1, 0) * this.around * 6); }
}
