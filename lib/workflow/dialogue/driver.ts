/** Runs a dialogue: does what the reducer asks for, and reports what happens to it. */

import * as v from "valibot";
import { type DialogueEvent, EventSchema, type Stamp } from "./events.ts";
import type { DialogueContext, WorkflowRequest } from "./protocol.ts";
import { reduce } from "./reducer.ts";
import { type DialogueEffect, type DialogueState, idleDialogue } from "./state.ts";

/** An answer of a backend, whatever its status. */
export interface DialogueAnswer {
  readonly status: number;
  /** The field `Retry-After`; null: there is none. */
  readonly retryAfter: string | null;
  readonly text: string;
}

/** What a dialogue runs with. */
export interface DialogueOptions {
  readonly context: DialogueContext;
  /** Sends a request under an idempotency key. A rejection means that no answer arrived. */
  readonly send: (request: WorkflowRequest, key: string, signal: AbortSignal) => Promise<DialogueAnswer>;
  /** Renews the token after a 401; resolves with false if it cannot. @default it cannot */
  readonly refresh?: () => Promise<boolean>;
  readonly onChange: (state: DialogueState) => void;
  /** Receives every event, for a recording. */
  readonly onEvent?: (event: DialogueEvent) => void;
  /** Unix ms. @default Date.now */
  readonly clock?: () => number;
  /** From 0 to 1, exclusive. @default Math.random */
  readonly random?: () => number;
  /** Makes idempotency keys. @default crypto.randomUUID */
  readonly newKey?: () => string;
  /** Calls back after so many ms, unless the returned function is called before. @default setTimeout */
  readonly timer?: (ms: number, callback: () => void) => () => void;
}

type EventBody = DialogueEvent extends infer E ? (E extends Stamp ? Omit<E, keyof Stamp> : never) : never;

/** A dialogue with a backend. */
export class Dialogue {
  readonly #options: DialogueOptions;
  #state: DialogueState = idleDialogue;
  #request: AbortController | null = null;
  #cancelTimer: (() => void) | null = null;

  constructor(options: DialogueOptions) {
    this.#options = options;
  }

  get state(): DialogueState {
    return this.#state;
  }

  /** Sends the first request. */
  open(): void {
    this.#apply({ type: "open", context: this.#options.context });
  }

  /** Presses a button of the view `seq`, with the values of all inputs. A press on an older view does nothing. */
  press(action: string, seq: number = this.#state.seq): void {
    this.#apply({ type: "press", action, seq });
  }

  /** Sets the value of an input: a text, a colour, or Base64 of a file; null: none. */
  input(name: string, value: string | null): void {
    this.#apply({ type: "input", name, value });
  }

  /** Sends the failed request again, under its key. */
  retry(): void {
    this.#apply({ type: "retry" });
  }

  /** Begins anew. */
  restart(): void {
    this.#apply({ type: "restart" });
  }

  /** Polls rarely while nobody looks. */
  setHidden(hidden: boolean): void {
    this.#apply({ type: "hidden", hidden });
  }

  /** Ends the dialogue; the backend is not informed. */
  close(): void {
    this.#apply({ type: "close" });
  }

  #apply(body: EventBody): void {
    const { clock = Date.now, random = Math.random, newKey = () => crypto.randomUUID() } = this.#options;
    const event = { ...body, at: clock(), random: random(), key: newKey() } as DialogueEvent;
    this.#options.onEvent?.(event);
    const before = this.#state;
    const { state, effects } = reduce(before, event);
    this.#state = state;
    for (const effect of effects) this.#do(effect);
    if (state !== before) this.#options.onChange(state);
  }

  #do(effect: DialogueEffect): void {
    const { timer = setTimer } = this.#options;
    switch (effect.type) {
      case "send":
        this.#send(effect);
        break;
      case "refresh":
        this.#refresh(effect.turn);
        break;
      case "timer":
        this.#cancelTimer = timer(effect.ms, () => this.#apply({ type: "timer" }));
        break;
      case "cancelTimer":
        this.#cancelTimer?.();
        this.#cancelTimer = null;
        break;
      case "abort":
        this.#request?.abort();
        break;
    }
  }

  async #send({ turn, body, key }: DialogueEffect & { readonly type: "send" }): Promise<void> {
    const request = new AbortController();
    this.#request = request;
    try {
      const answer = await this.#options.send(body, key, request.signal);
      this.#apply({ type: "answered", turn, ...answer });
    } catch {
      this.#apply({ type: "failed", turn });
    }
  }

  async #refresh(turn: number): Promise<void> {
    const ok = await (this.#options.refresh?.() ?? Promise.resolve(false)).catch(() => false);
    this.#apply({ type: "refreshed", turn, ok });
  }
}

function setTimer(ms: number, callback: () => void): () => void {
  const id = setTimeout(callback, ms);
  return () => clearTimeout(id);
}

const RecordingSchema = v.object({ version: v.literal(1), events: v.array(EventSchema) });

/** A dialogue as it was recorded. It has no token, but all that was typed. */
export type Recording = v.InferOutput<typeof RecordingSchema>;

/**
 * Reads a recording.
 *
 * @throws {SyntaxError} It is none.
 */
export function parseRecording(text: string): Recording {
  const result = v.safeParse(RecordingSchema, JSON.parse(text));
  if (!result.success) throw new SyntaxError("It is no recorded dialogue of version 1");
  return result.output;
}

/** Returns the state after each event of a recording. */
export function replayRecording({ events }: Recording): readonly DialogueState[] {
  const states: DialogueState[] = [];
  for (const event of events) states.push(reduce(states.at(-1) ?? idleDialogue, event).state);
  return states;
}
