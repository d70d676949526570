/** The gateway's own page: shows the lines and the latest calls, live. */

const STAGES = {
  end_of_turn: "end of turn",
  transcript: "words",
  first_token: "model",
  first_audio: "voice",
  line: "line",
};
const SCALE = 2; // seconds that a whole bar stands for; longer ones make it longer
const LINES = { webrtc: "Web", twilio: "Twilio", sip: "SIP" };

const OWNER = "parley-owner"; // where this browser keeps the owner's token, for this origin alone

/** Take the token that the owner's link brings behind its `#`, and leave it out of the history. */
function ownerToken() {
  const brought = new URLSearchParams(location.hash.slice(1)).get("owner");
  if (brought) {
    localStorage.setItem(OWNER, brought);
    history.replaceState(null, "", location.pathname);
  }
  return brought || localStorage.getItem(OWNER) || "";
}

const owner = ownerToken();
addEventListener("hashchange", () => location.reload()); // the link, pasted where the page is open
const shows = owner ? { Authorization: `Bearer ${owner}` } : {};

const by = (id) => document.getElementById(id);

function make(name, { text, ...attributes } = {}, ...children) {
  const element = document.createElement(name);
  for (const [key, value] of Object.entries(attributes)) element.setAttribute(key, value);
  if (text !== undefined) element.append(String(text));
  element.append(...children.filter(Boolean));
  return element;
}

const seconds = (value) => `${value.toFixed(2)} s`;
const minutes = (value) => `${Math.floor(value / 60)}:${String(Math.floor(value % 60)).padStart(2, "0")}`;
const plural = (count, word) => `${count} ${word}${count === 1 ? "" : "s"}`;

// --- the widget and what to paste ------------------------------------------------------------------

const widget = by("widget");

function choose(agent) {
  widget.setAttribute("agent", agent);
  if (agent !== "default") widget.setAttribute("heading", agent[0].toUpperCase() + agent.slice(1));
  by("snippet").firstChild.textContent =
    `<script type="module" src="${location.origin}/widget.js"></script>\n` +
    `<parley-widget agent="${agent}"></parley-widget>`;
}

function offer(agents, chosen) {
  const names = agents.length ? agents : [chosen];
  by("agent").replaceChildren(...names.map((name) => make("option", { text: name, value: name })));
  by("agent").value = chosen;
  by("pick").hidden = names.length < 2;
  choose(chosen);
}

by("agent").addEventListener("change", (event) => choose(event.target.value));
by("copy").addEventListener("click", async (event) => {
  await navigator.clipboard.writeText(by("snippet").textContent);
  event.target.textContent = "Copied";
  setTimeout(() => (event.target.textContent = "Copy"), 1500);
});

// --- lines -----------------------------------------------------------------------------------------

function showStatus(status) {
  by("lines").replaceChildren(
    ...status.lines.map((line) =>
      make(
        "li",
        { class: line.state, title: line.said },
        make("i"),
        make("b", { text: LINES[line.name] || line.name }),
        make("span", { text: line.calls ? plural(line.calls, "call") : line.state === "off" ? "off" : line.said }),
      ),
    ),
  );
  by("count").textContent = status.calls ? `${plural(status.calls, "call")} in progress` : "";
}

// --- calls -----------------------------------------------------------------------------------------

const shown = new Map();

function bar(turn) {
  const track = make("span", { class: "track", "aria-hidden": "true" });
  const whole = Math.max(SCALE, turn.response);
  for (const name of Object.keys(STAGES)) {
    const share = (100 * Math.max(0, turn.stages[name] || 0)) / whole;
    if (share < 0.2) continue;
    const part = make("i", { class: name, title: `${STAGES[name]} ${seconds(turn.stages[name])}` });
    part.style.width = `${share}%`;
    track.append(part);
  }
  return make("div", { class: "bar" }, track, make("b", { text: seconds(turn.response) }));
}

function beside(turn) {
  const facts = Object.keys(STAGES)
    .filter((name) => (turn.stages[name] || 0) >= 0.01)
    .map((name) => `${STAGES[name]} ${Math.round(1000 * turn.stages[name])} ms`);
  if (turn.drafted) facts.push("answered from a draft");
  if (turn.acknowledged !== null) facts.push(`filler after ${seconds(turn.acknowledged)}`);
  if (turn.tools.length) facts.push(`used ${turn.tools.join(", ")}`);
  return facts.length && make("p", { class: "beside", text: facts.join(" · ") });
}

