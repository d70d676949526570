/** Types of `<parley-widget>`, for pages and frameworks that use TypeScript. */

export type Phase =
  | "idle"
  | "asking"
  | "connecting"
  | "connected"
  | "reconnecting"
  | "failed"
  | "ended";

export type AgentState = "" | "listening" | "thinking" | "speaking" | "waiting";

/** Why a call could not be, or broke; gateways may have more. */
export type FailureKind =
  | "denied"
  | "no_microphone"
  | "microphone_busy"
  | "insecure"
  | "unreachable"
  | "origin_refused"
  | "busy"
  | "draining"
  | "too_many_calls"
  | "token_missing"
  | "token_invalid"
  | "token_expired"
  | "token_used"
  | "token_elsewhere"
  | "unknown_agent"
  | "no_way"
  | "lost"
  | "gone"
  | "broken"
  | (string & {});

export interface StateDetail {
  phase: Phase;
  state: AgentState;
}

export interface CaptionDetail {
  who: "agent" | "caller";
  /** A later caption with the same `who` and `id` takes the place of this one. */
  id: number;
  /** What was heard so far. */
  text: string;
  final: boolean;
  /** The agent meant to say more. */
  interrupted: boolean;
}

export interface ToolDetail {
  name: string;
  state: "began" | "done" | "failed";
}

export interface ProposalDetail {
  id: string;
  /** The question that a yes is wanted for. */
  text: string;
  state: "asked" | "over";
}

/** What a page does for the agent, by the names of the agent's `page` tools. */
export type PageTools = Record<string, (given: any) => unknown | Promise<unknown>>;

export interface Said {
  who: "agent" | "caller";
  text: string;
  interrupted: boolean;
}

export interface EndDetail {
  by: "agent" | "caller" | "failure";
  reason: string;
  seconds: number;
  answered: boolean;
}

export interface ErrorDetail {
  kind: FailureKind;
  detail: string;
  /** Seconds after which to try again; 0: unknown. */
  retryAfter: number;
}

export interface ParleyEventMap {
  "parley-state": CustomEvent<StateDetail>;
  "parley-caption": CustomEvent<CaptionDetail>;
  "parley-tool": CustomEvent<ToolDetail>;
  "parley-proposal": CustomEvent<ProposalDetail>;
  "parley-end": CustomEvent<EndDetail>;
  "parley-error": CustomEvent<ErrorDetail>;
}

export class ParleyWidget extends HTMLElement {
  /** Gives a token for each call; the site's own server makes it. */
  getToken: (() => string | Promise<string>) | null;
  /** Words of the page's own, by name. */
  labels: Record<string, string>;
  muted: boolean;
  tools: PageTools;
  /** What was said in the present or last call. */
  readonly transcript: Said[];
  readonly phase: Phase;
  readonly state: AgentState;

  /** Show the card without calling. */
  open(): void;
  /** Hang up and show the button again. */
  close(): void;
  /** Place a call; resolves when it is connected, or has failed (see `parley-error`). */
  call(options?: { microphone?: boolean }): Promise<void>;
  hangUp(): void;
  /** Say something in writing; false where there is no call. */
  sendText(text: string): boolean;
  /** Tell the agent what the page knows, without a word being said. */
  sendContext(text: string, variables?: Record<string, string | number | boolean>): boolean;
  /** Answer a proposal by the `id` of `parley-proposal`. */
  answer(id: string, yes: boolean): boolean;
  /** Press keys: `0` to `9`, `A` to `D`, `*` and `#`. */
  sendKeys(keys: string): boolean;

  addEventListener<K extends keyof ParleyEventMap>(
    type: K,
    listener: (this: ParleyWidget, event: ParleyEventMap[K]) => unknown,
    options?: boolean | AddEventListenerOptions,
  ): void;
  addEventListener(
    type: string,
    listener: EventListenerOrEventListenerObject,
    options?: boolean | AddEventListenerOptions,
  ): void;
}

declare global {
  interface HTMLElementTagNameMap {
    "parley-widget": ParleyWidget;
  }
  interface GlobalEventHandlersEventMap extends ParleyEventMap {}
}
