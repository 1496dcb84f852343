/** Random actions, changes and clock moves on events, compared with a model that goes through them step by step. */

import assert from "node:assert/strict";
import { it } from "node:test";
import { createDirectory } from "../../lib/fans/directory/directory.ts";
import { sampleSize } from "../support/full.ts";
import { ids } from "../support/platform.ts";
import { describeOnCluster, describeOnStores, type OpenStore } from "../support/stores.ts";
import { openRandomAuthor } from "./_author_world.ts";
import { resource, to } from "./_control_examples.ts";
import { ModelEvent, type Plan } from "./_event_model.ts";

function compared(open: OpenStore, seeds: number): void {
  for (let seed = 1; seed <= seeds; seed++) {
    it(`agree on random sequences, seed ${seed}`, async t => {
      const { world, random, one, now, call } = await openRandomAuthor(t, open, seed);
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
}

describeOnStores("events and their model", open => compared(open, sampleSize(10, 6)));
describeOnCluster("events and their model", open => compared(open, 3));
