// Packed tracks: the inverse of jourdain/view/tracks.py, evaluated sample by sample so that memory stays small.

const POINTS = 8, FULL_STEP = 1.98, STRIDED_STEP = 0.8;

export async function inflate(base64) {
  const text = base64.trim();
  const bytes = new Uint8Array(Math.floor(text.length * 3 / 4));
  let filled = 0;
  for (let i = 0; i < text.length; i += 1 << 20) {
    const part = atob(text.slice(i, i + (1 << 20)));
    for (let k = 0; k < part.length; k++) bytes[filled++] = part.charCodeAt(k);
  }
  const stream = new Blob([bytes.subarray(0, filled)]).stream().pipeThrough(new DecompressionStream("deflate"));
  return new Uint8Array(await new Response(stream).arrayBuffer());
}

export function readBlocks(directory, bytes) {
  let position = 0;
  const takeIntegers = (count, planes) => {
    const integers = planes < 4 ? new Int32Array(count) : new Float64Array(count);
    for (let plane = 0, scale = 1; plane < planes; plane++, scale *= 256) {
      for (let i = 0; i < count; i++) integers[i] += scale * bytes[position + i];
      position += count;
    }
    if (planes < 4) for (let i = 0; i < count; i++) integers[i] = (integers[i] >> 1) ^ -(integers[i] & 1);
    else for (let i = 0; i < count; i++) integers[i] = integers[i] % 2 ? -(integers[i] + 1) / 2 : integers[i] / 2;
    return integers;
  };
  const takeFloats = (count, width) => {
    const copy = bytes.slice(position, position + count * width).buffer;
    position += count * width;
    return width === 8 ? new Float64Array(copy) : new Float32Array(copy);
  };
  return directory.map((entry) => {
    const n = entry.n;
    if (entry.exact) {
      const width = Number(entry.exact[1]);
      return Array.from({ length: entry.m }, () => new Plain(takeFloats(n, width)));
    }
    return entry.columns.map(([offset, tolerance, stride, predictor, planes, fixes]) => {
      const weights = predictor < 0 ? takeFloats(-predictor, 8) : binomial(predictor);
      const count = n ? Math.floor((n - 1) / stride) + 1 : 0;
      const keys = restore(takeIntegers(count, planes), weights);
      const corrections = fixes ? new Int32Array(takeIntegers(n, fixes)) : null;
      return new Column(n, offset, tolerance, stride, keys, corrections);
    });
  });
}

function binomial(order) {
  const weights = [];
  for (let j = 1, c = 1; j <= order; j++) {
    c = c * (order - j + 1) / j;
    weights.push(j % 2 ? c : -c);
  }
  return Float64Array.from(weights);
}

// The order of the sum is part of the format: it makes the rounding the same as where the track was packed.
function restore(misses, weights) {
  const order = weights.length, n = misses.length, keys = new Float64Array(n);
  for (let i = 0; i < n; i++) {
    let prediction = 0;
    const lags = i < order ? i : order;
    for (let lag = 1; lag <= lags; lag++) prediction += weights[lag - 1] * keys[i - lag];
    keys[i] = Math.floor(prediction + 0.5) + misses[i];
  }
  return new Int32Array(keys);
}

function lagrange(u) {
  const weights = new Float64Array(POINTS).fill(1);
  for (let k = 0; k < POINTS; k++)
    for (let other = 0; other < POINTS; other++) if (other !== k) weights[k] *= (u - other) / (k - other);
  return weights;
}

const tables = new Map();
function table(stride) {
  if (!tables.has(stride)) tables.set(stride, Array.from({ length: stride }, (_, r) => lagrange(3 + r / stride)));
  return tables.get(stride);
}

class Column {
  constructor(n, offset, tolerance, stride, keys, corrections) {
    Object.assign(this, { length: n, offset, stride, keys, corrections, fix: 2 * tolerance });
    this.step = tolerance * (stride === 1 ? FULL_STEP : STRIDED_STEP);
    this.table = stride > 1 ? table(stride) : null;
  }

  at(i) {
    const fixed = this.corrections ? this.fix * this.corrections[i] : 0;
    if (this.stride === 1) return this.offset + this.step * this.keys[i] + fixed;
    const base = Math.floor(i / this.stride), phase = i - base * this.stride;
    const last = this.keys.length - POINTS, wanted = base - 3;
    const start = wanted < 0 ? 0 : wanted > last ? last : wanted;
    const weights = start === wanted ? this.table[phase] : lagrange(i / this.stride - start);
    let sum = 0;
    for (let k = 0; k < POINTS; k++) sum += weights[k] * this.keys[start + k];
    return this.offset + this.step * sum + fixed;
  }
}

class Plain {
  constructor(values) { this.values = values; }
  get length() { return this.values.length; }
  at(i) { return this.values[i]; }
}

