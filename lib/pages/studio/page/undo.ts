/** Changes of authors, made in one batch each, and taken back by the inverse under the tags that they left. */

import { type Signal, signal } from "@preact/signals";
import type { Api, Resource } from "./api.ts";

/** An operation of `POST /operations`. */
export interface Operation {
  readonly op: "add" | "update" | "remove";
  readonly ref?: { readonly type: string; readonly id: string; readonly relationship?: string };
  readonly data?: object;
  readonly meta?: { readonly if_match: string };
}

export interface OperationResult {
  readonly data?: Resource;
  readonly meta?: { readonly etag: string };
}

/** What has to be sent now for a change that is taken back or done again, and what is other than before. */
export interface Inverse {
  /** None if nothing is left to do. */
  readonly operations: readonly Operation[];
  /** A sentence, or "". */
  readonly note: string;
}

/** Returns what follows on the results of what was sent last. A function that reads first returns what still fits. */
type Way = (results: readonly OperationResult[]) => readonly Operation[] | Promise<Inverse>;

/** A change, what takes it back, and what does it again. Updates and removals of the resources that they change are sent under the tags that are left. */
export interface UndoableChange {
  /** What was done, such as `Move “Who wins?”`. */
  readonly label: string;
  readonly operations: readonly Operation[];
  readonly inverse: Way;
  /** @default the operations */
  readonly again?: Way;
}

/** A change that was made, or taken back: how it is turned, and how that is turned then. */
export interface Step {
  readonly label: string;
  readonly turn: () => Promise<Turned>;
}

interface Turned extends Inverse {
  /** True if nothing has to be sent. */
  readonly isDone?: boolean;
  readonly back: (results: readonly OperationResult[]) => Step["turn"];
}

/** Most changes that can be taken back. */
const stepsMax = 100;

/** Makes operations: all of them, or none. @throws {GrandstandError} */
export async function makeOperations(
  api: Api,
  operations: readonly Operation[],
): Promise<readonly OperationResult[]> {
  const body = { "atomic:operations": operations } as never;
  const { document } = await api.control.makeOperations({ body }).whole();
  return document["atomic:results"] as unknown as readonly OperationResult[];
}

/** An editor that is open while something is taken back or done again. */
export interface OpenEditor {
  /** Saves what it has, and rests until `resume`. */
  settle(): Promise<void>;
  /** Takes back what was typed last and cannot be saved; null: there is none. */
  takeBackTyped(): Step | null;
  /** Goes on, with what was changed. */
  resume(results: readonly OperationResult[]): void;
}

/** What an author did since the page was opened. */
export class History {
  /** The editor that is open; null: none is. */
  editor: OpenEditor | null = null;
  /** What can be taken back, and what can be done again; the newest last. */
  readonly done = signal<readonly Step[]>([]);
  readonly undone = signal<readonly Step[]>([]);
  readonly #api: Api;
  /** By id and tag of a resource, the tag that a change of this author left directly after it. */
  readonly #next = new Map<string, string>();
  #turn: Promise<unknown> = Promise.resolve();

  constructor(api: Api) {
    this.#api = api;
  }

  /** Makes a change that can be taken back; a function first reads what the change needs. @throws {GrandstandError} */
  make(change: UndoableChange | (() => Promise<UndoableChange>)): Promise<readonly OperationResult[]> {
    return this.#queue(async () => {
      const { label, operations, inverse, again } = typeof change === "function" ? await change() : change;
      const results = await this.#send(operations);
      this.note({ label, turn: this.#turnOf(inverse, again ?? (() => operations), results) });
      return results;
    });
  }

  /** Lets what comes next wait for a change that is made otherwise and notes itself. */
  waitFor(change: Promise<void>): void {
    void this.#queue(() => change);
  }

  /** Remembers a change that was made otherwise. Nothing that was taken back before can be done again. */
  note(step: Step): void {
    this.done.value = [...this.done.value, step].slice(-stepsMax);
    this.undone.value = [];
  }

  /** Remembers that a change of this author followed directly on the state of a tag, so that older changes can still be taken back. */
  follow(id: string, before: string, after: string): void {
    if (before !== after) this.#next.set(id + before, after);
  }

