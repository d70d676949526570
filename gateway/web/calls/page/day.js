/** The day: what callers waited for over time, by agent and line, and what is new since last week. */

import { LINES, STAGES, ask, every, make, seconds, share } from "/console/dom.js";
import { chart } from "/console/charts.js";

const HOUR = 36e5;
const SPANS = { 24: "24 hours", 168: "7 days" };
const LOOK = 30000; // ms

const hourName = (at) => new Date(at).toISOString().slice(0, 13);
const whole = (value) => Math.round(value).toLocaleString();
const short = (value) => (value >= 1e6 ? `${(value / 1e6).toFixed(1)} M` : value >= 1e4 ? `${Math.round(value / 1e3)} k` : whole(value));

/** Say by how much a figure is another than a week before; `good` is whether more is better. */
function change(now, before, good) {
  if (before === null || now === null || !before) return make("span", { class: "change", text: before === 0 && now ? "none before" : "–" });
  const part = now / before - 1;
  if (Math.abs(part) < 0.02) return make("span", { class: "change", text: "the same" });
  const kind = good === undefined ? "" : part > 0 === good ? " better" : " worse";
  return make("span", { class: `change${kind}`, text: `${part > 0 ? "▲" : "▼"} ${Math.abs(Math.round(100 * part))} %` });
}

const tile = (name, text, now, before, good) =>
  make("div", { class: "tile" }, make("dt", { text: name }), make("dd", {}, make("b", { text }), change(now, before, good)));

function tiles({ now, before }) {
  const wait = (value) => (value === null ? "–" : seconds(value));
  const tokens = (figures) => figures.tokens.tokens_in + figures.tokens.tokens_out;
  return make("dl", { class: "tiles" },
    tile("Calls", whole(now.calls), now.calls, before.calls),
    tile("Response, median", wait(now.response.p50), now.response.p50, before.response.p50, false),
    tile("Response, 95th", wait(now.response.p95), now.response.p95, before.response.p95, false),
    tile("Answered within 1 s", share(now.good), now.good, before.good, true),
    tile("Cut-ins", whole(now.cut_ins), now.cut_ins, before.cut_ins),
    tile("Stopped after", wait(now.stop_delay), now.stop_delay, before.stop_delay, false),
    tile("Refused", whole(now.refused), now.refused, before.refused, false),
    tile("Faults", whole(now.faults), now.faults, before.faults, false),
    tile("Tokens", short(tokens(now)), tokens(now), tokens(before)));
}

function table(title, groups, names = {}) {
  const cell = (now, before, text, good) => make("td", {}, make("span", { text }), change(now, before, good));
  return make("section", { class: "card wide" }, make("h2", { text: title }),
    make("div", { class: "scroll", tabindex: "0", role: "region", "aria-label": title },
      make("table", { class: "figures" },
        make("thead", {}, make("tr", {}, ["Name", "Calls", "Median", "95th", "Within 1 s", "Cut-ins", "Faults"].map((text) => make("th", { scope: "col", text })))),
        make("tbody", {}, groups.map(({ name, now, before }) => make("tr", {}, make("th", { scope: "row", text: names[name] || name }),
          cell(now.calls, before.calls, whole(now.calls)),
          cell(now.response.p50, before.response.p50, now.response.p50 === null ? "–" : seconds(now.response.p50), false),
          cell(now.response.p95, before.response.p95, now.response.p95 === null ? "–" : seconds(now.response.p95), false),
          cell(now.good, before.good, share(now.good), true),
          cell(now.cut_ins, before.cut_ins, whole(now.cut_ins)),
          cell(now.faults, before.faults, whole(now.faults), false)))))));
}

function causes(title, counts, none) {
  const entries = Object.entries(counts);
  const most = Math.max(1, ...entries.map(([, count]) => count));
  const rows = entries.map(([name, count]) => {
    const bar = make("i", { "aria-hidden": "true" });
    bar.style.width = `${(100 * count) / most}%`;
    return make("li", {}, make("span", { text: name.replaceAll("_", " ") }), bar, make("b", { text: whole(count) }));
  });
  return make("section", { class: "card" }, make("h2", { text: title }), rows.length ? make("ul", { class: "causes" }, rows) : make("p", { class: "small", text: none }));
}

