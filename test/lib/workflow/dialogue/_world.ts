/** Dialogues that are driven event by event. */

import assert from "node:assert/strict";
import {
  type DialogueEffect,
  type DialogueEvent,
  type DialogueState,
  idleDialogue,
  reduce,
  type WorkflowResponse,
} from "../../../../lib/workflow/dialogue/mod.ts";

type Body = DialogueEvent extends infer E
  ? E extends DialogueEvent
    ? Omit<E, "at" | "random" | "key">
    : never
  : never;

/** The context of the tests. */
export const context = { baseURL: "https://grandstand.example", organisationId: "o1", projectId: "p1" };

/** Blocks, actions and tasks that answers are made of. */
export const parts = {
  text: { type: "text", text: "Hello" },
  name: { type: "input", input_type: "text", label: "Name", name: "name" },
  file: { type: "input", input_type: "file", label: "File", name: "file" },
  colour: { type: "input", input_type: "colour", label: "Colour", name: "colour" },
  go: { type: "button", label: "Go", action_id: "go" },
  running: { id: "t1", state: "running" },
} as const;

/** A dialogue with its clock. */
export class Play {
  state: DialogueState = idleDialogue;
  /** What the last event asked for. */
  effects: readonly DialogueEffect[] = [];
  /** Unix ms. */
  now = 1_000_000;
  #keys = 0;

  /** Applies an event, at chance 0.5. */
  on(body: Body): this {
    const event = { ...body, at: this.now, random: 0.5, key: `k${++this.#keys}` } as DialogueEvent;
    ({ state: this.state, effects: this.effects } = reduce(this.state, event));
    return this;
  }

  open(): this {
    return this.on({ type: "open", context });
  }

  /** Answers the request under way. */
  answer(status: number, text = "", retryAfter: string | null = null): this {
    return this.on({ type: "answered", turn: this.state.turn, status, text, retryAfter });
  }

  /** Answers the request under way with a view. */
  view(view: Omit<WorkflowResponse, "blocks"> & { readonly blocks?: WorkflowResponse["blocks"] }): this {
    return this.answer(200, JSON.stringify({ blocks: [], ...view }));
  }

  press(action = "go", seq: number = this.state.seq): this {
    return this.on({ type: "press", action, seq });
  }

  /** Returns the request that the last event sent. */
  get sent(): DialogueEffect & { readonly type: "send" } {
    const effect = this.effects.find(each => each.type === "send");
    assert.ok(effect?.type === "send", `nothing was sent: ${JSON.stringify(this.effects)}`);
    return effect;
  }

  /** Returns the ms of the timer that the last event set. */
  get timer(): number {
    const effect = this.effects.find(each => each.type === "timer");
    assert.ok(effect?.type === "timer", `no timer was set: ${JSON.stringify(this.effects)}`);
    return effect.ms;
  }

  /** The types of what the last event asked for. */
  get asked(): readonly string[] {
    return this.effects.map(({ type }) => type);
  }
}

/** Returns a dialogue that shows a view. */
export function showing(view: Parameters<Play["view"]>[0] = { actions: [parts.go] }): Play {
  return new Play().open().view(view);
}
