/**
 * The language of conditions and amounts that rules, boards and filters share.
 *
 * @module
 */

export { depthMax } from "./_checker.ts";
export { unknownVariable } from "./_terms.ts";
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
  VariableDeclaration,
} from "./types.ts";
