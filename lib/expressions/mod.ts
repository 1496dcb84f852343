/**
 * The language of conditions and amounts that rules, boards and filters share.
 *
 * @module
 */

export { depthMax, nodesMax, tokenCharactersMax } from "./_checker.ts";
export { listedConstantsMax } from "./_plans.ts";
export { compileCondition, compileExplanation, compileNumber } from "./compile.ts";
export { type ExpressionShapes, expressionShapes } from "./schema.ts";
export type {
  AggregateKind,
  Condition,
  Environment,
  Failure,
  Operand,
  Value,
  ValueType,
  Variable,
} from "./types.ts";
