import type { Check } from "./catalogue.ts";

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
