/** What may be done to a call in progress: listen, put through, hang up. */

import { make, post, say } from "/console/dom.js";

const HEADER = 44; // bytes before the sound of a WAV file
const FRAME = 4; // bytes of both sides' samples
const LOOK = 700; // ms between two looks for more sound
const AHEAD = 0.3; // seconds of sound that wait, so that none is missing

/** Play the recording as it is written. */
class Ear {
  constructor(call) {
    this.url = `/calls/sound?call=${encodeURIComponent(call)}`;
    this.sound = new AudioContext();
    this.next = 0;
    this.place = 0;
    this.open = true;
  }

  async listen() {
    const head = new DataView(await (await this.#bytes(0, HEADER - 1)).arrayBuffer());
    this.rate = head.getUint32(24, true);
    const all = Number((await this.#bytes(0, 0)).headers.get("Content-Range").split("/")[1]);
    this.place = HEADER + Math.floor(Math.max(0, all - HEADER - this.rate * FRAME) / FRAME) * FRAME; // the last second
    while (this.open) {
      const answer = await this.#bytes(this.place).catch(() => null);
      if (answer?.status === 206) this.#play(await answer.arrayBuffer());
      await new Promise((done) => setTimeout(done, LOOK));
    }
  }

  close() {
    this.open = false;
    this.sound.close();
  }

  #bytes(from, to = "") {
    return fetch(this.url, { headers: { Range: `bytes=${from}-${to}` }, cache: "no-store" });
  }

  #play(bytes) {
    const frames = Math.floor(bytes.byteLength / FRAME);
    if (!frames || !this.open) return;
    this.place += frames * FRAME;
    const samples = new Int16Array(bytes, 0, frames * 2);
    const buffer = this.sound.createBuffer(2, frames, this.rate);
    for (const side of [0, 1]) {
      const lane = buffer.getChannelData(side);
      for (let at = 0; at < frames; at += 1) lane[at] = samples[2 * at + side] / 32768;
    }
    const source = new AudioBufferSourceNode(this.sound, { buffer });
    source.connect(this.sound.destination);
    this.next = Math.max(this.next, this.sound.currentTime + AHEAD);
    source.start(this.next);
    this.next += buffer.duration;
  }
}

function sure(question, button, field, done) {
  const input = field && make("input", { "aria-label": field, placeholder: field, required: true });
  const wrong = make("p", { class: "wrong", role: "alert" });
  const send = async (event) => {
    event.preventDefault();
    try {
      await done(input ? input.value.trim() : "");
      dialog.close();
    } catch (error) {
      wrong.textContent = error.message;
    }
  };
  const dialog = make("dialog", { "aria-label": question },
    make("form", { on: { submit: send } }, make("p", { text: question }), input, wrong,
      make("div", { class: "buttons" }, make("button", { type: "button", text: "Cancel", on: { click: () => dialog.close() } }), make("button", { class: "primary", text: button }))));
  dialog.addEventListener("close", () => dialog.remove());
  document.body.append(dialog);
  dialog.showModal();
}

/** Give the buttons of a call in progress, for who may press them. */
export function actions(call, session, sound, leaving) {
  const buttons = [];
  if (sound) {
    let ear = null;
    const listen = make("button", { type: "button", text: "Listen", "aria-pressed": "false" });
    const stop = () => {
      ear?.close();
      ear = null;
      listen.setAttribute("aria-pressed", "false");
      listen.textContent = "Listen";
    };
    listen.addEventListener("click", () => {
      if (ear) return stop();
      ear = new Ear(call);
      listen.setAttribute("aria-pressed", "true");
      listen.textContent = "Stop listening";
      ear.listen().catch(stop);
    });
    leaving.addEventListener("abort", stop);
    buttons.push(listen);
  }
  if (!session.acts) return buttons;
  const act = async (act, to = "") => {
    await post("/calls/act", { call, act, to });
    say(act === "hang_up" ? "The call is hung up." : "The caller is put through.");
  };
  buttons.push(
    make("button", { type: "button", text: "Put through", on: { click: () => sure("Put the caller through, to whom the agent may:", "Put through", "Name or number", (to) => act("transfer", to)) } }),
    make("button", { type: "button", class: "danger", text: "Hang up", on: { click: () => sure("Hang this call up now?", "Hang up", "", () => act("hang_up")) } }),
  );
  return buttons;
}
