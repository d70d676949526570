/** The call browser: who is here, and which view is shown. */

import { ask, every, make, post, say } from "/console/dom.js";
import { showCall } from "/console/call.js";
import { showComparison } from "/console/compare.js";
import { showDay } from "/console/day.js";
import { showList } from "/console/list.js";

const OWNER = "parley-owner"; // where the gateway's own page keeps the owner's token

const by = (id) => document.getElementById(id);
let leaving = new AbortController();

/** Exchange the owner's token, brought behind the `#` or kept by the gateway's page, for a session. */
async function ownerSession() {
  const brought = new URLSearchParams(location.hash.slice(1)).get("owner");
  if (brought) {
    localStorage.setItem(OWNER, brought);
    history.replaceState(null, "", location.pathname + location.search);
  }
  const token = brought || localStorage.getItem(OWNER);
  if (token) await post("/calls/session", {}, { Authorization: `Bearer ${token}` }).catch(() => {});
}

async function me() {
  const found = await ask("/calls/session");
  if (found.name || found["web.calls"] === "off") return found;
  await ownerSession();
  return ask("/calls/session");
}

function login(session) {
  const wrong = make("p", { class: "wrong", role: "alert" });
  const name = make("input", { id: "name", autocomplete: "username", required: true });
  const password = make("input", { id: "password", type: "password", autocomplete: "current-password", required: true });
  const enter = async (event) => {
    event.preventDefault();
    wrong.textContent = "";
    try {
      await post("/calls/session", { name: name.value, password: password.value });
      start();
    } catch (error) {
      wrong.textContent = error.message;
      password.select();
    }
  };
  const form = make(
    "form",
    { class: "login", on: { submit: enter } },
    make("h1", { text: "Log in" }),
    make("label", { for: "name", text: "Name" }),
    name,
    make("label", { for: "password", text: "Password" }),
    password,
    wrong,
    make("button", { text: "Log in", class: "primary" }),
  );
  const link = "This machine's owner opens this page by the link that “parley link” prints.";
  by("view").replaceChildren(
    make(
      "div",
      { class: "welcome" },
      session["web.calls"] === "off"
        ? make("p", { class: "none", text: "Calls are not shown (web.calls is off)." })
        : [session.passwords && form, make("p", { class: "small", text: link })],
    ),
  );
  if (session.passwords) name.focus();
}

async function start() {
  leaving.abort();
  leaving = new AbortController();
  let session;
  try {
    session = await me();
  } catch {
    by("view").replaceChildren(make("p", { class: "none", text: "The gateway does not answer. It is tried again soon." }));
    setTimeout(start, 3000);
    return;
  }
  by("me").hidden = !session.name;
  by("my-name").textContent = session.name;
  if (!session.sees) return login(session);
  const asked = new URLSearchParams(location.search);
  const view = { root: by("view"), asked, session, leaving: leaving.signal, go };
  by("to-calls").toggleAttribute("aria-current", !asked.has("day"));
  by("to-day").toggleAttribute("aria-current", asked.has("day"));
  for (const link of [by("to-calls"), by("to-day")]) if (link.hasAttribute("aria-current")) link.setAttribute("aria-current", "page");
  try {
    if (asked.has("day")) await showDay(view);
    else if (asked.has("call") && asked.has("with")) await showComparison(view);
    else if (asked.has("call")) await showCall(view);
    else await showList(view);
  } catch (error) {
    if (error.status === 403) return login(session);
    if (error.status === 503) every(2000, leaving.signal, async () => start());
    view.root.replaceChildren(make("p", { class: "none", text: error.message || "Something went wrong." }));
    if (!error.status) throw error;
  }
}

/** Go to another view without loading the page anew. */
function go(address) {
  history.pushState(null, "", address);
  scrollTo(0, 0);
  start();
  by("view").focus({ preventScroll: true });
}

addEventListener("popstate", (event) => {
  if (event.state === null && location.hash.startsWith("#t=")) return; // a moment of the same call
  start();
});
addEventListener("click", (event) => {
  const link = event.target.closest?.("a");
  if (!link || link.origin !== location.origin || link.pathname !== "/calls" || link.hasAttribute("download")) return;
  if (event.defaultPrevented || event.metaKey || event.ctrlKey || event.shiftKey || event.button) return;
  if (link.hash && link.search === location.search) return;
  event.preventDefault();
  go(link.href);
});
by("leave").addEventListener("click", async () => {
  await ask("/calls/session", {}, { method: "DELETE" });
  localStorage.removeItem(OWNER);
  say("You are logged out.");
  start();
});

start();
