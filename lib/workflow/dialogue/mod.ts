/**
 * The workflow protocol between a backend and those who show its dialogues: its records, the reading of a frontend, and the rules
 * of a dialogue as one reducer. It needs no browser and no server.
 *
 * @module
 */

export {
  Dialogue,
  type DialogueAnswer,
  type DialogueOptions,
  parseRecording,
  type Recording,
  replayRecording,
} from "./driver.ts";
export type { DialogueEvent } from "./events.ts";
export {
  decodeFile,
  encodeFile,
  fileBytes,
  type ImageType,
  imageType,
  isColour,
  isImageUrl,
} from "./files.ts";
export { dialogueLimits } from "./limits.ts";
export { escapeMarkup, type MarkupToken, parseMarkup, plainText } from "./markup.ts";
export {
  type Block,
  type DialogueAction,
  type DialogueContext,
  type DialogueTask,
  parseRequest,
  responseFaults,
  type WorkflowRequest,
  type WorkflowResponse,
} from "./protocol.ts";
export { canPress, reduce } from "./reducer.ts";
export {
  type DialogueEffect,
  type DialogueProblem,
  type DialogueState,
  idleDialogue,
  ownText,
} from "./state.ts";
export {
  type DialogueView,
  type ReadResponse,
  readResponse,
  type ShownBlock,
  type ShownTask,
} from "./view.ts";
