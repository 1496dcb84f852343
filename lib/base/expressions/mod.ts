/** The language of conditions and amounts that rules, boards and filters share. */

import * as v from "valibot";
import { type AggregateKind, arithmetic } from "./_terms.ts";
import { comparisons } from "./compile.ts";

export type {
  AggregateKind,
  Condition,
  Environment,
  Failure,
  Operand,
  Value,
  ValueType,
  VariableDeclaration,
} from "./_terms.ts";
export { depthMax, unknownVariable } from "./_terms.ts";
export { compileCondition, compileExplanation, compileNumber } from "./compile.ts";

interface ExpressionShapes {
  readonly condition: v.LazySchema<v.GenericSchema>;
  readonly calculation: v.LazySchema<v.GenericSchema>;
}

/**
 * Returns the shapes of expressions, with those of the definitions of an area's aggregates, which may have expressions in them.
 *
 * Both are made from the operators that the compiler knows.
 */
export function expressionShapes(
  aggregatesOf: (shapes: ExpressionShapes) => Readonly<Partial<Record<AggregateKind, v.GenericSchema>>>,
): ExpressionShapes {
  const condition = v.lazy((): v.GenericSchema => conditions);
  const calculation = v.lazy((): v.GenericSchema => calculations);
  const shapes = { condition, calculation };
  const conditions = conditionOf(shapes);
  const calculations = calculationOf(shapes, aggregatesOf(shapes));
  return shapes;
}

const constant = v.union([v.string(), v.number(), v.boolean()]);
const variable = v.strictObject({ var: v.string() });

function conditionOf({ condition, calculation }: ExpressionShapes): v.GenericSchema {
  const operand = v.union([constant, calculation]);
  const group = v.pipe(v.array(condition), v.minLength(1));
  const compared = [...comparisons].map(([operator, { accepts }]) =>
    v.strictObject({ [operator]: v.strictTuple(accepts.map(() => operand)) }),
  );
  return v.union([
    v.strictObject({ all: group }),
    v.strictObject({ any: group }),
    v.strictObject({ not: condition }),
    ...compared,
    v.strictObject({ in: v.strictTuple([operand, v.array(constant)]) }),
    v.strictObject({ exists: variable }),
  ]);
}

function calculationOf(
  { condition, calculation }: ExpressionShapes,
  aggregates: Readonly<Record<string, v.GenericSchema>>,
): v.GenericSchema {
  const number = v.union([v.number(), calculation]);
  const arithmetical = [...arithmetic].map(([operator, { operands }]) =>
    v.strictObject({ [operator]: operandsOf(number, operands) }),
  );
  const aggregated = Object.entries(aggregates).map(([kind, definition]) =>
    v.strictObject({ [kind]: definition }),
  );
  const choice = v.strictObject({ if: v.strictTuple([condition, number, number]) });
  return v.union([variable, choice, ...arithmetical, ...aggregated]);
}

function operandsOf(number: v.GenericSchema, [min, max]: readonly [number, number]): v.GenericSchema {
  if (max === 1) return number;
  const list = v.pipe(v.array(number), v.minLength(min));
  return Number.isFinite(max) ? v.pipe(list, v.maxLength(max)) : list;
}
