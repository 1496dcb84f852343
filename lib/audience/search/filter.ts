/**
 * Filters: the one grammar for searches and exports, which is that of conditions in rules.
 *
 * @module
 */

import * as v from "valibot";
import { AppError, type FieldError } from "../../errors/mod.ts";
import { type Condition, compileCondition } from "../../expressions/mod.ts";
import { issueDetail } from "../../http/mod.ts";
import { environmentOf, type FindColumn, variableName } from "./columns.ts";
import { type Demands, demandsOf } from "./demands.ts";
import type { SearchedUser } from "./searched_user.ts";
import { conditionsOf, type PlacedCondition, ShortFormSchema, splitFilter } from "./short_form.ts";
import { withInstants } from "./times.ts";

/** A filter that was checked. */
export interface Filter {
  readonly fits: Condition<SearchedUser>;
  readonly demands: Demands;
  /** The columns that it compares. */
  readonly columns: ReadonlySet<string>;
}

const base = "/filter";
const expectation = "Expected an object: a condition, or its short form";

/**
 * Compiles a filter; undefined: every user fits.
 *
 * @throws {AppError} `validation_failed`, with the pointer of every part at fault.
 */
export function compileFilter(source: unknown, find: FindColumn): Filter {
  const faults: FieldError[] = [];
  const columns = new Set<string>();
  const named: FindColumn = name => {
    columns.add(name);
    return find(name);
  };
  const parts = partsOf(source, faults);
  const compiled = parts.flatMap(part => compilePart(part, named, faults));
  if (faults.length > 0) {
    throw new AppError("validation_failed", "Cannot search as the filter is not well formed", {
      fields: faults,
    });
  }
  const conditions = compiled.map(({ fits }) => fits);
  return {
    fits: user => conditions.every(fits => fits(user)),
    demands: demandsOf(compiled.map(({ condition }) => condition)),
    columns,
  };
}

function partsOf(source: unknown, faults: FieldError[]): readonly PlacedCondition[] {
  if (source === undefined) return [];
  if (typeof source !== "object" || source === null || Array.isArray(source)) {
    faults.push({ pointer: base, detail: expectation });
    return [];
  }
  const { short, condition } = splitFilter(source as Readonly<Record<string, unknown>>);
  const parsed = v.safeParse(ShortFormSchema, short);
  for (const issue of parsed.issues ?? []) {
    const path = (issue.path ?? []).map(({ key }) => token(key));
    faults.push({ pointer: [base, ...path].join("/"), detail: issueDetail(issue) });
  }
  const rest = Object.keys(condition).length === 0 ? [] : [{ pointer: "", condition }];
  return [...(parsed.success ? conditionsOf(parsed.output) : []), ...rest];
}

interface CompiledPart {
  readonly condition: unknown;
  readonly fits: Condition<SearchedUser>;
}

function compilePart(
  { pointer, condition }: PlacedCondition,
  find: FindColumn,
  faults: FieldError[],
): readonly CompiledPart[] {
  const isShort = pointer !== "";
  const place = `${base}${pointer}`;
  const before = faults.length;
  const isTime = (path: string): boolean => find(variableName(path))?.kind === "time";
  // Times of the short form have been checked where they stand.
  const report = (fault: FieldError): number => faults.push(fault);
  const timed = withInstants(condition, place, { isTime, report });
  try {
    const fits = compileCondition(timed, environmentOf(find), place);
    return faults.length > before ? [] : [{ condition: timed, fits }];
  } catch (error) {
    if (!(error instanceof AppError) || error.fields === undefined) throw error;
    // What a short form stands for is not what its author wrote, so its place is told instead.
    for (const fault of error.fields)
      faults.push(isShort ? { pointer: place, detail: unknownMetric } : fault);
    return [];
  }
}

const unknownMetric = "Expected the id of a metric of the space";

function token(key: unknown): string {
  return String(key).replaceAll("~", "~0").replaceAll("/", "~1");
}
