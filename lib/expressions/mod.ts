/**
 * The condition language that rules, boards and filters share.
 *
 * @module
 */

export {
  type Condition,
  compileCondition,
  compileOperand,
  depthMax,
  nodesMax,
  type Operand,
  type Value,
  type Variables,
} from "./expression.ts";
