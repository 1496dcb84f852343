/** What a producer does to a show. Actions are sent at once or refused; nothing waits for a connection. */

import { computed, type Signal, signal } from "@preact/signals";
import type { ContentType } from "../../../../authoring/table/content_types.ts";
import { GrandstandError } from "../../../../client/mod.ts";
import { type Resource, textOf } from "../api.ts";
import { hrefOf } from "../places.ts";
import { messageOf } from "../problem.ts";
import { optionsOf, textsOfTemplate, titleOf } from "../results.ts";
import { ask, type MenuItem } from "../ui.tsx";
import {
  attributesToCopy,
  type History,
  historyOf,
  type Inverse,
  makeOperations,
  type Operation,
  type OperationResult,
} from "../undo.ts";
import { refusalOf, type ViewContext } from "../view.ts";
import { type Item, type Rundown, timecodeOf, zoneOf } from "./rundown.ts";

/** Time after a cue or a take in which nothing is taken, in ms. */
const deadMs = 500;
/** Time in which a take can be cancelled where the event holds publishes, in ms. */
const holdMs = 3_000;
/** The annotation of an event that holds publishes. */
const holdKey = "hold_publishes";

const clock = new Intl.DateTimeFormat(undefined, { timeStyle: "short" });
const numbers = new Intl.NumberFormat();

/** Returns a switch of this device, which is on at first. Where the browser stores nothing, it lasts until the page is left. */
export function deviceSwitch(name: string): Signal<boolean> {
  const isOn = signal(true);
  try {
    isOn.value = localStorage.getItem(name) !== "off";
  } catch {
    // Storage is blocked.
  }
  isOn.subscribe(value => {
    try {
      if (value) localStorage.removeItem(name);
      else localStorage.setItem(name, "off");
    } catch {
      // It is blocked or full.
    }
  });
  return isOn;
}

export type ElementAction = "publish" | "stop" | "reveal_results" | "reveal_answer" | "revoke";

export class Desk {
  readonly rundown: Rundown;
  /** Id of the element that the next take publishes; null: none. */
  readonly cued = signal<string | null>(null);
  /** True if takes of the event wait for a moment, in which they can be cancelled. */
  readonly holds = computed(() => Object(this.rundown.event.value.attributes.annotations)[holdKey] === "on");
  /** A take that waits; null: none. */
  readonly held = signal<{ readonly title: string; readonly cancel: () => void } | null>(null);
  /** Id of the element whose right option is asked for; null: none. */
  readonly asksAnswer = signal<string | null>(null);
  /** Ids of the elements whose times are to be shifted; null: nobody asks for it. */
  readonly shifted = signal<readonly string[] | null>(null);
  /** Ids of what is being changed; "" is the event. */
  readonly busy = signal<readonly string[]>([]);
  /** Types of the project's app; null: it has none, or nobody has read them yet. */
  readonly types = signal<readonly ContentType[] | null>(null);
  readonly #context: ViewContext;
  readonly history: History;
  #pressedAt = Number.NEGATIVE_INFINITY;

  constructor(context: ViewContext, rundown: Rundown) {
    this.#context = context;
    this.history = historyOf(context.api);
    this.rundown = rundown;
  }

  /** Why the user may not change the show; null: the user may. */
  get refusal(): string | null {
    return refusalOf(this.#context.role, "creator");
  }

  /** Why an element cannot go on air; null: it can. */
  refusalToTake(): string | null {
    const state = textOf(this.rundown.event.value, "state");
    if (this.refusal !== null || state === "current" || state === "on_demand") return this.refusal;
    return state === "past" ? "The show is over." : "Start the show first.";
  }

  /** Chooses what the next take publishes; the same element again: nothing. */
  cue(id: string): void {
    const item = this.rundown.item(id);
    if (this.refusal !== null || item === undefined || this.held.value !== null) return;
    if (zoneOf(item) !== "next") {
      this.#context.announce("Not cued: only elements under Next can be.");
      return;
    }
    this.#pressedAt = performance.now();
    this.cued.value = this.cued.value === id ? null : id;
    this.rundown.cue(this.cued.value);
    const kept = this.textsOfTemplate(item);
    const warning = kept.length === 0 ? "" : `. Still the example text: ${kept.join(", ")}`;
    this.#context.announce(
      this.cued.value === null ? "Nothing is cued" : `Cued: ${titleOf(item.attributes)}${warning}`,
    );
  }

