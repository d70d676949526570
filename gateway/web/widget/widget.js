/** `<parley-widget agent="workshop">`: a button that places a call to a Parley agent.
 *
 * This file is what the visitor sees and presses; `widget/call.js` is the call.
 */

import { Call, Failure, devices } from "./widget/call.js";
import { done } from "./widget/done.js";
import { icon } from "./widget/icons.js";
import { fetchWords, ready, words } from "./widget/labels.js";
import { Meter } from "./widget/meter.js";
import { css } from "./widget/style.js";

const HOME = new URL(import.meta.url).origin;

const RETYPED = ["denied", "no_microphone", "microphone_busy"]; // failures after which one may type
const RETRIED = ["busy", "draining", "too_many_calls"]; // failures that pass with time

const SETTLED = 700; // ms in which a second click or Enter belongs to the press that began the call

// Where there are no elements (a server that renders pages) the module can be loaded all the same.
const Base = globalThis.HTMLElement || class {};

let sheet; // one for all elements

function styles() {
  if (!sheet) {
    sheet = new CSSStyleSheet();
    sheet.replaceSync(css);
  }
  return sheet;
}

function clock(seconds) {
  const whole = Math.floor(seconds);
  return `${Math.floor(whole / 60)}:${String(whole % 60).padStart(2, "0")}`;
}

/** Make an element; text is never read as markup. */
function make(name, { draw, text, ...attributes } = {}, ...children) {
  const element = document.createElement(name);
  for (const [key, value] of Object.entries(attributes)) {
    if (key.startsWith("on")) element.addEventListener(key.slice(2), value);
    else if (value === true) element.setAttribute(key, "");
    else if (value !== false && value !== undefined) element.setAttribute(key, value);
  }
  if (draw) element.append(draw);
  if (text) element.append(text);
  element.append(...children.filter(Boolean));
  return element;
}

export class ParleyWidget extends Base {
  static observedAttributes = ["lang", "heading", "label", "position", "labels", "captions"];

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
  #getToken = null;
  #tools = {};
  #began = 0; // when the call was asked for, in ms
  #writing = false; // the visitor only types
  #chosen = {}; // devices, by kind

  constructor() {
    super();
    this.attachShadow({ mode: "open" }).adoptedStyleSheets = [styles()];
  }

