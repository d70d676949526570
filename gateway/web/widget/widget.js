/** `<parley-widget agent="workshop">`: a button that places a call to a Parley agent.
 *
 * This file is what the visitor sees and presses; `widget/call.js` is the call.
 */

import { Call, Failure } from "./widget/call.js";
import { words } from "./widget/labels.js";
import { Meter } from "./widget/meter.js";
import { css } from "./widget/style.js";

const HOME = new URL(import.meta.url).origin;

const RETYPED = ["denied", "no_microphone", "microphone_busy"]; // failures after which one may type
const RETRIED = ["busy", "draining", "too_many_calls"]; // failures that pass with time

const icon = (path, size = 20) =>
  `<svg viewBox="0 0 24 24" width="${size}" height="${size}" aria-hidden="true">${path}</svg>`;

const WAVE = icon('<path d="M4 10v4M8 6.5v11M12 3.5v17M16 7.5v9M20 10.5v3"/>', 22);
const PHONE = icon('<path d="M6.2 3.5h2.6l1.6 4.4-2 1.5a12 12 0 0 0 6.2 6.2l1.5-2 4.4 1.6v2.6c0 1.2-1 2.2-2.2 2.1A16 16 0 0 1 4.1 5.7C4 4.5 5 3.5 6.2 3.5z"/>');
const LEAVE = icon('<path d="M3.2 14.6c4.9-4.8 12.7-4.8 17.6 0l-2.3 2.3-3.3-1.5v-2.3a10 10 0 0 0-6.4 0v2.3l-3.3 1.5z"/>');
const MIC = icon('<rect x="9" y="3" width="6" height="11" rx="3"/><path d="M5.5 11.5a6.5 6.5 0 0 0 13 0M12 18v3"/>');
const MIC_OFF = icon('<path d="M9 6a3 3 0 0 1 6 0v5M15 13.5a3 3 0 0 1-6-2.5v-1M5.5 11.5a6.5 6.5 0 0 0 10.6 5M18.5 11.5a6.4 6.4 0 0 1-.4 2.3M12 18v3M4 4l16 16"/>');
const SEND = icon('<path d="M5 12h13M12.5 6l6 6-6 6"/>');
const KEYBOARD = icon('<rect x="3" y="6" width="18" height="12" rx="2.5"/><path d="M7 10h.1M10.3 10h.1M13.7 10h.1M17 10h.1M8 14h8"/>');
const CLOSE = icon('<path d="M6 6l12 12M18 6L6 18"/>');
const ALERT = icon('<path d="M12 8v5M12 16.5v.1"/><circle cx="12" cy="12" r="9"/>', 26);
const CLOCK = icon('<circle cx="12" cy="12" r="9"/><path d="M12 7v5.2l3.2 2"/>', 26);
const DONE = icon('<path d="M5 12.5l4.5 4.5L19 7.5"/>', 26);
const SOUND = icon('<path d="M4 9.5v5h3.5L12 19V5L7.5 9.5zM15.5 9a4 4 0 0 1 0 6M18.3 6.5a8 8 0 0 1 0 11"/>');

const sheet = new CSSStyleSheet();
sheet.replaceSync(css);

function clock(seconds) {
  const whole = Math.floor(seconds);
  return `${Math.floor(whole / 60)}:${String(whole % 60).padStart(2, "0")}`;
}

/** Make an element; text is never read as markup. */
function make(name, { html, text, ...attributes } = {}, ...children) {
  const element = document.createElement(name);
  for (const [key, value] of Object.entries(attributes)) {
    if (key.startsWith("on")) element.addEventListener(key.slice(2), value);
    else if (value === true) element.setAttribute(key, "");
    else if (value !== false && value !== undefined) element.setAttribute(key, value);
  }
  if (html) element.innerHTML = html;
  if (text) element.append(text);
  element.append(...children.filter(Boolean));
  return element;
}

export class ParleyWidget extends HTMLElement {
  static observedAttributes = ["lang", "heading", "label", "position", "labels", "captions"];

  /** Gives a token for each call, or a promise of one; the site's own server makes it. */
  getToken = null;

