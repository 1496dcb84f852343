/**
 * Answers of a backend, as a frontend reads them: what can be shown is shown, and the rest is reported to developers.
 */

import { jsonPointer } from "../../base/errors/mod.ts";
import { isMembers, isShallow, parsedJson } from "../../base/json/mod.ts";
import { isColour, isImageUrl } from "./files.ts";
import { dialogueLimits } from "./limits.ts";
import { plainText } from "./markup.ts";
import {
  type Block,
  type DialogueAction,
  type DialogueTask,
  type InputType,
  inputTypes,
  severities,
  taskStates,
} from "./protocol.ts";

const { nameCharactersMax, blocksMax, actionsMax, pollMs, pollMsMin, pollMsMax } = dialogueLimits;

type Fields = Readonly<Record<string, unknown>>;

/** A block as it is shown. `key` names it in its view, the same for an input that comes again. */
export type ShownBlock = (Block | { readonly type: "unknown"; readonly name: string }) & {
  readonly key: string;
};

/** A task as it is followed: the time between polls is filled in. */
export interface ShownTask extends DialogueTask {
  readonly pollIntervalMs: number;
}

/** An answer as a frontend reads it. */
export interface DialogueView {
  readonly blocks: readonly ShownBlock[];
  readonly actions: readonly DialogueAction[];
  readonly autoAction: string | null;
  readonly payload: Fields | null;
  readonly task: ShownTask | null;
}

/** A view with messages for developers, or why there is none. */
export type ReadResponse =
  | { readonly view: DialogueView; readonly reports: readonly string[] }
  | { readonly fault: { readonly pointer: string; readonly detail: string } };

/** Reads the body of an answer with status 200. */
export function readResponse(text: string): ReadResponse {
  if (text.length > dialogueLimits.answerBytesMax)
    return fault("", `It is longer than ${dialogueLimits.answerBytesMax} bytes`);
  const value = parsedJson(text);
  if (!isMembers(value)) return fault("", "It is no object of JSON");
  if (!Array.isArray(value.blocks)) return fault("/blocks", "It is no list");
  const { payload } = value;
  if (payload !== undefined && payload !== null && !isMembers(payload))
    return fault("/payload", "It is no object");
  if (!isShallow(payload, dialogueLimits.payloadDepthMax)) return fault("/payload", "It has too many levels");
  const reader = new Reader();
  const view: DialogueView = {
    blocks: reader.blocks(value.blocks),
    actions: reader.actions(value.actions),
    autoAction: reader.autoAction(value.autoAction),
    payload: payload ?? null,
    task: reader.task(value.task),
  };
  return { view, reports: reader.reports };
}

function fault(pointer: string, detail: string): ReadResponse {
  return { fault: { pointer, detail } };
}

class Reader {
  readonly reports: string[] = [];

  report(pointer: string, message: string): void {
    if (this.reports.length < dialogueLimits.reportsMax) this.reports.push(`${pointer}: ${message}`);
  }

  blocks(list: readonly unknown[]): readonly ShownBlock[] {
    if (list.length > blocksMax) this.report("/blocks", `Only the first ${blocksMax} are shown`);
    const shown: ShownBlock[] = [];
    for (const [index, value] of list.slice(0, blocksMax).entries()) {
      const pointer = jsonPointer("blocks", index);
      const block = this.#block(value, pointer);
      if (block.type !== "input") {
        shown.push({ ...block, key: `${block.type}:${index}` });
        continue;
      }
      const key = `input:${block.name}`;
      const earlier = shown.findIndex(each => each.key === key);
      if (earlier >= 0) {
        this.report(pointer, "An earlier input has the same name and is not shown");
        shown.splice(earlier, 1);
      }
      shown.push({ ...block, key });
    }
    return shown;
  }

  actions(value: unknown): readonly DialogueAction[] {
    const actions = new Map<string, DialogueAction>();
    for (const [index, each] of this.#list(value, "/actions").slice(0, actionsMax).entries()) {
      const { type, label: given, action_id: id } = isMembers(each) ? each : {};
      const label = typeof given === "string" ? plainText(given) : "";
      const pointer = jsonPointer("actions", index);
      if (type !== "button" || label.trim() === "" || !isName(id))
        this.report(pointer, "It is no button with label and action_id");
      else if (actions.has(id)) this.report(pointer, "An earlier action has the same id");
      else actions.set(id, { type, label, action_id: id });
    }
    return [...actions.values()];
  }

  autoAction(value: unknown): string | null {
    if (value === undefined || value === null) return null;
    if (isMembers(value) && isName(value.action_id)) return value.action_id;
    this.report("/autoAction", "It has no action_id");
    return null;
  }

  task(value: unknown): ShownTask | null {
    if (value === undefined || value === null) return null;
    const { id, state, error, pollIntervalMs: interval, progress } = isMembers(value) ? value : {};
    if (!isName(id) || !isOneOf(taskStates, state)) {
      this.report("/task", "It has no id, or a state that is none of running, completed and failed");
      return null;
    }
    const hasInterval = typeof interval === "number";
    if (interval !== undefined && !hasInterval) this.report("/task/pollIntervalMs", "It is no number");
    if (error !== undefined && state !== "failed") this.report("/task/error", "Only a failed task has one");
    return {
      id,
      state,
      pollIntervalMs: hasInterval ? within(interval, pollMsMin, pollMsMax) : pollMs,
      ...this.#progress(progress, "/task/progress"),
      ...(state === "failed" && typeof error === "string" ? { error: plainText(error) } : {}),
    };
  }

