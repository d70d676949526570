/** One call from this page to a Parley agent: microphone, signalling, WebRTC, data channel.
 *
 * Knows nothing of how it is shown. Everything that happens is given to `tell(type, detail)`:
 * `phase`, `state`, `caption`, `tool`, `notice`, `sound` and, once, `over`.
 */

const REPORT_SPEAKING = 100; // ms between reports of what was played, while the agent speaks:
// what was played since the latest is in doubt, should the connection break now
const REPORT_SILENT = 1000; // and otherwise: keeps the delay to this visitor's ear known
const BREAK_PATIENCE = 1500; // ms: many broken connections mend themselves within a second
const LOOK_EVERY = 400; // ms between looks at whether packets come
const DEAD_AFTER = 1100; // ms: the gateway sends fifty a second, in silence too
const ANSWER_PATIENCE = 10000; // ms for one request to the gateway
const CONNECT_PATIENCE = 15000; // ms from the answer to the first packet, as at the gateway

/** Why a call could not be, or is over, in one word; `retryAfter` is seconds. */
export class Failure extends Error {
  constructor(kind, { retryAfter = 0, detail = "" } = {}) {
    super(detail || kind);
    this.name = "ParleyFailure";
    this.kind = kind;
    this.retryAfter = retryAfter;
  }
}

const MICROPHONE_FAILURES = {
  NotAllowedError: "denied",
  SecurityError: "denied",
  NotFoundError: "no_microphone",
  OverconstrainedError: "no_microphone",
  NotReadableError: "microphone_busy",
  AbortError: "microphone_busy",
};

/** List what may be chosen; names are told only to a page that may use the microphone. */
export async function devices() {
  const found = (await navigator.mediaDevices?.enumerateDevices?.()) || [];
  const of = (kind) => found.filter((one) => one.kind === kind && one.deviceId);
  return { microphones: of("audioinput"), speakers: of("audiooutput") };
}

async function openMicrophone(noiseSuppression, device) {
  if (!window.isSecureContext || !navigator.mediaDevices) throw new Failure("insecure");
  try {
    return await navigator.mediaDevices.getUserMedia({
      audio: {
        echoCancellation: true, noiseSuppression, autoGainControl: true, channelCount: 1,
        ...(device && { deviceId: { ideal: device } }), // one that is gone is none to insist on
      },
    });
  } catch (error) {
    throw new Failure(MICROPHONE_FAILURES[error.name] || "no_microphone", { detail: error.message });
  }
}

/** Ask the gateway; a refusal becomes a Failure of the gateway's own kind. */
async function ask(url, options = {}, patience = ANSWER_PATIENCE) {
  const abort = new AbortController();
  const timer = setTimeout(() => abort.abort(), patience);
  let response;
  try {
    response = await fetch(url, { ...options, signal: abort.signal, credentials: "omit" });
  } catch (error) {
    throw await unreachable(url, abort.signal.aborted);
  } finally {
    clearTimeout(timer);
  }
  if (response.ok) return response;
  const problem = await response.json().catch(() => ({}));
  throw new Failure(problem.kind || "refused", {
    retryAfter: Number(response.headers.get("Retry-After")) || problem.retry_after || 0,
    detail: problem.title,
  });
}

/** Tell a gateway that is not there from one that does not talk to this page.
 *
 * A browser hides from a page why it may not read a response; whether there is somebody at all it
 * does not hide.
 */
async function unreachable(url, timedOut) {
  if (timedOut) return new Failure("unreachable");
  if (new URL(url).origin === location.origin) return new Failure("unreachable");
  try {
    await fetch(url, { mode: "no-cors", credentials: "omit", cache: "no-store" });
    return new Failure("origin_refused", { detail: location.origin });
  } catch {
    return new Failure("unreachable");
  }
}

export class Call {
  constructor({ server, agent, token = "", microphone = true, noiseSuppression = true, patience = 12, muted = false, devices: chosen = {} }, tell) {
    this.url = new URL(`/webrtc/${encodeURIComponent(agent)}`, server).href;
    this.token = token;
    this.microphone = microphone;
    this.noiseSuppression = noiseSuppression;
    this.patience = patience * 1000;
    this.tell = tell;
    this.muted = muted;
    this.device = chosen.microphone;
    this.session = "";
    this.over = false;
    this.answered = 0;
    this._leave = () => this.hangUp("page left");
    this._online = () => this._mend();
  }

