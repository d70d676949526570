// Put into each page: keeps its microphone and the widget's events, changes the microphone and
// holds back the gateway's messages on demand, and records both voices on one clock.
window.told = []; // what the widget told the page
window.allowed = Promise.resolve(); // until then the visitor thinks about allowing the microphone
window.held = null; // a list: messages of the gateway wait in it
window.holdAt = ""; // a state of the agent, behind which messages wait

for (const name of ["state", "caption", "tool", "end", "error"])
  addEventListener("parley-" + name, ({ detail }) => told.push({ at: performance.now(), name, ...detail }));

// --- the microphone --------------------------------------------------------------------------------

const devices = navigator.mediaDevices;
const ask = devices?.getUserMedia.bind(devices);
let opened = 0;
if (ask)
  devices.getUserMedia = async (wanted) => {
    await allowed;
    // Another device each time: the browser begins its file again for that, and only for that.
    const inputs = (await devices.enumerateDevices()).filter((one) => one.kind === "audioinput" && one.deviceId);
    const deviceId = inputs.length > 1 ? { exact: inputs[opened++ % 2].deviceId } : undefined;
    const before = window.microphone;
    window.microphone = await ask({ audio: { ...wanted.audio, deviceId } });
    tap(0, microphone);
    if (before) setTimeout(() => before.getTracks().forEach((track) => track.stop()), 1000);
    return microphone;
  };

// The widget takes another microphone when this one is gone: with it the browser's file begins.
window.speak = () => microphone.getAudioTracks()[0].dispatchEvent(new Event("ended"));

// --- the connection --------------------------------------------------------------------------------

window.RTCPeerConnection = class extends RTCPeerConnection {
  constructor(...given) {
    super(...given);
    this.addEventListener("track", ({ streams }) => tap(1, streams[0]));
  }

  createDataChannel(...given) {
    const channel = super.createDataChannel(...given);
    const add = channel.addEventListener.bind(channel);
    channel.addEventListener = (type, take) => add(type, type === "message" ? (event) => pass(event, take) : take);
    return channel;
  }
};

function pass(event, take) {
  if (held) return void held.push(() => pass(event, take));
  take(event);
  if (holdAt && JSON.parse(event.data).state === holdAt) window.held = [];
}

window.release = () => {
  const waiting = held || [];
  window.held = null;
  window.holdAt = "";
  waiting.forEach((take) => take());
};

// --- the tape --------------------------------------------------------------------------------------

const streams = [];
const sources = [];
let both;
function tap(channel, stream) {
  streams[channel] = stream;
  if (!both) return;
  sources[channel]?.disconnect();
  sources[channel] = both.context.createMediaStreamSource(stream);
  sources[channel].connect(both, 0, channel);
}

// Record from now on: the visitor's voice and the agent's, whichever of them there is by then.
window.record = async () => {
  const context = new AudioContext({ sampleRate: 48000 });
  await context.audioWorklet.addModule("/recorder.js");
  both = context.createChannelMerger(2);
  const node = new AudioWorkletNode(context, "recorder", { channelCount: 2, channelCountMode: "explicit" });
  window.tape = [];
  node.port.onmessage = ({ data }) => tape.push(data);
  both.connect(node).connect(context.destination);
  streams.forEach((stream, channel) => tap(channel, stream));
};

window.recorded = async () => {
  const text = await new Promise((resolve) => {
    const reader = new FileReader();
    reader.onload = () => resolve(reader.result);
    reader.readAsDataURL(new Blob(tape));
  });
  return text.slice(text.indexOf(",") + 1);
};