  /**
   * Takes the newest change back, and returns a sentence about it; null: there is none. A change that was refused is not tried again.
   *
   * @throws {GrandstandError} With status 412, somebody has changed the resource since.
   */
  undo(): Promise<string | null> {
    return this.#turned(async editor => {
      const typed = editor?.takeBackTyped() ?? null;
      if (typed === null) return await this.#move(this.done, this.undone, "taken back");
      this.undone.value = [...this.undone.value, typed];
      return [`Taken back: ${typed.label}`, []];
    });
  }

  /** Does again what was taken back last, as long as nothing else was changed since. @see {@linkcode History.undo} */
  redo(): Promise<string | null> {
    return this.#turned(() => this.#move(this.undone, this.done, "done again"));
  }

  /** Runs one after another, so that a change that is still under way is taken back too. */
  #queue<Result>(run: () => Promise<Result>): Promise<Result> {
    const turn = this.#turn.then(run);
    this.#turn = turn.catch(() => {});
    return turn;
  }

  #turned(run: (editor: OpenEditor | null) => Promise<Moved>): Promise<string | null> {
    return this.#queue(async () => {
      const { editor } = this;
      await editor?.settle();
      let moved: Moved = [null, []];
      try {
        moved = await run(editor);
        return moved[0];
      } finally {
        editor?.resume(moved[1]);
      }
    });
  }

  async #move(from: Signal<readonly Step[]>, to: Signal<readonly Step[]>, what: string): Promise<Moved> {
    const step = from.value.at(-1);
    if (step === undefined) return [null, []];
    from.value = from.value.slice(0, -1);
    const { label } = step;
    const { operations, note, isDone = operations.length > 0, back } = await step.turn();
    const results = operations.length > 0 ? await this.#send(operations) : [];
    if (operations.length > 0) to.value = [...to.value, { label, turn: back(results) }].slice(-stepsMax);
    const text = `${isDone ? sentence(what) : `Not ${what}`}: ${label}`;
    return [note === "" ? text : `${text}. ${note}`, results];
  }

  /** Returns a turn to `forth`, which fits the results of what was sent last, and from there to `back`. */
  #turnOf(forth: Way, back: Way, results: readonly OperationResult[]): Step["turn"] {
    return async () => {
      const found = await forth(results);
      const { operations, note } = "note" in found ? found : { operations: found, note: "" };
      const guarded = this.#guarded(operations, results);
      return { operations: guarded, note, back: next => this.#turnOf(back, forth, next) };
    };
  }
  async #send(operations: readonly Operation[]): Promise<readonly OperationResult[]> {
    const results = await makeOperations(this.#api, operations);
    operations.forEach(({ meta }, index) => {
      const { data, meta: { etag } = {} } = results[index] ?? {};
      if (meta !== undefined && etag !== undefined) this.follow(data?.id ?? "", meta.if_match, etag);
    });
    return results;
  }

  /** Adds the tags that a change, and later ones of this author, left to what changes or removes the same resources. */
  #guarded(operations: readonly Operation[], results: readonly OperationResult[]): readonly Operation[] {
    const tags = new Map(results.map(({ data, meta }) => [data?.id, meta?.etag]));
    return operations.map(({ meta: _, ...operation }) => {
      const { op, ref, data } = operation;
      const id = op === "update" ? (data as Partial<Resource>).id : op === "remove" ? ref?.id : undefined;
      let tag = id === undefined ? undefined : tags.get(id);
      if (tag === undefined) return operation;
      for (let next: string | undefined = tag; next !== undefined; next = this.#next.get(id + tag))
        tag = next;
      return { ...operation, meta: { if_match: tag } };
    });
  }
}

/** A sentence about what was turned, and what the platform answered. */
type Moved = readonly [string | null, readonly OperationResult[]];

function sentence(text: string): string {
  return text.charAt(0).toUpperCase() + text.slice(1);
}

let shared: History | undefined;

/** Returns the one history of the page. */
export function historyOf(api: Api): History {
  shared ??= new History(api);
  return shared;
}

/** Attributes that follow from others or from the clock. */
const derived =
  /^(state|actions|position|offset|live_stats_uuid|element_counts|urls|original_duration|end_at|.*_iso|(created|updated|published|revoked)_at)$/;

/** Returns the attributes with which a resource is made anew. */
export function attributesToCopy(attributes: Resource["attributes"]): Readonly<Record<string, unknown>> {
  return Object.fromEntries(Object.entries(attributes).filter(([name]) => !derived.test(name)));
}