  #block(value: unknown, pointer: string): Block | { readonly type: "unknown"; readonly name: string } {
    const fields = isMembers(value) ? value : {};
    const read = isBlockType(fields.type) ? readers[fields.type] : undefined;
    const block = read?.(fields, this, pointer);
    if (block !== undefined) return block;
    const name = typeof fields.type === "string" ? plainText(fields.type).slice(0, nameCharactersMax) : "";
    this.report(pointer, read === undefined ? "Its type is unknown" : `It cannot be shown as ${name}`);
    return { type: "unknown", name };
  }

  #list(value: unknown, pointer: string): readonly unknown[] {
    if (value === undefined || value === null) return [];
    if (Array.isArray(value)) return value;
    this.report(pointer, "It is no list");
    return [];
  }

  /** Reads an optional text; `limit` as it is shown. */
  optional<N extends string>(fields: Fields, name: N, pointer: string): { readonly [K in N]?: string } {
    const value = fields[name];
    if (typeof value === "string") return { [name]: plainText(value) } as { [K in N]: string };
    if (value !== undefined && value !== null) this.report(`${pointer}/${name}`, "It is no text");
    return {};
  }

  #progress(value: unknown, pointer: string): { readonly progress?: number } {
    if (typeof value === "number") {
      if (value < 0 || value > 100) this.report(pointer, "It is not within 0 to 100");
      return { progress: within(value, 0, 100) };
    }
    if (value !== undefined && value !== null) this.report(pointer, "It is no number");
    return {};
  }

  loader(fields: Fields, pointer: string): Block {
    return {
      type: "loader",
      ...this.optional(fields, "text", pointer),
      ...this.#progress(fields.progress, `${pointer}/progress`),
    };
  }
}

type ReadBlock = (fields: Fields, reader: Reader, pointer: string) => Block | undefined;

/** Readers of blocks by type. Undefined: the block lacks what it cannot be shown without. */
const readers: Readonly<Record<Block["type"], ReadBlock>> = {
  text: (fields, reader, pointer) =>
    typeof fields.text === "string"
      ? { type: "text", text: fields.text, ...reader.optional(fields, "label", pointer) }
      : undefined,
  image: (fields, reader, pointer) =>
    typeof fields.url === "string" && isImageUrl(fields.url)
      ? {
          type: "image",
          url: fields.url,
          ...reader.optional(fields, "label", pointer),
          ...reader.optional(fields, "alt_text", pointer),
        }
      : undefined,
  loader: (fields, reader, pointer) => reader.loader(fields, pointer),
  colour: (fields, reader, pointer) =>
    typeof fields.value === "string" && isColour(fields.value)
      ? { type: "colour", value: fields.value.toLowerCase(), ...reader.optional(fields, "label", pointer) }
      : undefined,
  alert: (fields, reader, pointer) =>
    typeof fields.text === "string"
      ? {
          type: "alert",
          text: plainText(fields.text),
          ...reader.optional(fields, "title", pointer),
          severity: severityOf(fields.severity, reader, `${pointer}/severity`),
        }
      : undefined,
  input: (fields, reader, pointer) => {
    const { input_type: type, name } = fields;
    if (!isOneOf(inputTypes, type) || !isName(name) || name === "__proto__") return undefined;
    const { label = "" } = reader.optional(fields, "label", pointer);
    const { value: given } = reader.optional(fields, "value", pointer);
    const hasValue = given !== undefined && isSuggestion(type, given);
    if (given !== undefined && !hasValue)
      reader.report(`${pointer}/value`, "It is no text in bounds, and no colour such as #1a2b3c");
    return {
      type: "input",
      input_type: type,
      name,
      label: label.trim() === "" ? plainText(name) : label,
      ...(hasValue ? { value: type === "colour" ? given.toLowerCase() : given } : {}),
    };
  },
};

function isBlockType(value: unknown): value is Block["type"] {
  return typeof value === "string" && Object.hasOwn(readers, value);
}

function isOneOf<T extends string>(words: readonly T[], value: unknown): value is T {
  return words.includes(value as T);
}

/** Files have no suggestion: an answer is too small for them. */
function isSuggestion(type: InputType, value: string): boolean {
  if (type === "text") return value.length <= dialogueLimits.textCharactersMax;
  return type === "colour" && isColour(value) && value.length === 7;
}

function isName(value: unknown): value is string {
  return typeof value === "string" && value !== "" && value.length <= nameCharactersMax;
}

function severityOf(value: unknown, reader: Reader, pointer: string): (typeof severities)[number] {
  if (isOneOf(severities, value)) return value;
  if (value !== undefined && value !== null) reader.report(pointer, "It is unknown");
  return "info";
}

function within(value: number, min: number, max: number): number {
  return Math.min(max, Math.max(min, value));
}
