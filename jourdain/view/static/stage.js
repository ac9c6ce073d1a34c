// The stage: renderer, camera, light, shadows and ground.
import * as THREE from "three";
import { OrbitControls } from "three/orbit";

const LOOKS = {
  light: { grid: "#5b6672", gridAlpha: 0.3, shadow: 0.2, sky: "#ffffff", soil: "#dedad4", key: 1.5, fill: 1.2, env: 0.55, back: "#eef1f4" },
  dark: { grid: "#aab4c0", gridAlpha: 0.2, shadow: 0.42, sky: "#dfe6f0", soil: "#5a5d64", key: 1.75, fill: 1.0, env: 0.55, back: "#20252d" },
};

// Time in ms in which the wheel's way left shrinks to 1/e.
const GLIDE = 60;

// Whether triangles are drawn by the processor: then a plainer look keeps the motion smooth, except in pictures.
function drawsInSoftware() {
  const gl = document.createElement("canvas").getContext("webgl2");
  const names = gl && gl.getExtension("WEBGL_debug_renderer_info");
  const software = names && /swiftshader|llvmpipe|softpipe|software|basic render/i.test(gl.getParameter(names.UNMASKED_RENDERER_WEBGL));
  gl?.getExtension("WEBGL_lose_context")?.loseContext();
  return Boolean(software);
}

// The box around a body in its own axes, its origin within.
function hullOf(group) {
  if (!group.userData.hull) {
    const hull = new THREE.Box3(new THREE.Vector3(), new THREE.Vector3()), inward = group.matrixWorld.clone().invert(), part = new THREE.Box3();
    group.userData.solids?.traverse(({ geometry, matrixWorld }) => {
      if (!geometry?.attributes.position) return;
      if (!geometry.boundingBox) geometry.computeBoundingBox();
      hull.union(part.copy(geometry.boundingBox).applyMatrix4(matrixWorld).applyMatrix4(inward));
    });
    group.userData.hull = hull;
  }
  return group.userData.hull;
}

export class Stage {
  constructor(canvas, data) {
    this.plain = location.hash !== "#picture" && drawsInSoftware();
    this.data = data;
    this.canvas = canvas;
    this.up = new THREE.Vector3(...data.up);
    this.scene = new THREE.Scene();
    this.renderer = new THREE.WebGLRenderer({ canvas, antialias: !this.plain, alpha: !this.plain, powerPreference: "high-performance" });
    this.renderer.shadowMap.enabled = true;
    this.renderer.shadowMap.type = this.plain ? THREE.BasicShadowMap : THREE.PCFShadowMap;
    this.renderer.toneMapping = THREE.NeutralToneMapping;
    this.renderer.toneMappingExposure = 1.12;
    this.ratio = Math.min(window.devicePixelRatio || 1, 2);
    this.spent = [];
    this.steps = [() => this.noShadows(), () => this.fewerPixels()];
    this.dirty = true;
    this.makeCamera();
    this.makeLight();
    this.makeGround();
  }

  // Another scene altogether: renderer and surroundings, which take longest to make, stay.
  renew(data) {
    this.controls.dispose();
    this.canvas.removeEventListener("wheel", this.onWheel);
    for (const object of [...this.scene.children]) {
      this.scene.remove(object);
      object.traverse((part) => part.geometry?.dispose());
    }
    this.key.shadow.dispose();
    this.data = data;
    this.up.set(...data.up);
    this.touched = false;
    this.makeCamera();
    this.makeLight();
    this.makeGround();
    this.resize();
  }

  // A notch of the wheel is handed to the controls little by little: the picture glides instead of jumping. Parts of a notch add up to it.
  makeWheel() {
    this.glide = { left: 0, x: 0, y: 0, own: null };
    this.onWheel = (event) => {
      if (event === this.glide.own) return;
      event.preventDefault();
      event.stopImmediatePropagation();
      const unit = [1, 16, 100][event.deltaMode] * (event.ctrlKey ? 10 : 1);
      Object.assign(this.glide, { left: this.glide.left + event.deltaY * unit, x: event.clientX, y: event.clientY });
    };
    this.canvas.addEventListener("wheel", this.onWheel, { passive: false });
  }

  // Called once a frame, with the time since the last in ms.
  update(elapsed) {
    const { left, x, y } = this.glide;
    if (left) {
      const part = Math.abs(left) < 1 ? left : left * (1 - Math.exp(-Math.min(elapsed, 50) / GLIDE));
      this.glide.left -= part;
      this.glide.own = new WheelEvent("wheel", { deltaY: part, clientX: x, clientY: y, cancelable: true });
      this.canvas.dispatchEvent(this.glide.own);
    }
    this.controls.update();
  }

