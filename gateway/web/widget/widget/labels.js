/** The widget's words: English here, the others in `labels/`; a page may put its own in the place
 * of any of them. */

const en = {
  launcher: "Talk to us",
  title: "Voice agent",
  intro: "Talk to our voice agent. Your microphone is used during the call only.",
  call: "Start call",
  again: "Call again",
  retry: "Try again",
  retry_in: "Try again in {seconds} s",
  type_only: "Type without a microphone",
  hang_up: "Hang up",
  mute: "Mute",
  unmute: "Unmute",
  muted: "Your microphone is off",
  unmuted: "Your microphone is on",
  close: "Close",
  close_call: "Hang up and close",
  cancel: "Cancel",
  agent: "Agent",
  you: "You",
  conversation: "Conversation",
  placeholder: "Type instead of speaking",
  send: "Send",
  hear: "Tap to hear the agent",
  working: "Working on it",
  asking: "Waiting for your microphone",
  connecting: "Connecting",
  connected: "Connected",
  listening: "Listening",
  thinking: "Thinking",
  speaking: "Speaking",
  waiting: "Reconnecting",
  reconnecting: "Reconnecting",
  reconnected: "You are connected again.",
  microphone_gone: "Your microphone was unplugged. You can go on by typing.",
  ended: "Call ended",
  ended_by_agent: "The agent ended the call.",
  ended_by_caller: "You ended the call.",
  error: "The call did not work",
  soon: "One moment, please",
  denied: "This page may not use your microphone. Allow it in your browser's address bar, then try again.",
  no_microphone: "No microphone was found. Plug one in, or type to the agent instead.",
  microphone_busy: "Your microphone is in use by another program. Close that program, then try again.",
  insecure: "Calls work on secure pages only. Open this page with https://.",
  unreachable: "The voice service cannot be reached. Check your connection, then try again.",
  origin_refused: "This website is not allowed to place calls here.",
  busy: "All lines are busy at the moment.",
  draining: "The voice service is being restarted.",
  too_many_calls: "There are too many calls from here at the moment.",
  token_missing: "This website did not give permission for the call. Reload the page, then try again.",
  token_invalid: "The permission for this call is not valid. Reload the page, then try again.",
  token_expired: "The permission for this call has run out. Reload the page, then try again.",
  token_used: "The permission for this call was used already. Reload the page, then try again.",
  token_elsewhere: "The permission for this call is meant for another page.",
  unknown_agent: "There is nobody here under this name.",
  no_way: "Your network does not let the call through. Try another network.",
  lost: "The connection was lost and could not be restored.",
  gone: "The connection was lost, and the call has ended meanwhile.",
  broken: "Something went wrong in the call.",
  intro_chat: "Write with our agent. No microphone is used.",
  chat: "Write instead",
  agree: "Agree and start",
  devices: "Microphone and loudspeaker",
  microphone: "Microphone",
  speaker: "Loudspeaker",
  copy: "Copy the conversation",
  copied: "Copied",
  yes: "Yes",
  no: "No",
};

const OTHERS = ["de", "es", "fr", "it", "nl", "pl", "pt"];

const known = { en };

const short = (lang) => (lang || "en").toLowerCase().split("-")[0];

/** Whether the words of a language are here, or there are none. */
export function ready(lang) {
  return short(lang) in known || !OTHERS.includes(short(lang));
}

/** Fetch the words of a language; a page pays for no other. */
export async function fetchWords(lang) {
  const name = short(lang);
  if (!ready(lang)) known[name] = (await import(`./labels/${name}.js`)).default;
}

/** Give the words of a language, in English where there are none; `own` are the page's. */
export function words(lang, own = {}) {
  return { ...en, ...known[short(lang)], ...own };
}
