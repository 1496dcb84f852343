/** Figures for operators: the metrics of the process that answers, and dead letters of all organisations. */

import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { createMemoryQueue, createMemoryStore } from "../../adapters/memory/mod.ts";
import { createMetrics } from "../../lib/platform/metrics/mod.ts";
import { ids, openPlatform } from "../support/platform.ts";
import { until } from "../support/until.ts";
import { operatorHeaders } from "./_control_examples.ts";

interface Figure {
  readonly name: string;
  readonly labels: Readonly<Record<string, string>>;
  readonly value?: number;
  readonly sum?: number;
  readonly buckets?: readonly number[];
}

describe("figures of a process", () => {
  it("are those that Prometheus reads", async t => {
    const metrics = createMetrics();
    const world = await openPlatform(async clock => createMemoryStore({ clock }), { metrics });
    t.after(() => world.dispose());
    await world.call("/readyz");
    const { status, json, text } = await world.call("/api/v2/process", {
      headers: await operatorHeaders(world),
    });
    assert.equal(status, 200, text);
    const { measured_at, bucket_bounds, figures } = json.data.attributes;
    assert.equal(measured_at, world.clock.now() / 1_000);
    const lines = (figures as readonly Figure[]).flatMap(({ name, labels, value, sum, buckets }) => {
      const pairs = Object.entries(labels).map(([label, each]) => `${label}="${each}"`);
      const line = (suffix: string, of: readonly string[], number?: number): string =>
        `${name}${suffix}${of.length === 0 ? "" : `{${of}}`} ${number}`;
      if (buckets === undefined) return [line("", pairs, value)];
      const bounds = [...bucket_bounds, "+Inf"];
      assert.equal(buckets.length, bounds.length);
      return [
        ...buckets.map((count, index) => line("_bucket", [...pairs, `le="${bounds[index]}"`], count)),
        line("_sum", pairs, sum),
        line("_count", pairs, buckets.at(-1)),
      ];
    });
    const isOwn = (line: string): boolean => line.startsWith("#") || /api\/v2\/process|active_req/.test(line);
    const printed = (await metrics.render()).trim().split("\n");
    assert.deepEqual(
      lines.filter(line => !isOwn(line)),
      printed.filter(line => !isOwn(line)),
    );
    assert.ok(lines.some(line => /_count\{.*readyz.*\} 1$/.test(line)));
  });

  it("are null where nothing is measured, and for operators alone", async t => {
    const world = await openPlatform(async clock => createMemoryStore({ clock }));
    t.after(() => world.dispose());
    const headers = await operatorHeaders(world);
    const { json } = await world.call("/api/v2/process", { headers });
    assert.equal(json.data.attributes.figures, null);
    const { authors } = world.platform;
    const { id: userId } = await authors.findOrCreate("op@example.com");
    const scopes = [{ kind: "organisation", id: ids.organisation }] as const;
    const { token } = await authors.createToken({ userId, name: "One place", scopes });
    for (const path of ["/api/v2/process", "/api/v2/dead_letter_counts"]) {
      const answer = await world.call(path, { token });
      assert.equal(answer.status, 403, answer.text);
    }
  });

  it("have the number of dead letters by organisation, with a space in which they are replayed", async t => {
    const queue = createMemoryQueue({ clock: Date.now });
    const world = await openPlatform(async clock => createMemoryStore({ clock }), { queue });
    t.after(() => world.dispose());
    const headers = { ...(await operatorHeaders(world)), "x-platform-org-id": ids.organisation };
    const counts = async () => (await world.call("/api/v2/dead_letter_counts", { headers })).json.data;
    assert.deepEqual(await counts(), []);
    const actions = "/v1/api/audience/internal/actions";
    const { userId } = await world.fan("Ann");
    const worker = world.platform.startActionWorker();
    t.after(() => worker.stop());
    const body = { userId, action: "dance" };
    const sent = await world.call(`${actions}?space_id=${ids.space}`, { body, headers });
    assert.equal(sent.status, 202, sent.text);
    await until("the action has failed", async () => (await counts()).length > 0);
    await worker.stop();
    const [{ id, attributes }] = await counts();
    assert.deepEqual([id, attributes.space_id, attributes.count], [ids.organisation, ids.space, 1]);
    const dead = `${actions}/dead-letters?space_id=${attributes.space_id}`;
    const [{ deadLetterId }] = (await world.call(dead, { headers })).json.data;
    const replay = dead.replace("?", "/replay?");
    const { json } = await world.call(replay, { body: { ids: [deadLetterId] }, headers });
    assert.deepEqual(json.data, { replayed: [deadLetterId], notFound: [] });
    assert.deepEqual(await counts(), []);
  });
});
