/**
 * Times in filters: ISO 8601 texts, which conditions compare as Unix ms.
 *
 * @module
 */

import type { FieldError } from "../../errors/mod.ts";
import { depthMax } from "../../expressions/mod.ts";
import { instantOf } from "../_times.ts";

/** What a time in a filter looks like, for people. */
export const timeExpectation = "Expected a time such as 2026-05-01 or 2026-05-01T18:30:00Z";

/** Operators that compare operands in a list; the last operand of `in` is a list of constants. */
const comparing: ReadonlySet<string> = new Set(["eq", "ne", "gt", "gte", "lt", "lte", "between", "in"]);

/** What turning the times of a condition into numbers depends on. */
export interface TimesOptions {
  /** Whether a variable is a time. */
  readonly isTime: (path: string) => boolean;
  /** Takes what is wrong. */
  readonly report: (fault: FieldError) => void;
}

/**
 * The condition with every time that is compared with a variable of times as Unix ms. What is not well formed stays as it is,
 * for the compiler to refuse.
 */
export function withInstants(
  source: unknown,
  pointer: string,
  options: TimesOptions & { readonly depth?: number },
): unknown {
  const { isTime, depth = 0 } = options;
  const entry = soleEntry(source);
  if (entry === null || depth > depthMax) return source;
  const [operator, argument] = entry;
  const place = `${pointer}/${operator}`;
  const deeper = { ...options, depth: depth + 1 };
  if (operator === "not") return { not: withInstants(argument, place, deeper) };
  if (!Array.isArray(argument)) return source;
  if (operator === "all" || operator === "any") {
    return { [operator]: argument.map((part, index) => withInstants(part, `${place}/${index}`, deeper)) };
  }
  const hasTime = argument.some(operand => isTimeVariable(operand, isTime));
  if (!comparing.has(operator) || !hasTime) return source;
  return { [operator]: argument.map((operand, index) => instants(operand, `${place}/${index}`, options)) };
}

function instants(operand: unknown, pointer: string, { report }: TimesOptions): unknown {
  if (Array.isArray(operand)) {
    return operand.map((choice, index) => instants(choice, `${pointer}/${index}`, { report, isTime: never }));
  }
  if (typeof operand === "object" && operand !== null) return operand;
  const at = instantOf(operand);
  if (at !== null) return at;
  report({ pointer, detail: timeExpectation });
  return 0;
}

function never(): false {
  return false;
}

function isTimeVariable(operand: unknown, isTime: TimesOptions["isTime"]): boolean {
  const entry = soleEntry(operand);
  return entry !== null && entry[0] === "var" && typeof entry[1] === "string" && isTime(entry[1]);
}

function soleEntry(source: unknown): readonly [operator: string, argument: unknown] | null {
  if (typeof source !== "object" || source === null || Array.isArray(source)) return null;
  const [entry, ...more] = Object.entries(source);
  return entry === undefined || more.length > 0 ? null : entry;
}
