/** One call: its sound, what was said and heard, and every line of its log. */

import { LINES, STAGES, ask, badge, clock, date, every, make, say, time, who } from "/console/dom.js";
import { actions } from "/console/acting.js";
import { Lanes } from "/console/lanes.js";
import { figures, transcript } from "/console/transcript.js";

const LOOK = 1000; // ms between two looks at a call in progress

export const QUALITY = {
  mos: ["Estimated MOS", (v) => v.toFixed(1)],
  jitter: ["Jitter", (v) => `${Math.round(1000 * v)} ms`],
  far_loss: ["Lost at the far side", (v) => `${(100 * v).toFixed(1)} %`],
  far_jitter: ["Jitter at the far side", (v) => `${Math.round(1000 * v)} ms`],
  round_trip: ["Round trip", (v) => `${Math.round(1000 * v)} ms`],
  concealed: ["Made up", (v) => `${v.toFixed(2)} s`],
  received: ["Packets", (v) => v.toLocaleString()],
  lost: ["Packets lost", (v) => v.toLocaleString()],
  late: ["Packets late", (v) => v.toLocaleString()],
};

/** Give a call's state as the list has it. */
export const listed = (story) => ({ over: Boolean(story.ended), ended_by: story.ended?.ended_by });

export function title(story) {
  const started = story.started || {};
  const other = started.direction === "outbound" ? started.to : started.from;
  return who(other, started.line);
}

function head(story, buttons) {
  const started = story.started || {};
  return make("div", { class: "call-head" },
    make("div", {},
      make("h1", { text: title(story) }),
      make("p", { class: "small" }, badge(listed(story)), ` ${LINES[started.line] || started.line || ""} · ${started.agent || ""} · ${date(story.began)}, ${time(story.began)}`)),
    make("div", { class: "buttons" }, buttons));
}

function exports(call, sound) {
  const to = (kind) => `/calls/export?call=${encodeURIComponent(call)}&as=${kind}`;
  const item = (href, text) => make("li", {}, make("a", { href, download: true, text }));
  return make("details", { class: "menu" }, make("summary", { class: "button", text: "Export" }),
    make("ul", {},
      sound && make("li", {}, make("a", { href: `/calls/sound?call=${encodeURIComponent(call)}`, download: `${call.replace(/[^\w-]/g, "-")}.wav`, text: "Stereo WAV" })),
      item(to("labels"), "Audacity labels"), item(to("lines"), "JSON, every line"), item(to("vcon"), "vCon")));
}

function panel(story) {
  const rows = (entries) => entries.map(([name, value]) => [make("dt", { text: name }), make("dd", { text: value })]);
  const quality = Object.entries(story.ended?.quality || {}).map(([name, value]) =>
    QUALITY[name] && typeof value === "number" ? [QUALITY[name][0], QUALITY[name][1](value)] : [name.replaceAll("_", " "), typeof value === "object" ? JSON.stringify(value) : String(value)]);
  const started = story.started || {};
  const facts = [["Call", story.call], ["To", started.to], ["Codec", started.codec], ["SIP Call-ID", started.sip_call_id], ["Ended", story.ended?.reason]].filter(([, value]) => value);
  return make("aside", { class: "panel", "aria-label": "Figures" },
    make("section", {}, make("h2", { text: "Figures" }), make("dl", {}, rows(Object.entries(figures(story))))),
    quality.length > 0 && make("section", {}, make("h2", { text: "Line" }), make("dl", {}, rows(quality))),
    make("section", {}, make("h2", { text: "What a caller waits for" }),
      make("ul", { class: "legend" }, Object.entries(STAGES).map(([name, text]) => make("li", {}, make("i", { class: name }), text)))),
    make("section", {}, make("h2", { text: "Call" }), make("dl", {}, rows(facts))));
}

/** Every line, made when it is opened: there may be thousands. */
function lines(all) {
  const filter = make("input", { type: "search", "aria-label": "Lines that hold", placeholder: "Lines that hold …" });
  const list = make("ol", { class: "raw" });
  const draw = () => {
    const wanted = filter.value.toLowerCase();
    const shown = all().filter((line) => !wanted || JSON.stringify(line).toLowerCase().includes(wanted));
    list.replaceChildren(...shown.map(({ ts, call, at, event, ...rest }) => make("li", {},
      make("a", { class: "at", href: `#t=${at.toFixed(2)}`, text: at.toFixed(3), title: ts, "data-call": call }), make("b", { text: event }),
      make("code", { text: Object.keys(rest).length ? JSON.stringify(rest) : "" }))));
  };
  filter.addEventListener("input", draw);
  const box = make("details", { class: "lines" }, make("summary", {}, make("h2", { text: "Every line of the log" })), filter, list);
  box.addEventListener("toggle", () => box.open && draw());
  return { box, draw: () => box.open && draw() };
}

class Player {
  constructor(call, sound, lanes, moved, leaving) {
    this.lanes = lanes;
    this.moved = moved;
    this.audio = sound ? new Audio() : null;
    this.at = 0;
    this.button = make("button", { type: "button", class: "play", "aria-label": "Play", on: { click: () => this.toggle() } });
    this.button.hidden = !sound;
    this.time = make("span", { class: "clock", text: "0:00" });
    this.speed = make("select", { "aria-label": "Speed", hidden: !sound, on: { change: () => (this.audio.playbackRate = Number(this.speed.value)) } },
      [0.75, 1, 1.5, 2].map((value) => make("option", { value, text: `${value}×`, selected: value === 1 })));
    leaving.addEventListener("abort", () => this.audio?.pause());
    if (!this.audio) return;
    this.audio.preload = "metadata";
    this.audio.src = `/calls/sound?call=${encodeURIComponent(call)}`;
    for (const name of ["play", "pause", "ended"]) this.audio.addEventListener(name, () => this.#state());
    const frame = () => {
      if (leaving.aborted) return;
      if (!this.audio.paused) this.#show(this.audio.currentTime);
      requestAnimationFrame(frame);
    };
    requestAnimationFrame(frame);
  }

  toggle() {
    if (!this.audio) return;
    if (this.audio.paused) this.audio.play().catch(() => say("The recording cannot be played."));
    else this.audio.pause();
  }

  seek(at) {
    if (this.audio) this.audio.currentTime = at;
    this.#show(at);
  }

  #state() {
    const playing = !this.audio.paused && !this.audio.ended;
    this.button.classList.toggle("playing", playing);
    this.button.setAttribute("aria-label", playing ? "Pause" : "Play");
  }

