/** The list of calls: searched, filtered, and growing while one looks. */

import { LINES, ask, badge, clock, date, every, make, plural, say, seconds, time, who } from "/console/dom.js";

const LOOK = 1500; // ms between two looks for what is new
const TYPED = 250; // ms after the last key before a search begins

const TEXTS = ["words", "number", "line", "agent", "ended_by", "since", "until"];
const FLAGS = { slow: "Slow", cut_in: "Cut in", faulty: "Faults" };
const ENDS = { "": "Ended by anyone", caller: "Ended by caller", agent: "Ended by agent", failure: "Failed", nobody: "In progress" };

function given(asked) {
  const found = {};
  for (const name of TEXTS) if (asked.get(name)) found[name] = asked.get(name);
  for (const name of Object.keys(FLAGS)) if (asked.has(name)) found[name] = "true";
  // A day as one chooses it here is a stretch of the gateway's time.
  if (found.since) found.since = new Date(`${found.since}T00:00`).toISOString();
  if (found.until) found.until = new Date(new Date(`${found.until}T00:00`).getTime() + 864e5).toISOString();
  return found;
}

function said(text) {
  const parts = text.replace(/\s+/g, " ").split(/[\u0002\u0003]/);
  return make("span", { class: "said" }, parts.map((part, at) => (at % 2 ? make("mark", { text: part }) : part)));
}

function row(call, beside) {
  const query = beside ? `call=${encodeURIComponent(beside)}&with=${encodeURIComponent(call.call)}` : `call=${encodeURIComponent(call.call)}`;
  const wait = call.response_median;
  const slow = (call.response_max || 0) > 1.5;
  return make(
    "li",
    {},
    make(
      "a",
      { href: `/calls?${query}`, class: call.over ? "" : "running" },
      make("time", { datetime: call.began, text: time(call.began) }),
      make("span", { class: "who" }, make("b", { text: call.direction === "outbound" ? who(call.callee, call.line) : who(call.caller, call.line) }),
        make("span", { class: "small", text: `${LINES[call.line] || call.line}${call.direction === "outbound" ? ", placed" : ""} · ${call.agent}` })),
      make("span", { class: "marks" }, badge(call),
        call.cut_ins > 0 && make("span", { class: "badge", text: plural(call.cut_ins, "cut-in") }),
        slow && make("span", { class: "badge warn", text: "slow" }),
        call.faults > 0 && make("span", { class: "badge bad", text: plural(call.faults, "fault") })),
      make("span", { class: "length", text: clock(call.seconds) }),
      make("span", { class: "wait", title: "median response" }, wait === null ? "–" : seconds(wait)),
      call.said && said(call.said),
    ),
  );
}