  #call = null;
  #phase = "idle";
  #state = "";
  #opened = false;
  #failure = null;
  #end = null;
  #labels = {};
  #lines = new Map();
  #muted = false;
  #attempt = 0; // counts calls, so that one that was given up is known
  #parts = {};

  constructor() {
    super();
    this.attachShadow({ mode: "open" }).adoptedStyleSheets = [sheet];
  }

  connectedCallback() {
    this.#render();
  }

  disconnectedCallback() {
    this.hangUp();
  }

  attributeChangedCallback() {
    if (this.isConnected && this.#phase === "idle") this.#render();
  }

  // --- for the page ----------------------------------------------------------------------------

  /** `idle`, `asking`, `connecting`, `connected`, `reconnecting`, `failed` or `ended`. */
  get phase() {
    return this.#phase;
  }

  /** `listening`, `thinking` or `speaking`, during a call. */
  get state() {
    return this.#state;
  }

  get muted() {
    return this.#muted;
  }

  set muted(muted) {
    this.#muted = Boolean(muted);
    this.#call?.mute(this.#muted);
    this.#showMute();
    this.#say(this.#words[this.#muted ? "muted" : "unmuted"]);
  }

  /** Words of the page's own, by the names in widget/labels.js. */
  get labels() {
    return this.#labels;
  }

  set labels(labels) {
    this.#labels = { ...labels };
    if (this.isConnected && this.#phase === "idle") this.#render();
  }

  open() {
    this.#opened = true;
    this.#render(true);
  }

  close() {
    this.hangUp();
    this.#opened = false;
    this.#phase = "idle";
    this.#render();
    this.#parts.launcher?.focus();
  }

  /** Place a call; resolves when it is connected, and to nothing where it could not be. */
  async call({ microphone = true } = {}) {
    if (!["idle", "ended", "failed"].includes(this.#phase)) return;
    const attempt = ++this.#attempt;
    this.#opened = true;
    this.#failure = this.#end = null;
    this.#lines.clear();
    this.#muted = false;
    this.#state = "";
    this.#become("asking");
    this.#live();
    this.#parts.leave.focus({ preventScroll: true });
    try {
      const token = await this.#token();
      if (attempt !== this.#attempt) return; // given up while the site was asked
      const call = (this.#call = new Call(
        {
          server: this.getAttribute("server") || HOME,
          agent: this.getAttribute("agent") || "default",
          token,
          microphone,
          noiseSuppression: this.getAttribute("noise-suppression") !== "off",
          patience: Number(this.getAttribute("reconnect")) || undefined,
        },
        (type, detail) => call === this.#call && this.#happened(type, detail),
      ));
      await call.start();
    } catch (failure) {
      // A call that was given up meanwhile has nothing to say any more.
      if (attempt === this.#attempt && this.#phase !== "idle") this.#fail(failure);
    }
  }

  hangUp() {
    if (this.#call) this.#call.hangUp();
    else if (this.#phase === "asking") {
      this.#attempt++;
      clearInterval(this.#parts.ticking);
      this.#idle();
    }
  }

  sendText(text) {
    return this.#call?.write(text) || false;
  }

  sendKeys(keys) {
    return this.#call?.press(keys) || false;
  }

  async #token() {
    if (this.getToken) {
      try {
        return await this.getToken();
      } catch (error) {
        throw new Failure("token_missing", { detail: String(error) });
      }
    }
    const url = this.getAttribute("token-url");
    if (!url) return this.getAttribute("token") || "";
    try {
      const response = await fetch(new URL(url, document.baseURI), { method: "POST" });
      if (response.ok) return (await response.json()).token;
    } catch {
      // said below
    }
    throw new Failure("token_missing");
  }

  // --- what happens in the call ------------------------------------------------------------------

  #happened(type, detail) {
    switch (type) {
      case "phase":
        this.#become(detail);
        if (detail === "connected") this.#hearVisitor();
        break;
      case "sound":
        this.#hearAgent(detail);
        break;
      case "microphone":
        this.#parts.meter.listen("visitor", this.#call.audio, detail);
        break;
      case "state":
        this.#state = detail;
        this.#showStatus();
        this.#emit("state", { phase: this.#phase, state: detail });
        break;
      case "caption":
        this.#caption(detail);
        this.#emit("caption", detail);
        break;
      case "tool":
        this.#tool(detail);
        this.#emit("tool", detail);
        break;
      case "notice":
        this.#note(this.#words[detail] || detail);
        this.#say(this.#words[detail] || detail);
        break;
      case "over":
        this.#over(detail);
        break;
    }
  }

  #become(phase) {
    if (this.#phase === phase) return;
    this.#phase = phase;
    this.#showStatus();
    this.#emit("state", { phase, state: this.#state });
  }

  #over(end) {
    const { meter } = this.#parts;
    meter?.stop();
    clearInterval(this.#parts.ticking);
    this.#call = null;
    this.#end = end;
    this.#emit("end", end);
    if (!end.answered && end.by === "failure") return; // `call` tells why
    if (end.by === "failure") this.#fail(new Failure(this.#words[end.reason] ? end.reason : "broken"));
    else if (!end.answered) this.#idle();
    else {
      this.#become("ended");
      this.#render();
    }
  }

  #idle() {
    this.#opened = this.#inline;
    this.#become("idle");
    this.#render();
  }

  #fail(failure) {
    this.#call = null;
    this.#failure = failure instanceof Failure ? failure : new Failure("broken", { detail: String(failure) });
    this.#become("failed");
    this.#render();
    this.#emit("error", {
      kind: this.#failure.kind,
      detail: this.#failure.message,
      retryAfter: this.#failure.retryAfter,
    });
  }

  #emit(name, detail) {
    this.dispatchEvent(new CustomEvent(`parley-${name}`, { detail, bubbles: true, composed: true }));
  }

