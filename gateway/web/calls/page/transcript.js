/** What was said in a call, and what went on beside it, in its order. */

import { STAGES, clock, make, plural, seconds } from "/console/dom.js";

const USUAL = 2; // seconds that a whole bar stands for at least
const NOTES = { backchannel: "listened", resumed: "went on over", key: "key", draft: "draft", fault: "fault", idle: "silence" };
const QUIET = new Set(["draft"]); // of little interest to most: shown when asked for

const moment = (at) => make("a", { class: "at", href: `#t=${at.toFixed(2)}`, text: clock(at) });

/** Give the text of an utterance, struck through where nobody heard it. */
export function heard(said) {
  if (said.heard_text === null) return [said.text];
  const rest = said.text.startsWith(said.heard_text) ? said.text.slice(said.heard_text.length) : said.text;
  if (!rest.trim()) return [said.heard_text || said.text];
  return [said.heard_text, said.heard_text && !/^\s/.test(rest) ? " " : "", make("del", {}, make("span", { class: "hidden", text: "not heard: " }), rest)];
}

/** Give what a turn's caller waited for, as a bar of its stages. */
export function waterfall(turn, longest) {
  const track = make("span", { class: "track", "aria-hidden": "true" });
  const whole = Math.max(USUAL, longest);
  for (const name of Object.keys(STAGES)) {
    const share = (100 * Math.max(0, turn.stages[name] || 0)) / whole;
    if (share < 0.2) continue;
    const part = make("i", { class: name, title: `${STAGES[name]} ${seconds(turn.stages[name])}` });
    part.style.width = `${share}%`;
    track.append(part);
  }
  return make("div", { class: "bar" }, track, make("b", { text: seconds(turn.response) }));
}

export function stagesOf(turn) {
  return Object.keys(STAGES)
    .filter((name) => (turn.stages[name] || 0) >= 0.005)
    .map((name) => `${STAGES[name]} ${Math.round(1000 * turn.stages[name])} ms`);
}

function turnRow(turn, longest) {
  const facts = [];
  if (turn.stages) facts.push(...stagesOf(turn));
  if (turn.drafted) facts.push(turn.draft_saved ? `a draft saved ${seconds(turn.draft_saved)}` : "answered from a draft");
  if (turn.acknowledged !== null) facts.push(`filler after ${seconds(turn.acknowledged)}`);
  if (turn.held !== null) facts.push(`away ${seconds(turn.held)}`);
  if (turn.rejoined) facts.push("went on in the next turn");
  if (turn.why) facts.push(`ended by ${turn.why}${turn.probability === null ? "" : `, ${Math.round(100 * turn.probability)} % sure`}`);
  return make(
    "li",
    { class: "turn", "data-start": turn.start, "data-end": turn.end },
    moment(turn.start),
    make("div", {},
      make("p", { class: "speaker", text: "Caller" }),
      make("p", { class: "words", text: turn.text || (turn.wordless ? "(a sound without words)" : "…") }),
      turn.response !== null && waterfall(turn, longest),
      facts.length > 0 && make("p", { class: "facts", text: facts.join(" · ") })),
  );
}

function agentRow(said, overlaps) {
  const facts = [];
  if (said.heard !== null) facts.push(`heard ${seconds(said.heard)} of ${seconds(said.queued || 0)}, ±${Math.round(1000 * (said.error || 0))} ms (${said.basis})`);
  if (said.stop_delay !== null) facts.push(`stopped after ${Math.round(1000 * said.stop_delay)} ms`, `by ${said.evidence}`);
  const cut = said.stop_delay !== null;
  return make(
    "li",
    { class: `agent${cut ? " cut" : ""}`, "data-start": said.start, "data-end": said.end, id: cut ? `cut-${said.utterance}` : undefined },
    moment(said.start),
    make("div", {},
      make("p", { class: "speaker" }, "Agent", said.kind !== "reply" && make("span", { class: "badge", text: said.kind }),
        cut && make("span", { class: "badge bad", text: "cut in" }), overlaps && !cut && make("span", { class: "badge", text: "over each other" })),
      make("p", { class: "words" }, heard(said)),
      facts.length > 0 && make("p", { class: "facts", text: facts.join(" · ") })),
  );
}

function toolRow(tool) {
  const bad = ["failed", "timeout", "refused", "uncertain"].includes(tool.outcome);
  const given = tool.arguments && Object.keys(tool.arguments).length ? JSON.stringify(tool.arguments, null, 1).replace(/\n\s*/g, " ") : "";
  const facts = [tool.effect, tool.seconds !== null && `took ${seconds(tool.seconds)}`, tool.drafted && "within a draft",
    tool.code && `said ${tool.code}`, tool.steps.length > 2 && tool.steps.join(" → "), tool.question && `asked: “${tool.question}”`].filter(Boolean);
  return make(
    "li",
    { class: "tool", "data-start": tool.start, "data-end": tool.end ?? tool.start },
    moment(tool.start),
    make("div", {},
      make("p", { class: "what" }, make("code", { text: tool.name }), make("span", { class: bad ? "badge bad" : "badge", text: tool.outcome })),
      given && make("pre", { text: given, tabindex: "0", "aria-label": `Arguments of ${tool.name}` }),
      facts.length > 0 && make("p", { class: "facts", text: facts.join(" · ") })),
  );
}

const aside = (at, end, kind, text, bad = false) =>
  make("li", { class: `note${bad ? " bad" : ""}${QUIET.has(kind) ? " quiet" : ""}`, "data-start": at, "data-end": end }, moment(at),
    make("p", {}, make("b", { text: NOTES[kind] || kind }), ` ${text}`));

/** Give the rows of a call. */
export function transcript(story) {
  const longest = Math.max(0, ...story.turns.map((turn) => turn.response || 0));
  const over = (said) => story.turns.some((turn) => turn.start < said.end - 0.1 && said.start + 0.1 < turn.end);
  const rows = [
    ...story.turns.map((turn) => [turn.start, turnRow(turn, longest)]),
    ...story.utterances.map((said) => [said.start, agentRow(said, over(said))]),
    ...story.tools.map((tool) => [tool.start, toolRow(tool)]),
    ...story.notes.map((note) => [note.at, aside(note.at, note.at, note.kind, note.text, note.bad)]),
    ...story.holds.map((hold) => [hold.start, aside(hold.start, hold.end ?? story.seconds, hold.why, hold.end === null ? "until now" : `for ${seconds(hold.end - hold.start)}`)]),
  ];
  rows.sort((a, b) => a[0] - b[0]);
  return rows.map(([, row]) => row);
}

/** Give a call's figures as a person would ask for them. */
export function figures(story) {
  const waits = story.turns.map((turn) => turn.response).filter((wait) => wait !== null).sort((a, b) => a - b);
  const middle = waits.length ? waits[Math.floor((waits.length - 1) / 2)] : null;
  const cuts = story.utterances.filter((said) => said.stop_delay !== null);
  const bad = story.notes.filter((note) => note.kind === "fault");
  return {
    Length: clock(story.seconds),
    Turns: String(story.turns.length),
    "Median response": middle === null ? "–" : seconds(middle),
    "Longest response": waits.length ? seconds(waits.at(-1)) : "–",
    "Cut-ins": String(cuts.length),
    Tools: String(story.tools.length),
    Faults: String(bad.length),
  };
}

export const summary = (story) => `${plural(story.turns.length, "turn")}, ${clock(story.seconds)}`;
