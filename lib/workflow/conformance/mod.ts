/**
 * The conformance suite of workflow backends: black-box checks over HTTP, for backends in any language.
 *
 * @module
 */

import { type Check, conformanceChecks } from "./catalogue.ts";
import { answerChecks, dialogueChecks } from "./dialogue_checks.ts";
import { type Known, lack, type Runs } from "./known.ts";
import { type CheckBackendOptions, Probe } from "./probe.ts";
import { requestChecks } from "./request_checks.ts";

export { type Check, conformanceChecks } from "./catalogue.ts";
export type { BackendFixtures, CheckBackendOptions, DialogueCaller } from "./probe.ts";

/** The outcome of a check. */
export interface CheckOutcome extends Pick<Check, "id" | "level" | "title"> {
  readonly result: "pass" | "fail" | "skip";
  /** What is wrong, or why it was skipped. */
  readonly detail: string | null;
  /** What to do; null unless it failed. */
  readonly hint: string | null;
}

/** The outcomes of all checks. */
export interface ConformanceReport {
  readonly url: string;
  /** True if nothing mandatory failed. */
  readonly passed: boolean;
  readonly checks: readonly CheckOutcome[];
}

const runs: Runs = { ...requestChecks, ...dialogueChecks, ...answerChecks };

/**
 * Checks a backend. It opens dialogues, fills in every input and presses the first action, dozens of times: check a backend
 * whose effects can be thrown away. It never rejects because of what the backend does.
 */
export async function checkBackend(options: CheckBackendOptions): Promise<ConformanceReport> {
  const { only, onCheck } = options;
  const known = await learn(new Probe(options));
  const checks: CheckOutcome[] = [];
  for (const check of conformanceChecks.filter(({ id }) => only?.includes(id) ?? true)) {
    onCheck?.(check.id);
    checks.push(await outcomeOf(check, known));
  }
  const passed = checks.every(({ result, level }) => result !== "fail" || level === "recommended");
  return { url: options.url, passed, checks };
}

/** Runs a dialogue to its end, which shows what can be checked. */
async function learn(probe: Probe): Promise<Known> {
  const opened = await probe.open();
  const { view } = opened;
  const before = await probe.effects();
  const pressed = view !== null && probe.actionOf(view) !== undefined ? await probe.press(view) : null;
  const settled = pressed && (await probe.settle(pressed));
  return { probe, opened, pressed, settled, effects: (await probe.effects()) - before };
}

async function outcomeOf({ id, level, title, hint, needs }: Check, known: Known): Promise<CheckOutcome> {
  const isSilent = known.opened.status === 0 && id !== "dialogue.start";
  const reason = isSilent
    ? "the backend does not answer"
    : needs.map(need => lack(need, known)).find(text => text !== null);
  if (reason !== undefined) return { id, level, title, result: "skip", detail: reason, hint: null };
  const found = await runs[id]?.(known).catch((error: unknown) => [
    error instanceof Error ? error.message : String(error),
  ]);
  const [detail, ...others] = new Set((found ?? ["there is no such check"]).filter(fault => fault !== null));
  if (detail === undefined) return { id, level, title, result: "pass", detail: null, hint: null };
  const more = others.length > 0 ? ` (and ${others.length} more)` : "";
  return { id, level, title, result: "fail", detail: detail + more, hint };
}

/** Prints a report as TAP version 14, in which failed recommendations are still to be done. */
export function tapOf({ checks }: ConformanceReport): string {
  const lines = ["TAP version 14", `1..${checks.length}`, ...checks.flatMap(tapLines)];
  return lines.map(line => `${line}\n`).join("");
}

function tapLines(
  { id, level, title, result, detail, hint }: CheckOutcome,
  index: number,
): readonly string[] {
  const skip = result === "skip" ? ` # SKIP ${detail}` : "";
  const isDue = result === "fail" && level === "recommended";
  const ok = result === "fail" ? "not ok" : "ok";
  const point = `${ok} ${index + 1} - ${id}: ${title}${skip}${isDue ? " # todo recommended" : ""}`;
  if (result !== "fail") return [point];
  const fields = Object.entries({ level, detail, hint });
  return [point, "  ---", ...fields.map(([name, value]) => `  ${name}: ${JSON.stringify(value)}`), "  ..."];
}
