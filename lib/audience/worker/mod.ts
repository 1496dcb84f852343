/**
 * Working off the queue of actions.
 *
 * @module
 */

export {
  createDeadLetters,
  type DeadLetter,
  type DeadLetterPage,
  type DeadLetters,
  deadLetterMsMax,
  deadLetterPageMax,
  deadLettersMax,
} from "./dead_letters.ts";
export { type ActionSink, applyAction, attemptsMax } from "./handler.ts";
export { idlePauseMsMax, inHandMax } from "./shard_consumer.ts";
export {
  type ActionWorker,
  type ActionWorkerOptions,
  startActionWorker,
  workerLeaseMs,
  workerStopMsMax,
} from "./worker.ts";
