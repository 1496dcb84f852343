/** Random actions, changes and clock moves on events, compared with a model that goes through them step by step. */

import assert from "node:assert/strict";
import { it } from "node:test";
import { createRandom } from "../../adapters/conformance/random.ts";
import { createDirectory } from "../../lib/directory/mod.ts";
import { sampleSize } from "../support/full.ts";
import { ids, openPlatform } from "../support/platform.ts";
import { describeOnStores } from "../support/stores.ts";
import { operatorHeaders, resource, to } from "./_control_examples.ts";

type State = "future" | "current" | "on_demand" | "past";
const order: readonly State[] = ["future", "current", "on_demand", "past"];

interface Plan {
  start_mode: "manual" | "clock";
  start_at: number;
  duration: number;
  end_mode: "duration" | "scheduled";
  end_at: number | null;
  on_demand_duration: number;
  extra_time_duration: number;
}

/** An event that somebody watches: it changes its state when a time is reached or somebody acts. */
class ModelEvent {
  plan: Plan;
  state: State = "future";
  begin: number | null = null;
  stopped: number | null = null;
  closed = false;

  constructor(plan: Plan, now: number) {
    this.plan = plan;
    this.pass(now);
  }

  get actions(): readonly string[] {
    if (this.state === "future") return this.plan.start_mode === "clock" ? [] : ["start"];
    return this.state === "past" ? [] : ["stop"];
  }

  get end(): number {
    const { end_mode: mode, end_at: at, duration, extra_time_duration: extra } = this.plan;
    const begin = this.begin ?? 0;
    const isScheduled = mode === "scheduled" && at !== null;
    const planned = isScheduled
      ? Math.max(begin, at)
      : duration === 0
        ? Number.POSITIVE_INFINITY
        : begin + duration;
    return Math.min(planned + extra, this.stopped ?? Number.POSITIVE_INFINITY);
  }

  pass(now: number): void {
    if (this.state === "future" && this.plan.start_mode === "clock" && now >= this.plan.start_at) {
      this.begin = this.plan.start_at;
      this.state = "current";
    }
    if (this.state === "on_demand" && now < this.end) this.state = "current";
    if (this.state === "current" && now >= this.end) this.state = "on_demand";
    const isClosed = this.closed || now >= this.end + this.plan.on_demand_duration;
    if (this.state === "on_demand" && isClosed) this.state = "past";
  }

  /** Returns the status of the answer. */
  act(action: string, now: number): number {
    if (!this.actions.includes(action)) return 422;
    if (action === "stop" && this.state === "on_demand") this.closed = true;
    else if (action === "stop") this.stopped = now;
    else {
      const after = this.with({});
      after.begin = now;
      after.state = "current";
      after.pass(now);
      if (after.state !== "current") return 422;
      [this.begin, this.state] = [now, "current"];
    }
    this.pass(now);
    return 204;
  }

  change(change: Partial<Plan>, now: number): number {
    const { start_mode: mode, end_mode: end, end_at: at, start_at: start } = { ...this.plan, ...change };
    if (mode === "clock" && end === "scheduled" && at !== null && at <= start) return 422;
    const after = this.with(change);
    after.state = after.begin === null ? "future" : "current";
    if (mode === "clock") [after.state, after.begin] = ["future", null];
    after.pass(now);
    const isBack = order.indexOf(after.state) < order.indexOf(this.state);
    if (isBack && !(this.state === "on_demand" && after.state === "current")) return 409;
    [this.plan, this.state, this.begin] = [after.plan, after.state, after.begin];
    return 204;
  }

  with(change: Partial<Plan>): ModelEvent {
    const other = new ModelEvent({ ...this.plan, ...change }, Number.NEGATIVE_INFINITY);
    return Object.assign(other, { begin: this.begin, stopped: this.stopped, closed: this.closed });
  }
}

