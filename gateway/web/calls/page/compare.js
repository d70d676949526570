/** Two calls beside each other: their figures, their sound, and each turn. */

import { LINES, ask, badge, date, make, time } from "/console/dom.js";
import { listed, title } from "/console/call.js";
import { Lanes } from "/console/lanes.js";
import { figures, heard, stagesOf, waterfall } from "/console/transcript.js";

const answers = (story, turn) => story.utterances.filter((said) => (said.turn ?? 0) === turn);

function side(story, turn, longest) {
  const asked = story.turns.filter((each) => each.turn === turn);
  const timed = asked.find((each) => each.response !== null);
  return make("div", { class: "side" },
    asked.map((each) => make("p", { class: "caller", text: each.text || "…" })),
    timed && waterfall(timed, longest),
    timed && make("p", { class: "facts", text: stagesOf(timed).join(" · ") }),
    story.tools.filter((tool) => tool.turn === turn).map((tool) => make("p", { class: "facts", text: `${tool.name}: ${tool.outcome}` })),
    answers(story, turn).map((said) => make("p", { class: "words" }, heard(said))));
}

/** Show a comparison. */
export async function showComparison({ root, asked, leaving }) {
  const names = [asked.get("call"), asked.get("with")];
  const pages = await Promise.all(names.map((call) => ask("/calls/call", { call })));
  const stories = pages.map((page) => page.story);
  const longest = Math.max(0, ...stories.flatMap((story) => story.turns.map((turn) => turn.response || 0)));
  const turns = [...new Set(stories.flatMap((story) => [...story.turns.map((turn) => turn.turn), ...story.utterances.map((said) => said.turn ?? 0)]))].sort((a, b) => a - b);
  const both = stories.map(figures);
  const heads = stories.map((story, at) => make("div", { class: "one" },
    make("h2", {}, make("a", { href: `/calls?call=${encodeURIComponent(names[at])}`, text: title(story) })),
    make("p", { class: "small" }, badge(listed(story)), ` ${LINES[story.started?.line] || ""} · ${story.started?.agent || ""} · ${date(story.began)}, ${time(story.began)}`)));
  const lanes = stories.map((story, at) => {
    const one = new Lanes(`Place in the ${at ? "second" : "first"} call`, (to) => one.moveTo(to), leaving);
    return one;
  });
  root.replaceChildren(
    make("div", { class: "head" }, make("h1", { text: "Two calls" }), make("a", { class: "button", href: `/calls?beside=${encodeURIComponent(names[0])}`, text: "Another" })),
    make("div", { class: "pair" }, heads.map((head, at) => make("div", { class: "card" }, head, lanes[at].element))),
    make("table", { class: "figures" },
      make("thead", {}, make("tr", {}, make("th", { scope: "col", text: "Figure" }), ...stories.map((story, at) => make("th", { scope: "col", text: at ? "Second" : "First" })))),
      make("tbody", {}, Object.keys(both[0]).map((name) => make("tr", { class: both[0][name] === both[1][name] ? "" : "differs" }, make("th", { scope: "row", text: name }), both.map((each) => make("td", { text: each[name] })))))),
    make("ol", { class: "turns" }, turns.map((turn) => make("li", {},
      make("h3", { text: turn ? `Turn ${turn}` : "Before the first turn" }),
      make("div", { class: "pair" }, stories.map((story) => side(story, turn, longest)))))),
  );
  document.title = "Two calls · Parley";
  lanes.forEach(async (lane, at) => {
    lane.show(stories[at], null);
    if (pages[at].sound) lane.show(stories[at], await ask("/calls/peaks", { call: names[at] }).catch(() => null));
  });
}
