/** What views share: dialogs and questions, problems, menus, and elements that are made without Preact. */

import { signal } from "@preact/signals";
import type { ComponentChildren, RefObject } from "preact";
import { useEffect, useId, useLayoutEffect, useRef, useState } from "preact/hooks";
import { GrandstandError } from "../../../client/mod.ts";
import { messageOf } from "./problem.ts";
import type { RootContext, View } from "./view.ts";

/** What the live region of the page says. */
export const said = signal("");

export function announce(text: string): void {
  said.value = text;
}

interface DialogProps {
  readonly title: string;
  /** Called by Escape as well. */
  readonly onClose: () => void;
  readonly children: ComponentChildren;
  readonly class?: string;
}

/** A modal dialog. Its first field or button has the focus, and what had it before has it again afterwards. */
export function Dialog({ title, onClose, children, class: kind = "" }: DialogProps) {
  const dialog = useRef<HTMLDialogElement>(null);
  const id = useId();
  // An effect after the next picture would take the focus from where the user has gone meanwhile.
  useLayoutEffect(() => {
    const { current } = dialog;
    const before = document.activeElement;
    current?.showModal();
    return () => {
      current?.close();
      if (before instanceof HTMLElement && before.isConnected) before.focus();
    };
  }, []);
  return (
    <dialog
      ref={dialog}
      class={kind}
      aria-labelledby={id}
      onCancel={event => {
        event.preventDefault();
        onClose();
      }}
    >
      <h1 id={id}>{title}</h1>
      {children}
    </dialog>
  );
}

interface Question {
  readonly title: string;
  /** What happens then, and what is lost. */
  readonly text: string;
  /** What the button says that goes on. */
  readonly confirm: string;
  /** What must be typed first, for what cannot be undone. */
  readonly typed?: string;
}

const asked = signal<(Question & { readonly answer: (value: boolean) => void }) | null>(null);

/** Asks the user in a dialog. Resolves with whether to go on. */
export function ask(question: Question): Promise<boolean> {
  asked.value?.answer(false);
  return new Promise(answer => {
    asked.value = { ...question, answer };
  });
}

/** Shows the question that is asked; the frame of the page has it once. */
export function Questions() {
  const { value: question } = asked;
  return question === null ? null : <AskDialog key={question} question={question} />;
}

function AskDialog({ question }: { readonly question: NonNullable<typeof asked.value> }) {
  const { title, text, confirm, typed, answer } = question;
  const [value, setValue] = useState("");
  const id = useId();
  const close = (isSure: boolean): void => {
    asked.value = null;
    answer(isSure);
  };
  return (
    <Dialog title={title} onClose={() => close(false)}>
      <form
        class="stack"
        onSubmit={event => {
          event.preventDefault();
          close(true);
        }}
      >
        <p>{text}</p>
        {typed !== undefined && (
          <>
            <label for={id}>Type “{typed}” to go on</label>
            <input
              id={id}
              value={value}
              autoComplete="off"
              onInput={event => setValue(event.currentTarget.value)}
            />
          </>
        )}
        <DialogButtons
          confirm={confirm}
          isDangerous
          isDisabled={typed !== undefined && value.trim() !== typed}
          close={() => close(false)}
        />
      </form>
    </Dialog>
  );
}

interface DialogButtonsProps {
  /** Text of the button that sends the form. */
  readonly confirm: string;
  readonly isDangerous?: boolean;
  readonly isDisabled?: boolean;
  readonly close: () => void;
}

export function DialogButtons({
  confirm,
  isDangerous = false,
  isDisabled = false,
  close,
}: DialogButtonsProps) {
  return (
    <div class="row end">
      <button type="button" onClick={close}>
        Cancel
      </button>
      <button type="submit" class={isDangerous ? "danger" : "main"} disabled={isDisabled}>
        {confirm}
      </button>
    </div>
  );
}

interface FormDialogProps extends Pick<DialogProps, "title" | "onClose" | "children"> {
  /** Text of the button. */
  readonly confirm: string;
  readonly isDangerous?: boolean;
  readonly send: (form: FormData) => Promise<void>;
}

/** A form in a dialog. It is sent once, however often its button is pressed; where that fails it stays and says why. */
export function FormDialog({
  title,
  confirm,
  isDangerous = false,
  send,
  onClose,
  children,
}: FormDialogProps) {
  const [fault, setFault] = useState("");
  const isSending = useRef(false);
  async function submit(form: HTMLFormElement): Promise<void> {
    if (isSending.current) return;
    isSending.current = true;
    setFault("");
    await send(new FormData(form)).catch(error => {
      setFault(messageOf(error));
      isSending.current = false;
    });
  }
  return (
    <Dialog title={title} onClose={onClose}>
      <form
        class="stack labelled"
        onSubmit={event => {
          event.preventDefault();
          void submit(event.currentTarget);
        }}
      >
        {children}
        <p class="fault" role="alert">
          {fault}
        </p>
        <DialogButtons confirm={confirm} isDangerous={isDangerous} close={onClose} />
      </form>
    </Dialog>
  );
}

interface ActProps {
  /** Why it cannot be pressed; null: it can. */
  readonly refusal?: string | null;
  readonly onPress: () => void;
  readonly children: ComponentChildren;
  readonly class?: string;
  readonly label?: string;
  readonly title?: string | undefined;
}

