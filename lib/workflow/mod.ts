/**
 * Backends of the workflow protocol: a builder that verifies callers, keeps the state of dialogues, lets actions take effect once
 * and runs tasks. It needs a store and the address of a platform, and mounts in every server that speaks Request and Response.
 *
 * @module
 */

export { generateMasterSecret, systemRandom } from "../auth/crypto/mod.ts";
export { MasterSecret } from "../auth/mod.ts";
export {
  type AtomicOperation,
  type ControlCallOptions,
  type ControlClient,
  ControlError,
  type ControlFault,
} from "./api.ts";
export { alert, colour, image, input, loader, text, type View } from "./blocks.ts";
export type { Block, DialogueContext } from "./dialogue/mod.ts";
export {
  colourInput,
  type FileInputOptions,
  fileInput,
  InputFault,
  type InputFile,
  type InputImage,
  type InputReader,
  type Inputs,
  type InputValues,
  imageInput,
  optional,
  type TextInputOptions,
  textInput,
} from "./inputs.ts";
export { type StepOutcome, TaskFailed, type TaskOptions, type TaskRun } from "./task_runs.ts";
export type { TaskFailure } from "./tasks.ts";
export type { Handler, Turn } from "./turn.ts";
export type { DialogueRole, DialogueScope, DialogueUser, Requirement, VerifiedContext } from "./verify.ts";
export { type Workflow, type WorkflowOptions, workflow } from "./workflow.ts";
