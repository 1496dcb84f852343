/**
 * Conditions and amounts in a loyalty configuration. They are taken as they are and checked when they are compiled, which tells
 * faults by their places in the language; what stands here is what editors are told of them.
 *
 * @module
 */

import * as v from "valibot";
import { expressionShapes } from "../../expressions/mod.ts";
import { ActionNameSchema, type Window, windowField } from "./fields.ts";

/** The actions of a user that an aggregate is over. */
export interface CountDefinition {
  readonly action: string;
  readonly where?: unknown;
  readonly window?: Window;
}

/** A count whose actions count for an amount each. */
export interface SumDefinition extends CountDefinition {
  readonly of?: unknown;
}

/** In how many days, weeks or months in a row there was an action. */
export interface StreakDefinition extends Omit<CountDefinition, "window"> {
  readonly unit: "day" | "week" | "month";
}

/** The schemas of the definitions of aggregates. */
export interface AggregateSchemas {
  readonly count: v.GenericSchema<unknown, CountDefinition>;
  readonly sum: v.GenericSchema<unknown, SumDefinition>;
  readonly streak: v.GenericSchema<unknown, StreakDefinition>;
}

const shapes = expressionShapes(({ condition, calculation }) =>
  aggregatesWith(condition, v.union([v.number(), calculation])),
);

/** A condition. */
export const conditionField: v.GenericSchema = describedBy(shapes.condition);

/** An amount that is calculated. */
export const calculationField: v.GenericSchema = describedBy(shapes.calculation);

/** A number, or how it is calculated. */
export const numberField: v.GenericSchema = describedBy(v.union([v.number(), shapes.calculation]));

/** Checks the definitions of aggregates, and leaves the expressions in them to the compiler. */
export const aggregateSchemas: AggregateSchemas = aggregatesWith(conditionField, numberField);

/** Documents ask a lazy schema about nothing, as no input is undefined. */
function describedBy(shape: v.GenericSchema): v.GenericSchema {
  return v.lazy(input => (input === undefined ? shape : v.unknown()));
}

function aggregatesWith(condition: v.GenericSchema, number: v.GenericSchema): AggregateSchemas {
  const where = v.exactOptional(condition);
  const window = v.exactOptional(windowField);
  return {
    count: v.strictObject({ action: ActionNameSchema, where, window }),
    sum: v.strictObject({ action: ActionNameSchema, of: number, where, window }),
    streak: v.strictObject({
      action: ActionNameSchema,
      where,
      unit: v.picklist(["day", "week", "month"]),
    }),
  };
}
