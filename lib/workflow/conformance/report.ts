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

/** Formats a report: a table, JSON, or TAP version 14, in which failed recommendations are to do. */
export function formatReport(report: ConformanceReport, form: "table" | "json" | "tap"): string {
  if (form === "json") return `${JSON.stringify(report, null, 2)}\n`;
  const { checks, passed } = report;
  const lines =
    form === "tap"
      ? ["TAP version 14", `1..${checks.length}`, ...checks.flatMap(tapLines)]
      : [...checks.map(tableLine), passed ? "Passed" : "Failed"];
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

function tableLine({ id, level, title, result, detail, hint }: CheckOutcome): string {
  const text = [detail ?? title, ...(hint === null ? [] : [hint])].join(" → ");
  return `${result.toUpperCase()}  ${level.padEnd(11)}  ${id.padEnd(24)}  ${text}`;
}
