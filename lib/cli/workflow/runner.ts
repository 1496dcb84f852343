/** A dialogue that a person at a terminal answers, or a script. */

import {
  canPress,
  Dialogue,
  type DialogueEvent,
  type DialogueState,
  ownText,
  parseMarkup,
  type Recording,
  type ShownBlock,
} from "../../workflow/dialogue/mod.ts";
import { interrupted } from "../frame/client.ts";
import type { CliContext, CliResult } from "../frame/command.ts";
import { exits, invalid } from "../frame/errors.ts";
import { clean } from "../frame/text.ts";
import { type Backend, readBase64 } from "./backend.ts";

type InputBlock = ShownBlock & { readonly type: "input" };

interface Script {
  /** Values of inputs by name; files are Base64. */
  readonly inputs: Readonly<Record<string, string>>;
  readonly presses: readonly string[];
}

interface RunView {
  readonly blocks: readonly object[];
  readonly actions: readonly object[];
  /** The action that was pressed on it; null: none. */
  pressed: string | null;
}

type Outcome = "completed" | "failed" | "declined";

/** Time after which a request is said to be under way, in ms. */
const slowMs = 1_000;

const exitCodes = { completed: exits.ok, failed: exits.failed, declined: exits.declined } as const;

export class Runner {
  readonly #context: CliContext;
  readonly #script: Script;
  readonly #dialogue: Dialogue;
  readonly #presses: string[];
  readonly #events: DialogueEvent[] = [];
  readonly #views: RunView[] = [];
  readonly #isInteractive: boolean;
  readonly #entered = new Set<string>();
  #shown = "";
  #seq = 0;
  #changed: () => void = () => {};

