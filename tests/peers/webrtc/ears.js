// Keeps a page's microphone and the widget's events, and records both voices on demand.
const ask = navigator.mediaDevices?.getUserMedia.bind(navigator.mediaDevices);
window.hesitation = 0; // ms that the visitor thinks before allowing the microphone
if (ask)
  navigator.mediaDevices.getUserMedia = async (wanted) => {
    await new Promise((resolve) => setTimeout(resolve, hesitation));
    return (window.microphone = await ask(wanted));
  };
window.told = [];
for (const name of ["state", "caption", "tool", "end", "error"])
  addEventListener("parley-" + name, ({ detail }) => told.push({ at: performance.now(), name, ...detail }));
window.record = async () => {
  const sound = document.querySelector("parley-widget").shadowRoot.querySelector("audio");
  const context = new AudioContext({ sampleRate: 48000 });
  await context.audioWorklet.addModule("/recorder.js");
  const both = context.createChannelMerger(2);
  context.createMediaStreamSource(microphone).connect(both, 0, 0);
  context.createMediaStreamSource(sound.srcObject).connect(both, 0, 1);
  const node = new AudioWorkletNode(context, "recorder", { channelCount: 2, channelCountMode: "explicit" });
  window.tape = [];
  node.port.onmessage = ({ data }) => tape.push(data);
  both.connect(node).connect(context.destination);
};
window.recorded = () => {
  const start = tape[0][0], end = tape[tape.length - 1][0] + 128;
  const pcm = new Int16Array(2 * (end - start));
  for (const [frame, channels] of tape)
    channels.forEach((samples, channel) => samples.forEach((sample, at) => {
      pcm[2 * (frame - start + at) + channel] = Math.max(-1, Math.min(1, sample)) * 32767;
    }));
  let text = "";
  const bytes = new Uint8Array(pcm.buffer);
  for (let at = 0; at < bytes.length; at += 32768) text += String.fromCharCode(...bytes.subarray(at, at + 32768));
  return btoa(text);
};
