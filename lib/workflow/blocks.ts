/** Blocks of a view, and the view that a handler returns. */

import { present } from "../base/text/present.ts";
import { type Block, type DialogueAction, escapeMarkup } from "./dialogue/mod.ts";

type BlockOf<T extends Block["type"]> = Extract<Block, { readonly type: T }>;
type Severity = NonNullable<BlockOf<"alert">["severity"]>;

/**
 * Creates a text block: text`Hello <strong>${name}</strong>`. The markup `<strong>`, `<em>` and `<br>` of the template counts; values
 * are escaped, so that nothing in them is markup.
 */
export function text(
  template: TemplateStringsArray,
  ...values: readonly (string | number)[]
): BlockOf<"text"> {
  const escaped = values.map(value => escapeMarkup(String(value)));
  return { type: "text", text: template.reduce((before, part, index) => before + escaped[index - 1] + part) };
}

/** Creates an image from an https address, or a `data:` address of a PNG, JPEG, GIF or WebP file of up to 1 MiB. */
export function image(
  url: string,
  { label, alt }: { readonly label?: string; readonly alt?: string } = {},
): BlockOf<"image"> {
  return present({ type: "image" as const, url, label, alt_text: alt });
}

/**
 * Creates a loader, with a progress from 0 to 100 if it is known. In the view of a task it shows message and progress of the
 * task.
 */
export function loader(message?: string, progress?: number): BlockOf<"loader"> {
  return present({ type: "loader" as const, text: message, progress });
}

/** Creates a colour that is shown: `#rgb`, `#rrggbb` or `#rrggbbaa`. */
export function colour(value: string, label?: string): BlockOf<"colour"> {
  return present({ type: "colour" as const, value, label });
}

/** Creates an alert. Its text is plain. */
export function alert(severity: Severity, message: string, title?: string): BlockOf<"alert"> {
  return present({ type: "alert" as const, severity, text: message, title });
}

/**
 * Inputs by their type. The name identifies the input in a view and in the values of a handler. A value is what the input has before
 * somebody types.
 */
export const input = {
  text: (name: string, label: string, value?: string) => inputBlock("text", name, label, value),
  file: (name: string, label: string) => inputBlock("file", name, label),
  image: (name: string, label: string) => inputBlock("image", name, label),
  colour: (name: string, label: string, value?: string) => inputBlock("colour", name, label, value),
} as const;

function inputBlock(
  type: BlockOf<"input">["input_type"],
  name: string,
  label: string,
  value?: string,
): BlockOf<"input"> {
  return present({ type: "input" as const, input_type: type, name, label, value });
}

interface TaskRequest {
  readonly name: string;
  readonly arg: unknown;
}

export interface ViewContent {
  readonly blocks: readonly Block[];
  readonly actions: readonly DialogueAction[];
  /** Id of the action that the frontend sends at once. */
  readonly auto?: string | undefined;
}

/** A view under construction. Every method returns the view itself. */
export class View {
  readonly #blocks: readonly Block[];
  readonly #actions: DialogueAction[] = [];
  #auto: string | undefined;
  /** The task that begins with this view, or null. */
  readonly task: TaskRequest | null;
  #isLast = false;

  constructor(blocks: readonly Block[], task: TaskRequest | null = null) {
    this.#blocks = blocks;
    this.task = task;
  }

  /** Adds a button that sends the action. */
  button(action: string, label: string): this {
    this.#actions.push({ type: "button", label, action_id: action });
    return this;
  }

  /** Lets the frontend send the action at once, without a press. */
  auto(action: string): this {
    this.#auto = action;
    return this;
  }

  /** Ends the dialogue with this view, also if a task is still running. */
  end(): this {
    this.#isLast = true;
    return this;
  }

  /** True after {@linkcode View.end}. */
  get isLast(): boolean {
    return this.#isLast;
  }

  /** What the view shows. */
  get content(): ViewContent {
    return this.#isLast
      ? { blocks: this.#blocks, actions: [] }
      : { blocks: this.#blocks, actions: this.#actions, auto: this.#auto };
  }
}

export function withAlert(content: ViewContent, severity: Severity, message: string): ViewContent {
  return { ...content, blocks: [alert(severity, message), ...content.blocks] };
}