  #show(at) {
    this.at = at;
    this.time.textContent = clock(at);
    this.lanes.moveTo(at);
    this.moved(at);
  }
}

const there = () => Number(new URLSearchParams(location.hash.slice(1)).get("t")) || 0;

/** Show a call, and follow it while it goes on. */
export async function showCall({ root, asked, session, leaving, go }) {
  const call = asked.get("call");
  let page = await ask("/calls/call", { call });
  if (leaving.aborted) return;
  const list = make("ol", { class: "talk" });
  const moved = (at) => {
    for (const row of list.children) row.classList.toggle("now", Number(row.dataset.start) <= at && at < Math.max(Number(row.dataset.end), Number(row.dataset.start) + 0.6));
  };
  const lanes = new Lanes("Place in the call", (at) => player.seek(at), leaving);
  const player = new Player(call, page.sound, lanes, moved, leaving);
  const raw = lines(() => page.lines);
  const top = make("div", { class: "slot" });
  const side = make("div", { class: "slot" });
  const buttons = () => [
    !page.story.ended && actions(call, session, page.sound, leaving),
    make("button", { type: "button", text: "Copy link", on: { click: copy } }),
    make("a", { class: "button", href: `/calls?beside=${encodeURIComponent(call)}`, text: "Compare" }),
    exports(call, page.sound),
  ].flat();
  const copy = async (event) => {
    const link = `${location.origin}/calls?call=${encodeURIComponent(call)}#t=${player.at.toFixed(2)}`;
    await navigator.clipboard.writeText(link);
    event.target.textContent = "Copied";
    say(`The link to ${clock(player.at)} is copied.`);
    setTimeout(() => (event.target.textContent = "Copy link"), 1500);
  };
  const cuts = () => page.story.utterances.filter((said) => said.stop_delay !== null).map((said) => said.end);
  const next = () => {
    const all = cuts();
    const at = all.find((end) => end - 2 > player.at + 0.1) ?? all[0];
    if (at === undefined) return say("Nobody cut in.");
    player.seek(Math.max(0, at - 2));
    say(`Cut-in at ${clock(at)}`);
  };
  const skip = make("button", { type: "button", text: "Next cut-in", on: { click: next } });
  const draw = (peaks, anew) => {
    if (anew) top.replaceChildren(head(page.story, buttons()));
    side.replaceChildren(panel(page.story));
    list.replaceChildren(...transcript(page.story));
    lanes.show(page.story, peaks);
    skip.hidden = !cuts().length;
    raw.draw();
    moved(player.at);
  };
  const drafts = make("label", { class: "flag" }, make("input", { type: "checkbox", on: { change: (event) => list.classList.toggle("all", event.target.checked) } }), make("span", { text: "Drafts" }));
  root.replaceChildren(
    top,
    make("section", { class: "player", "aria-label": "Sound" },
      make("div", { class: "names", "aria-hidden": "true" }, make("span", { text: "Caller" }), make("span", { text: "Agent" })),
      lanes.element,
      make("div", { class: "controls" }, player.button, player.time, player.speed, skip,
        !page.sound && make("span", { class: "small", text: "This call was not recorded; its course is drawn from the log." }),
        make("span", { class: "zoom" },
          make("button", { type: "button", "aria-label": "Show more of the call", text: "−", on: { click: () => lanes.closer(-1) } }),
          make("button", { type: "button", "aria-label": "Look closer", text: "+", on: { click: () => lanes.closer(1) } })))),
    make("div", { class: "columns" },
      make("section", { "aria-labelledby": "said" }, make("div", { class: "head" }, make("h2", { id: "said", text: "What was said" }), drafts), list),
      side),
    raw.box,
  );
  const peaksOf = () => (page.sound ? ask("/calls/peaks", { call }).catch(() => null) : null);
  draw(null, true);
  document.title = `${title(page.story)} · Parley`;
  const peaks = await peaksOf();
  draw(peaks, false);
  const jump = () => {
    player.seek(there());
    const row = [...list.children].findLast((each) => Number(each.dataset.start) <= there() + 0.01);
    row?.scrollIntoView({ block: "center", behavior: matchMedia("(prefers-reduced-motion: reduce)").matches ? "auto" : "smooth" });
  };
  if (there()) jump();
  addEventListener("hashchange", jump, { signal: leaving });
  addEventListener("keydown", (event) => {
    if (event.target.closest("input, select, textarea, button, summary, a, dialog")) return;
    if (event.key === " ") {
      event.preventDefault();
      player.toggle();
    }
    if (event.key === "c") next();
    if (event.key === "Escape") go("/calls");
  }, { signal: leaving });
  if (page.story.ended) return;
  every(LOOK, leaving, async () => {
    if (page.story.ended) return;
    const later = await ask("/calls/call", { call });
    if (leaving.aborted || later.lines.length === page.lines.length) return;
    const over = Boolean(later.story.ended);
    page = later;
    draw(await peaksOf(), over);
    if (over) say("The call is over.");
  });
}
