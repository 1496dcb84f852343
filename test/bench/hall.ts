/**
 * A hall: fans behind one address join the second of two servers within a minute, a producer publishes a poll at the first, and all of
 * them vote within some seconds. In the end both servers must have every vote once.
 *
 *     npm run bench -- hall [fans]
 *
 * Two servers and a worker on one Redis with AOF (everysec), whose venue may sign up as many fans in a minute. The fans are in this process
 * and share the machine.
 *
 * @module
 */

import { setTimeout as wait } from "node:timers/promises";
import { createFanClient, GrandstandError, loyalty } from "../../lib/client/mod.ts";
import { until } from "../support/until.ts";
import { figure } from "./figure.ts";
import { Stage } from "./live_final/stage.ts";
import { percentile } from "./login_load.ts";

const fanCount = Number(process.argv[2] ?? 2_000);
/** Time in which fans join, a little less than the window of the rate, and time in which they vote, in ms. */
const [joinMs, voteMs] = [55_000, 10_000];
const areas = { loyalty };

const { stage, demo } = await Stage.open({ GRANDSTAND_RATE_LIMITS: `sign-up-anonymous=${fanCount}/60` });
const [first, second] = stage.ports.map(port => `http://127.0.0.1:${port}`) as [string, string];
const { projectId, spaceId, organisationId } = demo;

async function author(method: string, path: string, data: object): Promise<string> {
  const headers = {
    authorization: `Bearer ${demo.operatorToken}`,
    "content-type": "application/vnd.api+json",
  };
  const answer = await fetch(`${first}/api/v2${path}`, { method, headers, body: JSON.stringify({ data }) });
  const text = await answer.text();
  if (!answer.ok) throw new Error(`${method} ${path}: ${text}`);
  return text === "" ? "" : (JSON.parse(text) as { readonly data: { readonly id: string } }).data.id;
}

/** Does something for each fan at its moment, evenly over some time. Returns durations in ms, and the codes of what was refused. */
async function spread<T>(items: readonly T[], overMs: number, run: (item: T) => Promise<unknown>) {
  const times: number[] = [];
  const refused: string[] = [];
  await Promise.all(
    items.map(async (item, index) => {
      await wait((index / items.length) * overMs);
      const at = performance.now();
      try {
        await run(item);
        times.push(performance.now() - at);
      } catch (error) {
        refused.push(error instanceof GrandstandError ? error.code : String(error));
      }
    }),
  );
  return { times: times.sort((a, b) => a - b), refused };
}

const to = (type: string, id: string) => ({ data: { type, id } });
const event = await author("POST", "/events", {
  type: "events",
  attributes: { name: "Hall", action: "start" },
  relationships: { project: to("projects", projectId) },
});
const text = (key: string, all: string) => ({ fields: [{ key, values: { all } }] });
const poll = await author("POST", "/elements", {
  type: "elements",
  attributes: {
    content_type: "poll",
    name: "Who wins?",
    max_votes_per_user: 1,
    question: { ...text("question", "Who wins?"), options: [text("text", "Home"), text("text", "Away")] },
  },
  relationships: { event: to("events", event) },
});

const fans = Array.from({ length: fanCount }, () =>
  createFanClient({ url: second, projectId, spaceId, organisationId, areas }),
);
const joined = await spread(fans, joinMs, fan => fan.session.register({ provider: "anonymous" }));
figure(
  `a hall: ${fanCount} fans behind one address join in ${joinMs / 1_000} s; refused; p50, p99`,
  `${joined.times.length}; ${joined.refused.length}; ${percentile(joined.times, 50).toFixed(0)}, ${percentile(joined.times, 99).toFixed(0)} ms`,
  `${fanCount}; 0`,
);

await author("PATCH", `/elements/${poll}`, { type: "elements", id: poll, attributes: { action: "publish" } });
// Each server knows within a second what is on air.
await wait(1_500);
const voted = await spread(fans, voteMs, fan =>
  fan.loyalty.reportAction({
    body: { action: "vote", actionId: crypto.randomUUID(), data: { elementId: poll, option: "1" } },
  }),
);
const endedAt = performance.now();

async function votesAt(server: string): Promise<number> {
  const answer = await fetch(`${server}/events/${event.slice(0, 2)}/${event}/livestats.json`);
  const { elements } = (await answer.json()) as {
    readonly elements: readonly { readonly id: string; readonly votes?: readonly number[] }[];
  };
  return elements.find(({ id }) => id === poll)?.votes?.[0] ?? 0;
}
for (const server of [first, second])
  await until(
    `every vote is in the totals of ${server}`,
    async () => (await votesAt(server)) === voted.times.length,
  );
figure(
  `the same: votes at one server in ${voteMs / 1_000} s, counted at both; refused; p50, p99; totals complete after`,
  `${voted.times.length}; ${voted.refused.length}; ${percentile(voted.times, 50).toFixed(0)}, ${percentile(voted.times, 99).toFixed(0)} ms; ${((performance.now() - endedAt) / 1_000).toFixed(1)} s`,
  `${fanCount}; 0`,
);
for (const codes of [joined.refused, voted.refused]) if (codes.length > 0) console.log(codes.slice(0, 5));
await stage.close();
