/**
 * The cost of metrics and traces: processor time of requests in memory, without a server, with and without them.
 *
 * ```sh
 * npm run bench -- instruments 5
 * ```
 *
 * @module
 */

import { trace } from "@opentelemetry/api";
import { BasicTracerProvider, BatchSpanProcessor } from "@opentelemetry/sdk-trace-base";
import { createMemoryStore } from "../../adapters/memory/mod.ts";
import { openTracer } from "../../adapters/tracing/mod.ts";
import { createPassingTracer, RequestScope } from "../../adapters/tracing/passing_tracer.ts";
import type { PlatformOptions } from "../../lib/mod.ts";
import { createMetrics } from "../../lib/platform/metrics/mod.ts";
import { ids, openPlatform } from "../support/platform.ts";
import { figure } from "./figure.ts";
import { sampleInFreshProcess } from "./fresh_process.ts";
import { median } from "./harness.ts";

const warmup = 20_000;
const measured = 60_000;
const atOnce = 16;
const traceparent = "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01";

interface Variant {
  readonly options: () => Promise<Partial<PlatformOptions>>;
  readonly headers?: Readonly<Record<string, string>>;
}

const passing = async (): Promise<Partial<PlatformOptions>> => ({
  tracer: createPassingTracer(new RequestScope(() => performance.now())),
});

async function recording(): Promise<Partial<PlatformOptions>> {
  const exporter = {
    export: (_spans: unknown, done: (result: { code: number }) => void) => done({ code: 0 }),
    shutdown: async () => {},
  };
  trace.setGlobalTracerProvider(
    new BasicTracerProvider({ spanProcessors: [new BatchSpanProcessor(exporter)] }),
  );
  return { tracer: await openTracer() };
}

const bare = "without";
const variants: Readonly<Record<string, Variant>> = {
  [bare]: { options: async () => ({}) },
  metrics: { options: async () => ({ metrics: createMetrics() }) },
  "a tracer, requests in no trace": { options: passing },
  "API of OpenTelemetry without SDK, requests in no trace": {
    options: async () => ({ tracer: await openTracer() }),
  },
  "a tracer, traceparent passed on": { options: passing, headers: { traceparent } },
  "spans recorded by the SDK": { options: recording, headers: { traceparent } },
};

/** Returns the processor time of one request in µs. */
async function sample({ options, headers = {} }: Variant, target: string): Promise<number> {
  const world = await openPlatform(async clock => createMemoryStore({ clock }), {
    ...(await options()),
    http: { inspect: () => {} },
  });
  const fan = await world.fan("Sam");
  const send = (): Promise<Response> => {
    const url = `http://club.example${target}`;
    const credentials = {
      ...headers,
      authorization: `Bearer ${fan.token}`,
      "content-type": "application/json",
    };
    const body = '{"action":"prediction","data":{"outcome":"right"}}';
    return world.platform.fetch(
      target.startsWith("/projects")
        ? new Request(url, { headers })
        : new Request(url, { method: "POST", headers: credentials, body }),
    );
  };
  const run = async (count: number): Promise<void> => {
    const lane = async (): Promise<void> => {
      for (let done = 0; done < count / atOnce; done++) {
        const response = await send();
        if (response.status !== 200) throw new Error(`Cannot measure ${target}: ${response.status}`);
        await response.text();
      }
    };
    await Promise.all(Array.from({ length: atOnce }, lane));
  };
  await run(warmup);
  const before = process.cpuUsage();
  await run(measured);
  const { user, system } = process.cpuUsage(before);
  await world.dispose();
  return (user + system) / measured;
}

const board = `/projects/${ids.project}/leaderboards/overall`;
const targets = { "a board": board, "an action": "/api/loyalty/action" };
const [word, name = "", target = ""] = process.argv.slice(2);
if (word === "--sample") {
  const variant = variants[name];
  if (variant === undefined) throw new RangeError(`There is no variant ${name}`);
  console.log(JSON.stringify(await sample(variant, target)));
  process.exit(0);
}

for (const [what, at] of Object.entries(targets)) {
  const costs = new Map(Object.keys(variants).map(key => [key, [] as number[]]));
  for (let round = 0; round < Number(word ?? 5); round++) {
    for (const [key, samples] of round % 2 === 0 ? costs : [...costs].reverse()) {
      samples.push(await sampleInFreshProcess<number>(import.meta.url, key, at));
    }
  }
  const base = Math.min(...(costs.get(bare) ?? []));
  for (const [key, samples] of costs) {
    const [best, middle] = [Math.min(...samples), median(samples)];
    console.log(`${what}, ${key}: ${best.toFixed(1)} µs, median ${middle.toFixed(1)} µs`);
    if (key !== bare)
      figure(
        `${what}, ${key}: added to a request`,
        `${(best - base).toFixed(1)} µs of ${base.toFixed(1)} µs`,
      );
  }
}
