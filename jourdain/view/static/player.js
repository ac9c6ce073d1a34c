// Time: what is shown now, playing, stepping, and the mode of vibration that may take its place.

export class Player {
  constructor(runs, modes) {
    Object.assign(this, { runs, modes });
    this.main = 0;
    this.speed = 1;
    this.loop = true;
    this.playing = false;
    this.mode = runs.length || !modes.length ? -1 : 0;
    this.phase = 0;
    this.amplitude = 1;
    this.listeners = [];
    this.t = this.start;
  }

  get run() { return this.runs[this.main]; }
  get others() { return this.runs.filter((_, k) => k !== this.main); }
  get ordered() { return this.run ? [this.run, ...this.others] : []; }
  get start() { return this.run ? this.run.start : 0; }
  get end() { return this.run ? Math.max(...this.runs.map((run) => run.end)) : 0; }
  get moving() { return this.mode >= 0 || this.end > this.start; }

  onChange(listener) { this.listeners.push(listener); }
  changed(what = "time") { for (const listener of this.listeners) listener(what); }

  seek(t) {
    this.t = Math.min(Math.max(t, this.start), this.end);
    for (const run of this.runs) run.locate(this.t);
    this.changed();
  }

  play() {
    if (!this.moving) return;
    if (this.mode < 0 && this.t >= this.end) this.seek(this.start);
    this.playing = true;
    this.changed("state");
  }

  pause() {
    this.playing = false;
    this.changed("state");
  }

  toggle() { if (this.playing) this.pause(); else this.play(); }

  step(count) {
    this.pause();
    if (!this.run || this.mode >= 0) {
      this.phase += count * Math.PI / 12;
      this.changed();
      return;
    }
    const times = this.run.times, here = this.run.index(this.t);
    const between = count < 0 && this.t > times.at(here) ? 1 : 0;
    this.seek(times.at(Math.min(Math.max(here + count + between, 0), times.length - 1)));
  }

  setMain(k) {
    this.main = k;
    this.seek(this.t);
    this.changed("run");
  }

  setMode(k) {
    this.mode = k;
    this.phase = 0;
    this.changed("mode");
  }

  advance(seconds) {
    if (!this.playing) return;
    if (this.mode >= 0) {
      this.phase = (this.phase + 2 * Math.PI * 0.7 * this.speed * seconds) % (2 * Math.PI);
      this.changed();
      return;
    }
    let t = this.t + seconds * this.speed;
    if (t >= this.end) {
      if (this.loop && !this.live) t = this.start + (t - this.end) % (this.end - this.start || 1);
      else {
        t = this.end;
        if (!this.live) this.playing = false;
      }
    }
    this.seek(t);
    if (!this.playing) this.changed("state");
  }
}
