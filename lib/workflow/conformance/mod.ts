/**
 * The conformance suite of workflow backends: black-box checks over HTTP, for backends in any language.
 *
 * @module
 */

import { type Check, conformanceChecks } from "./catalogue.ts";
import { answerChecks, dialogueChecks } from "./dialogue_checks.ts";
import type { CheckBackendOptions } from "./fixtures.ts";
import { type Known, lack, type Runs } from "./known.ts";
import { Probe } from "./probe.ts";
import type { CheckOutcome, ConformanceReport } from "./report.ts";
import { requestChecks } from "./request_checks.ts";

export { type Check, conformanceChecks } from "./catalogue.ts";
export type { BackendFixtures, CheckBackendOptions, DialogueCaller } from "./fixtures.ts";
export { type CheckOutcome, type ConformanceReport, tapOf } from "./report.ts";

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
