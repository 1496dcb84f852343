/** Changes in batches: up to 500 in one atomic request, in which what is created has local ids. */

import { mapTexts, pathOfToken, pathsIn, replaceTokens, tokenOf } from "./references.ts";

export type Attributes = Readonly<Record<string, unknown>>;

/** A resource that is created or changed. Tokens stand for ids, also for its own. */
export interface Change {
  readonly op: "add" | "update";
  /** @default "elements" */
  readonly type?: string;
  readonly id: string;
  readonly attributes?: Attributes;
  readonly related?: Readonly<Record<string, string | null>>;
  readonly ifMatch?: string;
}

export interface SentOperation {
  readonly op: "add" | "update";
  readonly data: {
    readonly type: string;
    readonly id?: string;
    readonly lid?: string;
    readonly attributes?: Attributes;
    readonly relationships?: object;
  };
  readonly meta?: { readonly if_match: string };
}

/** An element that is to be created. Tokens stand for ids. */
export interface NewElement {
  readonly id: string;
  readonly attributes: Attributes;
  readonly parent: string | null;
  readonly isPublished: boolean;
}

const operationsMax = 500;
/** Most bytes of a batch, less than a body of the control API may have. */
const bytesMax = 5 * 1_048_576;

interface Creations {
  readonly changes: readonly Change[];
  readonly wrappers: readonly Change[];
}

/**
 * Returns the changes that create elements in their order. What names an element that comes later is written afterwards;
 * wrappers are published apart, as their children come first.
 */
export function creationsOf(eventId: string, elements: readonly NewElement[]): Creations {
  const created = new Set<string>();
  const isLate = (value: unknown): boolean => !pathsIn(value).every(path => created.has(tokenOf(path)));
  const wrappers = new Set(elements.map(({ parent }) => parent));
  const later: Change[] = [];
  const last: Change[] = [];
  const additions = elements.map(({ id, attributes, parent, isPublished }): Change => {
    const hasLate = Object.values(attributes).some(isLate);
    // An element with a timecode must be complete.
    const waits = ([name, value]: readonly [string, unknown]): boolean =>
      isLate(value) || (hasLate && name.startsWith("start_"));
    const entries = Object.entries(attributes);
    const publish = isPublished ? { action: "publish" } : {};
    const isWrapper = wrappers.has(id);
    const isParentLate = isLate(parent);
    if (hasLate || isParentLate) {
      const put = { ...Object.fromEntries(entries.filter(waits)), ...(isWrapper ? {} : publish) };
      const late = hasLate ? { attributes: put } : {};
      later.push({ op: "update", id, ...late, ...(isParentLate ? { related: { parent } } : {}) });
    }
    if (isPublished && isWrapper) last.push({ op: "update", id, attributes: publish });
    created.add(id);
    return {
      op: "add",
      id,
      attributes: {
        ...Object.fromEntries(entries.filter(entry => !waits(entry))),
        ...(hasLate || isWrapper ? {} : publish),
      },
      related: { event: eventId, ...(parent === null || isParentLate ? {} : { parent }) },
    };
  });
  return { changes: [...additions, ...later], wrappers: last };
}

/** Sends a batch, and returns the ids of its resources; none after a trial. */
type Send<Subject> = (
  operations: readonly SentOperation[],
  subjects: readonly Subject[],
) => Promise<readonly string[]>;

export class Batches<Subject> {
  /** Ids by paths; null: it does not exist yet. */
  readonly ids: Map<string, string | null>;
  readonly #send: Send<Subject>;
  #added = new Map<string, string>();
  readonly #lids = new Map<string, number>();
  #entries: { readonly operation: SentOperation; readonly change: Change; readonly subject: Subject }[] = [];
  #bytes = 0;

  constructor(ids: Map<string, string | null>, send: Send<Subject>) {
    this.ids = ids;
    this.#send = send;
  }

  /** Adds a change; false: it names what does not exist, as in a trial. */
  async push(change: Change, subject: Subject): Promise<boolean> {
    // In attributes local ids may stand for elements alone.
    const isEarly = pathsIn(change.attributes).some(
      path => (this.#added.get(path) ?? "elements") !== "elements",
    );
    if (isEarly) await this.flush();
    let operation = this.#built(change);
    const bytes = new TextEncoder().encode(JSON.stringify(operation)).length;
    if (this.#entries.length === operationsMax || this.#bytes + bytes > bytesMax) {
      await this.flush();
      // Local ids of the former batch are ids now.
      operation = this.#built(change);
    }
    if (pathsIn(operation).some(path => this.ids.get(path) === null)) return false;
    this.#bytes += bytes;
    this.#entries.push({ operation, change, subject });
    const path = pathOfToken(change.id);
    if (change.op === "add" && path !== null) this.#added.set(path, change.type ?? "elements");
    return true;
  }

  async flush(): Promise<void> {
    const entries = this.#entries;
    if (entries.length === 0) return;
    this.#entries = [];
    this.#added = new Map();
    this.#bytes = 0;
    const ids = await this.#send(
      entries.map(({ operation }) => operation),
      entries.map(({ subject }) => subject),
    );
    for (const [index, { change }] of entries.entries()) {
      const path = pathOfToken(change.id);
      if (change.op === "add" && path !== null) this.ids.set(path, ids[index] ?? null);
    }
  }

  #built({ op, type = "elements", id, attributes, related = {}, ifMatch }: Change): SentOperation {
    const own = op === "add" ? { type, lid: this.#lidOf(pathOfToken(id) ?? id) } : this.#link(type, id);
    const links = Object.entries(related).map(([name, to]) => [
      name,
      { data: to === null ? null : this.#link(name === "parent" ? "elements" : `${name}s`, to) },
    ]);
    // The server reads local ids inside texts too.
    const textOf = (path: string): string => {
      const { id: known = "", lid = known } = this.#link("elements", tokenOf(path));
      return lid;
    };
    const values = mapTexts(attributes, text => replaceTokens(text, textOf)) as Attributes | undefined;
    const relationships = Object.fromEntries(links);
    return {
      op,
      data: { ...own, ...(values && { attributes: values }), ...(links.length > 0 && { relationships }) },
      ...(ifMatch === undefined ? {} : { meta: { if_match: ifMatch } }),
    };
  }

  /** Returns the local id of a path: a UUID, so that it stands for the id inside texts too. */
  #lidOf(path: string): string {
    const nth = this.#lids.get(path) ?? this.#lids.size;
    this.#lids.set(path, nth);
    return `10ca11d0-0000-8000-8000-${nth.toString(16).padStart(12, "0")}`;
  }

  #link(type: string, to: string): { readonly type: string; readonly id?: string; readonly lid?: string } {
    const path = pathOfToken(to);
    if (path === null) return { type, id: to };
    return this.#added.has(path) ? { type, lid: this.#lidOf(path) } : { type, id: this.ids.get(path) ?? to };
  }
}