  constructor(backend: Backend, script: Script, context: CliContext) {
    const { clock, random, uniqueId, settings } = context;
    this.#context = context;
    this.#script = script;
    this.#presses = [...script.presses];
    this.#isInteractive = settings.isInteractive && !settings.isJson;
    this.#dialogue = new Dialogue({
      ...backend,
      clock,
      random,
      newKey: uniqueId,
      timer: (ms, callback) => this.#setTimer(ms, callback),
      onChange: () => this.#changed(),
      onEvent: event => void this.#events.push(event),
    });
  }

  get recording(): Recording {
    return { version: 1, events: this.#events };
  }

  /**
   * Runs to the end.
   *
   * @throws {CliError} Ctrl-C; an action of the script is not offered; a value does not fit.
   */
  async run(): Promise<CliResult> {
    const interruption = this.#context.interruption();
    interruption.addEventListener("abort", () => this.#dialogue.close(), { once: true });
    this.#dialogue.open();
    try {
      for (;;) {
        const outcome = await this.#step(this.#dialogue.state);
        if (outcome !== null) return this.#resultOf(outcome);
      }
    } finally {
      this.#dialogue.close();
    }
  }

  /** Does what the state asks for; returns how the dialogue ended, if it did. */
  async #step(state: DialogueState): Promise<Outcome | null> {
    if (state.status === "closed") throw interrupted();
    await this.#show(state);
    const [press] = this.#presses;
    if (state.status !== "error" && canPress(state) && press !== undefined && isOffered(state, press)) {
      this.#presses.shift();
      this.#enter(state);
      return this.#press(press);
    }
    if (state.status === "ended") return this.#ended(state);
    if (state.status === "error") return await this.#recover(state);
    if (state.status === "showing") return await this.#answer(state);
    if (this.#isInteractive && this.#presses.length === 0 && canPress(state) && state.actions.length > 0)
      return await this.#watch(state);
    await this.#wait(state);
    return null;
  }

  #ended({ task }: DialogueState): Outcome {
    const [press] = this.#presses;
    if (press !== undefined)
      throw invalid(`The dialogue ended before ${press} was offered`, { code: "not_offered" });
    return task?.state === "failed" ? "failed" : "completed";
  }

  /** Waits for another state; says so where that takes long and no task shows its progress. */
  async #wait(state: DialogueState): Promise<void> {
    const text =
      state.status === "waiting" ? "The backend did not answer: trying again" : "Waiting for the backend";
    const isSilent = state.pending !== null && state.pending.kind !== "poll";
    const cancel = this.#setTimer(slowMs, () => isSilent && this.#context.progress(text));
    await this.#change(state);
    cancel();
  }

  async #change(state: DialogueState): Promise<void> {
    while (this.#dialogue.state === state) await new Promise<void>(resolve => (this.#changed = resolve));
  }

  async #show(state: DialogueState): Promise<void> {
    const { seq, blocks, actions, status } = state;
    if (seq === this.#seq || status === "error") return;
    this.#seq = seq;
    const loader = blocks.find(each => each.type === "loader");
    if (loader?.type === "loader") this.#context.progress(showBlocks([loader], false).trim());
    const still = blocks.filter(isStill);
    const isPrompted = this.#isInteractive && this.#presses.length === 0;
    const text = showBlocks(
      still.filter(each => !isPrompted || each.type !== "input"),
      this.#context.settings.hasColors,
    );
    const view = viewOf(state);
    if (view === this.#shown) return;
    this.#shown = view;
    this.#views.push({ blocks: still.map(({ key, ...block }) => block), actions, pressed: null });
    const { isJson, isQuiet } = this.#context.settings;
    if (!isJson && !(isQuiet && !isPrompted) && text !== "") await this.#context.terminal.print(text);
  }

  /** Presses an action. Returns null: the dialogue goes on. */
  #press(action: string): null {
    const view = this.#views.at(-1);
    if (view !== undefined) view.pressed = action;
    this.#dialogue.press(action);
    return null;
  }

  /** Enters what the script has for the inputs of a view. @throws {CliError} A value does not fit. */
  #enter({ blocks }: DialogueState): void {
    for (const block of blocks) {
      const value = block.type === "input" ? ownText(this.#script.inputs, block.name) : undefined;
      if (block.type !== "input" || value === undefined) continue;
      this.#entered.add(block.name);
      const fault = this.#put(block, value);
      if (fault !== null) throw invalid(`--input ${block.name}: ${fault}`);
    }
  }

  /** Sets the value of an input; returns why it does not fit, or null. */
  #put({ name }: InputBlock, value: string): string | null {
    this.#dialogue.input(name, value);
    return ownText(this.#dialogue.state.faults, name) ?? null;
  }

  /** Offers the actions while a task runs, and follows it, until the person chooses or the actions change. */
  async #watch(state: DialogueState): Promise<Outcome | null> {
    const end = new AbortController();
    const choice = this.#choose(state, end.signal);
    let now = state;
    while (canPress(now) && viewOf(now) === this.#shown) {
      await this.#show(now);
      const chosen = await Promise.race([choice, this.#change(now)]);
      if (chosen === null) return "declined";
      if (chosen !== undefined) return (await this.#fill()) ? this.#press(chosen) : "declined";
      now = this.#dialogue.state;
    }
    end.abort();
    await choice;
    return null;
  }

  /** Presses what the person wants. Without a person the dialogue is closed. @throws {CliError} The script wants another action. */
  async #answer(state: DialogueState): Promise<Outcome | null> {
    const [press] = this.#presses;
    if (press !== undefined) {
      const offered = state.actions.map(each => each.action_id).join(", ");
      throw invalid(`There is no action ${press}: the dialogue offers ${offered}`, { code: "not_offered" });
    }
    if (!this.#isInteractive) return state.task?.state === "failed" ? "failed" : "declined";
    const action = (await this.#fill()) ? await this.#choose(state) : null;
    return action === null ? "declined" : this.#press(action);
  }

  /** Asks for all inputs of the view; those of the script are entered already. Returns false at the end of the input. */
  async #fill(): Promise<boolean> {
    const { state } = this.#dialogue;
    this.#enter(state);
    for (const block of state.blocks) if (block.type === "input" && !(await this.#ask(block))) return false;
    return true;
  }

  /** Asks for the value of an input until it fits. Returns false at the end of the input. */
  async #ask(block: InputBlock): Promise<boolean> {
    const { terminal, files } = this.#context;
    const isFile = block.input_type === "file" || block.input_type === "image";
    const before = isFile ? undefined : ownText(this.#dialogue.state.values, block.name);
    const hint = { text: "", colour: " (#rrggbb)", file: " (path)", image: " (path of an image)" }[
      block.input_type
    ];
    for (;;) {
      const typed = await terminal.ask(
        `${clean(block.label)}${hint}${before ? ` [${clean(before)}]` : ""}: `,
      );
      if (typed === null) return false;
      if (typed.trim() === "" && (before !== undefined || block.input_type !== "text")) return true;
      const fault = await (isFile ? readBase64(typed.trim(), files) : Promise.resolve(typed)).then(
        value => this.#put(block, value),
        (error: Error) => error.message,
      );
      if (fault === null) return true;
      terminal.warn(`${clean(fault)}\n`);
    }
  }

  async #choose({ actions }: DialogueState, signal?: AbortSignal): Promise<string | null> {
    const { terminal } = this.#context;
    const lines = actions.map(({ label }, index) => `  ${index + 1}  ${clean(label)}\n`);
    for (;;) {
      const typed = await terminal.ask(
        `${lines.join("")}Press 1${actions.length > 1 ? ` to ${actions.length}` : ""}, or q to close: `,
        { signal },
      );
      const word = typed?.trim() ?? "q";
      if (/^q(?:uit)?$/i.test(word)) return null;
      const action = actions[Number(word) - 1] ?? actions.find(each => each.action_id === word);
      if (action !== undefined) return action.action_id;
    }
  }

  /** Tries again if the person wants to, or with other values. */
  async #recover(state: DialogueState): Promise<Outcome | null> {
    const message = state.problem?.message ?? "";
    if (!this.#isInteractive || state.problem?.canRetry !== true) {
      this.#context.note(message);
      return this.#isInteractive && canPress(state) ? await this.#answer(state) : "failed";
    }
    const answer = await this.#context.terminal.ask(`${clean(message)} Try again? [y/N] `);
    if (!/^y(es)?$/i.test(answer?.trim() ?? "")) return "failed";
    this.#dialogue.retry();
    return null;
  }

  #resultOf(outcome: Outcome): CliResult {
    const { problem, reports } = this.#dialogue.state;
    return {
      data: { outcome, problem: problem?.message ?? null, views: this.#views },
      shown: "",
      notes: [
        ...reports.map(report => `The backend keeps not to the protocol: ${report}`),
        ...Object.keys(this.#script.inputs).flatMap(name =>
          this.#entered.has(name)
            ? []
            : [`--input ${name} was not entered: no view that was answered has it`],
        ),
        ...(outcome === "declined" ? ["Closed before its end"] : []),
      ],
      exit: exitCodes[outcome],
    };
  }

  #setTimer(ms: number, callback: () => void): () => void {
    const controller = new AbortController();
    this.#context.pause(ms, controller.signal).then(
      () => {
        if (!controller.signal.aborted) callback();
      },
      () => {},
    );
    return () => controller.abort();
  }
}

