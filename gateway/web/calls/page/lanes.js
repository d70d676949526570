/** Two lanes of sound with a playhead: the caller above, the agent below. */

import { clock, make } from "/console/dom.js";

const HEIGHT = 132; // CSS pixels: two lanes and the scale between them
const SCALE = 20; // of these, for the times
const STEPS = [1, 2, 5, 10, 15, 30, 60, 120, 300, 600, 1800];
const ZOOMS = [1, 2, 4, 8, 16];

const colour = (name) => getComputedStyle(document.documentElement).getPropertyValue(`--${name}`).trim();

/** Draw a call; `seek` is told where somebody wants to be. */
export class Lanes {
  constructor(label, seek, leaving) {
    this.seek = seek;
    this.zoom = 0;
    this.at = 0;
    this.canvas = make("canvas", { "aria-hidden": "true" });
    this.element = make(
      "div",
      { class: "lanes", role: "slider", tabindex: "0", "aria-label": label, "aria-valuemin": "0", "aria-valuemax": "0", "aria-valuenow": "0", "aria-valuetext": "0:00" },
      this.canvas,
    );
    this.element.addEventListener("pointerdown", (event) => this.#drag(event));
    this.element.addEventListener("keydown", (event) => this.#key(event));
    const redraw = () => this.draw();
    new ResizeObserver(redraw).observe(this.element);
    matchMedia("(prefers-color-scheme: dark)").addEventListener("change", redraw, { signal: leaving });
  }

  show(story, peaks) {
    this.story = story;
    this.peaks = peaks;
    this.length = Math.max(1, story.seconds, peaks?.seconds || 0);
    this.element.setAttribute("aria-valuemax", Math.round(this.length));
    this.draw();
  }

  moveTo(at) {
    this.at = at;
    this.element.setAttribute("aria-valuenow", Math.round(at));
    this.element.setAttribute("aria-valuetext", clock(at));
    this.draw();
  }

  closer(step) {
    this.zoom = Math.max(0, Math.min(ZOOMS.length - 1, this.zoom + step));
    this.draw();
  }

  /** Give the first moment that is shown, and how many seconds are. */
  #window() {
    const shown = this.length / ZOOMS[this.zoom];
    return [Math.max(0, Math.min(this.length - shown, this.at - shown / 3)), shown];
  }

  #drag(event) {
    event.preventDefault();
    this.element.focus({ preventScroll: true });
    const move = (one) => {
      const box = this.element.getBoundingClientRect();
      const [from, shown] = this.dragged;
      this.seek(Math.max(0, Math.min(this.length, from + (shown * (one.clientX - box.left)) / box.width)));
    };
    this.dragged = this.#window();
    move(event);
    this.element.setPointerCapture(event.pointerId);
    this.element.addEventListener("pointermove", move);
    this.element.addEventListener("pointerup", () => {
      this.element.removeEventListener("pointermove", move);
      this.dragged = undefined;
      this.draw();
    }, { once: true });
  }

