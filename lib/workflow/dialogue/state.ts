/** A dialogue as it is shown, and the steps that its rules are made of. */

import { present } from "../../base/text/present.ts";
import { dialogueLimits } from "./limits.ts";
import type { DialogueAction, DialogueContext, WorkflowRequest } from "./protocol.ts";
import type { ShownBlock, ShownTask } from "./view.ts";

/** What a driver has to do. */
export type DialogueEffect =
  | { readonly type: "send"; readonly turn: number; readonly body: WorkflowRequest; readonly key: string }
  | { readonly type: "refresh"; readonly turn: number }
  | { readonly type: "timer"; readonly ms: number }
  | { readonly type: "cancelTimer" | "abort" };

interface PendingRequest {
  readonly kind: "start" | "poll" | "press" | "auto";
  readonly body: WorkflowRequest;
  readonly key: string;
  /** Number of times that it was sent, or asked to wait. */
  readonly tries: number;
  /** The token is renewed once at most. */
  readonly token: "given" | "renewing" | "renewed";
}

/** Why a dialogue cannot go on. */
export interface DialogueProblem {
  /** For the user. */
  readonly message: string;
  /** True if the same request may be sent again. */
  readonly canRetry: boolean;
  /** Where the answer is wrong, for developers. */
  readonly pointer?: string;
}

/** A dialogue as it is shown. */
export interface DialogueState {
  readonly status: "idle" | "sending" | "waiting" | "showing" | "ended" | "error" | "closed";
  /** Number of views that were shown. A press names the one that it was made on. */
  readonly seq: number;
  readonly blocks: readonly ShownBlock[];
  readonly actions: readonly DialogueAction[];
  /** What the user typed or chose, by input. Files and images are Base64. */
  readonly values: Readonly<Record<string, string>>;
  /** What was entered before a task, by type and name of the input, for its return if the task fails. */
  readonly kept: Readonly<Record<string, string>>;
  /** Why the last value of an input was not taken, by input. */
  readonly faults: Readonly<Record<string, string>>;
  readonly task: ShownTask | null;
  /** The action that is under way. */
  readonly busy: string | null;
  readonly problem: DialogueProblem | null;
  /** For developers: what the backend got wrong, and was shown as well as possible. */
  readonly reports: readonly string[];

  readonly context: DialogueContext;
  readonly payload: Readonly<Record<string, unknown>> | null;
  /** Number of requests that were sent. Answers to others than the last one change nothing. */
  readonly turn: number;
  readonly pending: PendingRequest | null;
  /** When the timer was set, and after how many ms it ends. */
  readonly wait: { readonly from: number; readonly ms: number } | null;
  /** Auto actions since the last press or progress. */
  readonly autos: number;
  readonly isHidden: boolean;
}

export interface Step {
  readonly state: DialogueState;
  readonly effects: readonly DialogueEffect[];
}

/** A dialogue that has not been opened. */
export const idleDialogue: DialogueState = {
  status: "idle",
  seq: 0,
  blocks: [],
  actions: [],
  values: {},
  kept: {},
  faults: {},
  task: null,
  busy: null,
  problem: null,
  reports: [],
  context: {},
  payload: null,
  turn: 0,
  pending: null,
  wait: null,
  autos: 0,
  isHidden: false,
};

export function send(
  state: DialogueState,
  kind: PendingRequest["kind"],
  body: WorkflowRequest,
  key: string,
): Step {
  return resend(state, { kind, body, key, tries: 1, token: "given" });
}

export function resend(state: DialogueState, pending: PendingRequest): Step {
  const turn = state.turn + 1;
  const { body, key } = pending;
  return {
    state: { ...state, status: "sending", turn, pending, wait: null, problem: null },
    effects: [{ type: "send", turn, body, key }],
  };
}

export function bodyOf(
  { context, payload, task }: DialogueState,
  more: Partial<WorkflowRequest>,
): WorkflowRequest {
  const taskId = task?.state === "running" ? task.id : undefined;
  return { context, ...more, ...present({ payload: payload ?? undefined, taskId }) };
}

/** Returns the text of an input, whatever its name: every object has members such as `constructor`. */
export function ownText(texts: Readonly<Record<string, string>>, name: string): string | undefined {
  return Object.hasOwn(texts, name) ? texts[name] : undefined;
}

/** Returns what the user entered: texts always, everything else if it was set. */
export function inputsOf({ blocks, values }: DialogueState): { readonly inputs?: Record<string, string> } {
  const inputs: Record<string, string> = {};
  for (const block of blocks) {
    if (block.type !== "input") continue;
    const value = ownText(values, block.name) ?? (block.input_type === "text" ? "" : undefined);
    if (value !== undefined) inputs[block.name] = value;
  }
  return Object.keys(inputs).length === 0 ? {} : { inputs };
}

/** Names an input with its type: another one of the same name has other values. */
export function inputKey({
  input_type: type,
  name,
}: Extract<ShownBlock, { readonly type: "input" }>): string {
  return `${type} ${name}`;
}

/** Returns what was typed in this view and, if it is kept, before it. */
export function everythingTyped({ kept, blocks, values }: DialogueState): Readonly<Record<string, string>> {
  const typed: Record<string, string> = { ...kept };
  for (const block of blocks) {
    const value = block.type === "input" ? ownText(values, block.name) : undefined;
    if (block.type === "input" && value !== undefined) typed[inputKey(block)] = value;
  }
  return typed;
}

/** Stops with a problem. The request is kept, and so is all that was typed. */
export function failed(state: DialogueState, problem: DialogueProblem): Step {
  return { state: { ...state, status: "error", wait: null, problem, busy: null }, effects: [] };
}

/** Sets the timer. Polls of a hidden page are rarer. */
export function waitFor(state: DialogueState, ms: number, at: number): Step {
  const wait = { from: at, ms };
  return {
    state: { ...state, status: "waiting", wait },
    effects: [{ type: "timer", ms: delay({ ...state, wait }, at) }],
  };
}

/** Returns the time until the timer ends, in ms. */
export function delay({ wait, isHidden, pending }: DialogueState, at: number): number {
  if (wait === null) return 0;
  const ms = isHidden && pending === null ? Math.max(wait.ms, dialogueLimits.hiddenPollMsMin) : wait.ms;
  return Math.max(0, wait.from + ms - at);
}
