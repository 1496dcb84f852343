/** Changes of authors, made in one batch each, and taken back by the inverse under the tags that they left. */

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

/** What takes a change back now, and what is other than before. */
export interface Inverse {
  /** None if nothing is left to take back. */
  readonly operations: readonly Operation[];
  /** A sentence, or "". */
  readonly note: string;
}

/** A change, and what takes it back. */
export interface UndoableChange {
  /** What was done, such as `Move “Who wins?”`. */
  readonly label: string;
  readonly operations: readonly Operation[];
  /**
   * Updates of resources that `operations` update are sent under the tags that these left. A function reads first what the change has to
   * fit into.
   */
  readonly inverse: readonly Operation[] | (() => Promise<Inverse>);
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

/** An editor that is open while something is taken back. */
export interface OpenEditor {
  /**
   * Saves what it has, and rests until `resume`. Returns a sentence if there was something to take back that cannot be saved; the change is
   * then done.
   */
  settle(): Promise<string | null>;
  /** Goes on, with what was taken back. */
  resume(results: readonly OperationResult[]): void;
}

/** What an author did since the page was opened, the newest last. */
export class History {
  /** The editor that is open; null: none is. */
  editor: OpenEditor | null = null;
  readonly #api: Api;
  #steps: Omit<UndoableChange, "operations">[] = [];
  /** By a tag of a resource, the tag that a change of this author left directly after it. */
  readonly #next = new Map<string, string>();
  #turn: Promise<unknown> = Promise.resolve();

  constructor(api: Api) {
    this.#api = api;
  }

  /** Makes a change that can be taken back. @throws {GrandstandError} */
  async make({ label, operations, inverse }: UndoableChange): Promise<readonly OperationResult[]> {
    const results = await this.#send(operations);
    this.note({
      label,
      inverse: async () => {
        const { operations: back, note } = await resolved(inverse);
        return { operations: this.#guarded(back, results), note };
      },
    });
    return results;
  }

  /** Remembers a change that was made otherwise. Its inverse names the tags itself. */
  note(step: Omit<UndoableChange, "operations">): void {
    this.#steps = [...this.#steps, step].slice(-stepsMax);
  }

  /** Remembers that a change of this author followed directly on the state of a tag, so that older changes can still be taken back. */
  follow(before: string, after: string): void {
    if (before !== after) this.#next.set(before, after);
  }

  /**
   * Takes the newest change back, and returns a sentence about it; null: there is none. A change that was refused is not tried again.
   *
   * @throws {GrandstandError} With status 412, somebody has changed the resource since.
   */
  undo(): Promise<string | null> {
    const turn = this.#turn.then(() => this.#undo());
    this.#turn = turn.catch(() => {});
    return turn;
  }

  async #undo(): Promise<string | null> {
    const { editor } = this;
    const unsaved = editor === null ? null : await editor.settle();
    if (unsaved !== null) return `Taken back: ${unsaved}`;
    let results: readonly OperationResult[] = [];
    try {
      const step = this.#steps.at(-1);
      if (step === undefined) return null;
      this.#steps = this.#steps.slice(0, -1);
      const { operations, note } = await resolved(step.inverse);
      if (operations.length > 0) results = await this.#send(operations);
      const text = `${operations.length > 0 ? "Taken back" : "Not taken back"}: ${step.label}`;
      return note === "" ? text : `${text}. ${note}`;
    } finally {
      editor?.resume(results);
    }
  }

  async #send(operations: readonly Operation[]): Promise<readonly OperationResult[]> {
    const results = await makeOperations(this.#api, operations);
    operations.forEach(({ meta }, index) => {
      const { etag } = results[index]?.meta ?? {};
      if (meta !== undefined && etag !== undefined) this.follow(meta.if_match, etag);
    });
    return results;
  }

  /** Adds the tags that a change, and later ones of this author, left to the updates that take it back. */
  #guarded(inverse: readonly Operation[], results: readonly OperationResult[]): readonly Operation[] {
    const tags = new Map(results.map(({ data, meta }) => [data?.id, meta?.etag]));
    return inverse.map(operation => {
      let tag = operation.op === "update" ? tags.get((operation.data as Partial<Resource>).id) : undefined;
      if (tag === undefined) return operation;
      for (let next = this.#next.get(tag); next !== undefined; next = this.#next.get(tag)) tag = next;
      return { ...operation, meta: { if_match: tag } };
    });
  }
}

async function resolved(inverse: UndoableChange["inverse"]): Promise<Inverse> {
  return typeof inverse === "function" ? await inverse() : { operations: inverse, note: "" };
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