  connectedCallback() {
    // What a page set before this module was there.
    for (const name of ["getToken", "labels", "muted", "tools"]) {
      if (!Object.hasOwn(this, name)) continue;
      const value = this[name];
      delete this[name];
      this[name] = value;
    }
    if (this.#calm) this.#show();
    // An element that was moved goes on with its call; what sounds was paused by the browser.
    else this.#parts.sound?.play().catch(() => {});
  }

  disconnectedCallback() {
    setTimeout(() => this.isConnected || this.hangUp()); // moved, not removed
  }

  connectedMoveCallback() {} // that it is there lets `moveBefore` move the element and stop nothing

  attributeChangedCallback() {
    if (this.isConnected && this.#phase === "idle") this.#show();
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

  /** Gives a token for each call, or a promise of one; the site's own server makes it. */
  get getToken() {
    return this.#getToken;
  }

  set getToken(give) {
    this.#getToken = give;
  }

  /** What the page does for the agent: functions by the names that the agent's file has. */
  get tools() {
    return this.#tools;
  }

  set tools(tools) {
    this.#tools = { ...tools };
  }

  /** What was said in the present or last call, in order: `who`, `text`, `interrupted`. */
  get transcript() {
    return [...this.#lines.values()].flatMap((line) => (line.said?.text ? [line.said] : []));
  }

  get muted() {
    return this.#muted;
  }

  set muted(muted) {
    this.#muted = Boolean(muted);
    this.#call?.mute(this.#muted);
    if (!this.#call) return;
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
  async call({ microphone = this.getAttribute("mode") !== "chat" } = {}) {
    if (!this.#calm) return;
    const attempt = ++this.#attempt;
    this.#began = performance.now();
    this.#writing = !microphone;
    this.#opened = true;
    this.#failure = this.#end = null;
    this.#lines.clear();
    this.#state = "";
    this.#become("asking");
    this.#live();
    (this.#writing ? this.#parts.input : this.#parts.leave).focus({ preventScroll: true });
    try {
      const token = await this.#token();
      if (attempt !== this.#attempt) return; // given up while the site was asked
      const call = (this.#call = new Call(
        {
          server: this.getAttribute("server") || HOME,
          agent: this.getAttribute("agent") || "default",
          token,
          microphone,
          muted: this.#muted,
          devices: this.#chosen,
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

  /** Answer what the agent proposes, by the `id` of `parley-proposal`. */
  answer(id, yes) {
    return this.#call?.answer(id, yes) || false;
  }

  sendKeys(keys) {
    return this.#call?.press(keys) || false;
  }

  /** Tell the agent what the page knows: a sentence, and variables for its tools. */
  sendContext(text, variables = {}) {
    return this.#call?.inform(text, variables) || false;
  }

  async #token() {
    if (this.#getToken) {
      try {
        return await this.#getToken();
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
      case "proposal":
        this.#propose(detail);
        this.#emit("proposal", detail);
        break;
      case "use":
        this.#use(detail);
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

  /** Do for the agent what the page offers. */
  async #use({ id, name, arguments: given }) {
    const call = this.#call;
    call.used(id, await done(this.#tools, name, given));
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
    this.#muted = false;
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
    sound.muted = this.#writing; // who writes reads
    if (this.#chosen.speaker) sound.setSinkId?.(this.#chosen.speaker).catch(() => {});
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
    return words(this.#lang, own);
  }

  get #lang() {
    return this.getAttribute("lang") || this.closest("[lang]")?.lang || navigator.language;
  }

  /** Show what is to be shown, once its words are there. */
  async #show() {
    if (!ready(this.#lang)) await fetchWords(this.#lang).catch(() => {}); // then in English
    if (this.isConnected && this.#calm) this.#render();
  }

  /** Whether no call is under way. */
  get #calm() {
    return ["idle", "ended", "failed"].includes(this.#phase);
  }

  /** Whether the visitor is to choose, or to agree, before anything begins. */
  get #asked() {
    return this.hasAttribute("consent") || this.getAttribute("mode") === "both";
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
      { class: "launcher", part: "launcher", type: "button", draw: icon("wave", 22), onclick: () => (this.#asked ? this.open() : this.call()) },
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
        make("span", { class: "mark", draw: icon("wave", 22) }),
        make("div", { class: "who" }, make("h2", { text: heading }), bar),
        time,
        !this.#inline &&
          make("button", { class: "icon", type: "button", "aria-label": close, title: close, draw: icon("close"), onclick: () => this.close() }),
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

  #button(kind, text, draw, onclick) {
    return make("button", { class: `wide ${kind}`, type: "button", draw, onclick }, make("span", { text }));
  }

  #intro(entering) {
    const t = this.#words;
    const mode = this.getAttribute("mode");
    const consent = this.getAttribute("consent");
    const chat = mode === "chat";
    const agree = consent !== null ? t.agree : chat ? t.chat : t.call;
    const begin = this.#button("first", agree, icon(chat ? "keyboard" : "phone"), () => this.call());
    const write = mode === "both" && this.#button("plain", t.chat, icon("keyboard"), () => this.call({ microphone: false }));
    this.#card(
      entering ? "enter" : "",
      make(
        "div",
        { class: "pane" },
        make("span", { class: "sign", draw: icon(chat ? "keyboard" : "mic") }),
        make("p", { text: chat ? t.intro_chat : t.intro }),
        consent && make("p", { class: "consent", part: "consent", text: consent }),
      ),
      make("footer", { class: write ? "stack" : "" }, begin, write),
    );
    this.#parts.bar.hidden = true;
  }

  #live() {
    const t = this.#words;
    const canvas = make("canvas", { "aria-hidden": "true" });
    const captions = make("div", {
      class: "captions", part: "captions", role: "log", "aria-live": "off", "aria-label": t.conversation, tabindex: "0",
    });
    const proposal = make("div", { class: "proposal", part: "proposal", role: "group", hidden: true });
    const input = make("input", {
      type: "text", "aria-label": t.placeholder, placeholder: t.placeholder, maxlength: "500", autocomplete: "off",
      enterkeyhint: "send", oninput: () => (send.disabled = !input.value.trim() || this.#phase !== "connected"),
    });
    const send = make("button", { class: "send", "aria-label": t.send, title: t.send, draw: icon("send"), disabled: true });
    const mute = this.#button("plain", "", null, () => (this.muted = !this.#muted));
    const leave = this.#button("leave", t.hang_up, icon("leave"), () => {
      if (performance.now() - this.#began > SETTLED) this.hangUp();
    });
    mute.hidden = this.#writing;
    const sound = make("audio", { autoplay: true, playsinline: true });
    const hear = this.#button("first", t.hear, icon("sound"), () => sound.play().then(() => (hear.hidden = true)));
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
      proposal,
      form,
      make("footer", {}, hear, mute, leave),
      sound,
    );
    if (!this.#writing) this.#parts.time.after(this.#settings(sound));
    captions.hidden = this.getAttribute("captions") === "off" && !this.#writing;
    const meter = new Meter(canvas);
    const begun = { at: 0 };
    Object.assign(this.#parts, { captions, proposal, input, send, mute, leave, sound, hear, meter, begun });
    this.#parts.ticking = setInterval(() => this.#tick(), 500);
    requestAnimationFrame(() => meter.draw());
    this.#showMute();
    this.#showStatus();
  }

  /** A button that lets the visitor choose microphone and loudspeaker. */
  #settings(sound) {
    const t = this.#words;
    const panel = make("div", { class: "devices", hidden: true });
    const choice = (kind, found, choose) => {
      const select = make("select", { "aria-label": t[kind], onchange: () => choose((this.#chosen[kind] = select.value)) });
      for (const one of found) {
        select.append(make("option", { value: one.deviceId, selected: one.deviceId === this.#chosen[kind], text: one.label || t[kind] }));
      }
      return make("label", {}, make("span", { text: t[kind] }), select);
    };
    const button = make("button", {
      class: "icon", type: "button", "aria-label": t.devices, title: t.devices, "aria-expanded": "false", draw: icon("devices"),
      onclick: async () => {
        panel.hidden = !panel.hidden;
        button.setAttribute("aria-expanded", String(!panel.hidden));
        if (panel.hidden) return;
        const { microphones, speakers } = await devices();
        panel.replaceChildren(
          choice("microphone", microphones, (id) => this.#call?.use({ microphone: id })),
          ...(sound.setSinkId && speakers.length ? [choice("speaker", speakers, (id) => sound.setSinkId(id).catch(() => {}))] : []),
        );
      },
    });
    this.#parts.card.querySelector("header").after(panel);
    return button;
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
    const again = this.#button("first", t.retry, icon("phone"), () => this.call());
    const typed = RETYPED.includes(kind) && this.#button("plain", t.type_only, icon("keyboard"), () => this.call({ microphone: false }));
    const text = t[kind] || t.broken;
    const soon = RETRIED.includes(kind);
    this.#card(
      soon ? "soon" : "failed",
      make(
        "div",
        { class: "pane", role: "alert" },
        make("span", { class: "sign", draw: soon ? icon("clock", 26) : icon("alert", 26) }),
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
    const { captions } = this.#parts;
    const said = captions && !captions.hidden && this.transcript.length > 0;
    this.#card(
      said ? "ended said" : "ended",
      make(
        "div",
        { class: "pane" },
        make("span", { class: "sign", draw: icon("done", 26) }),
        make("strong", { text: `${t.ended} · ${clock(this.#end.seconds)}` }),
        make("p", { text: told }),
      ),
      said && captions,
      make("footer", {}, said && this.#copy(), this.#button("first", t.again, icon("phone"), () => this.call())),
    );
    if (said) this.#parts.captions = captions;
    this.#parts.bar.hidden = true;
    this.#say(`${t.ended}. ${told}`);
  }

  #copy() {
    const t = this.#words;
    const button = this.#button("plain", t.copy, icon("copy"), async () => {
      const text = this.transcript.map((one) => `${one.who === "agent" ? t.agent : t.you}: ${one.text}`).join("\n");
      try {
        await navigator.clipboard.writeText(text);
      } catch {
        return; // the page may not; the words can still be marked
      }
      button.querySelector("span").textContent = t.copied;
      this.#say(t.copied);
    });
    return button;
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
    mute.classList.toggle("off", this.#muted);
    mute.replaceChildren(icon(this.#muted ? "mic_off" : "mic"), make("span", { text: this.#words[this.#muted ? "unmute" : "mute"] }));
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
    line.said = { who, text, interrupted: Boolean(interrupted) };
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

  /** Show the question that a yes is wanted for, with buttons; it is spoken too. */
  #propose({ id, text, state }) {
    const { proposal } = this.#parts;
    if (!proposal) return;
    const t = this.#words;
    proposal.hidden = state !== "asked";
    if (proposal.hidden) return;
    const answer = (yes) => {
      this.answer(id, yes);
      proposal.hidden = true;
    };
    proposal.setAttribute("aria-label", text);
    proposal.replaceChildren(
      make("p", { text }),
      this.#button("first", t.yes, icon("done"), () => answer(true)),
      this.#button("plain", t.no, icon("close"), () => answer(false)),
    );
  }

  #note(text) {
    this.#line(`note ${performance.now()}`, () => make("div", { class: "note", text }));
  }
}

if (globalThis.customElements && !customElements.get("parley-widget")) customElements.define("parley-widget", ParleyWidget);
