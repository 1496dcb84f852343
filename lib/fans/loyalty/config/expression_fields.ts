/**
 * Conditions and amounts in a loyalty configuration. The schemas accept anything, since the compiler of expressions reports
 * better errors. JSON Schemas and editors get the whole grammar.
 *
 * @module
 */

import * as v from "valibot";
import { expressionShapes } from "../../../base/expressions/mod.ts";
import { named } from "../../../http/mod.ts";
import { ActionNameSchema, dataVariableField, windowField } from "./fields.ts";

const shapes = expressionShapes(({ condition, calculation }) =>
  aggregatesWith(condition, v.union([v.number(), calculation])),
);
const conditionShape = named("LoyaltyCondition", shapes.condition.getter(undefined));
const calculationShape = named("LoyaltyCalculation", shapes.calculation.getter(undefined));
const numberShape = named("LoyaltyNumber", v.union([v.number(), shapes.calculation]));

export const conditionField: v.GenericSchema = describedBy(conditionShape);

/** A calculated amount. */
export const calculationField: v.GenericSchema = describedBy(calculationShape);

/** A number or a calculated amount. */
export const numberField: v.GenericSchema = describedBy(numberShape);

/** Schemas of counts, sums, streaks and distinct values over the actions of a user. The expressions in them are left to the compiler. */
export const aggregateSchemas = aggregatesWith(conditionField, numberField);

/** Returns a schema that accepts everything and is described as another: converters to JSON Schema pass no input. */
function describedBy(shape: v.GenericSchema): v.GenericSchema {
  return v.lazy(input => (input === undefined ? shape : v.unknown()));
}

function aggregatesWith(condition: v.GenericSchema, number: v.GenericSchema) {
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
    distinct: v.strictObject({ action: ActionNameSchema, of: dataVariableField, where, window }),
  };
}