  makeCamera() {
    const { camera, size, modelSize } = this.data;
    this.camera = new THREE.PerspectiveCamera(camera.fov, 1, modelSize / 500, size * 60 + modelSize * 60);
    this.camera.up.copy(this.up);
    this.camera.position.set(...camera.position);
    this.makeWheel();
    this.controls = new OrbitControls(this.camera, this.canvas);
    this.controls.target.set(...camera.target);
    this.controls.enableDamping = true;
    this.controls.dampingFactor = 0.12;
    this.controls.zoomToCursor = true;
    this.controls.maxDistance = 30 * size;
    this.controls.addEventListener("change", () => { this.dirty = true; });
    this.controls.addEventListener("start", () => { this.touched = true; });
    this.controls.update();
    const corner = (name) => new THREE.Vector3(...this.data[this.data.follow ? `model${name}` : name.toLowerCase()]);
    this.home = {
      offset: this.camera.position.clone().sub(this.controls.target), target: this.controls.target.clone(),
      low: corner("Low"), high: corner("High"),
    };
  }

  makeLight() {
    this.hemisphere = new THREE.HemisphereLight("#ffffff", "#c9c4bc", 0.9);
    this.hemisphere.position.copy(this.up);
    this.key = new THREE.DirectionalLight("#fff6ea", 2.3);
    this.key.castShadow = true;
    this.key.shadow.mapSize.setScalar(this.plain ? 1024 : 2048);
    this.key.shadow.radius = 4.5;
    const [low, high] = [new THREE.Vector3(...this.data.low), new THREE.Vector3(...this.data.high)];
    const span = Math.min(this.data.size, 4 * this.data.modelSize);
    this.lit = this.data.size > 4 * this.data.modelSize ? null : low.add(high).multiplyScalar(0.5);
    const reach = 0.75 * span, frustum = this.key.shadow.camera;
    Object.assign(frustum, { left: -reach, right: reach, top: reach, bottom: -reach, near: 0.05 * span, far: 6 * span });
    this.key.shadow.bias = -0.0004;
    this.key.shadow.normalBias = 0.0015 * span;
    // from above, to the left of the default camera and a little before the scene: faces one looks at are lit
    const toward = this.home.offset.clone().addScaledVector(this.up, -this.up.dot(this.home.offset)).normalize();
    const left = new THREE.Vector3().crossVectors(toward, this.up);
    this.lightOffset = this.up.clone().multiplyScalar(1.25).addScaledVector(toward, 0.62).addScaledVector(left, 0.75).setLength(2.6 * span);
    this.scene.add(this.hemisphere, this.key, this.key.target);
    if (!this.plain && !this.scene.environment) this.makeSurroundings();
    this.scene.environmentRotation.setFromQuaternion(new THREE.Quaternion().setFromUnitVectors(new THREE.Vector3(0, 1, 0), this.up));
  }

  // A plain studio (bright ceiling panel, dim walls) that gives surfaces something to reflect.
  makeSurroundings() {
    const studio = new THREE.Scene();
    const panel = (colour, strength, w, h, x, y, z) => {
      const material = new THREE.MeshBasicMaterial({ color: new THREE.Color(colour).multiplyScalar(strength), side: THREE.DoubleSide });
      const mesh = new THREE.Mesh(new THREE.PlaneGeometry(w, h), material);
      mesh.position.set(x, y, z);
      mesh.lookAt(0, 0, 0);
      studio.add(mesh);
    };
    studio.background = new THREE.Color("#6f757d");
    panel("#ffffff", 4, 7, 4, 0, 6, 0);
    panel("#fff3e4", 4, 3, 6, 7, 2, -3);
    panel("#e3edff", 2.5, 3, 6, -7, 2, 3);
    panel("#4b4c50", 1, 30, 30, 0, -5, 0);
    // 64 px a side are enough for panels without detail, and 16 times cheaper than the 256 of fromScene() where a processor draws
    const generator = new THREE.PMREMGenerator(this.renderer);
    const cube = new THREE.WebGLCubeRenderTarget(64, { type: THREE.HalfFloatType });
    new THREE.CubeCamera(0.1, 100, cube).update(this.renderer, studio);
    this.scene.environment = generator.fromCubemap(cube.texture).texture;
    cube.dispose();
    generator.dispose();
  }

