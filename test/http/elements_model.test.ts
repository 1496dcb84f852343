/** Random actions, changes and clock moves on elements and their event, compared with a model: states, order, counts and feeds. */

import assert from "node:assert/strict";
import { it } from "node:test";
import { sampleSize } from "../support/full.ts";
import { ids } from "../support/platform.ts";
import { describeOnCluster, describeOnStores, type OpenStore } from "../support/stores.ts";
import { openRandomAuthor } from "./_author_world.ts";
import { resource, to } from "./_control_examples.ts";
import { ModelEvent, type Plan } from "./_event_model.ts";

const never = Number.POSITIVE_INFINITY;
const actions = ["publish", "stop", "reveal_answer", "reveal_results", "revoke"] as const;
type Action = (typeof actions)[number];

/** What authors decide of an element. */
interface ElementPlan {
  label: string;
  start_mode: "manual" | "timecode";
  start_offset: number;
  duration: number;
  reveal_results_mode: "vote" | "close" | "event_end" | "never" | "manual";
  reveal_answer_mode: "auto" | "manual";
  reveal_answer_in: number;
}
const livelyNames = new Set(["reveal_results_mode", "reveal_answer_mode", "reveal_answer_in"]);

/** An element of an event. */
class ModelElement {
  readonly event: ModelEvent;
  readonly plan: ElementPlan;
  /** When each action was first done, in Unix seconds. */
  readonly done = new Map<Action, number>();
  /** The how many-th publication by hand it was. */
  nth = 0;

  constructor(event: ModelEvent, plan: ElementPlan) {
    this.event = event;
    this.plan = plan;
  }

  /** The end of the event, known once it has begun. */
  get end(): number {
    return this.event.begin === null ? never : this.event.end;
  }

  /** The instant that its timecode names. */
  get coded(): number {
    if (this.plan.start_mode === "manual") return never;
    return (this.event.begin ?? 10_000_000_000) + this.plan.start_offset;
  }

  get at(): number {
    const isTooLate = this.event.begin === null || this.coded >= this.end;
    return this.done.get("publish") ?? (isTooLate ? never : this.coded);
  }

  get closes(): number {
    const own = Math.min(this.done.get("stop") ?? never, this.at + (this.plan.duration || never));
    return this.at < this.end ? Math.min(own, this.end) : own;
  }

  state(now: number): string {
    const { state } = this.event;
    if (this.done.has("revoke")) return "revoked";
    if (this.at === never && this.plan.start_mode === "manual") return "non_scheduled";
    if (this.at === never && state === "past") return "cancelled";
    if (now < this.at) return "future";
    if (now < this.closes) return "current";
    return state === "on_demand" ? state : "past";
  }

  actions(now: number): readonly Action[] {
    const state = this.state(now);
    const isRunning = ["current", "on_demand"].includes(this.event.state);
    if (state === "non_scheduled" || state === "future") return isRunning ? ["publish"] : [];
    if (state === "revoked" || state === "cancelled") return [];
    return [...(state === "current" ? (["stop"] as const) : []), "reveal_answer", "reveal_results", "revoke"];
  }

  /** When results became public. */
  get results(): number {
    const { reveal_results_mode: mode } = this.plan;
    if (mode === "never") return never;
    const ended = this.at === never ? never : this.end;
    const byMode = { vote: this.at, close: this.closes, event_end: ended, manual: never }[mode];
    return Math.min(byMode, this.done.get("reveal_results") ?? never);
  }

  /** When the answer became public. */
  get answer(): number {
    const { reveal_answer_mode: mode, reveal_answer_in: after } = this.plan;
    const automatic = mode === "auto" ? this.closes + after : never;
    return Math.min(this.at === never ? never : automatic, this.done.get("reveal_answer") ?? never);
  }

  /** Returns the status of the answer to a change. */
  change(change: Partial<ElementPlan>, now: number): number {
    const entries = Object.entries(change) as [keyof ElementPlan, unknown][];
    const isFrozen = this.at <= now;
    if (isFrozen && entries.some(([name, to]) => !livelyNames.has(name) && to !== this.plan[name]))
      return 422;
    Object.assign(this.plan, change);
    return 204;
  }
}