  #key(event) {
    const steps = { ArrowLeft: -2, ArrowRight: 2, ArrowDown: -2, ArrowUp: 2, PageDown: -15, PageUp: 15 };
    if (event.key in steps) this.seek(Math.max(0, Math.min(this.length, this.at + steps[event.key])));
    else if (event.key === "Home") this.seek(0);
    else if (event.key === "End") this.seek(this.length);
    else if (event.key === "+") this.closer(1);
    else if (event.key === "-") this.closer(-1);
    else return;
    event.preventDefault();
  }

  draw() {
    const width = this.element.clientWidth;
    if (!this.story || !width) return;
    const ratio = devicePixelRatio || 1;
    const canvas = this.canvas;
    if (canvas.width !== Math.round(width * ratio) || canvas.height !== HEIGHT * ratio) {
      canvas.width = Math.round(width * ratio);
      canvas.height = HEIGHT * ratio;
    }
    const pen = canvas.getContext("2d");
    pen.setTransform(ratio, 0, 0, ratio, 0, 0);
    pen.clearRect(0, 0, width, HEIGHT);
    const [from, shown] = this.dragged || this.#window();
    const x = (at) => ((at - from) / shown) * width;
    const lane = (HEIGHT - SCALE) / 2;
    this.#holds(pen, x);
    this.#spans(pen, x, lane);
    this.#sound(pen, from, shown, width, lane);
    this.#times(pen, x, from, shown, lane);
    this.#marks(pen, x);
    pen.fillStyle = colour("ink");
    pen.fillRect(x(this.at) - 0.75, 0, 1.5, HEIGHT);
    pen.beginPath();
    pen.arc(Math.max(4, Math.min(width - 4, x(this.at))), 4, 4, 0, 7);
    pen.fill();
  }

  #holds(pen, x) {
    pen.fillStyle = colour("raised");
    for (const hold of this.story.holds) {
      const end = hold.end ?? this.length;
      pen.fillRect(x(hold.start), 0, x(end) - x(hold.start), HEIGHT);
    }
  }

  /** Who spoke when, by the log: pale behind the sound, hatched where nobody heard it. */
  #spans(pen, x, lane) {
    const box = (start, end, top) => {
      pen.beginPath();
      pen.roundRect(x(start), top + 3, Math.max(2, x(end) - x(start)), lane - 6, 5);
      pen.fill();
    };
    pen.fillStyle = colour("you-pale");
    for (const turn of this.story.turns) box(turn.start, turn.end, 0);
    for (const said of this.story.utterances) {
      pen.fillStyle = colour("accent-pale");
      if (said.end > said.start) box(said.start, said.end, lane + SCALE);
      const whole = said.queued === null ? said.end : said.start + said.queued;
      if (said.heard === null || whole <= said.end) continue;
      pen.strokeStyle = colour("bad");
      pen.globalAlpha = 0.55;
      pen.setLineDash([3, 3]);
      pen.beginPath();
      pen.roundRect(x(said.end), lane + SCALE + 3.5, Math.max(2, x(whole) - x(said.end)), lane - 7, 5);
      pen.stroke();
      pen.setLineDash([]);
      pen.globalAlpha = 1;
    }
  }

  #sound(pen, from, shown, width, lane) {
    const peaks = this.peaks;
    if (!peaks?.column) return;
    const sides = [[peaks.caller, "you", 0], [peaks.agent, "accent", lane + SCALE]];
    for (const [loud, name, top] of sides) {
      pen.fillStyle = colour(name);
      const step = 3;
      for (let left = 0; left < width; left += step) {
        const first = Math.floor((from + (shown * left) / width) / peaks.column);
        const last = Math.max(first + 1, Math.floor((from + (shown * (left + step)) / width) / peaks.column));
        let most = 0;
        for (let at = first; at < last && at < loud.length; at += 1) most = Math.max(most, loud[at]);
        if (first >= loud.length) break;
        const height = Math.max(1, ((most / 100) * (lane - 10)));
        pen.fillRect(left, top + (lane - height) / 2, step - 1, height);
      }
    }
  }

  #times(pen, x, from, shown, lane) {
    const step = STEPS.find((each) => x(from + each) > 64) || 3600;
    pen.font = "11px system-ui, sans-serif";
    pen.fillStyle = colour("soft");
    pen.textBaseline = "middle";
    for (let at = Math.ceil(from / step) * step; at < from + shown; at += step) {
      pen.fillRect(x(at), lane + 2, 1, SCALE - 4);
      pen.fillText(clock(at), x(at) + 4, lane + SCALE / 2);
    }
  }

  #marks(pen, x) {
    for (const said of this.story.utterances) {
      if (said.stop_delay === null) continue;
      pen.fillStyle = colour("bad");
      pen.fillRect(x(said.end) - 0.75, 12, 1.5, HEIGHT - 12);
      pen.beginPath();
      pen.moveTo(x(said.end) - 5, 10);
      pen.lineTo(x(said.end) + 5, 10);
      pen.lineTo(x(said.end), 18);
      pen.fill();
    }
  }
}