/** A button. One that is refused keeps its place and the focus, and says why. */
export function Act({ refusal = null, onPress, children, class: kind, label, title }: ActProps) {
  return (
    <button
      type="button"
      class={kind}
      title={refusal ?? title}
      aria-label={label}
      {...(refusal !== null && { "aria-disabled": true, "aria-description": refusal })}
      onClick={() => (refusal === null ? onPress() : announce(refusal))}
    >
      {children}
    </button>
  );
}

export interface MenuItem {
  readonly label: string;
  /** Where it leads, or what it does. */
  readonly to: string | (() => void);
  readonly refusal?: string | null;
  /** The key that does the same. */
  readonly shortcut?: string;
}

interface MenuProps {
  readonly label: string;
  readonly items: readonly MenuItem[];
  /** What the button shows. @default ⋯ */
  readonly mark?: ComponentChildren;
  /** Text above the items. */
  readonly note?: string;
}

/** Room between a list and the edge of the window, in px. */
const edge = 8;

/** A button that opens a list of links and buttons. */
export function Menu({ label, items, mark = "⋯", note }: MenuProps) {
  const id = useId();
  const button = useRef<HTMLButtonElement>(null);
  const list = useRef<HTMLDivElement>(null);
  const [isOpen, setOpen] = useState(false);
  // The items are there before the list is measured.
  useLayoutEffect(() => {
    const { current } = list;
    if (!isOpen || button.current === null || current === null) return;
    const place = button.current.getBoundingClientRect();
    const { offsetWidth, offsetHeight } = current;
    // Never over the button: a list that is too long for both sides scrolls on the larger one.
    const [above, below] = [place.top - edge, innerHeight - place.bottom - edge];
    const isBelow = offsetHeight <= below || below >= above;
    const height = Math.min(offsetHeight, isBelow ? below : above);
    current.style.maxHeight = `${height}px`;
    current.style.top = `${isBelow ? place.bottom : place.top - height}px`;
    current.style.left = `${Math.max(8, place.right - offsetWidth)}px`;
    current.querySelector<HTMLElement>("a, button")?.focus();
  }, [isOpen]);
  const close = (): void => list.current?.hidePopover();
  return (
    <>
      <button
        type="button"
        class="plain mark"
        ref={button}
        popovertarget={id}
        aria-label={label}
        aria-expanded={isOpen}
        title={label}
      >
        {mark}
      </button>
      <div
        class="menu"
        id={id}
        ref={list}
        popover="auto"
        onToggle={({ newState }) => setOpen(newState === "open")}
      >
        {isOpen && note !== undefined && <p class="quiet">{note}</p>}
        {isOpen && items.map(item => <Item key={item.label} item={item} close={close} />)}
      </div>
    </>
  );
}

function Item({ item, close }: { readonly item: MenuItem; readonly close: () => void }) {
  const { label, to, refusal = null, shortcut } = item;
  if (typeof to === "string") {
    return (
      <a href={to} onClick={close}>
        {label}
      </a>
    );
  }
  const press = (): void => {
    close();
    to();
  };
  return (
    <Act refusal={refusal} onPress={press}>
      {label}
      {shortcut !== undefined && <kbd>{shortcut}</kbd>}
    </Act>
  );
}

/** Rows that a list shows at first, and by which it grows when its end is in sight. */
const rowsStep = 60;

/** Returns how many rows a long list shows, and the reference of what follows the last one. */
export function useGrowingList<E extends Element>(
  length: number,
): { readonly count: number; readonly end: RefObject<E | null> } {
  const [count, setCount] = useState(rowsStep);
  const end = useRef<E>(null);
  const hasMore = length > count;
  useEffect(() => {
    if (end.current === null) return;
    const observer = new IntersectionObserver(entries => {
      if (entries.some(({ isIntersecting }) => isIntersecting)) setCount(count + rowsStep);
    });
    observer.observe(end.current);
    return () => observer.disconnect();
  }, [count, hasMore]);
  return { count, end };
}

const stateNames: Readonly<Record<string, string>> = {
  current: "Live",
  future: "Planned",
  on_demand: "On demand",
  past: "Ended",
  non_scheduled: "Draft",
  cancelled: "Cancelled",
  revoked: "Revoked",
};

/** The state of an event or element. */
export function State({ state }: { readonly state: string }) {
  return (
    <span class="state" data-state={state}>
      {stateNames[state] ?? state}
    </span>
  );
}

/** A failure in place of a view. */
export function Problem({ error, retry }: { readonly error: unknown; readonly retry: () => void }) {
  const isMissing = error instanceof GrandstandError && error.status === 404;
  return (
    <section class="card problem" role="alert">
      <h2>{isMissing ? "Not found" : "That did not work"}</h2>
      <p>{messageOf(error)}</p>
      <p class="row">
        <button type="button" onClick={retry}>
          Try again
        </button>
        <a href="#/">All organisations</a>
      </p>
    </section>
  );
}

/** An element that `open` fills without Preact. It is opened once; `open` gets what ends with the view by itself. */
export function Mount({ open }: { readonly open: (root: HTMLElement) => void | Promise<void> }) {
  const root = useRef<HTMLDivElement>(null);
  const [failure, setFailure] = useState<{ readonly error: unknown } | null>(null);
  useEffect(() => {
    if (failure !== null || root.current === null) return;
    Promise.resolve(open(root.current)).catch(error => setFailure({ error }));
  }, [failure]);
  if (failure !== null) return <Problem error={failure.error} retry={() => setFailure(null)} />;
  return <div class="view" ref={root} />;
}

/** Makes a view of a function that fills an element. */
export function mounted(open: (context: RootContext) => void | Promise<void>): View {
  return ({ context }) => <Mount open={root => open({ ...context, root })} />;
}
