/**
 * The Redis adapter beside bare ioredis doing the same work.
 *
 * ```sh
 * npm run bench -- redis            # all, about five minutes
 * npm run bench -- redis commit     # only what begins with this
 * ```
 *
 * Every sample is a fresh process with 64 concurrent callers on one unix socket; rounds interleave the variants and
 * reverse their order. Beside calls per second it prints the processor time of client and server per call, which
 * hardly depends on what else the machine does.
 */
import { startRedis } from "../support/redis.ts";
import { figure } from "./figure.ts";
import { sampleInFreshProcess } from "./fresh_process.ts";
import { median } from "./harness.ts";
import { fillBoards, groups, variants } from "./redis_variants.ts";

const callers = 64;
/** Counted, not timed, so that a busy machine does not measure code that is not yet compiled. */
const warmupCalls = 20_000;
const measuredCalls = 40_000;
const rounds = 5;

interface Sample {
  readonly perSecond: number;
  readonly clientUs: number;
  readonly serverUs: number;
}

const [mode = "", name = "", socket = ""] = process.argv.slice(2);
if (mode === "--sample") console.log(JSON.stringify(await sample(name, socket)));
else await main(mode);

async function main(only: string): Promise<void> {
  const server = await startRedis();
  try {
    await fillBoards(server.socket);
    for (const group of groups.filter(({ title }) => title.startsWith(only))) {
      const rows = group.variants.map(variant => ({ variant, samples: [] as Sample[] }));
      for (let round = 0; round < rounds; round++) {
        for (const row of round % 2 === 0 ? rows : rows.toReversed()) {
          row.samples.push(await sampleInFreshProcess<Sample>(import.meta.url, row.variant, server.socket));
        }
      }
      print(group.title, rows);
    }
  } finally {
    await server.kill();
  }
}

function print(title: string, rows: readonly { variant: string; samples: readonly Sample[] }[]): void {
  console.log(
    `\n| ${title} | calls/s | vs first | client CPU us | server CPU us | per core | vs first | raw k/s |`,
  );
  console.log("|---|---|---|---|---|---|---|---|");
  const summaries = rows.map(({ samples }) => summarize(samples));
  const [first] = summaries;
  for (const [index, { variant, samples }] of rows.entries()) {
    const row = summaries[index];
    if (row === undefined || first === undefined) continue;
    const cells = [
      variant.slice(title.length + 1),
      Math.round(row.perSecond).toLocaleString("en"),
      (row.perSecond / first.perSecond).toFixed(2),
      row.clientUs.toFixed(1),
      row.serverUs.toFixed(1),
      Math.round(row.perCore).toLocaleString("en"),
      (row.perCore / first.perCore).toFixed(2),
      samples.map(({ perSecond }) => Math.round(perSecond / 1000)).join(" "),
    ];
    console.log(`| ${cells.join(" | ")} |`);
    if (index > 0)
      figure(
        `Redis, ${title}, ${variant.slice(title.length + 1)} to the first by processor time`,
        (row.perCore / first.perCore).toFixed(2),
      );
  }
}

/** Medians; `perCore` is what client and server reach with a core each, which a busy machine does not give them. */
function summarize(samples: readonly Sample[]): Sample & { readonly perCore: number } {
  const [perSecond, clientUs, serverUs] = (["perSecond", "clientUs", "serverUs"] as const).map(key =>
    median(samples.map(sample => sample[key])),
  ) as [number, number, number];
  return { perSecond, clientUs, serverUs, perCore: 1e6 / Math.max(clientUs, serverUs) };
}

async function sample(variant: string, socket: string): Promise<Sample> {
  const open = variants.get(variant);
  if (open === undefined) throw new RangeError(`Cannot measure ${variant}: it is unknown`);
  const { call, callsPerTurn = 1, serverCpuUs, close } = await open(socket);
  let calls = 0;
  let running = true;
  let wanted = 0;
  let reached: () => void = () => {};
  async function caller(index: number): Promise<void> {
    while (running) {
      await call(index);
      calls += callsPerTurn;
      if (calls >= wanted) reached();
    }
  }
  function untilCalls(count: number): Promise<void> {
    wanted = count;
    return new Promise(resolve => {
      reached = resolve;
    });
  }
  const all = Array.from({ length: callers / callsPerTurn }, (_, index) => caller(index));
  await untilCalls(warmupCalls);
  const before = { calls, cpu: process.cpuUsage(), server: await serverCpuUs(), at: performance.now() };
  await untilCalls(before.calls + measuredCalls);
  const cpu = process.cpuUsage(before.cpu);
  const seconds = (performance.now() - before.at) / 1_000;
  const measured = calls - before.calls;
  const serverUs = (await serverCpuUs()) - before.server;
  running = false;
  await Promise.all(all);
  await close();
  return {
    perSecond: measured / seconds,
    clientUs: (cpu.user + cpu.system) / measured,
    serverUs: serverUs / measured,
  };
}