  #hearAgent(stream) {
    const { sound, meter } = this.#parts;
    sound.srcObject = stream;
    sound.play().catch(() => {
      // The browser wants another press before anything may sound.
      this.#parts.hear.hidden = false;
    });
    meter.listen("agent", this.#call.audio, stream);
  }

  #hearVisitor() {
    const { meter } = this.#parts;
    if (!meter.ears.visitor && this.#call.stream) meter.listen("visitor", this.#call.audio, this.#call.stream);
  }

  // --- what is seen --------------------------------------------------------------------------------

  get #words() {
    let own = this.#labels;
    try {
      own = { ...JSON.parse(this.getAttribute("labels") || "{}"), ...own };
    } catch {
      // an attribute that is no JSON changes nothing
    }
    const lang = this.getAttribute("lang") || this.closest("[lang]")?.lang || navigator.language;
    return words(lang, own);
  }

  get #inline() {
    return this.getAttribute("position") === "inline";
  }

  #render(entering = false) {
    const held = this.shadowRoot.activeElement !== null;
    const shown = this.#opened || this.#inline || this.#phase !== "idle";
    if (!shown) return this.#launcher();
    if (this.#phase === "failed") this.#failed();
    else if (this.#phase === "ended") this.#ended();
    else if (this.#phase === "idle") this.#intro(entering);
    // Whoever pressed a button goes on from the one that stands in its place.
    if (held || entering) this.shadowRoot.querySelector(".first:not(:disabled), .wide")?.focus({ preventScroll: true });
  }

  #launcher() {
    const launcher = make(
      "button",
      { class: "launcher", part: "launcher", type: "button", html: WAVE, onclick: () => this.call() },
      make("span", { text: this.getAttribute("label") || this.#words.launcher }),
    );
    this.#parts = { launcher };
    this.shadowRoot.replaceChildren(launcher, this.#voice());
  }

  /** The frame of everything but the launcher. */
  #card(kind, ...children) {
    const t = this.#words;
    const dot = make("i", { class: "dot" });
    const status = make("span", { class: "saying" });
    const bar = make("p", { class: "status" }, dot, status);
    const time = make("time", { class: "clock", hidden: true });
    const heading = this.getAttribute("heading") || t.title;
    const close = kind === "enter" && this.#phase !== "idle" ? t.close_call : t.close;
    const card = make(
      "section",
      { class: `card ${kind}`, part: "card", "aria-label": heading },
      make(
        "header",
        {},
        make("span", { class: "mark", html: WAVE }),
        make("div", { class: "who" }, make("h2", { text: heading }), bar),
        time,
        !this.#inline &&
          make("button", { class: "icon", type: "button", "aria-label": close, title: close, html: CLOSE, onclick: () => this.close() }),
      ),
      ...children,
    );
    card.addEventListener("keydown", (event) => {
      if (event.key === "Escape" && !this.#inline) this.close();
    });
    this.#parts = { card, status, bar, time };
    this.shadowRoot.replaceChildren(card, this.#voice());
    return card;
  }

  /** Where states are said aloud; it outlives what is shown, or nobody would hear it. */
  #voice() {
    this.voice ||= make("div", { class: "hidden", role: "status", "aria-live": "polite" });
    return this.voice;
  }

  #say(text) {
    if (this.voice) this.voice.textContent = text;
  }

  #button(kind, text, html, onclick) {
    return make("button", { class: `wide ${kind}`, type: "button", html, onclick }, make("span", { text }));
  }

  #intro(entering) {
    const t = this.#words;
    this.#card(
      entering ? "enter" : "",
      make("div", { class: "pane" }, make("span", { class: "sign", html: MIC }), make("p", { text: t.intro })),
      make("footer", {}, this.#button("first", t.call, PHONE, () => this.call())),
    );
    this.#parts.bar.hidden = true;
  }

  #live() {
    const t = this.#words;
    const canvas = make("canvas", { "aria-hidden": "true" });
    const captions = make("div", {
      class: "captions", part: "captions", role: "log", "aria-live": "off", "aria-label": t.conversation, tabindex: "0",
    });
    const input = make("input", {
      type: "text", "aria-label": t.placeholder, placeholder: t.placeholder, maxlength: "500", autocomplete: "off",
      enterkeyhint: "send", oninput: () => (send.disabled = !input.value.trim() || this.#phase !== "connected"),
    });
    const send = make("button", { class: "send", "aria-label": t.send, title: t.send, html: SEND, disabled: true });
    const mute = this.#button("plain", "", "", () => (this.muted = !this.#muted));
    const leave = this.#button("leave", t.hang_up, LEAVE, () => this.hangUp());
    const sound = make("audio", { autoplay: true, playsinline: true });
    const hear = this.#button("first", t.hear, SOUND, () => sound.play().then(() => (hear.hidden = true)));
    hear.hidden = true;
    const form = make(
      "form",
      {
        onsubmit: (event) => {
          event.preventDefault();
          if (input.value.trim() && this.sendText(input.value.trim())) {
            input.value = "";
            send.disabled = true;
          }
        },
      },
      input,
      send,
    );
    this.#card(
      "enter",
      make(
        "div",
        { class: "meter", part: "meter", "aria-hidden": "true" },
        canvas,
        make("span", { class: "a", text: t.agent }),
        make("span", { class: "v", text: t.you }),
      ),
      captions,
      form,
      make("footer", {}, hear, mute, leave),
      sound,
    );
    captions.hidden = this.getAttribute("captions") === "off";
    const meter = new Meter(canvas);
    const begun = { at: 0 };
    Object.assign(this.#parts, { captions, input, send, mute, leave, sound, hear, meter, begun });
    this.#parts.ticking = setInterval(() => this.#tick(), 500);
    requestAnimationFrame(() => meter.draw());
    this.#showMute();
    this.#showStatus();
  }

  #tick() {
    const { time, begun, card } = this.#parts;
    if (!card?.isConnected || !begun) return;
    if (this.#phase === "connected" && !begun.at) begun.at = performance.now();
    if (begun.at) {
      time.hidden = false;
      time.textContent = clock((performance.now() - begun.at) / 1000);
    }
  }

  #failed() {
    const t = this.#words;
    const { kind, retryAfter } = this.#failure;
    const again = this.#button("first", t.retry, PHONE, () => this.call());
    const typed = RETYPED.includes(kind) && this.#button("plain", t.type_only, KEYBOARD, () => this.call({ microphone: false }));
    const text = t[kind] || t.broken;
    const soon = RETRIED.includes(kind);
    this.#card(
      soon ? "soon" : "failed",
      make(
        "div",
        { class: "pane", role: "alert" },
        make("span", { class: "sign", html: soon ? CLOCK : ALERT }),
        make("strong", { text: soon ? t.soon : t.error }),
        make("p", { text }),
      ),
      make("footer", { class: typed ? "stack" : "" }, again, typed),
    );
    this.#parts.bar.hidden = true;
    if (retryAfter && soon) this.#countdown(again, retryAfter);
  }

  #countdown(button, seconds) {
    const words = button.querySelector("span");
    const until = performance.now() + seconds * 1000;
    const step = () => {
      if (!button.isConnected) return;
      const left = Math.ceil((until - performance.now()) / 1000);
      button.disabled = left > 0;
      words.textContent = left > 0 ? this.#words.retry_in.replace("{seconds}", left) : this.#words.retry;
      if (left > 0) setTimeout(step, 250);
    };
    step();
  }

  #ended() {
    const t = this.#words;
    const told = this.#end.by === "agent" ? t.ended_by_agent : t.ended_by_caller;
    this.#card(
      "ended",
      make(
        "div",
        { class: "pane" },
        make("span", { class: "sign", html: DONE }),
        make("strong", { text: `${t.ended} · ${clock(this.#end.seconds)}` }),
        make("p", { text: told }),
      ),
      make("footer", {}, this.#button("first", t.again, PHONE, () => this.call())),
    );
    this.#parts.bar.hidden = true;
    this.#say(`${t.ended}. ${told}`);
  }

  #showStatus() {
    const { status, card, leave, captions, send, input } = this.#parts;
    if (!status || !card) return;
    const t = this.#words;
    const connected = this.#phase === "connected";
    const doing = connected ? this.#state || "connected" : this.#phase;
    const silenced = this.#muted && doing === "listening";
    status.textContent = silenced ? t.muted : t[doing] || "";
    card.classList.remove("live", "wait", "listening", "thinking", "speaking", "silenced");
    if (silenced) card.classList.add("silenced");
    if (connected) card.classList.add("live", doing);
    else if (this.#phase !== "idle") card.classList.add("wait");
    if (!leave) return;
    leave.querySelector("span").textContent = connected || this.#phase === "reconnecting" ? t.hang_up : t.cancel;
    send.disabled = !connected || !input.value.trim();
    if (!captions.children.length || captions.firstChild.className === "empty") {
      captions.replaceChildren(make("div", { class: "empty", text: t[connected ? "listening" : this.#phase] }));
    }
    // What is heard needs no words.
    if (doing !== "speaking") this.#say(t[doing] || "");
  }

  #showMute() {
    const { mute } = this.#parts;
    if (!mute) return;
    mute.innerHTML = this.#muted ? MIC_OFF : MIC;
    mute.classList.toggle("off", this.#muted);
    mute.append(make("span", { text: this.#words[this.#muted ? "unmute" : "mute"] }));
    this.#showStatus();
  }

  #line(key, element) {
    const { captions } = this.#parts;
    if (!captions) return null;
    const low = captions.scrollHeight - captions.scrollTop - captions.clientHeight < 60;
    let line = this.#lines.get(key);
    if (!line) {
      if (captions.firstChild?.className === "empty") captions.replaceChildren();
      line = element();
      this.#lines.set(key, line);
      captions.append(line);
    }
    if (low) requestAnimationFrame(() => (captions.scrollTop = captions.scrollHeight));
    return line;
  }

  #caption({ who, id, text, final, interrupted }) {
    const line = this.#line(`${who}${id}`, () => make("div", { class: who }));
    if (!line) return;
    line.replaceChildren(make("span", { class: "hidden", text: `${this.#words[who === "agent" ? "agent" : "you"]}: ` }), text);
    line.classList.toggle("cut", Boolean(interrupted && text));
    line.hidden = final && !text;
  }

  #tool({ name, state }) {
    const key = `tool ${name}`;
    if (state === "began") {
      this.#line(key, () => make("div", { class: "tool" }, make("i", { class: "spin" }), make("span", { text: this.#words.working })));
      return;
    }
    this.#lines.get(key)?.remove();
    this.#lines.delete(key);
  }

  #note(text) {
    this.#line(`note ${performance.now()}`, () => make("div", { class: "note", text }));
  }
}

if (!customElements.get("parley-widget")) customElements.define("parley-widget", ParleyWidget);