describeOnStores("events and their model", open => {
  for (let seed = 1; seed <= sampleSize(40, 6); seed++) {
    it(`agree on random sequences, seed ${seed}`, async t => {
      const world = await openPlatform(open);
      t.after(() => world.dispose());
      const headers = await operatorHeaders(world);
      const { integer: random } = createRandom(seed);
      const one = <T>(...values: readonly T[]): T => values[random(values.length)] as T;
      const now = () => Math.floor(world.clock.now() / 1_000);
      const call = (path: string, method?: string, body?: unknown) =>
        world.call(`/api/v2${path}`, { headers, ...(method === undefined ? {} : { method, body }) });
      await call(`/events/${ids.event}`, "PATCH", resource("events", { action: "stop" }, { id: ids.event }));
      const change = (): Partial<Plan> => ({
        ...(random(2) === 0 ? { duration: one(0, 5, 20, 60) } : {}),
        ...(random(3) === 0
          ? { end_mode: one("duration", "scheduled"), end_at: one(null, now() + random(60)) }
          : {}),
        ...(random(3) === 0 ? { on_demand_duration: one(0, 10) } : {}),
        ...(random(3) === 0 ? { extra_time_duration: one(0, 15) } : {}),
        ...(random(4) === 0 ? { start_at: now() - 5 + random(40) } : {}),
      });
      const models = new Map<string, ModelEvent>();
      for (let step = 0; step < 60; step++) {
        for (const model of models.values()) model.pass(now());
        const [id, model] = one(...models) ?? [];
        const what = model === undefined || id === undefined ? 0 : random(models.size < 8 ? 10 : 9) || 9;
        if (id === undefined || model === undefined || (what === 9 && models.size < 8)) {
          const basic = {
            start_mode: one("manual", "clock"),
            start_at: now() + random(30),
            duration: 20,
          } as const;
          const plan: Plan = {
            ...{ end_mode: "duration", end_at: null, on_demand_duration: 0, extra_time_duration: 0 },
            ...basic,
            on_demand_duration: one(0, 10),
          };
          const inProject = { relationships: { project: to("projects", ids.project) } };
          const answer = await call(
            "/events",
            "POST",
            resource("events", { name: "Show", ...plan }, inProject),
          );
          assert.equal(answer.status, 201, answer.text);
          models.set(answer.json.data.id, new ModelEvent(plan, now()));
        } else if (what <= 3) world.clock.advance(1_000 * (1 + random(20)));
        else {
          const action = one("start", "stop");
          const plan = what <= 6 ? null : change();
          const expected = plan === null ? model.act(action, now()) : model.change(plan, now());
          const body = resource("events", plan ?? { action }, { id });
          const answer = await call(`/events/${id}`, "PATCH", body);
          const told = `step ${step}: ${JSON.stringify(plan ?? action)} on ${JSON.stringify(model)}: ${answer.text}`;
          assert.equal(answer.status, expected, told);
        }
        if (random(8) === 0) await world.platform.work();
        for (const each of models.values()) each.pass(now());
        const listed = (await call(`/projects/${ids.project}/events?page[count]=100`)).json.data;
        for (const { id: shown, attributes } of listed) {
          const expected = models.get(shown);
          if (expected === undefined) continue;
          const told = `step ${step}: ${JSON.stringify(expected)} at ${now()}`;
          assert.deepEqual([attributes.state, attributes.actions], [expected.state, expected.actions], told);
        }
        const running = [...models].filter(([, { state }]) => state === "current");
        const found = (await call(`/projects/${ids.project}/events?filter[state]=current`)).json.data;
        assert.deepEqual(
          found.map((event: { id: string }) => event.id).sort(),
          running.map(([each]) => each).sort(),
        );
        // Another process, which has cached nothing.
        const directory = createDirectory({ store: world.store, clock: world.clock.now });
        const current = await directory.event(ids.project, "current");
        const begins = running.map(([, { begin }]) => begin ?? 0);
        assert.equal(current?.startAt, begins.length === 0 ? undefined : Math.max(...begins), `step ${step}`);
      }
    });
  }
});
