/** A call to a Parley agent without anything to see: `new ParleyCall({ server, agent, token })`. */

import { Call, Failure, devices } from "./widget/call.js";
import { done } from "./widget/done.js";

export { Failure, devices };

export class ParleyCall extends EventTarget {
  #call = null;
  #phase = "idle";
  #options;

  /** What the page does for the agent: functions by the names that the agent's file has. */
  tools;

  constructor({ tools = {}, ...options }) {
    super();
    this.tools = tools;
    this.#options = { agent: "default", ...options };
  }

  /** `idle`, `asking`, `connecting`, `connected`, `reconnecting` or `ended`. */
  get phase() {
    return this.#phase;
  }

  /** The agent's sound, to be played; null before the call is up. */
  get sound() {
    return this.#call?.remote || null;
  }

  get muted() {
    return this.#call ? this.#call.muted : Boolean(this.#options.muted);
  }

  set muted(muted) {
    this.#options.muted = Boolean(muted);
    this.#call?.mute(Boolean(muted));
  }

  /** Place the call, in the visitor's gesture; rejects with a Failure. */
  async start() {
    if (this.#call) throw new Error("a ParleyCall is one call");
    this.#call = new Call(this.#options, (type, detail) => this.#happened(type, detail));
    await this.#call.start();
  }

  hangUp() {
    this.#call?.hangUp();
  }

  sendText(text) {
    return this.#call?.write(text) || false;
  }

  sendKeys(keys) {
    return this.#call?.press(keys) || false;
  }

  sendContext(text, variables = {}) {
    return this.#call?.inform(text, variables) || false;
  }

  answer(proposal, yes) {
    return this.#call?.answer(proposal, yes) || false;
  }

  /** Change to another microphone; `devices()` lists them. */
  async useMicrophone(id) {
    await this.#call?.use({ microphone: id });
  }

  async #happened(type, detail) {
    if (type === "use") return this.#use(detail);
    if (type === "phase") this.#phase = detail;
    if (type === "over") this.#phase = "ended";
    this.dispatchEvent(new CustomEvent(type === "over" ? "end" : type, { detail }));
  }

  async #use({ id, name, arguments: given }) {
    this.#call.used(id, await done(this.tools, name, given));
  }
}