  /** Place the call; resolves when it is connected, rejects with a Failure. */
  async start() {
    try {
      await this._start();
    } catch (error) {
      const failure = error instanceof Failure ? error : new Failure("broken", { detail: String(error) });
      this._end("failure", failure.kind);
      throw failure;
    }
  }

  async _start() {
    this.tell("phase", "asking");
    // Made in the visitor's gesture, or it may not sound.
    this.audio = new (window.AudioContext || window.webkitAudioContext)();
    const [stream, ice] = await Promise.all([
      this.microphone ? openMicrophone(this.noiseSuppression, this.device) : this._silence(),
      this._servers(),
    ]);
    this.stream = stream;
    if (this.over) return this._release();
    this.tell("phase", "connecting");
    this._connection(ice);
    await this.pc.setLocalDescription(await this.pc.createOffer());
    // Without waiting for candidates: the gateway learns them from this browser's checks.
    const response = await ask(this.url, {
      method: "POST",
      headers: { "Content-Type": "application/sdp", ...this._authorization() },
      body: this.pc.localDescription.sdp,
    });
    this.session = new URL(response.headers.get("Location"), this.url).href;
    if (this.over) return this._goodbye();
    addEventListener("pagehide", this._leave);
    addEventListener("online", this._online);
    await this.pc.setRemoteDescription({ type: "answer", sdp: await response.text() });
    await this._connected();
    this.answered = performance.now();
    this.tell("phase", "connected");
    this._report();
    this._look();
  }

  async _servers() {
    try {
      const response = await ask(`${this.url}/ice`, { headers: this._authorization() });
      return (await response.json()).iceServers;
    } catch (failure) {
      if (failure.kind === "unreachable") return []; // the offer will say so in a moment
      throw failure;
    }
  }

  _authorization() {
    return this.token ? { Authorization: `Bearer ${this.token}` } : {};
  }

  /** A track that says nothing, for who only types. */
  async _silence() {
    // It plays silence: a track without a source sends no packets, as if the page were gone.
    const silence = this.audio.createMediaStreamDestination();
    const source = this.audio.createConstantSource();
    source.offset.value = 0;
    source.connect(silence);
    source.start();
    return silence.stream;
  }

  _connection(iceServers) {
    const pc = (this.pc = new RTCPeerConnection({ iceServers, bundlePolicy: "max-bundle" }));
    const [track] = this.stream.getAudioTracks();
    track.enabled = !this.muted;
    track.addEventListener("ended", () => this._replaceMicrophone());
    this.sender = pc.addTransceiver(track, { direction: "sendrecv", streams: [this.stream] }).sender;
    pc.addEventListener("track", (event) => {
      this.receiver = event.receiver;
      this.remote = event.streams[0] || new MediaStream([event.track]);
      this.tell("sound", this.remote);
    });
    this.channel = pc.createDataChannel("parley", { protocol: "parley.1" });
    this.channel.addEventListener("message", (event) => this._message(event.data));
    // A report that is lost is not worth sending again, and must not hold up the next.
    this.reports = pc.createDataChannel("played", {
      protocol: "parley.1", negotiated: true, id: 100, ordered: false, maxRetransmits: 0,
    });
    pc.addEventListener("connectionstatechange", () => this._changed());
  }

  _connected() {
    return new Promise((resolve, reject) => {
      const failed = () => reject(new Failure("no_way"));
      const timer = setTimeout(failed, CONNECT_PATIENCE);
      const look = () => {
        const state = this.pc.connectionState;
        if (state === "connected") resolve();
        else if (state === "failed" || state === "closed") failed();
        else return;
        clearTimeout(timer);
        this.pc.removeEventListener("connectionstatechange", look);
      };
      this.pc.addEventListener("connectionstatechange", look);
      look();
    });
  }

  // --- what the visitor does -----------------------------------------------------------------

  mute(muted) {
    this.muted = muted;
    for (const track of this.stream?.getAudioTracks() || []) track.enabled = !muted;
    this._say({ type: "mute", muted });
  }

