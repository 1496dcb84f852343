/**
 * `grandstand elements apply` of 500 elements, of which every tenth names the one before, against a server on Redis: time from the
 * command line to its output, and requests. The command runs in this process and asks the server over HTTP.
 *
 * ```sh
 * npm run bench -- elements_apply [rounds]
 * ```
 */

import { performance } from "node:perf_hooks";
import { createRedisStore } from "../../adapters/redis/mod.ts";
import { serve } from "../../runtime/node.ts";
import { operatorToken, resource, to } from "../http/_control_examples.ts";
import { ids, openPlatform } from "../support/platform.ts";
import { startRedis } from "../support/redis.ts";
import { runCli } from "../support/terminal.ts";
import { figure } from "./figure.ts";
import { median } from "./harness.ts";

const rounds = Number(process.argv[2] ?? 9);
const items = Array.from({ length: 500 }, (_, n) => [
  `- type: poll`,
  `  name: q${n}`,
  `  question: Who wins match ${n}?`,
  `  options: [Home, Draw, Away]`,
  `  fields: { explanation: "${"x".repeat(200)}"${n % 10 === 9 ? `, after: {{q${n - 1}}}` : ""} }`,
]);
const files = new Map([["show.yaml", items.flat().join("\n")]]);

const redis = await startRedis();
const store = createRedisStore({ server: redis.url, clock: Date.now });
const world = await openPlatform(async () => store, { clock: Date.now, rateLimits: "off" });
const server = await serve(request => world.platform.fetch(request), { port: 0 });
try {
  const token = await operatorToken(world);
  const around = {
    fetch,
    files,
    clock: Date.now,
    variables: { GRANDSTAND_TOKEN: token, GRANDSTAND_CONTROL_URL: server.url },
  };
  const samples = [];
  for (let round = 0; round < rounds; round++) {
    const answer = await world.call("/api/v2/events", {
      body: resource("events", { name: "Show" }, { relationships: { project: to("projects", ids.project) } }),
      headers: { authorization: `Bearer ${token}` },
    });
    const start = performance.now();
    const { code, stderr, requests } = await runCli(
      `elements apply --event ${answer.json.data.id} --file show.yaml --quiet`,
      around,
    );
    if (code !== 0) throw new Error(stderr);
    samples.push({ ms: performance.now() - start, count: requests.length });
  }
  console.log(samples.map(({ ms, count }) => `${ms.toFixed(0)} ms, ${count} requests`).join("; "));
  const ms = median(samples.map(sample => sample.ms)).toFixed(0);
  figure(
    "`elements apply` of 500 elements, Redis: time, requests",
    `${ms} ms, ${Math.max(...samples.map(({ count }) => count))}`,
    "1,000 ms, 5",
  );
} finally {
  await server.stop();
  await world.dispose();
  await redis.kill();
}
