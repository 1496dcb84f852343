/**
 * Recorded dialogues: each event with its instant, from which every state follows again.
 *
 * @module
 */

import * as v from "valibot";
import { EventSchema } from "./events.ts";
import { reduce } from "./reducer.ts";
import { type DialogueState, idleDialogue } from "./state.ts";

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