  write(text) {
    return this._sayOnce({ type: "text", text });
  }

  /** Answer a proposal. */
  answer(proposal, yes) {
    return this._say({ type: "answer", proposal, yes });
  }

  /** Tell the agent something, without saying it. */
  inform(text, variables = {}) {
    return this._sayOnce({ type: "context", text, variables });
  }

  /** Answer what the agent asked of the page: `{ result }` or `{ error }`. */
  used(id, answer) {
    return this._say({ type: "used", id, ...answer });
  }

  /** Change to another microphone. */
  async use({ microphone }) {
    this.device = microphone;
    const old = this.stream;
    await this._replaceMicrophone();
    if (this.stream !== old) for (const track of old.getTracks()) track.stop();
  }

  press(keys) {
    return this._sayOnce({ type: "keys", keys });
  }

  hangUp(reason = "hung up") {
    this._goodbye();
    this._end("caller", reason);
  }

  _goodbye() {
    // Goes out even while the page is being left.
    if (this.session) fetch(this.session, { method: "DELETE", keepalive: true }).catch(() => {});
    this.session = "";
  }

  _say(message, channel = this.channel) {
    if (channel?.readyState !== "open") return false;
    channel.send(JSON.stringify({ v: 1, ...message }));
    return true;
  }

  /** Say it as soon as it can be said: sound flows some moments before messages do. */
  _sayOnce(message) {
    if (this.channel?.readyState !== "connecting") return this._say(message);
    this.channel.addEventListener("open", () => this._say(message), { once: true });
    return true;
  }

  // --- what the gateway tells ------------------------------------------------------------------

  _message(data) {
    let message;
    try {
      message = JSON.parse(data);
    } catch {
      return;
    }
    if (message.v !== 1) return;
    const { type, v, ...detail } = message;
    if (type === "hello") {
      if (this.muted) this.mute(true);
      this.tell("hello", detail);
    } else if (type === "state") {
      this.speaking = detail.state === "speaking";
      this.tell("state", detail.state);
    } else if (type === "end") {
      this._end(detail.by, detail.reason);
    } else if (["caption", "tool", "proposal", "use"].includes(type)) {
      this.tell(type, detail);
    }
  }

  // --- what was played -------------------------------------------------------------------------

  /** Tell the gateway which sample is leaving the loudspeaker, and go on telling it. */
  _report() {
    if (this.over) return;
    const source = this.receiver?.getSynchronizationSources?.()[0];
    if (source?.rtpTimestamp !== undefined) {
      const now = performance.timeOrigin + performance.now();
      const latency = 1000 * (this.audio.outputLatency || this.audio.baseLatency || 0);
      const age = now - source.timestamp - latency;
      // A source that was not heard for a while says nothing of now.
      if (age > -1000 && age < 500) this._say({ type: "played", rtp: source.rtpTimestamp, age_ms: age }, this.reports);
    }
    const pause = this.speaking ? REPORT_SPEAKING : REPORT_SILENT;
    this._reporting = setTimeout(() => this._report(), pause);
  }

  // --- when the network breaks ------------------------------------------------------------------

  /** Whether the connection is up and something comes by it. */
  get _works() {
    return this.pc.connectionState === "connected" && !this._deaf;
  }

  /** Notice that nothing comes any more, long before the browser gives the connection up. */
  async _look() {
    const came = await this._received();
    if (this.over) return;
    const now = performance.now();
    if (came !== this._came) {
      this._came = came;
      this._cameAt = now;
      if (this._deaf) {
        this._deaf = false;
        this._changed();
      }
    } else if (!this._deaf && now - this._cameAt > DEAD_AFTER) {
      this._deaf = true;
      this._changed();
    }
    this._looking = setTimeout(() => this._look(), LOOK_EVERY);
  }

  /** Count the packets that came. */
  async _received() {
    const reports = await this.receiver?.getStats?.().catch(() => undefined);
    for (const report of reports?.values() || []) {
      if (report.type === "inbound-rtp") return report.packetsReceived;
    }
    return 0;
  }

  _changed() {
    if (!this.answered || this.over) return;
    const state = this.pc.connectionState;
    if (this._works) this._mended();
    else if (state === "failed") this._mend();
    else if ((state === "disconnected" || this._deaf) && !this._broken) {
      this._broken = setTimeout(() => this._mend(), BREAK_PATIENCE);
      this.tell("phase", "reconnecting");
    }
  }