/** Show the day. */
export async function showDay({ root, asked, leaving }) {
  const body = make("div", { class: "day" });
  const choose = (name, label, options, value) => {
    const field = make("select", { "aria-label": label, on: { change: () => {
      asked.set(name, field.value);
      if (!field.value) asked.delete(name);
      history.replaceState(null, "", `/calls?${asked.toString().replace("day=", "day")}`);
      look();
    } } }, Object.entries(options).map(([key, text]) => make("option", { value: key, text })));
    field.value = value;
    return field;
  };
  const back = () => Number(asked.get("back") || 0);
  const move = (step) => () => {
    asked.set("back", Math.max(0, back() + step));
    if (!back()) asked.delete("back");
    history.replaceState(null, "", `/calls?${asked.toString().replace("day=", "day")}`);
    look();
  };
  const names = await ask("/calls/list", { most: 1 });
  const later = make("button", { type: "button", "aria-label": "Later", text: "›", on: { click: move(-1) } });
  const when = make("p", { class: "small", role: "status" });
  const look = async () => {
    const hours = Number(asked.get("hours") || 24);
    const until = (Math.floor(Date.now() / HOUR) + 1) * HOUR - back() * hours * HOUR;
    later.disabled = !back();
    const found = await ask("/calls/day", { since: hourName(until - hours * HOUR), until: hourName(until), line: asked.get("line") || "", agent: asked.get("agent") || "" });
    if (leaving.aborted) return;
    const format = { weekday: "short", day: "numeric", month: "short", hour: "2-digit", minute: "2-digit", hourCycle: "h23" };
    when.textContent = `${new Date(until - hours * HOUR).toLocaleString([], format)} to ${new Date(until).toLocaleString([], format)}`;
    const of = (read) => found.by_hour.map(read);
    body.replaceChildren(
      tiles(found),
      make("p", { class: "small", text: "Arrows compare with the same hours a week before." }),
      make("div", { class: "charts" },
        chart({ title: "Response", hours: found.hours, text: (value) => `${value.toFixed(1)} s`, series: [
          { name: "median", colour: "c-good", values: of((each) => each.response.p50) },
          { name: "90th percentile", colour: "c-mid", values: of((each) => each.response.p90) },
          { name: "95th percentile", colour: "c-bad", values: of((each) => each.response.p95) }] }),
        chart({ title: "What a caller waits for", bars: true, hours: found.hours, text: (value) => `${value.toFixed(1)} s`,
          series: Object.entries(STAGES).map(([name, text]) => ({ name: text, colour: name, values: of((each) => each.stages[name]) })) }),
        chart({ title: "Calls", bars: true, hours: found.hours, text: whole, series: [
          { name: "went well", colour: "c-good", values: of((each) => each.calls - each.failed) },
          { name: "failed", colour: "c-bad", values: of((each) => each.failed) },
          { name: "refused", colour: "c-mid", values: of((each) => each.refused) }] }),
        chart({ title: "Cut-ins and faults", hours: found.hours, text: whole, series: [
          { name: "cut-ins", colour: "c-mid", values: of((each) => each.cut_ins) },
          { name: "faults", colour: "c-bad", values: of((each) => each.faults) }] }),
        table("By agent", found.agents), table("By line", found.lines, LINES),
        causes("Refused", found.refused, "No call was refused."), causes("Faults", found.faults, "Nothing failed.")),
    );
  };
  const any = (list, label, said = {}) => ({ "": label, ...Object.fromEntries(list.map((name) => [name, said[name] || name])) });
  root.replaceChildren(
    make("div", { class: "head" }, make("h1", { text: "The day" }), when),
    make("div", { class: "filters row", role: "group", "aria-label": "What is summed up" },
      choose("hours", "Stretch", SPANS, asked.get("hours") || "24"),
      choose("agent", "Agent", any(names.agents, "Any agent"), asked.get("agent") || ""),
      choose("line", "Line", any(names.lines, "Any line", LINES), asked.get("line") || ""),
      make("span", { class: "zoom" }, make("button", { type: "button", "aria-label": "Earlier", text: "‹", on: { click: move(1) } }), later)),
    body,
  );
  document.title = "The day · Parley";
  every(LOOK, leaving, look);
  await look();
}