function turnRow(turn) {
  return make(
    "li",
    { class: "turn" },
    make("time", { text: minutes(turn.at) }),
    make("p", { class: "caller", text: turn.caller || "…" }),
    turn.response !== null && bar(turn),
    turn.response !== null && beside(turn),
    turn.agent && make("p", { class: `agent${turn.cut ? " cut" : ""}`, text: turn.agent }),
  );
}

function badge(call) {
  if (!call.over) return make("span", { class: "badge live", text: "in progress" });
  const failed = call.ended_by === "failure";
  return make("span", { class: failed ? "badge bad" : "badge", text: failed ? "failed" : `ended by ${call.ended_by || "?"}` });
}

function showCall(call) {
  const answered = call.turns.filter((turn) => turn.response !== null).map((turn) => turn.response).sort((a, b) => a - b);
  const middle = answered.length ? answered[Math.floor((answered.length - 1) / 2)] : null;
  const facts = [
    new Date(call.began).toLocaleTimeString(),
    minutes(call.seconds),
    plural(call.turns.length, "turn"),
    call.cut_ins && plural(call.cut_ins, "cut-in"),
    middle !== null && `median ${seconds(middle)}`,
  ].filter(Boolean);
  const rows = call.turns.map(turnRow);
  if (call.greeting) {
    rows.unshift(make("li", { class: "turn" }, make("time", { text: "0:00" }), make("p", { class: "agent", text: call.greeting })));
  }
  for (const fault of call.faults) rows.push(make("li", { class: "turn" }, make("p", { class: "fault", text: fault })));
  const who = call.caller || (call.line === "webrtc" ? "Web visitor" : "Unknown caller");
  const known = shown.get(call.id);
  const details = make(
    "details",
    { class: "call" },
    make(
      "summary",
      {},
      make("b", { text: who }),
      make("span", { class: "small", text: `${LINES[call.line] || call.line} → ${call.agent}` }),
      badge(call),
      make("span", { class: "facts", text: facts.join(" · ") }),
    ),
    make("ol", { class: "turns" }, ...rows),
  );
  details.open = known ? known.open : !call.over || shown.size === 0;
  if (known) known.replaceWith(details);
  else by("calls").prepend(details);
  shown.set(call.id, details);
}

function showCalls(calls) {
  if (!calls.length && !shown.size) return none("No calls yet. Press “Start call”, or call one of the lines.");
  by("calls").querySelector(".none")?.remove();
  const newest = calls[calls.length - 1];
  for (const call of calls) showCall(call);
  // Of many that come at once, the newest alone is open.
  if (calls.length > 1) for (const call of calls) shown.get(call.id).open = call === newest || !call.over;
  while (by("calls").children.length > 20) by("calls").lastChild.remove();
}

function none(text) {
  by("calls").replaceChildren(make("p", { class: "none", text }));
}

const RETRY = 3000; // ms, as an EventSource waits, which could not show the token

/** Follow the gateway's events for as long as the page is open. */
async function follow() {
  for (;;) {
    try {
      await read(await fetch("/console/calls", { headers: shows, cache: "no-store" }));
    } catch {
      // The gateway is away; the page stays as it was.
    }
    await new Promise((done) => setTimeout(done, RETRY));
  }
}

/** Read server-sent events to the end of the stream. */
async function read(response) {
  if (!response.ok) return;
  const reader = response.body.pipeThrough(new TextDecoderStream()).getReader();
  let text = "";
  for (;;) {
    const { value, done } = await reader.read();
    if (done) return;
    const events = (text + value).split("\n\n");
    text = events.pop();
    for (const event of events) take(event);
  }
}

function take(event) {
  const [, name, data] = /^event: (\w+)\ndata: (.*)$/s.exec(event) || [];
  if (name === "status") showStatus(JSON.parse(data));
  if (name === "calls") showCalls(JSON.parse(data));
}

by("legend").append(...Object.entries(STAGES).map(([name, text]) => make("li", {}, make("i", { class: name }), text)));

const status = await (await fetch("/console/status", { headers: shows })).json();
if (status.owner) widget.getToken = () => owner;
else localStorage.removeItem(OWNER); // another gateway's, or an old one
offer(status.agents || [], status.agent || "default");
by("paste-note").textContent = status.shown
  ? "Pages of other origins need a place in webrtc.origins, and a token or webrtc.public."
  : "Ask the operator of this gateway to allow your page's origin.";
if (status.lines) showStatus(status);
if (status.shown) follow();
else {
  by("legend").hidden = true;
  none(
    status["web.calls"] === "off"
      ? "Calls are not shown (web.calls is off)."
      : "Calls are shown to the owner: open this page by the link that “parley link” prints.",
  );
}