  _mended() {
    clearTimeout(this._broken);
    this._broken = 0;
    if (!this._since) return void this.tell("phase", "connected");
    this._since = 0;
    this.tell("phase", "connected");
    this.tell("notice", "reconnected");
  }

  /** Begin ICE anew, again and again, until sound flows or patience is at its end. */
  async _mend() {
    if (!this.answered || this.over || this._mending) return;
    this._mending = true;
    this._since ||= performance.now();
    this.tell("phase", "reconnecting");
    try {
      while (!this.over && !this._works) {
        if (performance.now() - this._since > this.patience) throw new Failure("lost");
        const begun = performance.now();
        await this._restart().catch((failure) => {
          if (failure.kind === "gone") throw failure;
        });
        await new Promise((resolve) => setTimeout(resolve, Math.max(0, 2000 - performance.now() + begun)));
      }
      if (!this.over) this._mended();
    } catch (failure) {
      this._end("failure", failure.kind);
    } finally {
      this._mending = false;
    }
  }

  async _restart() {
    const pc = this.pc;
    if (pc.signalingState === "have-local-offer") await pc.setLocalDescription({ type: "rollback" });
    await pc.setLocalDescription(await pc.createOffer({ iceRestart: true }));
    const ours = pick(pc.localDescription.sdp, /^a=(ice-ufrag|ice-pwd|mid):.*$/gm);
    const response = await ask(
      this.session,
      {
        method: "PATCH",
        headers: { "Content-Type": "application/trickle-ice-sdpfrag", "If-Match": "*" },
        body: `${ours.join("\r\n")}\r\n`,
      },
      4000,
    );
    const theirs = pick(await response.text(), /^a=(ice-ufrag|ice-pwd|candidate|end-of-candidates).*$/gm);
    await pc.setRemoteDescription({ type: "answer", sdp: renewed(pc.remoteDescription.sdp, theirs) });
  }

  async _replaceMicrophone() {
    if (this.over) return;
    try {
      const stream = await openMicrophone(this.noiseSuppression, this.device);
      if (this.over) return stream.getTracks().forEach((track) => track.stop());
      const [track] = stream.getAudioTracks();
      track.enabled = !this.muted;
      track.addEventListener("ended", () => this._replaceMicrophone());
      this.stream = stream;
      await this.sender.replaceTrack(track);
      this.tell("microphone", stream);
    } catch {
      this.tell("notice", "microphone_gone");
    }
  }

  // --- the end -----------------------------------------------------------------------------------

  _end(by, reason) {
    if (this.over) return;
    this.over = true;
    const seconds = this.answered ? (performance.now() - this.answered) / 1000 : 0;
    this._release();
    this.tell("over", { by, reason, seconds, answered: this.answered > 0 });
  }

  _release() {
    clearTimeout(this._reporting);
    clearTimeout(this._looking);
    clearTimeout(this._broken);
    removeEventListener("pagehide", this._leave);
    removeEventListener("online", this._online);
    if (this.session && !this.answered) this._goodbye();
    this.pc?.close();
    for (const track of this.stream?.getTracks() || []) track.stop();
    if (this.audio && this.audio.state !== "closed") this.audio.close();
  }
}

function pick(sdp, pattern) {
  return sdp.replace(/\r/g, "").match(pattern) || [];
}

/** Put the gateway's new ICE lines in the place of its old ones, in every section. */
function renewed(sdp, lines) {
  const kept = sdp
    .replace(/\r/g, "")
    .split("\n")
    .filter((line) => line && !/^a=(ice-ufrag|ice-pwd|candidate|end-of-candidates)/.test(line));
  const credentials = lines.filter((line) => /^a=ice-/.test(line));
  const candidates = lines.filter((line) => !/^a=ice-/.test(line));
  const out = [];
  let first = true;
  for (const line of kept) {
    out.push(line);
    if (!line.startsWith("a=mid:")) continue;
    out.push(...credentials);
    if (first) out.push(...candidates);
    first = false;
  }
  return `${out.join("\r\n")}\r\n`;
}