/** Show the list; the filters stand in the address. */
export async function showList({ root, asked, leaving }) {
  const beside = asked.get("beside") || "";
  const list = make("div", { class: "days" });
  const count = make("p", { class: "small count", role: "status" });
  const more = make("button", { type: "button", text: "Older calls", class: "more", hidden: true });
  let calls = [];
  let version = -1;

  const change = () => {
    const next = new URLSearchParams(beside ? { beside } : {});
    for (const field of form.querySelectorAll("input, select")) {
      if (field.type === "checkbox" ? field.checked : field.value.trim()) next.set(field.name, field.type === "checkbox" ? "1" : field.value.trim());
    }
    asked = next;
    history.replaceState(null, "", `/calls${next.size ? `?${next}` : ""}`);
    version = -1;
    look();
  };
  let typing = 0;
  const typed = () => {
    clearTimeout(typing);
    typing = setTimeout(change, TYPED);
  };
  const field = (name, label, attributes = {}) =>
    make("input", { name, "aria-label": label, placeholder: label, value: asked.get(name) || "", autocomplete: "off", on: { input: typed }, ...attributes });
  const select = (name, label, options) => {
    const chosen = make("select", { name, "aria-label": label, on: { change } });
    chosen.append(...Object.entries(options).map(([value, text]) => make("option", { value, text })));
    chosen.value = asked.get(name) || "";
    return chosen;
  };
  const lines = select("line", "Line", { "": "Any line" });
  const agents = select("agent", "Agent", { "": "Any agent" });
  const flag = ([name, text]) =>
    make("label", { class: "flag" }, make("input", { type: "checkbox", name, checked: asked.has(name), on: { change } }), make("span", { text }));
  const form = make(
    "form",
    { class: "filters", role: "search", on: { submit: (event) => event.preventDefault() } },
    field("words", "Words that were said", { type: "search", id: "search", class: "words" }),
    make("details", { class: "finer", open: matchMedia("(min-width: 861px)").matches },
      make("summary", { text: "Filters" }),
      make("div", { class: "fields" },
        field("number", "Number or id", { type: "search" }), lines, agents,
        select("ended_by", "Ended by", ENDS),
        make("label", { class: "day" }, make("span", { text: "from" }), field("since", "From day", { type: "date", on: { change } })),
        make("label", { class: "day" }, make("span", { text: "to" }), field("until", "To day", { type: "date", on: { change } })),
        make("div", { class: "flags", role: "group", "aria-label": "Only calls with" }, Object.entries(FLAGS).map(flag)))),
  );

  const fill = (chosen, names, label) => {
    const wanted = chosen.value || asked.get(chosen.name) || "";
    if (chosen.options.length === names.length + 1) return;
    chosen.replaceChildren(make("option", { value: "", text: label }), ...names.map((name) => make("option", { value: name, text: LINES[name] && chosen === lines ? LINES[name] : name })));
    chosen.value = wanted;
  };

  const draw = () => {
    const days = new Map();
    for (const call of calls) {
      const day = date(call.began);
      if (!days.has(day)) days.set(day, []);
      days.get(day).push(row(call, beside));
    }
    const focused = list.contains(document.activeElement) ? document.activeElement.getAttribute("href") : "";
    list.replaceChildren(...[...days].map(([day, rows]) => make("section", {}, make("h2", { text: day }), make("ul", { class: "rows" }, rows))));
    if (!calls.length) list.replaceChildren(make("p", { class: "none", text: "No call is like that." }));
    if (focused) list.querySelector(`a[href="${CSS.escape(focused)}"]`)?.focus({ preventScroll: true });
  };

  const look = async () => {
    const mine = asked;
    const found = await ask("/calls/list", given(mine));
    if (mine !== asked || leaving.aborted || found.version === version) return;
    version = found.version;
    const known = new Set(found.calls.map((call) => call.call));
    const older = calls.filter((call) => !known.has(call.call) && call.number < (found.calls.at(-1)?.number || 0));
    calls = found.more && more.dataset.opened ? [...found.calls, ...older] : found.calls;
    if (calls === found.calls) more.hidden = !found.more;
    fill(lines, found.lines, "Any line");
    fill(agents, found.agents, "Any agent");
    const total = found.total >= 10000 ? "More than 10,000 calls" : plural(found.total, "call");
    count.textContent = found.behind ? `${total} so far; the log is still being read (${Math.ceil(found.behind / 1e6)} MB to go)` : total;
    draw();
  };
  more.addEventListener("click", async () => {
    const found = await ask("/calls/list", { ...given(asked), after: calls.at(-1).number });
    calls = [...calls, ...found.calls];
    more.hidden = !found.more;
    more.dataset.opened = "1";
    draw();
    say(`${found.calls.length} more calls`);
  });

  root.replaceChildren(
    make("div", { class: "head" }, make("h1", { text: beside ? "Compare with which call?" : "Calls" }), count,
      beside && make("a", { class: "button", href: `/calls?call=${encodeURIComponent(beside)}`, text: "Back to the call" })),
    form,
    list,
    more,
  );
  document.title = "Calls · Parley";
  addEventListener("keydown", (event) => {
    if (event.target.closest("input, select, textarea")) return;
    if (event.key === "/") {
      event.preventDefault();
      root.querySelector("#search").focus();
    }
    const step = { j: 1, k: -1 }[event.key];
    if (step) {
      const links = [...list.querySelectorAll("a")];
      links[Math.max(0, Math.min(links.length - 1, links.indexOf(document.activeElement) + step))]?.focus();
    }
  }, { signal: leaving });
  every(LOOK, leaving, look);
  await look();
}
