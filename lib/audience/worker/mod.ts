/**
 * Working off the queue of actions.
 *
 * @module
 */

export {
  createDeadLetters,
  type DeadLetter,
  type DeadLetters,
} from "./dead_letters.ts";
export type { ActionSink } from "./handler.ts";
export {
  type ActionWorker,
  startActionWorker,
  workerLeaseMs,
  workerStopMsMax,
} from "./worker.ts";