function compared(open: OpenStore, seeds: number): void {
  for (let seed = 1; seed <= seeds; seed++) {
    it(`agree on random sequences, seed ${seed}`, async t => {
      const { world, random, one, now, call } = await openRandomAuthor(t, open, seed);
      const eventPlan: Plan = {
        ...{ start_mode: one("manual", "clock"), start_at: now() + random(20), duration: one(0, 60, 90) },
        ...{ end_mode: "duration", end_at: null, on_demand_duration: one(0, 30), extra_time_duration: 0 },
      };
      const inProject = { relationships: { project: to("projects", ids.project) } };
      const made = await call(
        "/events",
        "POST",
        resource("events", { name: "Show", ...eventPlan }, inProject),
      );
      assert.equal(made.status, 201, made.text);
      const eventId: string = made.json.data.id;
      const event = new ModelEvent(eventPlan, now());
      const models = new Map<string, ModelElement>();
      let publications = 0;
      const planned = (): ElementPlan => ({
        ...{ label: one("a", "b"), start_mode: one("manual", "timecode"), start_offset: random(80) },
        ...{
          duration: one(0, 10, 40),
          reveal_results_mode: one("vote", "close", "event_end", "never", "manual"),
        },
        ...{ reveal_answer_mode: one("auto", "manual"), reveal_answer_in: random(10) },
      });

      async function add(): Promise<void> {
        const plan = planned();
        const fixed = { content_type: "quiz", correct_option: 1, include_in_latest_results_feed: true };
        const inEvent = { relationships: { event: to("events", eventId) } };
        const answer = await call("/elements", "POST", resource("elements", { ...fixed, ...plan }, inEvent));
        assert.equal(answer.status, 201, answer.text);
        models.set(answer.json.data.id, new ModelElement(event, plan));
      }

      async function act(id: string, model: ModelElement, place: string): Promise<void> {
        const action = one("publish", ...actions);
        const isPossible = model.actions(now()).includes(action);
        const answer = await call(`/elements/${id}`, "PATCH", resource("elements", { action }, { id }));
        assert.equal(answer.status, isPossible ? 204 : 422, `${place} ${action}: ${answer.text}`);
        if (!isPossible) return;
        if (!model.done.has(action)) model.done.set(action, now());
        if (action === "publish") model.nth = ++publications;
      }

      async function change(id: string, model: ModelElement, place: string): Promise<void> {
        const entries = Object.entries(planned()).filter(() => random(4) === 0);
        const sent: Partial<ElementPlan> = Object.fromEntries(entries);
        const expected = model.change(sent, now());
        const answer = await call(`/elements/${id}`, "PATCH", resource("elements", sent, { id }));
        assert.equal(answer.status, expected, `${place} ${JSON.stringify(sent)}: ${answer.text}`);
      }

      async function changeEvent(place: string): Promise<void> {
        const sent = one(
          { action: "start" },
          { action: "start" },
          { action: "stop" },
          { duration: one(0, 60, 120) },
        );
        const expected =
          "action" in sent && sent.action !== undefined
            ? event.act(sent.action, now())
            : event.change(sent, now());
        const answer = await call(`/events/${eventId}`, "PATCH", resource("events", sent, { id: eventId }));
        assert.equal(answer.status, expected, `${place} ${JSON.stringify(sent)}: ${answer.text}`);
      }

      /** The models in chronological order. */
      const ordered = () =>
        [...models].sort(([, a], [, b]) => {
          const [first, second] = [a, b].map(each => each.done.get("publish") ?? each.coded);
          return first === second ? a.nth - b.nth : Number(first) - Number(second);
        });
      const isoOf = (time: number): string | null =>
        time <= now() ? new Date(time * 1_000).toISOString() : null;

      async function compare(place: string): Promise<void> {
        const { json } = await call(`/events/${eventId}/elements?page[count]=100&include=event`);
        const expected = ordered().map(([id, model]) => [
          ...[id, model.state(now()), model.actions(now()), isoOf(model.at)],
          ...[isoOf(model.results), isoOf(model.answer)],
        ]);
        const listed = json.data.map(
          ({ id, attributes }: { id: string; attributes: Record<string, unknown> }) => [
            ...[id, attributes.state, attributes.actions, attributes.published_at_iso],
            ...[attributes.results_revealed_at_iso, attributes.answer_revealed_at_iso],
          ],
        );
        assert.deepEqual(listed, expected, place);
        const states = ordered().map(([, model]) => model.state(now()));
        const countOf = (...wanted: readonly string[]) =>
          states.filter(state => wanted.includes(state)).length;
        const counts = {
          ...{ all: models.size, drafts: countOf("non_scheduled"), scheduled: countOf("future") },
          published: countOf("current", "on_demand", "past"),
        };
        const { data } = (await call(`/events/${eventId}`)).json;
        assert.deepEqual(data.attributes.element_counts, counts, place);
      }

      async function compareFeeds(place: string): Promise<void> {
        const feed = async (name: string) =>
          (await world.call(`/events/${eventId.slice(0, 2)}/${eventId}/${name}.json`)).json;
        const shown = ordered().filter(([, model]) => model.at <= now() && !model.done.has("revoke"));
        const { timeline } = await feed("history");
        assert.deepEqual(
          timeline.map((item: Record<string, unknown>) => [item.id, item.state, "correct_option" in item]),
          shown.map(([id, model]) => [id, model.state(now()), model.answer <= now()]),
          place,
        );
        const { results } = await feed("latest_results");
        const open = shown.filter(([, model]) => model.results <= now()).map(([id]) => id);
        assert.deepEqual(
          results.map((item: Record<string, unknown>) => item.id),
          open.toReversed(),
          place,
        );
        const { elements } = await feed("livestats");
        assert.deepEqual(
          elements.map((item: Record<string, unknown>) => [item.id, "votes" in item]),
          shown.map(([id, model]) => [id, model.results <= now()]),
          place,
        );
      }

      for (let step = 0; step < 80; step++) {
        event.pass(now());
        const place = `step ${step} at ${now()}`;
        const [id, model] = one(...models) ?? [];
        const what = random(12);
        if (id === undefined || model === undefined || (what === 0 && models.size < 8)) await add();
        else if (what <= 2) {
          world.clock.advance(1_000 * (1 + random(15)));
          event.pass(now());
          await compareFeeds(place);
        } else if (what === 3) await changeEvent(place);
        else if (what <= 5) await change(id, model, place);
        else if (what === 6 && random(4) === 0) {
          assert.equal((await call(`/elements/${id}`, "DELETE")).status, 204);
          models.delete(id);
        } else await act(id, model, place);
        await compare(place);
      }
    });
  }
}

describeOnStores("elements and their model", open => compared(open, sampleSize(8, 6)));
describeOnCluster("elements and their model", open => compared(open, 2));
