import { systemTimer, type Timer } from "../../lib/http/mod.ts";

export interface Finding {
  readonly check: string;
  /** `warning`: it works, and should be put right. `skipped`: the settings do not use it. */
  readonly status: "ok" | "warning" | "failed" | "skipped";
  /** What was seen, without secrets. */
  readonly seen: string;
  /** What to do; null where nothing is wrong. */
  readonly advice: string | null;
}

export const checkMsMax = 10_000;

export interface Check {
  readonly name: string;
  /** What to do where it throws, for a reason. */
  readonly advice: string | ((reason: string) => string);
  readonly run: () => Promise<Omit<Finding, "check"> | readonly Finding[]>;
}

export const ok = (seen: string): Omit<Finding, "check"> => ({ status: "ok", seen, advice: null });
/** The settings do not use it. */
export const skipped = (seen: string): Omit<Finding, "check"> => ({ status: "skipped", seen, advice: null });
export const warning = (seen: string, advice: string): Omit<Finding, "check"> => ({
  status: "warning",
  seen,
  advice,
});
/** It does not work. */
export const failed = (seen: string, advice: string): Omit<Finding, "check"> => ({
  status: "failed",
  seen,
  advice,
});

/** Runs a check. One that throws or hangs is a failed one. */
export async function runCheck(
  { name, advice, run }: Check,
  timer: Timer = systemTimer,
): Promise<readonly Finding[]> {
  let cancel = (): void => {};
  const late = new Promise<never>((_, reject) => {
    const message = `There is no answer within ${checkMsMax / 1_000} s`;
    cancel = timer(() => reject(new Error(message)), checkMsMax);
  });
  try {
    const found = await Promise.race([run(), late]);
    return Array.isArray(found) ? found : [{ check: name, ...(found as Omit<Finding, "check">) }];
  } catch (error) {
    const seen = reasonOf(error);
    const missing = /Cannot find (?:package|module) ['"]([@\w][\w./-]*)['"]/.exec(seen)?.[1];
    if (missing !== undefined) {
      return [
        { check: name, status: "failed", seen, advice: `Install it beside grandstand: npm i ${missing}` },
      ];
    }
    return [
      { check: name, status: "failed", seen, advice: typeof advice === "string" ? advice : advice(seen) },
    ];
  } finally {
    cancel();
  }
}

/** Returns the message of the innermost cause, in one line and without credentials of addresses. */
function reasonOf(error: unknown): string {
  let inner = error;
  while (inner instanceof Error && inner.cause instanceof Error) inner = inner.cause;
  const text = inner instanceof Error ? inner.message : String(inner);
  return text
    .replace(/\s+/g, " ")
    .replace(/\/\/[^/@\s]*@/g, "//…@")
    .slice(0, 300);
}
