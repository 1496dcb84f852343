/** Filters of searches and exports: conditions of rules, or the short form, with times as ISO 8601 text. */

import * as v from "valibot";
import { parseIsoDateOrTime } from "../../../base/calendar/mod.ts";
import { AppError, type FieldError } from "../../../base/errors/mod.ts";
import { type Condition, compileCondition, depthMax } from "../../../base/expressions/mod.ts";
import { isMembers, type Members } from "../../../base/json/mod.ts";
import { fieldErrors } from "../../../http/requests/validate.ts";
import { environmentOf, type FindColumn, variableName } from "./columns.ts";
import { demandsOf, type FilterDemands } from "./filter_demands.ts";
import {
  conditionsOf,
  type FindHolders,
  type LocatedCondition,
  ShortFormSchema,
  splitFilter,
  timeExpectation,
} from "./short_form.ts";
import type { SearchedUser } from "./user_reader.ts";

export interface Filter {
  readonly matches: Condition<SearchedUser>;
  readonly demands: FilterDemands;
  readonly columns: ReadonlySet<string>;
}

const base = "/filter";

/**
 * Compiles a filter; undefined matches every user.
 *
 * @throws {AppError} `validation_failed` with a pointer for every error.
 */
export function compileFilter(source: unknown, find: FindColumn, findHolders: FindHolders): Filter {
  const errors: FieldError[] = [];
  const columns = new Set<string>();
  const findAndNote: FindColumn = name => {
    columns.add(name);
    return find(name);
  };
  const compiled = conditionsIn(source, findHolders, errors).flatMap(part =>
    compilePart(part, findAndNote, errors),
  );
  if (errors.length > 0) {
    throw new AppError("validation_failed", "Cannot search as the filter is not well formed", {
      fields: errors,
    });
  }
  return {
    matches: user => compiled.every(({ matches }) => matches(user)),
    demands: demandsOf(compiled.map(({ condition }) => condition)),
    columns,
  };
}

function conditionsIn(
  source: unknown,
  findHolders: FindHolders,
  errors: FieldError[],
): readonly LocatedCondition[] {
  if (source === undefined) return [];
  if (!isMembers(source)) {
    errors.push({ pointer: base, detail: "Expected an object: a condition, or its short form" });
    return [];
  }
  const { short, condition } = splitFilter(source);
  const parsed = v.safeParse(ShortFormSchema, short);
  errors.push(...fieldErrors(parsed.issues, base));
  const rest = Object.keys(condition).length === 0 ? [] : [{ pointer: "", condition }];
  return [...(parsed.success ? conditionsOf(parsed.output, findHolders) : []), ...rest];
}

function compilePart(
  { pointer, condition: source }: LocatedCondition,
  find: FindColumn,
  errors: FieldError[],
): readonly { readonly condition: unknown; readonly matches: Condition<SearchedUser> }[] {
  const at = base + pointer;
  const before = errors.length;
  const isTime = (path: string): boolean => find(variableName(path))?.kind === "time";
  const condition = withParsedTimes(source, at, { isTime, errors, depth: 0 });
  try {
    const matches = compileCondition(condition, environmentOf(find), at);
    return errors.length > before ? [] : [{ condition, matches }];
  } catch (error) {
    if (!(error instanceof AppError) || error.fields === undefined) throw error;
    // A pointer into the conditions of a short form would name what its author did not write.
    const isShortForm = pointer !== "";
    const detail = "Expected the id of a metric of the space";
    errors.push(...(isShortForm ? [{ pointer: at, detail }] : error.fields));
    return [];
  }
}

/** Operators that compare operands; the last operand of `in` is a list of constants. */
const comparisons: ReadonlySet<string> = new Set(["eq", "ne", "gt", "gte", "lt", "lte", "between", "in"]);

interface TimeContext {
  readonly isTime: (path: string) => boolean;
  readonly errors: FieldError[];
  readonly depth: number;
}

/** Parses the times that a condition compares with time variables into Unix ms. Malformed conditions stay, for the compiler. */
function withParsedTimes(source: unknown, pointer: string, context: TimeContext): unknown {
  const { isTime, depth } = context;
  const entry = soleEntry(source);
  if (entry === null || depth > depthMax) return source;
  const [operator, argument] = entry;
  const at = `${pointer}/${operator}`;
  const deeper = { ...context, depth: depth + 1 };
  if (operator === "not") return { not: withParsedTimes(argument, at, deeper) };
  if (!Array.isArray(argument)) return source;
  if (operator === "all" || operator === "any") {
    return { [operator]: argument.map((part, index) => withParsedTimes(part, `${at}/${index}`, deeper)) };
  }
  const hasTime = argument.some(operand => {
    const variable = soleEntry(operand);
    return variable?.[0] === "var" && typeof variable[1] === "string" && isTime(variable[1]);
  });
  if (!comparisons.has(operator) || !hasTime) return source;
  return { [operator]: argument.map((operand, index) => parseTimes(operand, `${at}/${index}`, context)) };
}

function parseTimes(operand: unknown, pointer: string, context: TimeContext): unknown {
  if (Array.isArray(operand)) {
    return operand.map((choice, index) => parseTimes(choice, `${pointer}/${index}`, context));
  }
  if (typeof operand === "object" && operand !== null) return operand;
  const at = parseIsoDateOrTime(operand);
  if (at === null) context.errors.push({ pointer, detail: timeExpectation });
  return at ?? 0;
}

function soleEntry(source: unknown): readonly [operator: string, argument: unknown] | null {
  const entries = isMembers(source) ? Object.entries(source satisfies Members) : [];
  const [entry] = entries;
  return entry === undefined || entries.length > 1 ? null : entry;
}
