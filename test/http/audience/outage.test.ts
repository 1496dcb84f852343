/** A database that dies under load: accepted actions take effect, others are refused at once, and no process is restarted. */

import assert from "node:assert/strict";
import { it } from "node:test";
import { serve } from "../../../runtime/node.ts";
import { orderedSeed } from "../../lib/fans/audience/worker/_ordered.ts";
import { databases, openKept } from "../../support/databases.ts";
import { ids, openPlatform } from "../../support/platform.ts";
import { until } from "../../support/until.ts";

/** Duration of the outage, in ms. */
const outageMs = Number(process.env.GRANDSTAND_OUTAGE_MS ?? 3_000);
const lanes = 8;
const usersPerLane = 5;
const perUser = 6;

interface Answer {
  readonly status: number;
  readonly retryAfter: string | null;
  readonly failed: ReadonlySet<string>;
}

for (const { name, skip, start } of databases) {
  it(`loses no accepted action in an outage of ${name}, refuses new ones meanwhile, and recovers`, {
    skip,
  }, async context => {
    const server = await start();
    const kept = openKept(server.url);
    const { queue, limiter } = kept;
    const options = {
      queue,
      seed: orderedSeed,
      clock: Date.now,
      limiter,
      rateLimits: "off",
    } as const;
    const world = await openPlatform(async () => kept.store, options);
    const { key, secret } = await world.platform.apiKeys.create({
      organisationId: ids.organisation,
      name: "CRM",
      permissions: ["actions:write"],
    });
    const http = await serve(world.platform.fetch, { host: "127.0.0.1", port: 0 });
    const worker = world.platform.startActionWorker({ leaseMs: 1_500 });
    let isOver = false;
    context.after(async () => {
      isOver = true;
      await http.stop();
      await worker.stop();
      await world.dispose();
      await kept[Symbol.asyncDispose]();
      await server.kill();
    });

    async function send(actions: readonly object[]): Promise<Answer> {
      const response = await fetch(`${http.url}/v1/api/audience/internal/actions/bulk`, {
        method: "POST",
        headers: {
          "content-type": "application/json",
          "x-api-key": key,
          "x-api-secret": secret,
          "x-platform-org-id": ids.organisation,
        },
        body: JSON.stringify({ actions }),
      });
      const body = (await response.json()) as {
        readonly data?: { readonly results: readonly { userId: string; status: string }[] };
      };
      // Of unknown ones the connection was lost: they may wait in the queue, or not.
      const isMissing = (status: string): boolean => status === "failed" || status === "unknown";
      const failed = (body.data?.results ?? []).filter(({ status }) => isMissing(status));
      const retryAfter = response.headers.get("retry-after");
      return { status: response.status, retryAfter, failed: new Set(failed.map(({ userId }) => userId)) };
    }

    const next = new Map<string, number>();
    const refusals: Answer[] = [];
    const refusalsOf: number[] = Array.from({ length: lanes }, () => 0);
    let acceptedSince = 0;
    async function lane(number: number): Promise<void> {
      const users = Array.from({ length: usersPerLane }, (_, index) => `user-${number}-${index}`);
      while (!isOver) {
        const actions = users.flatMap(userId =>
          Array.from({ length: perUser }, (_, step) => {
            const n = (next.get(userId) ?? 0) + step;
            return { userId, action: "step", actionId: `${n}`, data: { n } };
          }),
        );
        const answer = await send(actions);
        if (answer.status === 202) acceptedSince += 1;
        else {
          refusals.push(answer);
          refusalsOf[number] = (refusalsOf[number] ?? 0) + 1;
        }
        // Repeats everything that was not accepted under the same ids, as a back end does.
        for (const userId of answer.status === 202 ? users : []) {
          if (!answer.failed.has(userId)) next.set(userId, (next.get(userId) ?? 0) + perUser);
        }
      }
    }
    const running = Promise.all(Array.from({ length: lanes }, (_, number) => lane(number)));

    await until("there is load", () => acceptedSince > 50);
    assert.deepEqual(refusals, []);
    await server.kill();
    const awayAt = Date.now();
    // A request that waited for the server to come back would hold up its lane.
    await until("every lane is refused again and again", () => Math.min(...refusalsOf) > 5);
    await until("the outage has lasted", () => Date.now() - awayAt > outageMs);
    await server.launch();
    acceptedSince = 0;
    await until("requests are accepted again", () => acceptedSince > 50);
    isOver = true;
    await running;
    assert.deepEqual([...new Set(refusals.map(({ status }) => status))], [503]);
    assert.ok(refusals.every(({ retryAfter }) => Number(retryAfter) >= 1));
    context.diagnostic(`${refusals.length} refusals`);

    const { organisation: organisationId, space: spaceId } = ids;
    let total = 0;
    for (const [userId, accepted] of next) {
      const member = { organisationId, spaceId, userId, projectId: null };
      const metrics = async (): Promise<unknown> => (await world.platform.loyalty.profile(member)).metrics;
      await until(`${userId} has every action`, async () => {
        const { count } = (await metrics()) as { readonly count: number };
        return count >= accepted;
      });
      assert.deepEqual(await metrics(), { count: accepted, ordered: accepted }, userId);
      total += accepted;
    }
    context.diagnostic(`${total} actions accepted, all of them applied once and in order`);
  });
}
