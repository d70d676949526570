/** What all views share: elements, figures as people read them, and asking the gateway. */

export function make(name, { text, on, ...attributes } = {}, ...children) {
  const element = document.createElement(name);
  for (const [key, value] of Object.entries(attributes)) {
    if (value === true) element.setAttribute(key, "");
    else if (value !== false && value !== undefined && value !== null) element.setAttribute(key, value);
  }
  for (const [event, listener] of Object.entries(on || {})) element.addEventListener(event, listener);
  if (text !== undefined && text !== null) element.append(String(text));
  element.append(...children.flat(Infinity).filter((child) => child || child === 0));
  return element;
}

export const LINES = { webrtc: "Web", twilio: "Twilio", sip: "SIP" };

export const STAGES = {
  end_of_turn: "end of turn",
  transcript: "words",
  first_token: "model",
  first_audio: "voice",
  line: "line",
};

export const seconds = (value) => `${value.toFixed(2)} s`;
export const clock = (value) => {
  const whole = Math.max(0, Math.floor(value));
  const minutes = Math.floor(whole / 60);
  const rest = String(whole % 60).padStart(2, "0");
  if (minutes < 60) return `${minutes}:${rest}`;
  return `${Math.floor(minutes / 60)}:${String(minutes % 60).padStart(2, "0")}:${rest}`;
};
export const plural = (count, word) => `${count.toLocaleString()} ${word}${count === 1 ? "" : "s"}`;
export const share = (value) => (value === null ? "–" : `${Math.round(100 * value)} %`);
export const time = (text) => new Date(text).toLocaleTimeString([], { hour: "2-digit", minute: "2-digit", hourCycle: "h23" });
export const date = (text) =>
  new Date(text).toLocaleDateString([], { weekday: "long", day: "numeric", month: "long", year: "numeric" });

export const who = (number, line) => number || (line === "webrtc" ? "Web visitor" : "Unknown caller");

export class Refused extends Error {
  constructor(status, title) {
    super(title);
    this.status = status;
  }
}

/** Ask the gateway; the answer is JSON. */
export async function ask(path, given = {}, options = {}) {
  const query = new URLSearchParams(Object.entries(given).filter(([, value]) => value !== "" && value !== false));
  const response = await fetch(`${path}?${query}`, { cache: "no-store", ...options });
  const body = await response.json().catch(() => ({}));
  if (!response.ok) throw new Refused(response.status, body.title || response.statusText);
  return body;
}

export const post = (path, document, headers = {}) =>
  ask(path, {}, { method: "POST", body: JSON.stringify(document), headers: { "Content-Type": "application/json", ...headers } });

export function say(text) {
  document.getElementById("aloud").textContent = text;
}

/** Do something again and again while the view is shown. */
export function every(milliseconds, leaving, work) {
  let timer = 0;
  const again = async () => {
    if (document.visibilityState === "visible") await work().catch(() => {});
    if (!leaving.aborted) timer = setTimeout(again, milliseconds);
  };
  timer = setTimeout(again, milliseconds);
  leaving.addEventListener("abort", () => clearTimeout(timer));
}

export function badge(call) {
  if (!call.over) return make("span", { class: "badge live", text: "in progress" });
  if (call.ended_by === "failure") return make("span", { class: "badge bad", text: "failed" });
  return make("span", { class: "badge", text: `ended by ${call.ended_by || "nobody"}` });
}
