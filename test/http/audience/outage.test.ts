/** A Redis that dies under load: accepted actions take effect, others are refused at once, and no process is restarted. */

import assert from "node:assert/strict";
import { it } from "node:test";
import { createRedisLimiter, createRedisQueue, createRedisStore } from "../../../adapters/redis/mod.ts";
import { serve } from "../../../runtime/node.ts";
import { orderedSeed } from "../../lib/fans/audience/worker/_ordered.ts";
import { ids, openPlatform } from "../../support/platform.ts";
import { redisAvailable, startRedis } from "../../support/redis.ts";
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

it("loses no accepted action in an outage of Redis, refuses new ones meanwhile, and recovers", {
  skip: redisAvailable(),
}, async context => {
  const redis = await startRedis({ durable: true });
  const at = { server: redis.url };
  const queue = createRedisQueue(at);
  const limiter = createRedisLimiter(at);
  const options = {
    queue,
    seed: orderedSeed,
    clock: Date.now,
    limiter,
    rateLimits: "off",
  } as const;
  const world = await openPlatform(async () => createRedisStore(at), options);
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
    await queue[Symbol.asyncDispose]();
    await limiter[Symbol.asyncDispose]();
    await redis.kill();
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
    const failed = (body.data?.results ?? []).filter(({ status }) => status === "failed");
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
  await redis.kill();
  const awayAt = Date.now();
  // A request that waited for Redis to come back would hold up its lane.
  await until("every lane is refused again and again", () => Math.min(...refusalsOf) > 5);
  await until("the outage has lasted", () => Date.now() - awayAt > outageMs);
  await redis.launch();
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
