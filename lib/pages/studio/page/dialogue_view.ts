/** A dialogue in the page. It draws the state of a `Dialogue`, and has no rule of the protocol. */

import {
  canPress,
  Dialogue,
  type DialogueAction,
  type DialogueOptions,
  type DialogueState,
  idleDialogue,
  ownText,
} from "../../../workflow/dialogue/mod.ts";
import { type BlockItem, createBlock } from "./blocks.ts";
import { el, keyedList, type Row, setAttribute, setText } from "./elements.ts";
import { createInput } from "./inputs.ts";

/** Options of {@linkcode openDialogue}. */
export interface DialogueViewOptions extends Pick<DialogueOptions, "send"> {
  /** Address to which the user returns. */
  readonly back: string;
  /** Closes the dialogue. */
  readonly signal: AbortSignal;
  /** Gets the question whether leaving would lose what was entered. */
  readonly guard: (isUnsaved: () => boolean) => void;
}

/** A part of the view of a dialogue. */
interface Part {
  readonly elements: readonly [HTMLElement, ...HTMLElement[]];
  show(state: DialogueState, before: DialogueState): void;
}

export function openDialogue(root: HTMLElement, { send, back, signal, guard }: DialogueViewOptions): void {
  let shown: DialogueState = idleDialogue;
  const dialogue = new Dialogue({
    context: {},
    send,
    onChange(state) {
      const before = shown;
      shown = state;
      for (const part of [form, end]) part.show(state, before);
    },
  });
  const form = createForm(dialogue);
  const end = createEnd(dialogue, back, form.elements[0]);
  root.replaceChildren(...form.elements, ...end.elements);
  const hide = (): void => dialogue.setHidden(document.hidden);
  document.addEventListener("visibilitychange", hide, { signal });
  for (const type of ["dragover", "drop"]) document.addEventListener(type, keepPage, { signal });
  for (const type of ["online", "offline"]) addEventListener(type, () => end.show(shown, shown), { signal });
  guard(() => hasEntries(shown));
  signal.addEventListener("abort", () => dialogue.close(), { once: true });
  hide();
  dialogue.open();
}

/** Returns true if there is something that the user entered. */
function hasEntries({ status, values, kept, blocks }: DialogueState): boolean {
  if (status === "closed" || status === "ended") return false;
  const isTyped = blocks.some(block => {
    const value = block.type === "input" ? ownText(values, block.name) : undefined;
    return block.type === "input" && value !== undefined && value !== (block.value ?? "");
  });
  return isTyped || Object.keys(kept).length > 0;
}

/** Creates the blocks and buttons. The first new block of an answer gets the focus, but not of a poll, so that one can type meanwhile. */
function createForm(dialogue: Dialogue): Part {
  /** The focus targets of blocks that are new. */
  let fresh: HTMLElement[] = [];
  /** Number of answers but to polls. */
  let answers = 0;
  const blocks = el("div", { class: "blocks" });
  const actions = el("div", { class: "row" });
  const on = { submit: prevent, keydown: ignoreRepeats };
  const showBlocks = keyedList<BlockItem>(blocks, {
    key: ({ block }) => (block.type === "input" ? `${block.input_type} ${block.key}` : block.key),
    create({ block }) {
      const view =
        block.type === "input"
          ? createInput(block, value => dialogue.input(block.name, value))
          : createBlock(block.type);
      return { element: view.element, show: item => void (view.show(item) && fresh.push(view.target)) };
    },
  });
  const showActions = keyedList<DialogueAction>(actions, {
    key: action => action.action_id,
    create: action => createAction(dialogue, action),
  });
  return {
    elements: [el("form", { tabindex: -1, on }, blocks, actions)],
    show(state, before) {
      const focused = document.activeElement;
      const isNew = before.seq !== state.seq;
      const isAwaited = isNew && before.pending?.kind !== "poll";
      if (isAwaited) answers++;
      fresh = [];
      showBlocks(state.blocks.map(block => itemOf(state, block, answers)));
      showActions(state.actions);
      if (isAwaited || (isNew && focused?.isConnected === false)) fresh[0]?.focus();
    },
  };
}

