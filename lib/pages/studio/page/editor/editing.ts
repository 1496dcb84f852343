/**
 * An element while a producer edits it: a signal for each value, saved on a pause under the tag that was read. What others changed
 * meanwhile is merged, or asked about, before anything is sent.
 */

import { type Signal, signal } from "@preact/signals";
import { type FieldError, GrandstandError } from "../../../../client/mod.ts";
import type { Resource } from "../api.ts";
import { followAuthoring, keepPresence } from "../authoring.ts";
import { messageOf } from "../problem.ts";
import type { ViewContext } from "../view.ts";
import { Drafts } from "./drafts.ts";
import { type Attributes, type Conflict, merge, type Path, valueAt, withValue } from "./merge.ts";

/** Time without a keystroke after which a draft is saved, in ms. */
const pauseMs = 1_500;

/** Attributes that the editor changes; after the first publication those alone that are not frozen. */
const drafted = [
  "name",
  "start_mode",
  "start_offset",
  "duration",
  "require_verified_user",
  "max_votes_per_user",
  "max_votes_per_option",
  "min_options_per_vote",
  "max_options_per_vote",
  "custom_fields",
  "question",
] as const;
const always = [
  "reveal_results_mode",
  "reveal_answer_mode",
  "reveal_answer_in",
  "reveal_answer_on_vote",
  "correct_option",
  "annotations",
] as const;

export type Saved =
  | { readonly kind: "saved"; readonly at: number | null }
  | { readonly kind: "typing" }
  | { readonly kind: "saving" }
  | { readonly kind: "refused"; readonly text: string };

/** A fault that the server found. */
export interface Fault {
  /** The value at fault; null where it is none that the editor shows. */
  readonly path: Path | null;
  readonly text: string;
}

/** What somebody else has stored, where both changed the same. */
interface Rival {
  readonly attributes: Attributes;
  readonly etag: string;
}

export class Editing {
  readonly id: string;
  /** The element as the server has it; null: it was deleted. */
  readonly element = signal<Resource | null | undefined>(undefined);
  readonly saved = signal<Saved>({ kind: "saved", at: null });
  readonly faults = signal<readonly Fault[]>([]);
  readonly conflicts = signal<readonly Conflict[]>([]);
  /** What the browser kept from an earlier time, for the producer to take or leave. */
  readonly offered = signal<{ readonly at: number } | null>(null);
  /** A quiet word about what others did. */
  readonly note = signal("");
  readonly isStored = signal(true);
  /** Others who edit the element, with the field that they are in. */
  readonly colleagues = signal<readonly string[]>([]);
  readonly #context: ViewContext;
  #drafts = new Drafts("");
  readonly #values = new Map<string, Signal<unknown>>();
  #base: Attributes = {};
  #mine: Attributes = {};
  #etag = "";
  #rival: Rival | null = null;
  #offer: Attributes | null = null;
  #timer: ReturnType<typeof setTimeout> | undefined;
  #isSending = false;
  #say: (field: string | null) => void = () => {};

  constructor(context: ViewContext, id: string) {
    this.#context = context;
    this.id = id;
  }