  makeGround() {
    const extent = 14 * this.data.modelSize;
    const raw = this.data.modelSize / 7, decade = 10 ** Math.floor(Math.log10(raw));
    this.cell = decade * [1, 2, 5, 10].find((m) => m * decade >= raw * 0.999);
    const turn = new THREE.Quaternion().setFromUnitVectors(new THREE.Vector3(0, 0, 1), this.up);
    const lit = 4 * this.key.shadow.camera.right;  // the light is slanted: shadows of what is high fall beside the scene
    this.shadowCatcher = new THREE.Mesh(new THREE.PlaneGeometry(lit, lit), new THREE.ShadowMaterial({ opacity: 0.2, depthWrite: false }));
    this.shadowCatcher.receiveShadow = true;
    this.grid = this.plain ? this.makeLines() : this.makeGrid(extent);
    this.ground = new THREE.Group();
    for (const mesh of [this.shadowCatcher, this.grid]) { mesh.quaternion.copy(turn); this.ground.add(mesh); }
    this.shadowCatcher.renderOrder = -2;
    this.grid.renderOrder = -1;
    this.scene.add(this.ground);
  }

  // The grid as lines of geometry, which fade outwards by their vertices: cheap where pixels are dear.
  makeLines() {
    const count = 20, reach = count * this.cell, fade = 2.4 * this.data.modelSize, pieces = 16;
    const position = [], colour = [];
    const add = (u, v) => {
      position.push(u, v, 0);
      colour.push(1, 1, 1, Math.exp(-(u * u + v * v) / (fade * fade)));
    };
    for (let k = -count; k <= count; k++) {
      for (let i = 0; i < pieces; i++) {
        const [a, b] = [i, i + 1].map((j) => (2 * j / pieces - 1) * reach), at = k * this.cell;
        add(a, at); add(b, at); add(at, a); add(at, b);
      }
    }
    const geometry = new THREE.BufferGeometry();
    geometry.setAttribute("position", new THREE.Float32BufferAttribute(position, 3));
    geometry.setAttribute("color", new THREE.Float32BufferAttribute(colour, 4));
    const material = new THREE.LineBasicMaterial({ vertexColors: true, transparent: true, depthWrite: false, toneMapped: false });
    return new THREE.LineSegments(geometry, material);
  }

  makeGrid(extent) {
    return new THREE.Mesh(new THREE.PlaneGeometry(extent, extent), new THREE.ShaderMaterial({
      transparent: true, depthWrite: false, side: THREE.DoubleSide,
      uniforms: {
        cell: { value: this.cell }, colour: { value: new THREE.Color() }, alpha: { value: 0.3 },
        fade: { value: 2.4 * this.data.modelSize },
      },
      vertexShader: "varying vec2 p; void main() { p = position.xy; gl_Position = projectionMatrix * modelViewMatrix * vec4(position, 1.0); }",
      fragmentShader: `
        varying vec2 p; uniform float cell, alpha, fade; uniform vec3 colour;
        float lines(float c) {
          vec2 g = p / c, w = fwidth(g);
          vec2 d = abs(fract(g - 0.5) - 0.5) / max(w, vec2(1e-6));
          float line = 1.0 - min(min(d.x, d.y), 1.0);
          return line * clamp(0.35 / max(w.x, w.y), 0.0, 1.0);
        }
        void main() {
          float strength = max(0.45 * lines(cell), lines(5.0 * cell));
          float distance = length(p) / fade;
          gl_FragColor = vec4(colour, alpha * strength * exp(-distance * distance));
        }`,
    }));
  }

  setTheme(name) {
    const look = LOOKS[name];
    const { uniforms, color } = this.grid.material;
    (color || uniforms.colour.value).set(look.grid);
    if (uniforms) uniforms.alpha.value = look.gridAlpha; else this.grid.material.opacity = 0.8 * look.gridAlpha;
    this.shadowCatcher.material.opacity = look.shadow;
    this.hemisphere.color.set(look.sky);
    this.hemisphere.groundColor.set(look.soil);
    this.hemisphere.intensity = look.fill * (this.plain ? 1.6 : 1);
    this.key.intensity = look.key;
    this.scene.environmentIntensity = look.env;
    // without transparency the browser need not draw what is behind the view
    if (this.plain) this.renderer.setClearColor(look.back);
    this.dirty = true;
  }

  setShadows(on) {
    this.key.castShadow = on;
    this.shadowCatcher.visible = on;
    this.dirty = true;
  }

  resize() {
    const { clientWidth: w, clientHeight: h } = this.canvas.parentElement;
    if (!w || !h) return;
    this.renderer.setPixelRatio(this.ratio);
    this.renderer.setSize(w, h, false);
    this.camera.aspect = w / h;
    this.camera.fov = this.data.camera.fov;
    this.camera.updateProjectionMatrix();
    if (!this.touched) this.fit();
    this.dirty = true;
  }