  /** Returns the names of the texts that an element still has from a template. */
  textsOfTemplate({ attributes }: Item): readonly string[] {
    const type = this.types.value?.find(each => each.content_type === attributes.content_type);
    return textsOfTemplate(type, attributes);
  }

  /** Publishes what is cued, the elements of a wrapper before the wrapper. Returns whether something was taken. */
  async take(): Promise<boolean> {
    const { value: id } = this.cued;
    if (performance.now() - this.#pressedAt < deadMs) {
      this.#context.announce("Not taken, as the last press was a moment ago. Press again.");
      return false;
    }
    const item = id === null ? undefined : this.rundown.item(id);
    if (this.held.value !== null) return false;
    const refusal = item === undefined ? "Cue an element first." : this.refusalToTake();
    if (item === undefined || refusal !== null) {
      this.#context.announce(refusal ?? "");
      return false;
    }
    this.#pressedAt = performance.now();
    const title = titleOf(item.attributes);
    if (this.holds.value && !(await this.#hold(title))) return false;
    const { value: lostAt } = this.rundown.lostAt;
    if (lostAt !== null) {
      const text = `What you see is as of ${clock.format(lostAt)}. “${title}” is published as soon as you go on, if the platform can be reached.`;
      if (!(await ask({ title: "Not live. Take it anyway?", text, confirm: "Take" }))) return false;
    }
    this.cued.value = null;
    this.rundown.cue(null);
    const children = this.rundown.childrenOf(item.id).filter(child => zoneOf(child) === "next");
    const isTaken = await this.#send(
      item.id,
      [...children, item].map(({ id: each }) => updateOf(each, { action: "publish" })),
    );
    // A refusal is said in its row, once.
    if (isTaken) this.#context.announce(`On air: ${title}`);
    // Somebody may have put more into a wrapper, which the next take publishes with it.
    else await this.rundown.refresh().catch(() => {});
    return isTaken;
  }

  /** Waits before a publication. Returns false if it was cancelled, or the view left, meanwhile. */
  async #hold(title: string): Promise<boolean> {
    const { announce, signal: until } = this.#context;
    announce(`On air in ${holdMs / 1_000} s: ${title}`);
    const isKept = await new Promise<boolean>(resolve => {
      const timer = setTimeout(() => resolve(true), holdMs);
      const cancel = (): void => {
        clearTimeout(timer);
        resolve(false);
      };
      this.held.value = { title, cancel };
      until.addEventListener("abort", cancel, { once: true });
    });
    this.held.value = null;
    if (!isKept) announce(`Not taken: ${title}`);
    return isKept;
  }

  async act(id: string, action: Exclude<ElementAction, "publish">): Promise<void> {
    const item = this.rundown.item(id);
    if (item === undefined || this.refusal !== null) return;
    const needsAnswer = action === "reveal_answer" && Number(item.attributes.correct_option ?? 0) === 0;
    if (needsAnswer && optionsOf(item.attributes).length > 0) {
      this.asksAnswer.value = id;
      return;
    }
    if (action === "revoke") {
      const text = `Every screen drops it now${this.#lost([id])}. It cannot be published again; a clone can.`;
      if (!(await ask({ title: `Revoke “${titleOf(item.attributes)}”?`, text, confirm: "Revoke" }))) return;
    }
    const isDone = await this.#send(id, [updateOf(id, { action })]);
    if (isDone) this.#context.announce(`${said[action]}: ${titleOf(item.attributes)}`);
  }

