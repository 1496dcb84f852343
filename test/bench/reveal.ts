/**
 * A reveal with 100,000 voters on Redis: the time until everybody is paid, and how long a fan's report takes meanwhile.
 *
 *     npm run bench -- reveal [voters]
 *
 * The voters are listed and their votes are written as reports leave them, by 64 callers; half of them are right. Then the producer
 * reveals the answer, the background work pays in this process, and one fan goes on reporting. The two medians are those of the
 * reports before the reveal and during it. At the end the points of a hundred voters are checked.
 *
 * @module
 */

import { createRedisStore } from "../../adapters/redis/mod.ts";
import { createControl } from "../../lib/authoring/control/mod.ts";
import { seedDirectory } from "../../lib/fans/directory/seed.ts";
import { createPlatform, silentLogger } from "../../lib/mod.ts";
import { ids, loyalty, seed, testSecret } from "../support/platform.ts";
import { startRedis } from "../support/redis.ts";
import { median } from "./harness.ts";

const callers = 64;
const voters = Number(process.argv[2] ?? 100_000);
const points = 20;

const redis = await startRedis();
const store = createRedisStore({ server: `unix://${redis.socket}`, prefix: "reveal:" });
const answer = {
  id: "answer",
  trigger: { action: "vote" },
  when: { eq: [{ var: "element.isRight" }, true] },
  effects: [{ type: "metric", metricId: "points", metricQuantity: points }],
};
const vote = { name: "vote", clientReportable: true };
const document = { ...loyalty, actions: [...loyalty.actions, vote], rules: [answer], challenges: [] };
await seedDirectory(store, { ...seed, loyalty: { [ids.space]: document } });
const platform = await createPlatform({
  ...{ store, secret: testSecret, logger: silentLogger, limiter: "off" },
  ...{ defaultSpaceId: ids.space, control: createControl },
});
const author = await platform.authors.findOrCreate("producer@example.com", { operator: true });
const { token } = await platform.authors.createToken({ userId: author.id, name: "Benchmark" });

async function write(method: string, path: string, data: object): Promise<string> {
  const headers = { authorization: `Bearer ${token}`, "content-type": "application/vnd.api+json" };
  const request = new Request(`http://club.example/api/v2${path}`, {
    ...{ method, headers, body: JSON.stringify({ data }) },
  });
  const reply = await platform.fetch(request);
  if (reply.status >= 300) throw new Error(await reply.text());
  return reply.status === 204 ? "" : (await reply.json()).data.id;
}

const project = { data: { type: "projects", id: ids.project } };
const show = { type: "events", attributes: { name: "Show", duration: 36_000 }, relationships: { project } };
const eventId = await write("POST", "/events", show);
await write("PATCH", `/events/${eventId}`, { type: "events", id: eventId, attributes: { action: "start" } });
const question = { options: [{ fields: [] }, { fields: [] }] };
const elementId = await write("POST", "/elements", {
  type: "elements",
  attributes: { content_type: "prediction", question, action: "publish" },
  relationships: { event: { data: { type: "events", id: eventId } } },
});

const userOf = (n: number) => ({
  ...{ organisationId: ids.organisation, spaceId: ids.space, projectId: ids.project },
  userId: `2b000000-0000-4000-8000-${String(n).padStart(12, "0")}`,
});
let next = 0;
async function call(): Promise<void> {
  while (next < voters) {
    const n = next++;
    const data = { elementId, option: (n % 2) + 1 };
    await platform.loyalty.report(userOf(n), { action: "vote", data, isClientReport: true });
  }
}
await Promise.all(Array.from({ length: callers }, call));
await platform.idle();

/** Reports of one fan after the other until `isOver`, each with its time in ms. */
async function reportUntil(isOver: () => boolean): Promise<readonly number[]> {
  const times: number[] = [];
  while (!isOver() || times.length < 100) {
    const startedAt = performance.now();
    await platform.loyalty.report(userOf(voters), { action: "rest", data: {}, isClientReport: true });
    times.push(performance.now() - startedAt);
    await new Promise(resolve => setTimeout(resolve, 20));
  }
  return times;
}

const before = await reportUntil(() => true);
const attributes = { action: "reveal_answer", correct_option: 1 };
await write("PATCH", `/elements/${elementId}`, { type: "elements", id: elementId, attributes });
const startedAt = performance.now();
let isPaid = false;
const paying = (async () => {
  for (let last = -1; !isPaid; ) {
    await platform.work();
    await platform.loyalty.idle();
    const { metrics } = await platform.loyalty.profile(userOf(voters - 2));
    const sample = await Promise.all(
      Array.from({ length: 100 }, async (_, n) => {
        const user = userOf(2 * Math.floor((n * voters) / 200));
        return (await platform.loyalty.profile(user)).metrics.points ?? 0;
      }),
    );
    const paid = sample.filter(sum => sum === points).length;
    isPaid = paid === 100 && metrics.points === points;
    if (!isPaid && paid === last) throw new Error(`Only ${paid} of 100 voters are paid`);
    last = paid;
  }
})();
const during = await reportUntil(() => isPaid);
await paying;
const seconds = (performance.now() - startedAt) / 1_000;
console.log(
  `node ${process.version}, ${voters} voters, half of them right, one process, Redis over a socket\n`,
);
console.log(`paid in ${seconds.toFixed(1)} s`);
console.log(
  `a report takes ${median(before).toFixed(2)} ms before, ${median(during).toFixed(2)} ms meanwhile`,
);
await platform.close();
await store[Symbol.asyncDispose]();
await redis.kill();