  // The bar below needs room, except in pictures.
  get room() { return document.body.classList.contains("picture") ? 1.0 : 1.2; }

  // Moves the default camera along its line of sight until the box around the motion just fits the window.
  fit() {
    if (!this.data.fitted) return;
    const { offset, target, low, high } = this.home;
    const view = offset.clone().normalize(), right = new THREE.Vector3().crossVectors(this.up, view).normalize();
    const above = new THREE.Vector3().crossVectors(view, right), corner = new THREE.Vector3();
    const tangent = Math.tan(this.camera.fov * Math.PI / 360);
    const box = Array.from({ length: 8 }, (_, k) => [k & 1 ? high.x : low.x, k & 2 ? high.y : low.y, k & 4 ? high.z : low.z]);
    let distance = 1e-6;
    for (const point of this.data.follow ? box : this.data.outline) {
      corner.set(...point).sub(target);
      const across = Math.abs(corner.dot(right)) / this.camera.aspect, over = this.room * Math.abs(corner.dot(above));
      distance = Math.max(distance, corner.dot(view) + 1.1 * Math.max(across, over) / tangent);
    }
    const change = view.multiplyScalar(distance * (this.data.follow ? 1.2 : 1)).sub(offset);
    offset.add(change);
    this.camera.position.add(change);
    this.controls.update();
  }

  // Steps back where another motion of the same model leaves the window, unless somebody has chosen the view.
  contain() {
    if (this.touched || this.data.follow) return;
    const corner = new THREE.Vector3(), outside = (point) => {
      corner.set(...point).project(this.camera);
      return Math.max(Math.abs(corner.x), this.room * Math.abs(corner.y)) > 1;
    };
    this.camera.updateMatrixWorld();
    if (this.data.outline.some(outside)) this.fit();
  }

  // Makes room for bodies that have left the box around the motion known so far.
  include(groups) {
    const box = new THREE.Box3(this.home.low, this.home.high);
    let grown = false;
    for (const group of groups) {
      group.updateMatrixWorld(true);
      const hull = hullOf(group).clone().applyMatrix4(group.matrixWorld);
      if (box.containsBox(hull)) continue;
      box.union(hull);
      for (const x of [hull.min.x, hull.max.x]) for (const y of [hull.min.y, hull.max.y]) for (const z of [hull.min.z, hull.max.z]) this.data.outline.push([x, y, z]);
      grown = true;
    }
    if (!grown || this.touched) return;
    if (this.data.follow) this.fit();
    else this.contain();
  }

  reset(around) {
    this.touched = false;
    this.fit();
    this.controls.target.copy(around || this.home.target);
    this.camera.position.copy(this.controls.target).add(this.home.offset);
    this.controls.update();
    this.dirty = true;
  }

  view(direction) {
    this.touched = true;
    const distance = this.camera.position.distanceTo(this.controls.target);
    this.camera.position.copy(this.controls.target).addScaledVector(direction.normalize(), distance);
    this.controls.update();
    this.dirty = true;
  }

  move(delta) {
    this.controls.target.add(delta);
    this.camera.position.add(delta);
  }

  render() {
    const target = this.controls.target, focus = this.lit || target;
    this.key.target.position.copy(focus);
    this.key.position.copy(focus).add(this.lightOffset);
    // the ground travels with the view in whole cells, so that it never ends and its lines stay where they are
    const step = 5 * this.cell;
    this.ground.position.set(...["x", "y", "z"].map((k) => Math.round(target[k] / step) * step));
    this.ground.position.addScaledVector(this.up, this.data.ground - this.ground.position.dot(this.up));
    this.renderer.render(this.scene, this.camera);
  }

  // Slow machines lose shadows, then pixels, where that helps: each step is undone when it gains under 15 %.
  adapt(milliseconds) {
    this.spent.push(milliseconds);
    if (this.spent.length < 30) return;
    const mean = this.spent.slice(5).reduce((a, b) => a + b, 0) / 25;
    this.spent = [];
    if (this.trial) {
      if (mean > 0.85 * this.trial.before) this.trial.undo();
      this.trial = null;
    } else if (mean > 40 && this.steps.length) {
      const undo = this.steps.shift()();
      if (undo) this.trial = { before: mean, undo };
    }
  }

  fewerPixels() {
    const before = this.ratio;
    this.ratio = 0.7 * before;
    this.resize();
    return () => { this.ratio = before; this.resize(); };
  }

  noShadows() {
    if (!this.key.castShadow) return null;
    this.setShadows(false);
    return () => this.setShadows(true);
  }
}
