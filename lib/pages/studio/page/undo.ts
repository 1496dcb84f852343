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

/** What an author did since the page was opened, the newest last. */
export class History {
  readonly #api: Api;
  #steps: Omit<UndoableChange, "operations">[] = [];

  constructor(api: Api) {
    this.#api = api;
  }

  /** Makes a change that can be taken back. @throws {GrandstandError} */
  async make({ label, operations, inverse }: UndoableChange): Promise<readonly OperationResult[]> {
    const results = await makeOperations(this.#api, operations);
    this.note({
      label,
      inverse: async () => {
        const { operations: back, note } = await resolved(inverse);
        return { operations: guarded(back, results), note };
      },
    });
    return results;
  }

  /** Remembers a change that was made otherwise. Its inverse names the tags itself. */
  note(step: Omit<UndoableChange, "operations">): void {
    this.#steps = [...this.#steps, step].slice(-stepsMax);
  }

  /**
   * Takes the newest change back, and returns what it was; null: there is none. A change that was refused is not tried again.
   *
   * @throws {GrandstandError} With status 412, somebody has changed the resource since.
   */
  async undo(): Promise<string | null> {
    const step = this.#steps.at(-1);
    if (step === undefined) return null;
    this.#steps = this.#steps.slice(0, -1);
    const { inverse } = step;
    const { operations, note } = await resolved(inverse);
    await makeOperations(this.#api, operations);
    return note === "" ? step.label : `${step.label}. ${note}`;
  }
}

async function resolved(inverse: UndoableChange["inverse"]): Promise<Inverse> {
  return typeof inverse === "function" ? await inverse() : { operations: inverse, note: "" };
}

/** Adds the tags that a change left to the updates that take it back. */
function guarded(inverse: readonly Operation[], results: readonly OperationResult[]): readonly Operation[] {
  const tags = new Map(results.map(({ data, meta }) => [data?.id, meta?.etag]));
  return inverse.map(operation => {
    const tag = operation.op === "update" ? tags.get((operation.data as Partial<Resource>).id) : undefined;
    return tag === undefined ? operation : { ...operation, meta: { if_match: tag } };
  });
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
