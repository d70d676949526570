/** A level meter that moves with both voices: the agent's above the line, the visitor's below. */

const STEP = 50; // ms a bar stands for
const BAR = 3; // px
const GAP = 3; // px
const FLOOR_DB = -52; // what is softer is a quiet room
const CEILING_DB = -14; // loud speech

function listener(audio, stream) {
  const node = audio.createAnalyser();
  node.fftSize = 1024;
  const source = audio.createMediaStreamSource(stream);
  source.connect(node);
  const samples = new Float32Array(node.fftSize);
  return {
    stop: () => source.disconnect(),
    level() {
      node.getFloatTimeDomainData(samples);
      let sum = 0;
      for (const sample of samples) sum += sample * sample;
      const db = 10 * Math.log10(sum / samples.length + 1e-12);
      return Math.max(0, Math.min(1, (db - FLOOR_DB) / (CEILING_DB - FLOOR_DB)));
    },
  };
}

export class Meter {
  constructor(canvas) {
    this.canvas = canvas;
    this.agent = [];
    this.visitor = [];
    this.ears = {};
    this.still = matchMedia("(prefers-reduced-motion: reduce)");
    this.timer = setInterval(() => this._step(), STEP);
  }

  /** Listen to one side from now on; `side` is `agent` or `visitor`. */
  listen(side, audio, stream) {
    this.ears[side]?.stop();
    this.ears[side] = listener(audio, stream);
  }

  stop() {
    clearInterval(this.timer);
    for (const ear of Object.values(this.ears)) ear.stop();
    this.ears = {};
    this.agent = [];
    this.visitor = [];
  }

  _step() {
    if (!this.canvas.isConnected) return this.stop();
    const { width } = this.canvas.getBoundingClientRect();
    const most = Math.ceil(width / (BAR + GAP)) + 1;
    for (const side of ["agent", "visitor"]) {
      this[side].push(this.ears[side]?.level() || 0);
      if (this[side].length > most) this[side].shift();
    }
    this.draw();
  }

  draw() {
    const { canvas } = this;
    const { width, height } = canvas.getBoundingClientRect();
    const scale = devicePixelRatio || 1;
    if (canvas.width !== Math.round(width * scale) || canvas.height !== Math.round(height * scale)) {
      canvas.width = Math.round(width * scale);
      canvas.height = Math.round(height * scale);
    }
    const pen = canvas.getContext("2d");
    const style = getComputedStyle(canvas);
    const colours = {
      agent: style.getPropertyValue("--_accent"),
      visitor: style.getPropertyValue("--_you"),
      soft: style.getPropertyValue("--_faint"),
    };
    pen.setTransform(scale, 0, 0, scale, 0, 0);
    pen.clearRect(0, 0, width, height);
    const middle = height / 2;
    const count = Math.floor((width + GAP) / (BAR + GAP));
    const inset = (width - count * (BAR + GAP) + GAP) / 2;
    for (let place = 0; place < count; place++) {
      // Newest at the right; without motion all bars show the present.
      const back = this.still.matches ? 0 : count - 1 - place;
      const x = inset + place * (BAR + GAP);
      const agent = this._at("agent", back);
      const visitor = this._at("visitor", back);
      pen.globalAlpha = this.still.matches ? 1 : Math.min(1, 0.15 + (1.4 * place) / count);
      if (!agent && !visitor) this._bar(pen, x, middle, 0, 0, colours.soft);
      if (agent) this._bar(pen, x, middle, -1, agent, colours.agent);
      if (visitor) this._bar(pen, x, middle, 1, visitor, colours.visitor);
    }
  }

  _at(side, back) {
    const levels = this[side];
    return levels[levels.length - 1 - back] || 0;
  }

  /** Draw a bar upwards (-1), downwards (1), or the dot that stands for silence (0). */
  _bar(pen, x, middle, way, level, colour) {
    const size = way ? 3 + level * (middle - 10) : BAR;
    pen.fillStyle = colour;
    pen.beginPath();
    pen.roundRect(x, way < 0 ? middle - 1 - size : way > 0 ? middle + 1 : middle - BAR / 2, BAR, size, BAR / 2);
    pen.fill();
  }
}