export class Growing {
  constructor(column) { this.values = column ? Array.from({ length: column.length }, (_, i) => column.at(i)) : []; }
  get length() { return this.values.length; }
  at(i) { return this.values[i]; }
  push(value) { this.values.push(value); }
}

// One motion: everything sampled at the same times; `locate` sets the sample and fraction that the others use.
export class Run {
  constructor(data, blocks) {
    this.name = data.name;
    this.times = blocks[data.times][0];
    const pick = (names) => new Map(Object.entries(names).map(([name, block]) => [name, blocks[block]]));
    this.bodies = pick(data.bodies);
    this.points = pick(data.points);
    this.links = pick(data.links);
    this.arrows = pick(data.arrows);
    this.amplitudes = pick(data.amplitudes);
    this.events = data.events ?? [];
    this.channels = new Map(data.channels.map((c) => [c.name, { unit: c.unit, column: blocks[c.block][0] }]));
    this.i = 0;
    this.j = 0;
    this.f = 0;
  }

  get start() { return this.times.length ? this.times.at(0) : 0; }
  get end() { return this.times.length ? this.times.at(this.times.length - 1) : 0; }

  index(t) {
    let low = 0, high = this.times.length - 1;
    while (low < high) {
      const middle = (low + high + 1) >> 1;
      if (this.times.at(middle) <= t) low = middle; else high = middle - 1;
    }
    return low;
  }

  locate(t) {
    const last = this.times.length - 1;
    this.i = this.index(t);
    this.j = Math.min(this.i + 1, Math.max(last, 0));
    const a = this.times.at(this.i), b = this.times.at(this.j);
    this.f = b > a ? Math.min(Math.max((t - a) / (b - a), 0), 1) : 0;
  }

  value(column) {
    const a = column.at(this.i);
    return this.f === 0 ? a : a + this.f * (column.at(this.j) - a);
  }

  pose(name, position, quaternion, scratch) {
    const c = this.bodies.get(name);
    if (!c || !this.times.length) return false;
    position.set(this.value(c[0]), this.value(c[1]), this.value(c[2]));
    quaternion.set(c[4].at(this.i), c[5].at(this.i), c[6].at(this.i), c[3].at(this.i)).normalize();
    if (this.f > 0) {
      scratch.set(c[4].at(this.j), c[5].at(this.j), c[6].at(this.j), c[3].at(this.j)).normalize();
      quaternion.slerp(scratch, this.f);
    }
    return true;
  }

  // Amplitudes of a body's surface now, or at sample i.
  bent(name, i) {
    const c = this.amplitudes.get(name);
    if (!c || !this.times.length) return null;
    return c.map((column) => (i === undefined ? this.value(column) : column.at(i)));
  }

  grow() {
    const wrap = (columns) => columns.map((c) => new Growing(c));
    this.times = new Growing(this.times);
    for (const [name, columns] of this.bodies) this.bodies.set(name, wrap(columns));
    for (const channel of this.channels.values()) channel.column = new Growing(channel.column);
    for (const [name, columns] of this.arrows) this.arrows.set(name, wrap(columns));
    for (const [name, columns] of this.amplitudes) this.amplitudes.set(name, wrap(columns));
    for (const group of [this.points, this.links]) group.clear();
  }

  gap(count) {
    const column = new Growing();
    for (let i = 0; i < count; i++) column.push(NaN);
    return column;
  }

  append(data) {
    const before = this.times.length;
    for (const t of data.times) this.times.push(t);
    for (const [name, rows] of Object.entries(data.bodies)) {
      if (!this.bodies.has(name)) this.bodies.set(name, Array.from({ length: 7 }, () => new Growing()));
      const columns = this.bodies.get(name);
      rows.forEach((row) => columns.forEach((column, k) => column.push(row[k])));
    }
    for (const [name, rows] of Object.entries(data.arrows || {})) {
      if (!this.arrows.has(name)) this.arrows.set(name, Array.from({ length: 6 }, () => this.gap(before)));
      const columns = this.arrows.get(name);
      rows.forEach((row) => columns.forEach((column, k) => column.push(row[k])));
    }
    for (const [name, rows] of Object.entries(data.amplitudes || {})) {
      if (!this.amplitudes.has(name)) this.amplitudes.set(name, Array.from({ length: rows[0].length }, () => this.gap(before)));
      const columns = this.amplitudes.get(name);
      rows.forEach((row) => columns.forEach((column, k) => column.push(row[k])));
    }
    for (const [name, values] of Object.entries(data.channels || {})) {
      if (!this.channels.has(name)) {
        this.channels.set(name, { unit: "", column: this.gap(before) });
      }
      values.forEach((value) => this.channels.get(name).column.push(value));
    }
  }
}