/** What is compared of two views: all but the progress. */
function viewOf({ blocks, actions }: DialogueState): string {
  return JSON.stringify([blocks.filter(isStill), actions]);
}

function isStill({ type }: ShownBlock): boolean {
  return type !== "loader";
}

function isOffered({ actions }: DialogueState, action: string): boolean {
  return actions.some(each => each.action_id === action);
}

const reset = "\u001b[0m";
const styles = { strong: "\u001b[1m", em: "\u001b[3m" } as const;

const severities = { success: "Success", info: "Note", warning: "Warning", error: "Error" } as const;

/** Returns blocks as text, a block a paragraph, with styles where a terminal shows them. */
function showBlocks(blocks: readonly ShownBlock[], hasColors: boolean): string {
  return blocks.map(block => `${showBlock(block, hasColors)}\n`).join("");
}

function showBlock(block: ShownBlock, hasColors: boolean): string {
  const label = "label" in block && block.label !== undefined ? `${clean(block.label)}: ` : "";
  switch (block.type) {
    case "text":
      return label + showMarkup(block.text, hasColors);
    case "image":
      return `${label}[image${named(block.alt_text)}${block.url.startsWith("data:") ? "" : `, ${clean(block.url)}`}]`;
    case "loader":
      return `[${block.progress === undefined ? "at work" : `${Math.round(block.progress)} %`}${named(block.text)}]`;
    case "colour":
      return label + swatch(block.value, hasColors) + block.value;
    case "alert": {
      const title = block.title === undefined ? "" : `${clean(block.title)}: `;
      return `${severities[block.severity ?? "info"]}: ${title}${clean(block.text)}`;
    }
    case "input":
      return `[${block.input_type} input ${clean(block.name)}: ${clean(block.label)}]`;
    case "unknown":
      return `[a block that is not known here${named(block.name)}]`;
  }
}

function named(text: string | undefined): string {
  return text === undefined || text === "" ? "" : `: ${clean(text)}`;
}

function showMarkup(text: string, hasColors: boolean): string {
  const styled = parseMarkup(text).map(token => {
    if (token.type === "break") return "\n";
    const codes = (["strong", "em"] as const).filter(name => token[name]).map(name => styles[name]);
    const plain = clean(token.text);
    return hasColors && codes.length > 0 ? `${codes.join("")}${plain}${reset}` : plain;
  });
  return styled.join("");
}

function swatch(value: string, hasColors: boolean): string {
  if (!hasColors) return "";
  const digits = value.length === 4 ? value.replace(/[0-9a-f]/gi, "$&$&") : value;
  const parts = [1, 3, 5].map(at => Number.parseInt(digits.slice(at, at + 2), 16));
  return `\u001b[48;2;${parts.join(";")}m  ${reset} `;
}