  async revealAnswer(id: string, option: number): Promise<void> {
    this.asksAnswer.value = null;
    await this.#send(id, [updateOf(id, { correct_option: option, action: "reveal_answer" })]);
  }

  /** Deletes elements after a question, in one batch. Returns whether they are gone. */
  async remove(ids: readonly string[]): Promise<boolean> {
    const items = ids.flatMap(id => this.rundown.item(id) ?? []);
    const [first] = items;
    if (first === undefined || this.refusal !== null) return false;
    const named = items.length === 1 ? `“${titleOf(first.attributes)}”` : `${items.length} elements`;
    const [it, leaves] = items.length === 1 ? ["it", "It leaves"] : ["them", "They leave"];
    const text = `${leaves} the show${this.#lost(ids)}. Undo makes ${it} again, with a new id and without votes.`;
    if (!(await ask({ title: `Delete ${named}?`, text, confirm: "Delete" }))) return false;
    const row = items.length === 1 ? first.id : "";
    return await this.attempt(row, async () => {
      await this.history.make(async () => {
        const { restoring } = await import("../plan/copies.ts");
        const removing = (each: readonly string[]): readonly Operation[] =>
          each.map(id => ({ op: "remove", ref: { type: "elements", id } }));
        let restore = await restoring(this.#context, this.rundown, ids);
        const again = async (results: readonly OperationResult[]): Promise<Inverse> => {
          const made = results.slice(0, ids.length).flatMap(({ data }) => data?.id ?? []);
          await this.rundown.refresh();
          restore = await restoring(this.#context, this.rundown, made);
          return { operations: removing(made), note: "" };
        };
        const inverse = (): Promise<Inverse> => restore();
        return { label: `Delete ${named}`, operations: removing(ids), inverse, again };
      });
      for (const id of ids) this.rundown.remove(id);
      this.#context.announce(`Deleted: ${named}`);
    });
  }

  /** Asks by how much to shift the times that are still to come, from an offset in seconds on. */
  shiftTimes(from = 0): void {
    const { rundown } = this;
    const isShifted = (id: string): boolean => {
      const item = rundown.item(id);
      return item !== undefined && (timecodeOf(item) ?? -1) >= from;
    };
    this.shifted.value = rundown.ids.next.value.filter(isShifted);
  }

  /** What the menu of an element has for its time. */
  shiftItems(item: Item): readonly MenuItem[] {
    const at = timecodeOf(item);
    if (zoneOf(item) !== "next" || at === null) return [];
    return [{ label: "Shift times from here…", refusal: this.refusal, to: () => this.shiftTimes(at) }];
  }

  async cloneAsDraft(id: string): Promise<void> {
    await this.attempt(id, async () => {
      const [made] = await makeOperations(this.#context.api, [{ op: "add", data: await this.#copyOf(id) }]);
      await this.rundown.refresh();
      if (made?.data !== undefined) this.edit(made.data.id);
    });
  }

  /** Moves an element by one place among those that come next, with its children. */
  async move(id: string, by: -1 | 1): Promise<void> {
    const { rundown } = this;
    const item = rundown.item(id);
    if (item === undefined || this.refusal !== null || zoneOf(item) !== "next") return;
    const isPlacedByTime = (each: Item): boolean =>
      rundown.isByClock && each.parent === null && timecodeOf(each) !== null;
    if (isPlacedByTime(item)) {
      this.#context.announce("Not moved: its time decides its place. Shift it instead.");
      return;
    }
    const siblings = rundown.ids.next.value.filter(each => {
      const other = rundown.item(each);
      return other !== undefined && other.parent === item.parent && !isPlacedByTime(other);
    });
    const other = siblings[siblings.indexOf(id) + by];
    if (other === undefined) return;
    await this.#moveBeside(item, other, by);
  }

  /** Moves an element before or behind another one of the same wrapper. */
  async moveTo(id: string, other: string): Promise<void> {
    const { rundown } = this;
    const [item, target] = [id, other].map(each => rundown.item(each));
    if (item === undefined || target?.parent !== item.parent || id === other || this.refusal !== null) return;
    if (zoneOf(item) !== "next" || zoneOf(target) !== "next") return;
    const order = rundown.order();
    await this.#moveBeside(item, other, order.indexOf(id) < order.indexOf(other) ? 1 : -1);
  }

  async #moveBeside(item: Item, other: string, by: -1 | 1): Promise<void> {
    const { rundown } = this;
    const { id } = item;
    const before = rundown.order();
    const isMoved = (each: string): boolean => each === id || rundown.item(each)?.parent === id;
    const rest = before.filter(each => !isMoved(each));
    const last = rest.findLastIndex(each => each === other || rundown.item(each)?.parent === other);
    const at = by < 0 ? rest.indexOf(other) : last + 1;
    const after = [...rest.slice(0, at), ...before.filter(isMoved), ...rest.slice(at)];
    this.#place(after);
    const order = (ids: readonly string[]): Operation => ({
      op: "update",
      ref: { type: "events", id: rundown.eventId, relationship: "elements" },
      data: ids.map(each => ({ type: "elements", id: each })),
    });
    const label = `Move “${titleOf(item.attributes)}”`;
    const isDone = await this.attempt(id, async () => {
      await this.history.make({ label, operations: [order(after)], inverse: () => [order(before)] });
    });
    if (!isDone) this.#place(before);
  }

  /** Makes a draft of a type, and opens it. Returns whether it was made. */
  async create(type: string, data: Readonly<Record<string, unknown>>): Promise<boolean> {
    const relationships = { event: { data: { type: "events", id: this.rundown.eventId } } };
    const attributes = { ...data, content_type: type };
    return await this.attempt("", async () => {
      const [made] = await makeOperations(this.#context.api, [
        { op: "add", data: { type: "elements", attributes, relationships } },
      ]);
      await this.rundown.refresh();
      if (made?.data !== undefined) this.edit(made.data.id);
    });
  }

  /** Returns the address at which the editor of an element is open beside the view; undefined: that of the view. */
  hrefTo(id?: string): string {
    const { view } = this.#context.place;
    return hrefOf({ type: "events", id: this.rundown.eventId }, view ?? "run", id);
  }

  edit(id: string): void {
    location.hash = this.hrefTo(id);
  }

  async startEvent(): Promise<void> {
    if (await this.#changeEvent({ action: "start" })) this.#context.announce("The show is live");
  }

  async stopEvent(): Promise<void> {
    const { air } = this.rundown.ids;
    const count = air.value.length;
    const open =
      count === 0 ? "" : ` ${count === 1 ? "One element" : `${count} elements`} on air will close.`;
    const text = `Fans see that the show is over.${open} A show that was stopped cannot start again.`;
    if (!(await ask({ title: "Stop the show?", text, confirm: "Stop the show" }))) return;
    if (await this.#changeEvent({ action: "stop" })) this.#context.announce("The show is over");
  }

  /** Changes how long the event runs, and how long it stays on demand, in seconds. */
  async changeTimes(times: { readonly extra_time_duration?: number; readonly on_demand_duration?: number }) {
    await this.#changeEvent(times);
  }

  /** Lets takes of the event wait, for all who run it, or not. */
  async holdPublishes(isOn: boolean): Promise<void> {
    await this.#changeEvent({ annotations: { [holdKey]: isOn ? "on" : null } });
  }

  async #changeEvent(attributes: Readonly<Record<string, unknown>>): Promise<boolean> {
    if (this.refusal !== null) return false;
    const data = { type: "events", id: this.rundown.eventId, attributes };
    const isDone = await this.#send("", [{ op: "update", data }]);
    if (isDone) await Promise.allSettled([this.rundown.readEvent(), this.rundown.refresh()]);
    return isDone;
  }

  /** Names what fans lose with elements. */
  #lost(ids: readonly string[]): string {
    const counts = ids.map(id => {
      const { actions, votes } = this.rundown.count(id).value;
      return Math.max(
        actions,
        votes.reduce((sum, each) => sum + each, 0),
      );
    });
    const count = counts.reduce((sum, each) => sum + each, 0);
    return count === 0 ? "" : `, with ${numbers.format(count)} ${count === 1 ? "vote" : "votes"} of fans`;
  }

  /** Returns an element as a draft of the same event. */
  async #copyOf(id: string): Promise<object> {
    const { api, signal: until } = this.#context;
    const data = (await api.control.readElement({ elementId: id }, { signal: until })) as unknown as Resource;
    const relationships = { event: { data: { type: "events", id: this.rundown.eventId } } };
    const parent = this.rundown.item(id)?.parent ?? null;
    const linked = parent === null ? {} : { parent: { data: { type: "elements", id: parent } } };
    const attributes = this.rundown.byHandIfPassed(attributesToCopy(data.attributes));
    return { type: "elements", attributes, relationships: { ...relationships, ...linked } };
  }

