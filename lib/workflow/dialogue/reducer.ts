/**
 * The rules of a frontend as one pure function: (state, event) → (state, effects). It never waits, draws or sends: the driver does
 * what effects ask for, and gives time and chance with each event. A dialogue is therefore a function of its events.
 */

import { answered } from "./answers.ts";
import type { DialogueEvent, Stamp } from "./events.ts";
import { fileBytes, isColour } from "./files.ts";
import { dialogueLimits } from "./limits.ts";
import type { DialogueContext, InputType } from "./protocol.ts";
import {
  bodyOf,
  type DialogueEffect,
  type DialogueState,
  delay,
  everythingTyped,
  failed,
  idleDialogue,
  inputsOf,
  resend,
  type Step,
  send,
} from "./state.ts";

/**
 * Returns true if buttons can be pressed: a view is shown, and nothing but a poll is under way. After a refusal that cannot be
 * repeated, the user may change what was entered and press again.
 */
export function canPress({ status, pending, problem }: DialogueState): boolean {
  if (status === "error") return problem?.canRetry === false && pending?.kind === "press";
  const isPolling = status === "waiting" || status === "sending";
  return status === "showing" || (isPolling && (pending === null || pending.kind === "poll"));
}

/** Applies an event. One that does not fit the state changes nothing. */
export function reduce(state: DialogueState, event: DialogueEvent): Step {
  if (state.status === "closed") return unchanged(state);
  switch (event.type) {
    case "open":
      return state.status === "idle" ? start(state, event.context, event) : unchanged(state);
    case "answered":
      return isCurrent(state, event.turn) ? answered(state, event) : unchanged(state);
    case "failed":
      return isCurrent(state, event.turn)
        ? answered(state, { ...event, status: 0, retryAfter: null, text: "" })
        : unchanged(state);
    case "refreshed":
      return isCurrent(state, event.turn) ? refreshed(state, event.ok) : unchanged(state);
    case "timer":
      return timer(state, event);
    case "press":
      return press(state, event);
    case "input":
      return input(state, event.name, event.value);
    case "hidden":
      return hide(state, event.hidden, event.at);
    case "retry":
      return retry(state);
    case "restart":
      return state.status === "idle" ? unchanged(state) : restart(state, event);
    case "close":
      return {
        state: { ...state, status: "closed", pending: null, wait: null, busy: null },
        effects: stopAll(state),
      };
  }
}

function unchanged(state: DialogueState): Step {
  return { state, effects: [] };
}

function isCurrent({ status, turn, pending }: DialogueState, answeredTurn: number): boolean {
  return status === "sending" && pending !== null && turn === answeredTurn;
}

function start(state: DialogueState, context: DialogueContext, { key }: Stamp): Step {
  return send(
    { ...idleDialogue, isHidden: state.isHidden, turn: state.turn, context },
    "start",
    { context },
    key,
  );
}

function restart(state: DialogueState, stamp: Stamp): Step {
  const { state: next, effects } = start(state, state.context, stamp);
  const hasFailed = state.problem !== null || state.task?.state === "failed";
  const kept = hasFailed ? everythingTyped(state) : {};
  return { state: { ...next, seq: state.seq, kept }, effects: [...stopAll(state), ...effects] };
}

function press(
  state: DialogueState,
  { action, seq, key }: Stamp & { readonly action: string; readonly seq: number },
): Step {
  const isOffered = state.actions.some(each => each.action_id === action);
  if (!canPress(state) || seq !== state.seq || !isOffered) return unchanged(state);
  const sent = send(
    { ...state, busy: action, autos: 0, pending: null },
    "press",
    bodyOf(state, { action, ...inputsOf(state) }),
    key,
  );
  return { state: sent.state, effects: [...stopAll(state), ...sent.effects] };
}

function timer(state: DialogueState, { key }: Stamp): Step {
  if (state.status !== "waiting") return unchanged(state);
  if (state.pending !== null) return resend(state, state.pending);
  return send(state, "poll", bodyOf(state, {}), key);
}

function refreshed(state: DialogueState, ok: boolean): Step {
  if (state.pending?.token !== "renewing") return unchanged(state);
  if (ok) return resend(state, { ...state.pending, token: "renewed" });
  return failed(state, { message: "You are no longer signed in.", canRetry: true });
}

function retry(state: DialogueState): Step {
  if (state.status !== "error" || state.pending === null || state.problem?.canRetry !== true)
    return unchanged(state);
  return resend(state, { ...state.pending, tries: 1, token: "given" });
}

function hide(state: DialogueState, isHidden: boolean, at: number): Step {
  if (state.isHidden === isHidden) return unchanged(state);
  const next = { ...state, isHidden };
  if (state.status !== "waiting") return unchanged(next);
  return { state: next, effects: [{ type: "cancelTimer" }, { type: "timer", ms: delay(next, at) }] };
}

function input(state: DialogueState, name: string, value: string | null): Step {
  const block = state.blocks.find(each => each.type === "input" && each.name === name);
  if (block?.type !== "input") return unchanged(state);
  const { [name]: _value, ...values } = state.values;
  const { [name]: _fault, ...faults } = state.faults;
  if (value === null) return unchanged({ ...state, values, faults });
  const fault = valueFault(state, values, block.input_type, value);
  if (fault !== null) return unchanged({ ...state, values, faults: { ...faults, [name]: fault } });
  const taken = block.input_type === "colour" ? value.toLowerCase() : value;
  return unchanged({ ...state, values: { ...values, [name]: taken }, faults });
}

function valueFault(
  { blocks }: DialogueState,
  others: Readonly<Record<string, string>>,
  type: InputType,
  value: string,
): string | null {
  const { fileBytesMax, textCharactersMax } = dialogueLimits;
  if (type === "colour")
    return isColour(value) && value.length === 7 ? null : "Expected a colour such as #1a2b3c";
  if (type === "text")
    return value.length <= textCharactersMax ? null : `Expected at most ${textCharactersMax} characters`;
  const isFile = (name: string): boolean =>
    blocks.some(
      each => each.type === "input" && each.name === name && /^(?:file|image)$/.test(each.input_type),
    );
  let bytes = fileBytes(value);
  for (const [name, other] of Object.entries(others)) if (isFile(name)) bytes += fileBytes(other);
  return bytes <= fileBytesMax ? null : `Expected files of at most ${fileBytesMax / 1_048_576} MiB together`;
}

function stopAll({ status }: DialogueState): readonly DialogueEffect[] {
  if (status === "sending") return [{ type: "abort" }];
  return status === "waiting" ? [{ type: "cancelTimer" }] : [];
}