  /** Opens the element, and follows what others do to it until the signal aborts. */
  async open(until: AbortSignal): Promise<void> {
    const [me, { element, etag }] = await Promise.all([this.#context.api.control.readMe({}), this.#read()]);
    if (until.aborted) return;
    this.#drafts = new Drafts(me.id);
    this.#etag = etag;
    this.#base = editable(element);
    this.#mine = this.#base;
    const draft = await this.#drafts.read(this.id);
    this.element.value = element;
    if (draft !== null && changesOf(this.#base, draft.mine).length > 0) {
      this.#offer = merge(draft.base, draft.mine, this.#base).attributes;
      this.offered.value = { at: draft.at };
    }
    const { api, chain } = this.#context;
    const project = chain.find(({ type }) => type === "projects")?.id ?? "";
    const presence = keepPresence(api, project, until);
    const place = `elements/${this.id}`;
    this.#say = field => presence.say({ place, field });
    this.#say(null);
    const stop = followAuthoring(api, project, until).subscribe(heard => {
      if (heard === null) return;
      const others = heard.presence.authors.filter(
        each => each.place === place && !each.id.endsWith(presence.id),
      );
      this.colleagues.value = others.map(({ name, field }) => (field === null ? name : `${name} (${field})`));
      const changes = heard.changes.entries.flatMap(entry => entry.changes);
      const newest = changes.findLast(each => each.id === this.id);
      if (newest !== undefined && newest.etag !== this.#etag && !this.#isSending) void this.#hear();
    });
    until.addEventListener("abort", () => {
      stop();
      void this.save();
    });
  }

  get isFrozen(): boolean {
    const { element } = this;
    return Number(element.value?.attributes.published_at ?? 0) > 0;
  }

  get isUnsaved(): boolean {
    return changesOf(this.#base, this.#mine).length > 0;
  }

  get mine(): Attributes {
    return this.#mine;
  }

  /** Returns the signal of a value, which its field binds. */
  value(path: Path): Signal<unknown> {
    const key = JSON.stringify(path);
    const known = this.#values.get(key) ?? signal(valueAt(this.#mine, path));
    this.#values.set(key, known);
    return known;
  }

  /** Takes what was typed. */
  set(path: Path, value: unknown): void {
    this.#mine = withValue(this.#mine, path, value);
    this.#show();
    this.saved.value = { kind: "typing" };
    void this.#keep();
    clearTimeout(this.#timer);
    this.#timer = setTimeout(() => void this.save(), pauseMs);
  }

  focus(path: Path | null): void {
    this.#say(path === null ? null : nameOf(path));
    if (path === null && this.isUnsaved) void this.save();
  }

  /** Takes what the browser kept, or forgets it. */
  async takeOffer(isWanted: boolean): Promise<void> {
    this.offered.value = null;
    if (!isWanted || this.#offer === null) return await this.#drafts.remove(this.id);
    this.#mine = this.#offer;
    this.#show();
    await this.save();
  }

  /** Sends what is not saved, unless there is something to ask first. */
  async save(): Promise<void> {
    clearTimeout(this.#timer);
    if (this.#isSending || this.conflicts.value.length > 0 || !this.isUnsaved) return;
    const sent = this.#mine;
    const attributes = Object.fromEntries(changesOf(this.#base, sent).map(name => [name, sent[name]]));
    this.#isSending = true;
    this.saved.value = { kind: "saving" };
    try {
      const data = { type: "elements", id: this.id, attributes } as never;
      const headers = { "if-match": this.#etag };
      const call = this.#context.api.control.changeElement(
        { elementId: this.id, body: { data } },
        { headers },
      );
      this.#etag = (await call.whole()).headers.get("etag") ?? "";
      this.#base = sent;
      this.faults.value = [];
      this.saved.value = { kind: "saved", at: Date.now() };
      if (!this.isUnsaved) await this.#drafts.remove(this.id);
    } catch (error) {
      this.#isSending = false;
      await this.#refused(error, attributes);
      return;
    }
    this.#isSending = false;
    if (this.isUnsaved) await this.save();
  }

  /** Forgets what was typed, as it lives on in another element. */
  async forget(): Promise<void> {
    this.#mine = this.#base;
    await this.#drafts.remove(this.id);
  }

  /** Goes on with what the producer chose of each conflict, and sends it. */
  async choose(choices: readonly ("mine" | "theirs")[]): Promise<void> {
    const rival = this.#rival;
    if (rival === null) return;
    let chosen = merge(this.#base, this.#mine, rival.attributes).attributes;
    this.conflicts.value.forEach(({ path, theirs }, index) => {
      if (choices[index] === "theirs") chosen = withValue(chosen, path, theirs);
    });
    this.#take(rival, chosen);
    await this.save();
  }

  async #refused(error: unknown, sent: Attributes): Promise<void> {
    const { status = 0, fields = [] } = error instanceof GrandstandError ? error : {};
    if (status === 412) return await this.#hear();
    if (status === 404 || status === 410) {
      this.element.value = null;
      return;
    }
    this.faults.value = fields.map(each => ({ path: pathOf(each, sent), text: each.detail }));
    this.saved.value = { kind: "refused", text: messageOf(error) };
  }

  /** Reads what somebody else stored, and joins it with what is typed here. */
  async #hear(): Promise<void> {
    const read = await this.#read().catch((error: unknown) => {
      if (error instanceof GrandstandError && error.status === 404) this.element.value = null;
      return null;
    });
    if (read === null || read.etag === this.#etag) return;
    const rival = { attributes: editable(read.element), etag: read.etag };
    const { attributes, conflicts, taken } = merge(this.#base, this.#mine, rival.attributes);
    this.element.value = read.element;
    if (conflicts.length > 0) {
      this.#rival = rival;
      this.conflicts.value = conflicts;
      return;
    }
    this.#take(rival, attributes);
    if (taken.length > 0) this.note.value = `Somebody changed ${taken.map(nameOf).join(", ")}.`;
    await this.save();
  }

  #take({ attributes: theirs, etag }: Rival, mine: Attributes): void {
    this.#base = theirs;
    this.#mine = mine;
    this.#etag = etag;
    this.#rival = null;
    this.conflicts.value = [];
    this.#show();
  }

  /** Writes values into their signals. What is typed at this moment is among them, so no keystroke is lost. */
  #show(): void {
    for (const [key, value] of this.#values) value.value = valueAt(this.#mine, JSON.parse(key) as Path);
  }

  async #keep(): Promise<void> {
    const draft = { base: this.#base, mine: this.#mine, etag: this.#etag, at: Date.now() };
    this.isStored.value = await this.#drafts.write(this.id, draft);
  }

  async #read(): Promise<{ readonly element: Resource; readonly etag: string }> {
    const call = this.#context.api.control.readElement({ elementId: this.id });
    const { document, headers } = await call.whole();
    return { element: (document as { readonly data: Resource }).data, etag: headers.get("etag") ?? "" };
  }
}

function editable({ attributes }: Resource): Attributes {
  return Object.fromEntries([...drafted, ...always].map(name => [name, attributes[name]]));
}

/** Returns the names of the attributes that differ. */
function changesOf(base: Attributes, mine: Attributes): readonly string[] {
  return Object.keys(mine).filter(name => JSON.stringify(mine[name]) !== JSON.stringify(base[name]));
}

/** Returns the value that a pointer of the server names. */
function pathOf({ pointer }: FieldError, sent: Attributes): Path | null {
  const [, , name = "", ...steps] = (pointer ?? "").split("/").slice(1);
  const keyAt = (list: unknown, index: string | undefined): string =>
    (list as readonly { readonly key: string }[] | undefined)?.[Number(index)]?.key ?? "";
  if (name === "custom_fields") return [name, keyAt(sent[name], steps[0]), steps[2] ?? "all"];
  if (name !== "question") return name === "" ? null : [name];
  const { fields, options } = (sent.question ?? {}) as { fields?: unknown; options?: { fields?: unknown }[] };
  if (steps[0] === "fields") return [name, "fields", keyAt(fields, steps[1]), steps[3] ?? "all"];
  if (steps.length < 3) return [name, "options"];
  const index = Number(steps[1]);
  return [name, "options", index, keyAt(options?.[index]?.fields, steps[3]), steps[5] ?? "all"];
}

/** Returns words for a place, such as `question (de)`. */
export function nameOf(path: Path): string {
  const [first, ...rest] = path.filter(step => step !== "custom_fields" && step !== "fields");
  if (first === "question" && rest[0] === "options" && rest.length > 1)
    return `option ${Number(rest[1]) + 1}${languageOf(rest.at(-1))}`;
  const last = rest.at(-1);
  const name = String(path.length > 1 ? (path.at(path[1] === "options" ? 1 : -2) ?? "") : first);
  return `${name.replaceAll("_", " ")}${path.length > 1 ? languageOf(last) : ""}`;
}

function languageOf(step: unknown): string {
  return typeof step === "string" && step !== "all" && /^[a-z]{2,3}(-|$)/.test(step) ? ` (${step})` : "";
}
