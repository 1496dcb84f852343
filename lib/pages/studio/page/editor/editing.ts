/**
 * An element while a producer edits it: a signal for each value, saved on a pause under the tag that was read. What others changed
 * meanwhile is merged, or asked about, before anything is sent.
 */

import { type Signal, signal } from "@preact/signals";
import type { Conflict, Path } from "../../../../base/json/mod.ts";
import { GrandstandError } from "../../../../client/mod.ts";
import type { Resource } from "../api.ts";
import { followAuthoring, keepPresence } from "../authoring.ts";
import { messageOf } from "../problem.ts";
import { titleOf } from "../results.ts";
import type { Rundown } from "../run/rundown.ts";
import { type History, historyOf, type OpenEditor, type OperationResult, type Step } from "../undo.ts";
import type { ViewContext } from "../view.ts";
import { nameOf, pathOf } from "./contents.ts";
import { Drafts, type KeptDraft } from "./drafts.ts";
import {
  changesOf,
  editable,
  editStep,
  isFrozen,
  isPublished,
  isTime,
  namesOf,
  openOf,
  pick,
} from "./edits.ts";
import { type Attributes, merge, takeBack, valueAt, withValue } from "./merge.ts";

/** Time without a keystroke after which a draft is saved, in ms. */
const pauseMs = 1_500;
/** Time after which a save is tried again that lacked a role, in ms. */
const againMs = 10_000;

const passedText =
  "This time of the show has passed, so fans would see the element at once. Choose a later one, or take the element by hand.";

export type Saved =
  | { readonly kind: "saved"; readonly at: number | null }
  | { readonly kind: "typing" }
  | { readonly kind: "saving" }
  /** A time of the show is wanted that nobody has entered yet. */
  | { readonly kind: "held" }
  | { readonly kind: "refused"; readonly text: string };

/** A fault that the server found. */
export interface Fault {
  /** The value at fault; null where it is none that the editor shows. */
  readonly path: Path | null;
  readonly text: string;
}

/** An element as the server has it now. */
interface Rival {
  readonly attributes: Attributes;
  readonly etag: string;
  readonly isPublished: boolean;
}

/** What was typed into one place without a pause elsewhere. */
interface Typed {
  readonly place: string;
  readonly before: Attributes;
  readonly after: Attributes;
}

export class Editing implements OpenEditor {
  readonly id: string;
  /** The element as the server has it; null: it was deleted. */
  readonly element = signal<Resource | null | undefined>(undefined);
  readonly saved = signal<Saved>({ kind: "saved", at: null });
  readonly faults = signal<readonly Fault[]>([]);
  readonly conflicts = signal<readonly Conflict[]>([]);
  /** What the browser kept from an earlier time, for the producer to take or leave. */
  readonly offered = signal<{ readonly at: number } | null>(null);
  /** What was typed into an element that somebody has published meanwhile: only a clone can take it. */
  readonly stranded = signal<Attributes | null>(null);
  /** Who changed the element last, as far as it is known. */
  readonly rivalName = signal("Somebody");
  /** A quiet word about what others did. */
  readonly note = signal("");
  readonly isStored = signal(true);
  /** Others who edit the element, with the field that they are in. */
  readonly colleagues = signal<readonly string[]>([]);
  readonly #context: ViewContext;
  readonly #rundown: Rundown;
  readonly #history: History;
  #drafts = new Drafts("");
  readonly #values = new Map<string, Signal<unknown>>();
  #base: Attributes = {};
  #mine: Attributes = {};
  #etag = "";
  #rival: Rival | null = null;
  #offer: KeptDraft | null = null;
  #focused: Path | null = null;
  /** Tag of the element after its newest change that is known. */
  #heardEtag = "";
  #newestId = "";
  #timer: ReturnType<typeof setTimeout> | undefined;
  /** Resolves once the element is sent or read; null: it is neither. */
  #work: Promise<void> | null = null;
  #goOn: () => void = () => {};
  /** What is not saved yet, the newest last. */
  #typed: readonly Typed[] = [];
  #say: (field: string | null) => void = () => {};