  /** Shows an order before it is stored. */
  #place(ids: readonly string[]): void {
    ids.forEach((id, position) => {
      const item = this.rundown.items.get(id);
      if (item !== undefined && item.value.attributes.position !== position)
        item.value = { ...item.value, attributes: { ...item.value.attributes, position } };
    });
    this.rundown.take([]);
  }

  /** Sends operations for a row. What is refused is said in the row of the element that it is about. */
  async #send(id: string, operations: readonly Operation[]): Promise<boolean> {
    return await this.attempt(
      id,
      async () =>
        this.rundown.take((await makeOperations(this.#context.api, operations)).map(({ data }) => data)),
      error => {
        const [, index = ""] = /^\/atomic:operations\/(\d+)/.exec(error.fields[0]?.pointer ?? "") ?? [];
        const about = operations[Number(index)]?.data as Partial<Item> | undefined;
        return index === "" || id === "" ? id : (about?.id ?? id);
      },
    );
  }

  /** Names elements in place of their ids, and who changed them last. */
  async #named(text: string): Promise<string> {
    const isUnknown = (text.match(idPattern) ?? []).some(id => this.rundown.item(id) === undefined);
    if (isUnknown) await this.rundown.refresh().catch(() => {});
    return text.replace(idPattern, id => {
      const item = this.rundown.item(id);
      const author = item === undefined ? null : this.rundown.changedBy(id);
      const title = item === undefined ? id : `“${titleOf(item.attributes)}”`;
      return author === null ? title : `${title}, which ${author} has changed,`;
    });
  }

  /** Does something for a row, which says what was refused. Returns whether it was done. */
  async attempt(
    id: string,
    run: () => Promise<void>,
    rowOf: (error: GrandstandError) => string = () => id,
  ): Promise<boolean> {
    this.rundown.fault(id).value = "";
    this.busy.value = [...this.busy.value, id];
    try {
      await run();
      return true;
    } catch (error) {
      const row = error instanceof GrandstandError ? rowOf(error) : id;
      this.rundown.fault(row).value = await this.#named(messageOf(error));
      return false;
    } finally {
      this.busy.value = this.busy.value.filter(each => each !== id);
    }
  }
}

const idPattern = /[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}/g;

const said: Readonly<Record<Exclude<ElementAction, "publish">, string>> = {
  stop: "Stopped",
  reveal_results: "Results are shown",
  reveal_answer: "The answer is shown",
  revoke: "Revoked",
};

function updateOf(id: string, attributes: Readonly<Record<string, unknown>>): Operation {
  return { op: "update", data: { type: "elements", id, attributes } };
}
