import { dialogueLimits } from "../../dialogue/mod.ts";
import type { Answer, Fault } from "./answer.ts";
import type { Runs } from "./known.ts";

/** Checks of all answers together. */
export const answerChecks: Runs = {
  "answers.form": async ({ probe }) => formFaults(probe.answers, false),
  "answers.progress": async ({ probe }) => formFaults(probe.answers, true),
  "answers.rising": async ({ probe }) => {
    const highest = new Map<string, number>();
    return probe.polled.map(({ view }) => {
      const { id = "", progress = null } = view?.task ?? {};
      if (progress === null) return null;
      const before = highest.get(id) ?? 0;
      highest.set(id, Math.max(before, progress));
      return progress < before ? `progress fell from ${before} to ${progress}` : null;
    });
  },
  "answers.errors": async ({ probe }) =>
    probe.answers.map(({ status }) => (status >= 500 ? `an answer is ${status}` : null)),
  "answers.time": async ({ probe }) =>
    probe.answers.map(({ ms }) =>
      ms > dialogueLimits.answerMsMax ? `an answer took ${Math.round(ms / 1_000)} s` : null,
    ),
  "answers.problems": async ({ probe }) =>
    probe.answers.map(({ status, headers }) => {
      const type = headers.get("content-type") ?? "none";
      const isRefusal = status >= 400 && status < 500;
      return !isRefusal || type.startsWith("application/problem+json") ? null : `a ${status} of type ${type}`;
    }),
};

function formFaults(answers: readonly Answer[], isProgress: boolean): readonly Fault[] {
  const faults = answers.flatMap(answer => (answer.status === 200 ? answer.faults : []));
  return faults.filter(fault => fault.includes("/progress:") === isProgress);
}