  constructor(context: ViewContext, id: string, rundown: Rundown) {
    this.#context = context;
    this.id = id;
    this.#rundown = rundown;
    this.#history = historyOf(context.api);
  }

  /** Opens the element, and follows what others do to it until the signal aborts. */
  async open(until: AbortSignal): Promise<void> {
    const [me, { element, etag }] = await Promise.all([this.#context.readUser(), this.#read()]);
    if (until.aborted) return;
    this.#history.editor = this;
    this.#drafts = new Drafts(me.id);
    this.#etag = etag;
    this.#heardEtag = etag;
    this.#base = editable(element);
    this.#mine = this.#base;
    const kept = await this.#drafts.list(this.id);
    this.element.value = element;
    this.#offerOneOf(kept);
    const { api, chain } = this.#context;
    const project = chain.find(({ type }) => type === "projects")?.id ?? "";
    const presence = keepPresence(api, project, until);
    const place = `elements/${this.id}`;
    this.#say = field => presence.say({ place, field });
    this.#say(null);
    const stop = followAuthoring(api, project, until).subscribe(heard => {
      if (heard === null) return;
      const others = heard.presence.authors.filter(each => each.place === place && each.user_id !== me.id);
      this.colleagues.value = others.map(({ name, field }) => (field === null ? name : `${name} (${field})`));
      const { entries } = heard.changes;
      const newest = entries.findLast(entry => entry.changes.some(each => each.id === this.id));
      const { etag: newEtag = null } = newest?.changes.findLast(each => each.id === this.id) ?? {};
      if (newest === undefined || newest.id === this.#newestId) return;
      this.#newestId = newest.id;
      this.#heardEtag = newEtag ?? "";
      const author = heard.presence.authors.find(each => each.user_id === newest.by);
      if (newest.by !== me.id) this.rivalName.value = author?.name ?? "Somebody";
      void this.#catchUp();
    });
    until.addEventListener("abort", () => {
      stop();
      if (this.#history.editor === this) this.#history.editor = null;
      this.#history.waitFor(this.finish());
    });
  }

  get isFrozen(): boolean {
    const { value: element } = this.element;
    return element != null && isPublished(element);
  }

  get isUnsaved(): boolean {
    return this.stranded.value !== null || this.#changes.length > 0;
  }

  /** Names of the attributes that the server does not have yet. */
  get #changes(): readonly string[] {
    return changesOf(this.#base, this.#mine);
  }

  /** Those that can be sent: nobody puts an element on air by choosing a time. */
  get #sendable(): readonly string[] {
    const changes = this.#changes;
    const isTimed = !this.isFrozen && changes.some(isTime);
    const isHeld = isTimed && (this.#isTimeMissing || this.#isPassed);
    return isHeld ? changes.filter(name => !isTime(name)) : changes;
  }

  get #isTimeMissing(): boolean {
    return this.#mine.start_mode === "timecode" && this.#mine.start_offset === undefined;
  }

  /** True if the element would be on air at once. */
  get #isPassed(): boolean {
    return this.#rundown.byHandIfPassed(this.#mine) !== this.#mine;
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

  /** Chooses who publishes the element: a time is empty until somebody enters one, as 0 would be at once. */
  chooseStart(mode: unknown): void {
    const timed = withValue(this.#mine, ["start_offset"], mode === "timecode" ? undefined : 0);
    this.#type("start_mode", withValue(timed, ["start_mode"], mode));
  }

  /** Takes what was typed. */
  set(path: Path, value: unknown): void {
    this.#type(JSON.stringify(path), withValue(this.#mine, path, value));
  }

  #type(place: string, after: Attributes): void {
    const last = this.#typed.at(-1);
    this.#typed =
      last?.place === place
        ? [...this.#typed.slice(0, -1), { ...last, after }]
        : [...this.#typed, { place, before: this.#mine, after }];
    this.#mine = after;
    this.#history.undone.value = [];
    this.#changed();
  }

  #changed(): void {
    this.#show();
    this.saved.value = { kind: "typing" };
    void this.#keep();
    this.#saveLater();
  }

  focus(path: Path | null): void {
    this.#focused = path;
    this.#say(path === null ? null : nameOf(path));
    if (path === null) void this.save().then(() => this.#catchUp());
  }

  /** Goes on with what the browser kept, as if it had been typed before others changed the element; or forgets it. */
  async takeOffer(isWanted: boolean): Promise<void> {
    const { offered, element } = this;
    const offer = this.#offer;
    offered.value = null;
    this.#offer = null;
    if (offer === null) return;
    if (isWanted && element.value != null) await this.#goOnWith(offer, element.value);
    // This tab has kept it by now, unless the browser stores nothing any more.
    if (!isWanted || (this.isStored.value && !offer.isOwn)) await this.#drafts.remove(this.id, offer.key);
    if (!this.isUnsaved) this.#offerOneOf(await this.#drafts.list(this.id));
  }

  #offerOneOf(kept: readonly KeptDraft[]): void {
    // The tab may have ended between the server's answer and the end of its draft.
    const isMissing = ({ base, mine }: KeptDraft): boolean => {
      const { attributes, conflicts } = merge(base, mine, this.#base);
      return conflicts.length > 0 || changesOf(this.#base, attributes).length > 0;
    };
    for (const draft of kept) if (!isMissing(draft)) void this.#drafts.remove(this.id, draft.key);
    const offer = kept.find(isMissing) ?? null;
    this.#offer = offer;
    this.offered.value = offer === null ? null : { at: offer.at };
  }

  async #goOnWith(offer: KeptDraft, element: Resource): Promise<void> {
    const live = { attributes: this.#base, etag: this.#etag, isPublished: isPublished(element) };
    this.#base = offer.base;
    this.#mine = offer.mine;
    this.#join(live);
    if (this.isUnsaved) await this.#keep();
    await this.save();
  }

  /** Sends what is not saved, unless there is something to ask first. */
  async save(): Promise<void> {
    clearTimeout(this.#timer);
    const changes = this.#sendable;
    if (this.conflicts.value.length > 0) return;
    if (changes.length === 0) return this.#holdTime();
    if (this.#work !== null) {
      this.#saveLater();
      return;
    }
    const sent = this.#mine;
    const attributes = pick(sent, changes);
    this.saved.value = { kind: "saving" };
    const end = this.#begin();
    let refusal: unknown = null;
    try {
      const data = { type: "elements", id: this.id, attributes } as never;
      const headers = { "if-match": this.#etag };
      const call = this.#context.api.control.changeElement(
        { elementId: this.id, body: { data } },
        { headers },
      );
      const etag = (await call.whole()).headers.get("etag") ?? "";
      if (this.#heardEtag === this.#etag) this.#heardEtag = etag;
      this.#history.follow(this.id, this.#etag, etag);
      this.#history.note(this.#stepOf(pick(this.#base, changes), attributes));
      this.#etag = etag;
      this.#base = { ...this.#base, ...attributes };
      const left = this.#changes;
      this.#typed = this.#typed.filter(({ before, after }) =>
        changesOf(before, after).some(name => left.includes(name)),
      );
      this.faults.value = [];
      this.saved.value = { kind: "saved", at: Date.now() };
      this.rivalName.value = "Somebody";
      if (!this.isUnsaved) await this.#drafts.remove(this.id);
    } catch (error) {
      refusal = error;
    }
    end();
    if (refusal !== null) return await this.#refused(refusal, attributes);
    if (this.#sendable.length > 0) return await this.save();
    this.#holdTime();
    await this.#catchUp();
  }

  /** Says why a time is not sent, if one is not; else nothing is left to save. */
  #holdTime(): void {
    if (this.#changes.length === 0) {
      if (this.#work !== null || this.saved.value.kind === "saved") return;
      this.faults.value = [];
      this.saved.value = { kind: "saved", at: null };
      return;
    }
    if (this.#isTimeMissing) {
      this.faults.value = [];
      this.saved.value = { kind: "held" };
      return;
    }
    this.faults.value = [{ path: ["start_offset"], text: passedText }];
    this.saved.value = { kind: "refused", text: passedText };
  }

  /** Saves what can be saved, also after what is being sent or read. */
  async finish(): Promise<void> {
    await this.#rest();
    await this.save();
    await this.#rest();
  }

  async settle(): Promise<void> {
    await this.finish();
    this.#goOn = this.#begin();
  }

  takeBackTyped(): Step | null {
    const last = this.#typed.at(-1);
    if (this.#changes.length === 0 || last === undefined) return null;
    this.#typed = this.#typed.slice(0, -1);
    const paths = this.#revert(last.before, last.after);
    const label = `${namesOf(paths)} of “${titleOf(this.#mine)}”, which was not saved`;
    const turn: Step["turn"] = async () => {
      const isOpen = this.#history.editor === this;
      if (isOpen) {
        this.#typed = [...this.#typed, last];
        this.#revert(last.after, last.before);
      }
      return { operations: [], note: isOpen ? "" : "Its editor is closed", isDone: isOpen, back: () => turn };
    };
    return { label, turn };
  }

  /** Takes the change from `before` to `after` back in what is not saved. Returns what that changed. */
  #revert(before: Attributes, after: Attributes): readonly Path[] {
    const { attributes, paths } = takeBack(before, after, this.#mine);
    this.#mine = attributes;
    if (this.#rival === null) this.#changed();
    else this.#join(this.#rival);
    return paths;
  }

  resume(results: readonly OperationResult[]): void {
    const { data, meta } = results.find(result => result.data?.id === this.id) ?? {};
    this.#goOn();
    if (data !== undefined && meta !== undefined && this.element.value !== null) {
      if (this.#heardEtag === this.#etag) this.#heardEtag = meta.etag;
      this.element.value = data;
      this.#join({ attributes: editable(data), etag: meta.etag, isPublished: isPublished(data) });
      this.note.value = "";
    }
    void this.#catchUp();
  }

  async #rest(): Promise<void> {
    while (this.#work !== null) await this.#work;
  }

  /** Lets nothing else be sent or read until the function that it returns is called. */
  #begin(): () => void {
    let end = (): void => {};
    this.#work = new Promise(resolve => {
      end = () => {
        this.#work = null;
        resolve();
      };
    });
    return end;
  }

  #stepOf(before: Attributes, after: Attributes): Step {
    const edit = { id: this.id, before, after, title: titleOf({ ...this.#base, ...after }) };
    return editStep(edit, { rundown: this.#rundown, read: () => this.#read() });
  }

  /** Returns true where not the element alone but the whole event cannot be read. */
  async #isOutOfReach(): Promise<boolean> {
    const eventId = this.#context.chain.find(({ type }) => type === "events")?.id ?? "";
    return await this.#context.api.control.readEvent({ eventId }).then(
      () => false,
      (error: unknown) => error instanceof GrandstandError && error.status === 404,
    );
  }

  #saveLater(waitMs = pauseMs): void {
    clearTimeout(this.#timer);
    this.#timer = setTimeout(() => void this.save(), waitMs);
  }

  /** Forgets what was typed, as it lives on in another element or is not wanted. */
  async forget(): Promise<void> {
    this.#mine = this.#base;
    this.stranded.value = null;
    await this.#drafts.remove(this.id);
  }

  /** Goes on with the values that the producer chose, one for each conflict, and sends them. */
  async choose(values: readonly unknown[]): Promise<void> {
    const rival = this.#rival;
    if (rival === null) return;
    let chosen = merge(this.#base, this.#mine, rival.attributes).attributes;
    this.conflicts.value.forEach(({ path }, index) => {
      chosen = withValue(chosen, path, values[index]);
    });
    this.#take(rival, chosen);
    await this.#keep();
    await this.save();
  }

  async #refused(error: unknown, sent: Attributes): Promise<void> {
    const { status = 0, fields = [] } = error instanceof GrandstandError ? error : {};
    if (status === 412) return await this.#hear();
    const isGone = (status === 404 || status === 410) && !(await this.#isOutOfReach());
    if (isGone) {
      this.element.value = null;
      return;
    }
    if (status === 403 || status === 404 || status === 410) {
      const kept = this.isStored.value
        ? "What you typed is kept in this browser"
        : "What you typed stays here";
      const text = `Your role here has ended, or the show is gone. ${kept}, and saved once you have a role again.`;
      this.faults.value = [];
      this.saved.value = { kind: "refused", text };
      this.#saveLater(againMs);
      return;
    }
    this.faults.value = fields.map(({ pointer = "", detail }) => ({
      path: pathOf(pointer.replace(/^\/data\/attributes/, ""), sent),
      text: detail,
    }));
    this.saved.value = { kind: "refused", text: messageOf(error) };
  }

  /** Reads what others changed, if anything is known of it. */
  async #catchUp(): Promise<void> {
    if (this.element.value !== null && this.#heardEtag !== this.#etag) await this.#hear();
  }

  /** Reads what somebody else stored, and joins it with what is typed here. */
  async #hear(): Promise<void> {
    if (this.#work !== null) return;
    const end = this.#begin();
    const read = await this.#read().catch(async (error: unknown) => {
      const isMissing = error instanceof GrandstandError && error.status === 404;
      if (isMissing && !(await this.#isOutOfReach())) this.element.value = null;
      else if (this.#changes.length > 0) this.saved.value = { kind: "refused", text: messageOf(error) };
      return null;
    });
    end();
    if (read === null) return;
    this.#heardEtag = read.etag;
    if (read.etag === this.#etag) return;
    const { element, etag } = read;
    const rival = { attributes: editable(element), etag, isPublished: isPublished(element) };
    if (this.#isWaitingForFocus(rival)) return;
    this.element.value = element;
    this.#join(rival);
    await this.save();
  }

  /** True if others changed the very field that has the focus. It is written once the producer leaves it, and asked about if they type. */
  #isWaitingForFocus({ attributes, isPublished: isOut }: Rival): boolean {
    const focused = this.#focused;
    if (focused === null || isOut) return false;
    const { taken } = merge(this.#base, this.#mine, attributes);
    const isMeant = taken.some(path => path.every((step, index) => step === focused[index]));
    if (isMeant) {
      this.note.value = `${this.rivalName.value} changed this field. You see it when you leave it.`;
      if (this.#changes.length > 0) this.saved.value = { kind: "typing" };
    }
    return isMeant;
  }

  #join(rival: Rival): void {
    const { attributes, conflicts, taken } = merge(this.#base, this.#mine, rival.attributes);
    if (rival.isPublished && changesOf(rival.attributes, attributes).some(isFrozen)) {
      this.#strand(rival, attributes);
      return;
    }
    if (conflicts.length > 0) {
      this.#rival = rival;
      this.conflicts.value = conflicts;
      this.saved.value = { kind: "typing" };
      return;
    }
    this.#take(rival, attributes);
    if (taken.length > 0) {
      this.note.value = `${this.rivalName.value} changed ${taken.map(nameOf).join(", ")}.`;
    }
  }

  /** Shows what fans see now, and keeps what was typed for a clone. */
  #strand(rival: Rival, mine: Attributes): void {
    this.stranded.value = mine;
    this.#take(rival, { ...rival.attributes, ...openOf(mine) });
    this.saved.value = { kind: "saved", at: null };
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
    const mine =
      this.stranded.value === null ? this.#mine : { ...this.stranded.value, ...openOf(this.#mine) };
    const draft = { base: this.#base, mine, etag: this.#etag, at: Date.now() };
    this.isStored.value = await this.#drafts.write(this.id, draft);
  }

  async #read(): Promise<{ readonly element: Resource; readonly etag: string }> {
    const call = this.#context.api.control.readElement({ elementId: this.id });
    const { document, headers } = await call.whole();
    return { element: (document as { readonly data: Resource }).data, etag: headers.get("etag") ?? "" };
  }
}