function createAction(dialogue: Dialogue, { action_id: id }: DialogueAction): Row<DialogueAction> {
  // The second click of a double click may meet the next view.
  const click = (event: Event): void => {
    if ((event as MouseEvent).detail < 2) dialogue.press(id);
  };
  const element = el("button", { on: { click } });
  return {
    element,
    show({ label }, index) {
      setText(element, label);
      // Enter in an input presses the first button, but while a task runs it could only cancel.
      const isMain = index === 0 && dialogue.state.task?.state !== "running";
      setAttribute(element, "type", isMain ? "submit" : "button");
      setAttribute(element, "class", isMain ? "main" : null);
      setAttribute(element, "aria-busy", dialogue.state.busy === id ? "true" : null);
      // With `disabled` the button would lose the focus.
      setAttribute(element, "aria-disabled", canPress(dialogue.state) ? null : "true");
    },
  };
}

/** Creates what follows the form: the status, a problem, and the ways on from there. */
function createEnd(dialogue: Dialogue, back: string, form: HTMLElement): Part {
  const status = el("p", { role: "status" });
  const problem = el("p", { class: "alert", "data-severity": "error", role: "alert" });
  const button = (label: string, act: () => void): HTMLButtonElement => {
    const click = (): void => {
      form.focus();
      act();
    };
    return el("button", { type: "button", on: { click } }, label);
  };
  const retry = button("Try again", () => dialogue.retry());
  const restart = button("Start again", () => dialogue.restart());
  const leave = el("a", { href: back }, "Close");
  const notes = el("ul");
  const details = el("details", { class: "quiet" }, el("summary", {}, "Notes for the author"), notes);
  return {
    elements: [status, problem, el("div", { class: "row" }, retry, restart, leave), details],
    show(state, before) {
      setText(status, statusOf(state));
      // The loader shows how a task gets on; a lost connection it does not show.
      const isSeen = state.task?.state !== "running" || isDisconnected(state);
      setAttribute(status, "class", isSeen ? "quiet" : "unseen");
      setText(problem, state.problem?.message ?? "");
      retry.hidden = state.problem?.canRetry !== true;
      restart.hidden = state.status !== "ended" && state.problem === null;
      leave.hidden = restart.hidden;
      details.hidden = state.reports.length === 0;
      if (before.reports === state.reports) return;
      notes.replaceChildren(...state.reports.map(note => el("li", {}, note)));
    },
  };
}

function itemOf({ values, faults }: DialogueState, block: BlockItem["block"], answer: number): BlockItem {
  // An alert is read out after each press, even if it says the same again.
  if (block.type === "alert") return { block, answer };
  return block.type === "input"
    ? { block, value: ownText(values, block.name), fault: ownText(faults, block.name) }
    : { block };
}

/** Returns the words for what goes on. The progress of a task is said in steps of ten. */
function statusOf(state: DialogueState): string {
  const { status, pending, task, problem } = state;
  if (problem !== null) return "";
  if (!navigator.onLine && status !== "ended")
    return "You are offline. The dialogue goes on when you are back.";
  if (isDisconnected(state)) return "No answer yet. Trying again…";
  if (status === "sending" && pending?.kind !== "poll") return "Working…";
  if (task?.state === "running") {
    return task.progress === undefined
      ? "In progress"
      : `In progress, ${Math.floor(task.progress / 10) * 10} %`;
  }
  return status === "ended" ? "This is the end of the dialogue." : "";
}

/** Returns true while a request is sent again, or cannot be sent. */
function isDisconnected({ pending }: DialogueState): boolean {
  return !navigator.onLine || (pending !== null && pending.tries > 1);
}

function prevent(event: Event): void {
  event.preventDefault();
}

/** A key that is held down would press the buttons of one view after the other. */
function ignoreRepeats(event: Event): void {
  const { key, repeat } = event as KeyboardEvent;
  if (key === "Enter" && repeat) event.preventDefault();
}

/** A file that is dropped beside its field would replace the page. */
function keepPage(event: Event): void {
  if (!(event.target instanceof HTMLInputElement)) event.preventDefault();
}
