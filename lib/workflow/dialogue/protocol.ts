/** Requests and answers of the workflow protocol, as a backend reads and writes them. */

import * as v from "valibot";
import { AppError, type FieldError, jsonPointer } from "../../base/errors/mod.ts";
import { isMembers, isShallow } from "../../base/json/mod.ts";
import { isColour, isImageUrl } from "./files.ts";
import { dialogueLimits } from "./limits.ts";

const { nameCharactersMax, textCharactersMax, blocksMax, actionsMax, payloadDepthMax } = dialogueLimits;

const name = v.pipe(v.string(), v.minLength(1), v.maxLength(nameCharactersMax));
const text = v.pipe(v.string(), v.maxLength(textCharactersMax));
const percent = v.pipe(v.number(), v.minValue(0), v.maxValue(100));
const plain = v.custom<Readonly<Record<string, unknown>>>(isMembers, "Expected an object");
const object = v.pipe(
  plain,
  v.check(value => isShallow(value, payloadDepthMax), `Expected at most ${payloadDepthMax} levels`),
);

export const ContextSchema = v.object({
  /** Address of the platform whose control API answers for the user. */
  baseURL: v.exactOptional(v.pipe(v.string(), v.minLength(1), v.maxLength(dialogueLimits.urlCharactersMax))),
  organisationId: v.exactOptional(name),
  spaceId: v.exactOptional(name),
  projectId: v.exactOptional(name),
  eventId: v.exactOptional(name),
});

/** Texts by name. Unlike `v.record` it takes every name, as authors of dialogues choose them. */
const InputsSchema = v.pipe(
  plain,
  v.rawTransform(({ dataset, addIssue }) => {
    const inputs: Record<string, string> = {};
    for (const [key, value] of Object.entries(dataset.value)) {
      if (key === "__proto__") continue;
      if (typeof value === "string") inputs[key] = value;
      else
        addIssue({
          message: "Expected a string",
          path: [{ type: "object", origin: "value", input: dataset.value, key, value }],
        });
    }
    return inputs;
  }),
);

const RequestSchema = v.object({
  context: v.pipe(plain, ContextSchema),
  action: v.exactOptional(name),
  taskId: v.exactOptional(name),
  inputs: v.exactOptional(InputsSchema),
  payload: v.exactOptional(object),
});

export const inputTypes = ["text", "file", "image", "colour"] as const;
export const severities = ["success", "info", "warning", "error"] as const;
export const taskStates = ["running", "completed", "failed"] as const;
export type InputType = (typeof inputTypes)[number];

const label = v.exactOptional(text);

const BlockSchema = v.variant("type", [
  v.object({ type: v.literal("text"), text, label }),
  v.object({
    type: v.literal("image"),
    url: v.pipe(v.string(), v.check(isImageUrl, "Expected an https address or a data: address of an image")),
    label,
    alt_text: v.exactOptional(text),
  }),
  v.object({ type: v.literal("loader"), text: v.exactOptional(text), progress: v.exactOptional(percent) }),
  v.object({
    type: v.literal("colour"),
    value: v.pipe(v.string(), v.check(isColour, "Expected #rrggbb")),
    label,
  }),
  v.object({
    type: v.literal("alert"),
    text,
    title: v.exactOptional(text),
    severity: v.exactOptional(v.picklist(severities)),
  }),
  v.object({
    type: v.literal("input"),
    input_type: v.picklist(inputTypes),
    label: v.pipe(text, v.minLength(1)),
    // Objects cannot have a field of this name.
    name: v.pipe(name, v.notValue("__proto__")),
    value: v.exactOptional(text),
  }),
]);

const ActionSchema = v.object({
  type: v.literal("button"),
  label: v.pipe(text, v.minLength(1)),
  action_id: name,
});

const TaskSchema = v.pipe(
  v.object({
    id: name,
    state: v.picklist(taskStates),
    progress: v.exactOptional(percent),
    pollIntervalMs: v.exactOptional(v.pipe(v.number(), v.minValue(1))),
    error: v.exactOptional(text),
  }),
  v.forward(
    v.check(
      ({ state, error }) => error === undefined || state === "failed",
      "Expected none unless the task failed",
    ),
    ["error"],
  ),
);

const ResponseSchema = v.object({
  blocks: v.pipe(
    v.array(BlockSchema),
    v.maxLength(blocksMax),
    v.checkItems(
      (block, index, blocks) =>
        block.type !== "input" || blocks.findIndex(each => isInput(each, block.name)) === index,
      "Expected a name that no other input has",
    ),
  ),
  actions: v.exactOptional(
    v.pipe(
      v.array(ActionSchema),
      v.maxLength(actionsMax),
      v.checkItems(
        ({ action_id }, index, actions) => actions.findIndex(each => each.action_id === action_id) === index,
        "Expected an id that no other action has",
      ),
    ),
  ),
  autoAction: v.exactOptional(v.object({ action_id: name })),
  payload: v.exactOptional(object),
  task: v.exactOptional(TaskSchema),
});

/** Where a dialogue runs. Ids are filled in from the scope upwards; those below it are absent. */
export type DialogueContext = v.InferOutput<typeof ContextSchema>;
/** A request to a backend. */
export type WorkflowRequest = v.InferOutput<typeof RequestSchema>;
/** A part of an answer, shown in order. */
export type Block = v.InferOutput<typeof BlockSchema>;
/** A button. */
export type DialogueAction = v.InferOutput<typeof ActionSchema>;
/** Work that goes on between requests. */
export type DialogueTask = v.InferOutput<typeof TaskSchema>;
/** An answer of a backend. */
export type WorkflowResponse = v.InferOutput<typeof ResponseSchema>;

/**
 * Reads a request, as a backend receives it. Unknown members are left out.
 *
 * @throws {AppError} `validation_failed` with pointers to every fault.
 */
export function parseRequest(value: unknown): WorkflowRequest {
  const result = v.safeParse(v.pipe(plain, RequestSchema), value);
  if (result.success) return result.output;
  throw new AppError("validation_failed", "The request is not one of the workflow protocol", {
    fields: faultsOf(result.issues),
  });
}

/** Returns every fault of an answer that a backend is about to give; none if it keeps to the protocol. */
export function responseFaults(value: unknown): readonly FieldError[] {
  const result = v.safeParse(v.pipe(plain, ResponseSchema), value);
  return result.success ? [] : faultsOf(result.issues);
}

function faultsOf(issues: readonly v.BaseIssue<unknown>[]): readonly FieldError[] {
  return issues.slice(0, 100).map(({ path = [], message }) => ({
    pointer: jsonPointer(...path.map(({ key }) => String(key))),
    detail: message,
  }));
}

function isInput(block: Block, inputName: string): boolean {
  return block.type === "input" && block.name === inputName;
}
