/** Types of the call without a widget. */

import type {
  AgentState, CaptionDetail, EndDetail, FailureKind, PageTools, Phase, ProposalDetail, ToolDetail,
} from "./parley-widget.js";

export class Failure extends Error {
  readonly kind: FailureKind;
  /** Seconds after which to try again; 0: unknown. */
  readonly retryAfter: number;
}

export interface CallOptions {
  /** The gateway's address. */
  server: string;
  agent?: string;
  token?: string;
  /** false: the visitor only types. */
  microphone?: boolean;
  muted?: boolean;
  noiseSuppression?: boolean;
  /** Seconds for which a broken connection is mended. */
  patience?: number;
  devices?: { microphone?: string };
  tools?: PageTools;
}

export interface CallEventMap {
  phase: CustomEvent<Phase>;
  state: CustomEvent<AgentState>;
  /** The agent's sound, to be played. */
  sound: CustomEvent<MediaStream>;
  caption: CustomEvent<CaptionDetail>;
  tool: CustomEvent<ToolDetail>;
  proposal: CustomEvent<ProposalDetail>;
  notice: CustomEvent<string>;
  end: CustomEvent<EndDetail>;
}

export class ParleyCall extends EventTarget {
  constructor(options: CallOptions);
  tools: PageTools;
  muted: boolean;
  readonly phase: Phase;
  readonly sound: MediaStream | null;
  /** Place the call, in the visitor's gesture; rejects with a Failure. */
  start(): Promise<void>;
  hangUp(): void;
  sendText(text: string): boolean;
  sendKeys(keys: string): boolean;
  sendContext(text: string, variables?: Record<string, string | number | boolean>): boolean;
  answer(proposal: string, yes: boolean): boolean;
  useMicrophone(id: string): Promise<void>;
  addEventListener<K extends keyof CallEventMap>(
    type: K,
    listener: (this: ParleyCall, event: CallEventMap[K]) => unknown,
    options?: boolean | AddEventListenerOptions,
  ): void;
}

export function devices(): Promise<{ microphones: MediaDeviceInfo[]; speakers: MediaDeviceInfo[] }>;
