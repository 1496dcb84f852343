/** The rules about answers: the view that replaces the one before it, and what failed. */

import { isMembers, parsedJson } from "../../base/json/mod.ts";
import type { Stamp } from "./events.ts";
import { dialogueLimits } from "./limits.ts";
import { plainText } from "./markup.ts";
import {
  bodyOf,
  type DialogueProblem,
  type DialogueState,
  everythingTyped,
  failed,
  inputKey,
  inputsOf,
  ownText,
  type Step,
  send,
  waitFor,
} from "./state.ts";
import { type DialogueView, readResponse, type ShownBlock, type ShownTask } from "./view.ts";

const { triesMax, pollMsMin, pollMsMax, autoActionsMax, reportsMax, answerBytesMax } = dialogueLimits;

/** The base of growing waits, in ms. */
const backoffMs = 500;
/** Time in ms to wait for another request that has the same key, where the backend names none. */
const conflictMs = 1_000;
const detailCharactersMax = 300;

export interface Answer extends Stamp {
  /** HTTP status; 0: none arrived. */
  readonly status: number;
  readonly retryAfter: string | null;
  readonly text: string;
}

export function answered(state: DialogueState, answer: Answer): Step {
  const { status } = answer;
  const { pending, turn } = state;
  if (pending === null || pending.token === "renewing") return { state, effects: [] };
  if (status === 200) return read(state, answer);
  if (status === 401 && pending.token === "given") {
    return {
      state: { ...state, pending: { ...pending, token: "renewing" } },
      effects: [{ type: "refresh", turn }],
    };
  }
  if (isRepeated(pending.kind, status) && pending.tries < triesMax) {
    const own = status === 409 ? conflictMs : backoff(pending.tries, answer.random);
    const ms = status === 409 ? (retryAfterMs(answer) ?? own) : Math.max(retryAfterMs(answer) ?? 0, own);
    const again = { ...state, pending: { ...pending, tries: pending.tries + 1 } };
    return waitFor(again, Math.min(ms, pollMsMax), answer.at);
  }
  return failed(state, problemOf(answer));
}

/** Returns the wait before the next try in ms, with full jitter. */
function backoff(tries: number, random: number): number {
  return Math.max(pollMsMin, Math.round(random * Math.min(pollMsMax, backoffMs * 2 ** tries)));
}

/** Presses and auto actions are never repeated by themselves, as a foreign backend may do the work again. */
function isRepeated(kind: string, status: number): boolean {
  if (status === 409) return true;
  return (kind === "start" || kind === "poll") && (status === 0 || status === 429 || status >= 500);
}

/** Reads `Retry-After` in seconds or as a date. */
function retryAfterMs({ retryAfter, at }: Answer): number | null {
  if (retryAfter === null || retryAfter.trim() === "") return null;
  const seconds = Number(retryAfter);
  const ms = Number.isNaN(seconds) ? Date.parse(retryAfter) - at : seconds * 1_000;
  return Number.isFinite(ms) ? Math.max(0, ms) : null;
}

function problemOf({ status, text }: Answer): DialogueProblem {
  const known: Readonly<Record<number, string>> = {
    0: "The backend cannot be reached.",
    401: "You are no longer signed in.",
    403: "Your role does not allow this.",
    404: "There is no such workflow.",
    409: "The backend is still at work on this.",
    413: "What you entered is too large.",
    429: "Too many requests at once.",
  };
  const general = status >= 500 ? "The backend has a problem." : "The backend refused the request.";
  const message = [known[status] ?? general, detailOf(text)].join(" ").trim();
  const canRetry = status === 0 || status === 401 || status === 409 || status === 429 || status >= 500;
  return { message, canRetry };
}

/** Returns the explanation in a problem document (RFC 9457) or an error of JSON:API; "" if there is none. */
function detailOf(text: string): string {
  const document = text.length > answerBytesMax ? undefined : parsedJson(text);
  const [first] = isMembers(document) && Array.isArray(document.errors) ? document.errors : [document];
  const detail = isMembers(first) ? first.detail : undefined;
  return typeof detail === "string" ? plainText(detail.slice(0, detailCharactersMax)) : "";
}

