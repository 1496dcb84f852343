/**
 * The workflow protocol between a backend and those who show its dialogues: its records, the reading of a frontend, and the rules
 * of a dialogue as one reducer. It needs no browser and no server.
 *
 * @module
 */

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
export {
  type DialogueView,
  type ReadResponse,
  readResponse,
  type ShownBlock,
  type ShownTask,
} from "./view.ts";
