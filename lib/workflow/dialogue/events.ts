/** The events of a dialogue, as a driver gives them and a recording has them. */

import * as v from "valibot";
import { ContextSchema } from "./protocol.ts";

const stamp = {
  /** Unix ms. */
  at: v.number(),
  /** From 0 to 1, exclusive: spreads the times of repeated requests. */
  random: v.number(),
  /** The idempotency key of a request that the event begins. */
  key: v.string(),
};

function event<T extends string, E extends v.ObjectEntries>(type: T, entries: E) {
  return v.object({ type: v.literal(type), ...stamp, ...entries });
}

/** An event; `turn` is that of the request which is answered. */
export const EventSchema = v.variant("type", [
  event("open", { context: ContextSchema }),
  event("answered", {
    turn: v.number(),
    status: v.number(),
    /** The field `Retry-After`; null: there is none. */
    retryAfter: v.nullable(v.string()),
    text: v.string(),
  }),
  event("failed", { turn: v.number() }),
  event("refreshed", { turn: v.number(), ok: v.boolean() }),
  event("timer", {}),
  event("press", { action: v.string(), seq: v.number() }),
  event("input", { name: v.string(), value: v.nullable(v.string()) }),
  event("hidden", { hidden: v.boolean() }),
  event("retry", {}),
  event("restart", {}),
  event("close", {}),
]);

/** An event of a dialogue. */
export type DialogueEvent = v.InferOutput<typeof EventSchema>;

export type Stamp = Pick<DialogueEvent, keyof typeof stamp>;