function read(state: DialogueState, { text, at, key }: Answer): Step {
  const result = readResponse(text);
  if ("fault" in result) {
    const { pointer, detail } = result.fault;
    const message = "The backend answered wrongly.";
    const noted = { ...state, reports: merged(state.reports, [`${pointer}: ${detail}`]) };
    return failed(noted, { message, canRetry: true, pointer });
  }
  const { view, reports } = result;
  const task = followed(state.task, view.task);
  const hasProgress = task?.state === "running" && (task.progress ?? 0) > (state.task?.progress ?? 0);
  const next: DialogueState = {
    ...state,
    seq: state.seq + 1,
    blocks: shown(view, task),
    actions: view.actions,
    values: valuesOf(state, view.blocks),
    kept: keptOf(state, task),
    faults: {},
    task,
    busy: null,
    problem: null,
    reports: merged(state.reports, reports),
    payload: view.payload,
    pending: null,
    autos: hasProgress ? 0 : state.autos,
  };
  return proceed(next, view.autoAction, { at, key });
}

function proceed(
  state: DialogueState,
  autoAction: string | null,
  { at, key }: Pick<Stamp, "at" | "key">,
): Step {
  if (autoAction !== null) {
    if (state.autos >= autoActionsMax)
      return failed(state, { message: "The backend loops: it goes on without end.", canRetry: false });
    const body = bodyOf(state, { action: autoAction, ...inputsOf(state) });
    return send({ ...state, autos: state.autos + 1, busy: autoAction }, "auto", body, key);
  }
  const { task, actions } = state;
  if (task?.state === "running") return waitFor(state, task.pollIntervalMs, at);
  return { state: { ...state, status: actions.length > 0 ? "showing" : "ended" }, effects: [] };
}

/** Returns the task of an answer. Within one task, progress never falls and an end is final. */
function followed(before: ShownTask | null, now: ShownTask | null): ShownTask | null {
  if (now === null || before?.id !== now.id) return now;
  if (before.state !== "running") return before;
  const progress = Math.max(before.progress ?? 0, now.progress ?? 0);
  return before.progress === undefined && now.progress === undefined ? now : { ...now, progress };
}

/** Returns the blocks of a view with what the task adds: its progress, its error, and a word at the end. */
function shown({ blocks, actions, autoAction }: DialogueView, task: ShownTask | null): readonly ShownBlock[] {
  const isRunning = task?.state === "running";
  const progress = isRunning && task.progress !== undefined ? { progress: task.progress } : {};
  const list: ShownBlock[] = blocks.map(block =>
    block.type === "loader" ? { ...progress, ...block } : block,
  );
  if (isRunning && !list.some(({ type }) => type === "loader"))
    list.push({ type: "loader", key: "task:loader", ...progress });
  const isShown = list.some(block => block.type === "alert" && block.text === task?.error);
  if (task?.error !== undefined && !isShown)
    list.push({ type: "alert", key: "task:error", severity: "error", text: task.error });
  const isEnd = !isRunning && actions.length === 0 && autoAction === null;
  return isEnd && list.length === 0 ? [{ type: "text", key: "end", text: "Done" }] : list;
}

/**
 * Returns the values of inputs: what was typed while name and type stay, what was typed before a task that failed, and what the backend
 * suggests for an input that is new.
 */
function valuesOf(state: DialogueState, blocks: readonly ShownBlock[]): Readonly<Record<string, string>> {
  const before = new Set(state.blocks.flatMap(each => (each.type === "input" ? [inputKey(each)] : [])));
  const values: Record<string, string> = {};
  for (const block of blocks) {
    if (block.type !== "input") continue;
    const value = before.has(inputKey(block))
      ? ownText(state.values, block.name)
      : (ownText(state.kept, inputKey(block)) ?? block.value);
    if (value !== undefined) values[block.name] = value;
  }
  return values;
}

/** Keeps what was typed until a task has done its work with it. A view after the failure may still be without the inputs. */
function keptOf(state: DialogueState, task: ShownTask | null): Readonly<Record<string, string>> {
  const isWorking = task !== null && task.state !== "completed";
  return isWorking || state.task?.state === "failed" ? everythingTyped(state) : {};
}

function merged(before: readonly string[], more: readonly string[]): readonly string[] {
  return [...new Set([...before, ...more])].slice(0, reportsMax);
}
